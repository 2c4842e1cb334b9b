r"""Finding the boxed answer."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.tables import read_tables
from trl_grpo_rewards.answers.mathematics.matching import AnswerRules
from trl_grpo_rewards.answers.solutions import read_gold
from trl_grpo_rewards.answers.statements import find_boxed_answer, find_stated_answer
from trl_grpo_rewards.answers.verification import settle
from trl_grpo_rewards.texts import strip_reasoning


TABLES = read_tables("answers/statements.txt")
FUNCTIONS = [find_boxed_answer, strip_reasoning, find_stated_answer]


def find_boxes(text):
    return [find_boxed_answer(text, which) for which in ("last", "only", "first")]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_found_in_a_text(function):
    assert [row for row in TABLES[function.__name__] if function(row[0]) != (None if row[1] == "∅" else row[1])] == []


def test_which_box_counts():
    assert [[text, *(one or "∅" for one in find_boxes(text))] for text, *_ in TABLES["last, only or first"]] == TABLES[
        "last, only or first"
    ]


@given(
    st.recursive(st.text(alphabet="ab 1", max_size=4), lambda t: t.map("{{{}}}".format) | st.tuples(t, t).map("".join))
)
def test_what_was_boxed_comes_back(content):
    assert find_boxed_answer(f"so \\boxed{{{content}}} it is") == (content if content.strip() else "")


@given(st.text(alphabet="answer is:#\\boxed{}<>/$.\n 7", max_size=60))
def test_any_text_can_be_read(text):
    assert {type(find_boxed_answer(strip_reasoning(text))), type(find_stated_answer(text))} <= {str, type(None)}


PIECES = [
    "{", "}", "\\", "\\boxed", "\\boxed{", "\\boxed{7} ", "\\boxed ", "\\boxedX", "</think>", "<think>", "answer ",
    "answer is ", "answer" + " " * 50, "$", "\n", "#### ",
]  # fmt: skip


@pytest.mark.slow
def test_a_long_text_takes_no_longer_than_its_length():
    for piece in PIECES:
        seconds = []
        for size in (30_000, 300_000):
            text = piece * (size // len(piece))
            start = time.perf_counter()
            find_boxed_answer(strip_reasoning(text)), find_boxed_answer(text, "only"), find_stated_answer(text)
            seconds.append(time.perf_counter() - start)
        assert seconds[1] < 30 * seconds[0] + 0.3, piece  # a quadratic reading would take 100 times as long


def test_the_answers_of_completions():
    lines = Path(__file__).with_name("completions.txt").read_text().splitlines()[1:]
    for line in lines:
        solution, _, text = line[2:].partition(" # ")
        answer, gold = find_stated_answer(strip_reasoning(text.replace("¶", "\n"))), read_gold(solution)
        assert gold is not None
        assert (answer is not None and settle(gold, answer, AnswerRules()) is True) == (line[0] == "T"), line
