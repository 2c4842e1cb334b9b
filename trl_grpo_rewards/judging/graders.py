"""What a judge is asked about an answer, and the score that its verdicts give: on a scale, or by the criteria of a row."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from ..scores import Score
from .grading_prompts import (
    CANARY,
    CRITERIA_CANARY,
    GradingPrompt,
    Rubric,
    build_criteria_prompt,
    build_grading_prompt,
)
from .rubrics import Criterion, UnreadableRubric, hide_part, read_rubric, score_verdicts
from .verdicts import Grading, describe_grading, read_grade, read_met


MAX_SHOWN = 1800
"""Maximum number of characters of all criteria of a row in a log, with which a report shows all of up to 45 criteria."""


class Grader(ABC):
    """Grades answers by one rubric."""

    canary: str
    """An answer that is bad by any rubric, and flatters the judge."""

    @abstractmethod
    def build_prompts(self, question: str, answer: str, reference: str | None = None) -> list[GradingPrompt]:
        """Return what to ask about an answer."""

    @abstractmethod
    def read(self, verdict: dict[str, Any], prompt: GradingPrompt) -> Any:
        """Return the value of a verdict on a prompt, which a grader of the same class built. Raise [`UnreadableReply`]."""

    @abstractmethod
    def score(self, values: Sequence[Any]) -> float:
        """Return the score from 0 to 1, given the value of each prompt."""

    @abstractmethod
    def measure(self, values: Sequence[Any]) -> dict[str, float]:
        """Return the metrics of one answer by name. The mean over a batch is logged."""

    def list_verdicts(self, values: Sequence[Any]) -> str | None:
        """Return the verdict on each criterion of the row, one in a line."""
        return None


@dataclass(frozen=True)
class ScaleGrader(Grader):
    """Asks for a score, or for one by each criterion."""

    rubric: Rubric
    canary = CANARY

    def build_prompts(self, question: str, answer: str, reference: str | None = None) -> list[GradingPrompt]:
        return [build_grading_prompt(self.rubric, question, answer, reference)]

    def read(self, verdict: dict[str, Any], prompt: GradingPrompt) -> tuple[float, dict[str, float]]:
        return read_grade(verdict, self.rubric)

    def score(self, values: Sequence[tuple[float, dict[str, float]]]) -> float:
        return values[0][0]

    def measure(self, values: Sequence[tuple[float, dict[str, float]]]) -> dict[str, float]:
        return {f"criteria/{name}": score for name, score in values[0][1].items()}


@dataclass(frozen=True)
class CriteriaGrader(Grader):
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

    def score(self, values: Sequence[tuple[bool, ...]]) -> float:
        return score_verdicts(self.criteria, join(values))

    def measure(self, values: Sequence[tuple[bool, ...]]) -> dict[str, float]:
        verdicts = list(zip(self.criteria, join(values), strict=True))
        faults = [is_met for one, is_met in verdicts if one.points < 0]
        wanted = [is_met for one, is_met in verdicts if one.points >= 0]
        return {"met": fmean(wanted), **({"faults": fmean(faults)} if faults else {})}

    def list_verdicts(self, values: Sequence[tuple[bool, ...]]) -> str:
        limit = max(MAX_SHOWN // len(self.criteria) - 20, 20)  # less the verdict itself
        return "\n".join(
            f"{'met' if is_met else 'not met'} ({one.points:+g}{', required' if one.is_required else ''}): "
            f"{one.text if len(one.text) <= limit else f'{one.text[:limit]}...'}"
            for one, is_met in zip(self.criteria, join(values), strict=True)
        )


def join(values: Sequence[tuple[bool, ...]]) -> list[bool]:
    return [is_met for value in values for is_met in value]


class GradedRow(NamedTuple):
    """The score of a row with its reason, and for a rubric of its own the verdicts on the criteria."""

    score: Score
    reason: str
    metrics: dict[str, float] = {}
    verdicts: str | None = None


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
    reason = " | ".join(dict.fromkeys(map(describe_grading, failed or gradings)))
    if failed:
        return GradedRow(None, reason)
    values = [grading.value for grading in gradings]
    return GradedRow(grader.score(values), reason, grader.measure(values), grader.list_verdicts(values))
