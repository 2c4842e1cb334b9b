"""Graders: what they ask about an answer, and the score that the verdicts give."""

import re

import pytest

from trl_grpo_rewards.judging.graders import CriteriaGrader, grade_row
from trl_grpo_rewards.judging.rubrics import Criterion
from trl_grpo_rewards.judging.verdicts import Grading
from trl_grpo_rewards.report.excerpts import MAX_TEXT


CRITERIA = (Criterion("It is short.", 3.0), Criterion("It lies.", -2.0), Criterion("x" * 300, 1.0, True))


@pytest.mark.parametrize("separate", [False, True])
def test_criteria_are_asked_about_in_one_prompt_or_in_one_each(separate):
    grader = CriteriaGrader(CRITERIA, separate)
    prompts = grader.build_prompts("2 + 2?", "4", "five")
    assert len(prompts) == (3 if separate else 1) and all(prompt.texts[-1] == ("answer", "4") for prompt in prompts)
    assert all("the reference, which is right" in prompt.instructions for prompt in prompts)
    met = [True, False, True]
    given = [[one] for one in met] if separate else [met]
    values = [
        grader.read({"verdicts": {str(number): one for number, one in enumerate(part, 1)}}, prompt)
        for part, prompt in zip(given, prompts, strict=True)
    ]
    row = grade_row(grader, [Grading(value, "so") for value in values])
    assert (row.score, row.reason, row.metrics) == (1.0, "so", {"met": 1.0, "faults": 0.0})
    assert row.verdicts.splitlines() == [
        "met (+3): It is short.",
        "not met (-2): It lies.",
        f"met (+1, required): {'x' * 300}",
    ]
    failed = grade_row(grader, [*(Grading(value, "so") for value in values[1:]), Grading(error="no reply")])
    assert failed == (None, "no verdict: no reply", {}, None)


@pytest.mark.parametrize("count", [1, 3, 20, 45])
def test_a_report_shows_the_verdict_on_each_criterion(count):
    criteria = tuple(Criterion(f"{index:02}" + "x" * 3000, -10.0) for index in range(count))
    shown = CriteriaGrader(criteria, False).list_verdicts([(False,) * count])
    assert len(shown) <= MAX_TEXT // 4 and re.findall(r"^not met \(-10\): (\d\d)x{18,}\.\.\.$", shown, re.M) == [
        f"{index:02}" for index in range(count)
    ]
