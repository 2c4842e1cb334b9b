r"""A list in the column is a list of accepted solutions, any of which is right. A text with a list is one solution."""

import decimal
import fractions

import numpy
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from helpers.checks import find_faults, get_section, make_problems
from helpers.paths import TESTS
from trl_grpo_rewards import answer, boxed, choice, exact, overlap
from trl_grpo_rewards.checks import assert_not_gameable, attacks
from trl_grpo_rewards.checks.completions import honest, swap_completions


UNREADABLE = {"not": "a solution"}
REWARDS = {boxed(): r"\boxed{%s}", answer(): "The answer is %s.", exact(): "%s", choice(): "%s", overlap(): "%s"}
VALUES = ["A", "B", "C", "A B", None, ""]


def score(rewards, completion, solution):
    return rewards(completions=[completion], solution=[solution])[0]


@pytest.mark.parametrize("rewards", REWARDS, ids=str)
@given(data=st.data())
def test_a_list_scores_as_the_best_of_its_solutions(rewards, data):
    given_, accepted = data.draw(st.sampled_from("ABCD")), data.draw(st.lists(st.sampled_from(VALUES), max_size=4))
    completion = REWARDS[rewards] % given_
    each = [score(rewards, completion, one) for one in accepted]
    best = 1.0 if 1.0 in each else None if None in each or not each else max(each)
    assert score(rewards, completion, accepted) == score(rewards, completion, tuple(accepted)) == best
    assert score(rewards, completion, accepted[::-1]) == score(rewards, completion, accepted * 2) == best


def test_a_value_of_any_type_pays_the_right_answer_alone():
    lines = (TESTS / "answers" / "cells.txt").read_text().splitlines()[1:]
    modules = {"decimal": decimal, "fractions": fractions, "numpy": numpy}
    right, cells, answers, prompts = zip(*(eval(line, modules) for line in lines), strict=True)
    completions = [rf"\boxed{{{one}}}" for one in answers]
    scores = boxed(evaluated=True)(prompts=[*prompts], completions=completions, solution=[*cells])
    assert [score == 1.0 for score in scores] == [*right]


@pytest.mark.parametrize("rewards", REWARDS, ids=str)
def test_rows_of_a_batch_keep_their_own_lists(rewards):
    right, columns = REWARDS[rewards] % "B", [["A", "B"], "B", ["A", "C"], [], ["B"], None, [None, "B"], ["A", None]]
    scores = rewards(prompts=["?"] * 8, completions=[right] * 8, solution=columns)
    assert scores == [1.0, 1.0, 0.0, None, 1.0, None, 1.0, None]


@pytest.mark.parametrize("rewards", [boxed(), answer()], ids=str)
@pytest.mark.parametrize(
    "solution, right, wrong",
    [
        ("1, 2", ["1, 2", "2, 1"], ["1", "2"]), ("[1, 2]", ["[1, 2]"], ["1", "2"]), (["1", "2"], ["1", "2"], ["3"]),
        (["1, 2", "3"], ["2, 1", "3"], ["1", "2"]), ([1, 0.5], ["1", r"\frac12"], ["2"]),
        (["#### 72", "$x$"], ["72", "x"], ["71"]),
    ],
)  # fmt: skip
def test_a_text_with_a_list_is_one_solution(rewards, solution, right, wrong):
    assert [score(rewards, REWARDS[rewards] % one, solution) for one in right] == [1.0] * len(right)
    assert [score(rewards, REWARDS[rewards] % one, solution) for one in wrong] == [0.0] * len(wrong)


def test_a_question_restated_is_that_of_the_row():
    prompts, solutions = ["What is $x + y$?", "Expand $(x + 1)^2$."], [["y + x", "z"], ["x^2 + 2x + 1", "none"]]
    completions = [r"\boxed{y + x}", r"\boxed{(x + 1)^2}"]
    paid = boxed(evaluated=True)(prompts=prompts, completions=completions, solution=solutions)
    assert paid == [1.0, 0.0] and boxed()(prompts=prompts, completions=completions, solution=solutions) == [1.0, 1.0]


def test_a_wrong_answer_is_paid_no_more_than_partly():
    assert score(boxed(partial=0.25), r"\boxed{3}", ["1", "2"]) == 0.25
    assert score(boxed(partial=2.0), r"\boxed{2}", ["1", "2"]) == 1.0  # the right score, not the highest
    assert score(boxed(partial=-1.0), "no box", ["1", "2"]) == 0.0


DATA = make_problems(["22", "twenty-two"], ["23"], ["24", "24.0"], ["25", "5^2", "26"])


def test_the_check_reads_every_solution_of_a_list():
    assert not find_faults(boxed(), DATA)
    found = get_section("values of 'solution'", boxed(), DATA)
    assert found.lines[0] == "4 read, 4 different" and not found.warnings
    assert "with several solutions, any of which is right" in "\n".join(found.lines)
    shown = [line.split()[0] for line in found.lines if "any of which" in line]
    assert shown == ["25.00%"]  # 22 and twenty-two are one value, and so are 24 and 24.0


def test_the_check_counts_what_cannot_be_read_of_a_list():
    data = make_problems(["22", ""], [], ["", ""], ["1", "2"])
    found = get_section("values of 'solution'", boxed(), data)
    shares = {line.split(" ", 1)[1]: line.split()[0] for line in map(str.strip, found.lines) if "%" in line}
    assert shares["unreadable"] == "50.00%" and shares["read in part"] == "25.00%"


def test_honest_completions_take_a_solution_that_can_be_read():
    assert honest(boxed(), {"prompt": "?", "solution": ["", "The answer is 22"]}).endswith(r"\boxed{22}")
    assert honest(choice(), {"prompt": "?", "solution": ["C", "D"]}).endswith(r"\boxed{C}")
    rows = [{"solution": ["1", "2"]}, {"solution": ["2", "3"]}, {"solution": "4"}]
    assert swap_completions(boxed(), rows, ["a", "b", "c"]) == ["c", "c", "a"]


def test_no_attack_is_one_of_the_solutions():
    row = {"prompt": "Which?", "solution": ["1", "14", "27"]}
    made = attacks(boxed(), row)
    wrong = made["a wrong answer"]
    assert score(boxed(), wrong, row["solution"]) == score(boxed(), made["many boxes"], row["solution"]) == 0.0
    first = boxed(box="first")
    assert score(first, attacks(first, {"solution": ["1", "0"]})["many boxes"], ["1", "0"]) == 0.0
    letters = {"prompt": "Which?", "solution": ["A", "E"]}
    assert score(choice(), attacks(choice(), letters)["a wrong answer"], letters["solution"]) == 0.0
    rows = [{"prompt": f"What is {n} + 1?", "solution": [str(n + 1), str(n + 14)]} for n in range(3)]
    assert_not_gameable(boxed(evaluated=True), rows)


def test_a_dataset_of_lists_is_read_from_arrow(tmp_path):
    data = Dataset.from_dict({"prompt": ["?"], "answer": [["1", "2"]]})
    data.to_parquet(tmp_path / "data.parquet")
    (row,) = Dataset.from_parquet(str(tmp_path / "data.parquet"), cache_dir=str(tmp_path))
    (typed,) = data.with_format("numpy")
    for one in (row, typed):
        assert boxed(solution="answer")(completions=[r"\boxed{2}"], answer=[one["answer"]]) == [1.0]
