"""What counts as a right answer, as a wrong one, or as an answer to a solution that cannot be read."""

from pathlib import Path

import pytest

from helpers.outside_data import read_outside_data
from trl_grpo_rewards import answer, boxed
from trl_grpo_rewards.answers import second_opinion, verification
from trl_grpo_rewards.answers.mathematics.matching import AnswerRules
from trl_grpo_rewards.answers.solutions import read_gold, read_objects
from trl_grpo_rewards.answers.verification import Verification, verify_pairs


COLUMNS = {
    "answers_attack.dev": "gold", "answers_attack2.dev": "gold", "math_verify_cases.dev": "gold", "pairs.dev": "gold",
    "pathological.dev": "gold", "gsm8k_test": "answer", "gsm8k_train": "answer",
}  # fmt: skip
"""The public lists of solutions, and the column of each that contains them."""

UNREADABLE = "2(0,4]"
LIMIT = r"\lim_{x \to 0} \frac{f(x)}{x}"
HANGS = r"\lim_{x \to 0} (66666^{66666})^{66666}"


def find_mixed_groups(solutions: list, **options) -> dict:
    """Return the solutions whose own text is not right, or which are scored without their own text or only with it."""
    boxes = [rf"\boxed{{{read_gold(one)}}}" for one in solutions]
    completions = [*boxes, *[r"\boxed{0.918273645}"] * len(boxes), *["no box"] * len(boxes)]
    scores = boxed(partial=0.25, **options)(completions=completions, solution=solutions * 3)
    groups = {one: tuple(scores[row :: len(boxes)]) for row, one in enumerate(solutions)}
    return {one: group for one, group in groups.items() if group not in [(1.0, 0.25, 0.0), (None, None, None)]}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_public_solution_pays_its_own_text_or_leaves_its_group_without_scores(name):
    solutions = [*dict.fromkeys(row[COLUMNS[name]] for row in read_outside_data(f"{name}.jsonl.gz"))]
    assert len(solutions) > 50 and not find_mixed_groups(solutions)


def test_texts_of_the_cases_are_such_solutions():
    lines = Path(__file__).with_name("cases.txt").read_text().splitlines()[1:]
    texts = [*dict.fromkeys(text.strip() for line in lines for text in line[2:].split(" # "))]
    assert not find_mixed_groups(texts[::9]) and len(texts) > 3000


def test_the_options_do_not_matter():
    for options in ({}, {"evaluated": True}, {"tolerance": 0.01}, {"units": "must_match"}):
        assert not find_mixed_groups([UNREADABLE, LIMIT, "about 7", "5'6\"", r"3 \times 4", "0/0", "7 m"], **options)


def test_all_answers_to_an_unreadable_solution_are_without_scores():
    answers = [UNREADABLE, "x = 2(0,5]", "(0,4]", "7", None, r"\foo{1}", "no real number", HANGS]
    assert {one[:2] for one in verify_pairs([(UNREADABLE, one) for one in answers], AnswerRules())} == {(None, "gold")}
    readable = verify_pairs([(LIMIT, one) for one in answers[:-1]], AnswerRules())
    assert [one.equal for one in readable] == [False] * 7
    completions = [rf"\boxed{{{answers[0]}}}", "The answer is 7.", "There is\nno answer."]
    assert answer()(completions=completions, solution=[UNREADABLE] * 3) == [None] * 3


def test_second_opinions_are_counted():
    counts = {}
    completions = [
        rf"\boxed{{{one}}}" for one in ("7", "7", r"\lim_{x \to 7} x", r"\lim_{x \to 7} x", "7 maybe", LIMIT)
    ]
    solutions = ["7", LIMIT, "7", "7", "7", UNREADABLE]
    scores = boxed()(completions=completions, solution=solutions, log_metric=counts.__setitem__)
    assert scores == [1.0, 0.0, 1.0, 1.0, 0.0, None]
    assert counts == {"boxed/timeouts": 0, "boxed/unreadable_gold": 1, "boxed/second_opinions": 4}


def test_a_fault_is_said_once_with_the_pair(caplog, monkeypatch):
    monkeypatch.setattr(verification, "SHOWN_FAULTS", set())
    for gold in (UNREADABLE, "2(0,5]"):
        verify_pairs([(gold, "41")], AnswerRules())
    (message,) = caplog.messages
    assert "A solution cannot be read" in message and "run `trl-grpo-rewards check --details`" in message
    assert f"answer is '41' and the solution is {UNREADABLE!r}" in message


def test_a_solution_that_takes_too_long_cannot_be_read(monkeypatch):
    monkeypatch.setattr(second_opinion, "ask", lambda gold, answer: None)
    late = [(LIMIT, LIMIT), (LIMIT, "7"), (LIMIT, None), ("7", LIMIT), ("7", "8"), ("7", None)]
    assert verify_pairs(late, AnswerRules()) == [
        *[Verification(None, "gold", True)] * 3,
        Verification(False, "timeout", True),
        *[Verification(False)] * 2,
    ]


def test_without_a_process_nothing_that_needs_it_is_scored(monkeypatch):
    monkeypatch.setattr(second_opinion, "PROCESS", None)
    monkeypatch.setattr(second_opinion.sys, "executable", "/nowhere")
    completions = [r"\boxed{\lim_{x \to 11} x}", r"\boxed{8}", r"\boxed{7}"]
    assert boxed()(completions=completions, solution=["7"] * 3) == [None, 0.0, 1.0]


# --- objects ----------------------------------------------------------------------------------------------------------


def test_equal_objects_have_the_same_reading_however_they_are_written():
    values = [
        '{"a": 1, "b": 2}',
        '```json\n{"b": 2, "a": 1}\n```',
        {"b": 2, "a": 1},
        ['{"a": 1}', {"b": 2}],
        "a: 1",
        None,
        [],
    ]
    readings = read_objects(values)
    assert [one.kind for one in readings] == [*["whole"] * 3, "any of several", *["not at all"] * 3]
    assert len({one.value for one in readings[:3]}) == 1
