"""Rubrics of rows: criteria with points, of which a part may be hidden, and the score that one verdict on each gives."""

import math
import random
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


SHORT = reprlib.Repr()
"""Shows values of any size and depth in a few characters."""
SHORT.maxstring = 160


class UnreadableRubric(ValueError):
    """Raised when the value of a row is not a rubric. Equal problems have equal words, and `found` is the part at fault."""

    def __init__(self, problem: str, found: Any) -> None:
        super().__init__(problem, found)
        self.problem, self.found = problem, found

    def __str__(self) -> str:
        return f"{self.problem}: {SHORT.repr(self.found)[:200]}"


@dataclass(frozen=True)
class Criterion:
    """A criterion that an answer meets or does not meet."""

    text: str
    points: float = 1.0  # negative if it describes a fault
    is_required: bool = False  # otherwise the score is 0
    shape: str = "sentences"  # how it was recognised, in words

    def fails(self, is_met: bool) -> bool:
        """Return whether the verdict on a required criterion makes the score 0."""
        return self.is_required and is_met == (self.points < 0)


def score_verdicts(criteria: Sequence[Criterion], met: Sequence[bool]) -> float:
    """Return the sum of the points met, divided by the sum of the positive points, within 0 and 1."""
    verdicts = list(zip(criteria, met, strict=True))
    if any(one.fails(is_met) for one, is_met in verdicts):
        return 0.0
    earned = sum(one.points for one, is_met in verdicts if is_met)
    return min(max(earned / sum(max(one.points, 0.0) for one in criteria), 0.0), 1.0)


def hide_part(criteria: Sequence[Criterion], share: float, seed: str) -> tuple[Criterion, ...]:
    """Return the criteria without a random share of those that are not required. One with positive points always stays."""
    required = [place for place, one in enumerate(criteria) if one.is_required]
    others = [place for place, one in enumerate(criteria) if not one.is_required]
    drawn = random.Random(seed).sample(others, len(others))
    kept = required + drawn[: math.ceil(len(drawn) * (1 - share))]
    if not any(criteria[place].points > 0 for place in kept):
        kept.append(next(place for place in drawn if criteria[place].points > 0))
    return tuple(criteria[place] for place in sorted(kept))
