"""Graders: what they ask about an answer, and the score that the verdicts give."""

import json
import re
from types import SimpleNamespace

import pytest

from trl_grpo_rewards.judging.graders import CriteriaGrader, ScaleGrader, grade_row, read_graders
from trl_grpo_rewards.judging.grading_prompts import Rubric
from trl_grpo_rewards.judging.gradings import Grading
from trl_grpo_rewards.judging.rubrics import Criterion, UnreadableRubric
from trl_grpo_rewards.judging.verdicts import UnreadableReply
from trl_grpo_rewards.report.excerpts import MAX_TEXT


CRITERIA = (Criterion("It is short.", 3.0), Criterion("It lies.", -2.0), Criterion("x" * 300, 1.0, True))
WEIGHTED = Rubric({"clear": ("Is it clear?", 3.0), "brief": 1.0}, (0.0, 10.0))


def test_a_scale_is_asked_about_in_one_prompt():
    grader = ScaleGrader(WEIGHTED)
    (prompt,) = grader.build_prompts("2 + 2?", "4")
    assert "clear: Is it clear?" in prompt.instructions
    value = grader.read({"criteria": {"clear": 10, "brief": 2}, "score": 0}, prompt)
    assert grade_row(grader, [Grading(value, "so")]) == (
        0.8,
        "so",
        {"criteria/clear": 1.0, "criteria/brief": 0.2},
        None,
    )


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


@pytest.mark.parametrize(
    "given", [None, [], {"1": True}, {"1": True, "2": True, "3": True, "4": True}, {"1": 1, "2": 1, "3": 1}]
)
def test_verdicts_that_are_not_one_for_each_criterion_are_refused(given):
    grader = CriteriaGrader(CRITERIA, False)
    with pytest.raises(UnreadableReply):
        grader.read({"verdicts": given}, *grader.build_prompts("q", "a"))


@pytest.mark.parametrize("count", [1, 3, 20, 45])
def test_a_report_shows_the_verdict_on_each_criterion(count):
    criteria = tuple(Criterion(f"{index:02}" + "x" * 3000, -10.0) for index in range(count))
    shown = CriteriaGrader(criteria, False).list_verdicts([(False,) * count])
    assert len(shown) <= MAX_TEXT // 4 and re.findall(r"^not met \(-10\): (\d\d)x{18,}\.\.\.$", shown, re.M) == [
        f"{index:02}" for index in range(count)
    ]


def test_rows_without_a_grader_or_without_anything_to_grade():
    assert grade_row(UnreadableRubric("it has no criteria", []), []).reason == "no rubric: it has no criteria: []"
    assert grade_row(UnreadableRubric("it has no criteria", []), []).score is None
    assert grade_row(CriteriaGrader(CRITERIA, True), [])[:2] == (0.0, "nothing to grade")


def test_dropout_is_the_same_wherever_a_rubric_is_read():
    rubric = [{"criterion": f"Names {index}.", "points": 1} for index in range(9)]
    state = SimpleNamespace(global_step=4)
    one, other, broken = read_graders([rubric, json.dumps(rubric), 5], False, 0.5, state)
    assert one == other and len(one.criteria) == 5 and isinstance(broken, UnreadableRubric)
    assert one != read_graders([rubric], False, 0.5, SimpleNamespace(global_step=5))[0]
    with pytest.raises(ValueError, match="needs the optimizer step"):
        read_graders([rubric], False, 0.5, None)
