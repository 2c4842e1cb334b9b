"""When the total and a witness (a reward of weight 0) part: one rises, the other does not. Trainer and report ask it."""

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import NamedTuple


WINDOW = 10
"""Number of points that a mean is taken over. A mean is compared with one of as many points before."""

NOISE = 4.0
"""Number of standard errors that the rise of the reward must exceed."""

MIN_RISE = 0.05
"""Share of the largest mean that the rise of the reward must exceed."""


class Point(NamedTuple):
    """The means over the completions of a step, or of a few steps, that have a total and a score by the witness."""

    step: int
    trained: float
    witness: float


class Parting(NamedTuple):
    """A rise of the reward without one of the witness."""

    since: int  # the step from which the reward rises
    seen: int  # the step in which the rise has become significant
    trained: tuple[float, float]  # means of the reward where the witness was best, and in the last points
    witness: tuple[float, float]


def find_first_parting(points: Sequence[Point]) -> Parting | None:
    """Return the first parting in all points of a run."""
    ends = range(2 * WINDOW, len(points) + 1)
    return next((found for end in ends if (found := find_parting(points[:end])) is not None), None)


def find_parting(points: Sequence[Point]) -> Parting | None:
    """
    Return whether the last points have parted from those where the witness was best.

    The witness has not risen if it was better before. The reward has risen if the difference of its means cannot be noise.
    """
    starts = range(len(points) - 2 * WINDOW + 1)
    if not starts:
        return None
    place = max(starts, key=lambda start: fmean(point.witness for point in points[start : start + WINDOW]))
    best, last = points[place : place + WINDOW], points[-WINDOW:]
    witness = fmean(point.witness for point in best), fmean(point.witness for point in last)
    trained = fmean(point.trained for point in best), fmean(point.trained for point in last)
    least = max(
        MIN_RISE * max(abs(point.trained) for point in points),
        measure_noise([point.trained for point in best], [point.trained for point in last]),
        measure_noise(*([point.trained - point.witness for point in window] for window in (best, last)))
        - (witness[0] - witness[1]),
    )
    if witness[1] > witness[0] or trained[1] - trained[0] <= least:
        return None
    return Parting(find_bend(points[place:]), points[-1].step, trained, witness)


def measure_noise(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the difference of two means that cannot be noise."""
    return NOISE * math.sqrt((variance(before) + variance(after)) / WINDOW)


def find_bend(points: Sequence[Point]) -> int:
    """Return the step at which a line that is level and then rises bends, if it fits the reward best."""
    values = [point.trained for point in points]
    level = fmean(values)

    def explain(bend: int) -> float:
        """Return the part of the variation that the bend explains."""
        ramp = [max(0, place - bend) for place in range(len(values))]
        mean = fmean(ramp)
        along = sum((height - mean) * (value - level) for height, value in zip(ramp, values, strict=True))
        return along * abs(along) / sum((height - mean) ** 2 for height in ramp)

    return points[max(range(len(points) - 1), key=explain)].step
