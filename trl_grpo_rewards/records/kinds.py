"""
What a group is: live, or one of the kinds of dead groups.

This is the one rule for the trainer, the asynchronous trainer, the records and re-scoring.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias


Kind: TypeAlias = Literal["live", "solved", "failed", "flat", "unscored"]

TOLERANCE = 1e-6
"""Default of the largest difference between the rewards of a dead group: above the rounding of float32 sums near 1."""


def is_dead(rewards: Sequence[float | None], tolerance: float = TOLERANCE) -> bool:
    """
    Whether the rewards of a group have no spread, or fewer than two of them are scored (not None and not NaN).

    The spread decides and not the standard deviation, since identical float32 rewards such as 0.7 often have a
    standard deviation above 0.
    """
    known = scored(rewards)
    return len(known) < 2 or max(known) - min(known) <= tolerance


def kind_of_group(is_dead: bool, totals: Sequence[float | None], outcomes: Sequence[float | None]) -> Kind:
    """
    Return what a group is.

    Args:
        is_dead (`bool`):
            Whether it is dead.
        totals (`list`):
            Weighted total of each completion. A dead group with fewer than two is `"unscored"`.
        outcomes (`list`):
            Score of each completion by the outcome reward. A dead group is `"solved"` if all scores are at least 1,
            `"failed"` if all are at most 0, and else `"flat"`.
    """
    if not is_dead:
        return "live"
    if len(scored(totals)) < 2:
        return "unscored"
    known = scored(outcomes)
    if known and min(known) >= 1:
        return "solved"
    return "failed" if known and max(known) <= 0 else "flat"


def scored(rewards: Sequence[float | None]) -> list[float]:
    """Return the rewards that are numbers, without None and NaN."""
    return [reward for reward in rewards if reward is not None and reward == reward]
