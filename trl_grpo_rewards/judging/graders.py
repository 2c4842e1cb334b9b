"""What a judge is asked about an answer, and the score that its verdicts give: on a scale, or by the criteria of a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from ..scores import Score
from .prompts import CANARY, CRITERIA_CANARY, GradingPrompt, Rubric, build_criteria_prompt, build_grading_prompt
from .rubrics import Criterion, UnreadableRubric, hide_part, read_rubric, score_verdicts
from .verdicts import Grading, read_grade, read_met


MAX_SHOWN = 1800
"""Maximum number of characters of all criteria of a row in a log, with which a report shows all of up to 45 criteria."""


class GradedRow(NamedTuple):
    """The score of a row with its reason, and for a rubric of its own the verdicts on the criteria, one in a line."""

    score: Score
    reason: str
    metrics: dict[str, float] = {}
    verdicts: str | None = None


@dataclass(frozen=True)
class ScaleGrader:
    """Asks for a score, or for one by each criterion."""

    rubric: Rubric
    canary = CANARY

    def build_prompts(self, question: str, answer: str, reference: str | None = None) -> list[GradingPrompt]:
        return [build_grading_prompt(self.rubric, question, answer, reference)]

    def read(self, verdict: dict[str, Any], prompt: GradingPrompt) -> tuple[float, dict[str, float]]:
        return read_grade(verdict, self.rubric)

    def grade(self, values: Sequence[tuple[float, dict[str, float]]], reason: str) -> GradedRow:
        ((score, criteria),) = values
        return GradedRow(score, reason, {f"criteria/{name}": one for name, one in criteria.items()})


@dataclass(frozen=True)
class CriteriaGrader:
    """Asks whether an answer meets each criterion of its row, together or in a request of its own for each."""

    criteria: tuple[Criterion, ...]
    separate: bool
    canary = CRITERIA_CANARY

    def build_prompts(self, question: str, answer: str, reference: str | None = None) -> list[GradingPrompt]:
        texts = [one.text for one in self.criteria]
        parts = [[text] for text in texts] if self.separate else [texts]
        return [build_criteria_prompt(part, question, answer, reference) for part in parts]

    def read(self, verdict: dict[str, Any], prompt: GradingPrompt) -> tuple[bool, ...]:
        return read_met(verdict, prompt)

    def grade(self, values: Sequence[tuple[bool, ...]], reason: str) -> GradedRow:
        met = [is_met for value in values for is_met in value]
        verdicts = list(zip(self.criteria, met, strict=True))
        faults = [is_met for one, is_met in verdicts if one.points < 0]
        metrics = {"met": fmean(is_met for one, is_met in verdicts if one.points >= 0)}
        metrics |= {"faults": fmean(faults)} if faults else {}
        limit = max(MAX_SHOWN // len(self.criteria) - 20, 20)  # less the verdict itself
        shown = "\n".join(
            f"{'met' if is_met else 'not met'} ({one.points:+g}{', required' if one.is_required else ''}): "
            f"{one.text if len(one.text) <= limit else f'{one.text[:limit]}...'}"
            for one, is_met in verdicts
        )
        return GradedRow(score_verdicts(self.criteria, met), reason, metrics, shown)


Grader: TypeAlias = ScaleGrader | CriteriaGrader


def read_graders(
    rubrics: Sequence[Any], separate: bool, dropout: float, trainer_state: Any
) -> list[Grader | UnreadableRubric]:
    """
    Return the grader of each row with a rubric of its own, or what is wrong with the rubric.

    What `dropout` hides depends on the step and the rubric alone, so it is the same for a whole group on all ranks.
    """
    if dropout and trainer_state is None:
        raise ValueError(
            f"judge(dropout={dropout}) needs the optimizer step, but this call has no 'trainer_state'. GRPOTrainer passes "
            f"it, but AsyncGRPO does not. Use the judge without dropout here."
        )
    graders: list[Grader | UnreadableRubric] = []
    for value in rubrics:
        try:
            criteria = read_rubric(value)
        except UnreadableRubric as error:
            graders.append(error)
            continue
        if dropout:
            criteria = hide_part(criteria, dropout, f"{trainer_state.global_step} {criteria}")
        graders.append(CriteriaGrader(criteria, separate))
    return graders


def grade_row(grader: Grader | UnreadableRubric, gradings: Sequence[Grading]) -> GradedRow:
    """Return what the gradings of a row's prompts give, of which there are none if there was nothing to ask."""
    if isinstance(grader, UnreadableRubric):
        return GradedRow(None, f"no rubric: {grader}")
    if not gradings:
        return GradedRow(0.0, "nothing to grade")
    failed = [grading for grading in gradings if grading.error is not None]
    reason = " | ".join(dict.fromkeys(map(str, failed or gradings)))
    return GradedRow(None, reason) if failed else grader.grade([grading.value for grading in gradings], reason)
