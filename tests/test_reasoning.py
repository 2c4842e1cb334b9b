"""Text outside of the reasoning, whatever marks a model puts around it."""

import pytest

from trl_grpo_rewards import answer, boxed
from trl_grpo_rewards.reasoning import REASONING_MARKS, strip_reasoning


@pytest.mark.parametrize("start, end", REASONING_MARKS, ids=lambda mark: mark)
def test_what_is_inside_the_marks_is_no_answer(start, end):
    for text in (f"{start}maybe \\boxed{{42}}{end}", f"maybe \\boxed{{42}}{end}"):
        paid = [
            [*boxed()(completions=[f"{text}\\boxed{{5}}"] * 2, solution=["5", "42"])],
            [*answer()(completions=[f"{text}<answer>5</answer>"] * 2, solution=["5", "42"])],
            [*boxed()(completions=[text, f"{text} \n"], solution=["42", "42"])],
        ]
        assert paid == [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    assert boxed()(
        completions=[f"{start}so \\boxed{{5}}", f"\\boxed{{5}}{start}or \\boxed{{4}}"], solution=["5"] * 2
    ) == [0.0, 1.0]


def test_an_answer_before_the_reasoning_counts_if_none_follows():
    text = "<answer>5</answer><reasoning>It is not \\boxed{42}.</reasoning>\n"
    assert answer()(completions=[text] * 2, solution=["5", "42"]) == [1.0, 0.0]


def test_many_marks_take_linear_time():
    assert strip_reasoning("<think>" * 10_000 + "</think>" * 10_000 + "5") == "5"
    assert strip_reasoning("".join(start + "x" for start, _ in REASONING_MARKS) * 10_000) == ""
