"""The kind of a group: live, or one of the kinds of dead groups. Trainer, records and re-scoring use this rule."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np


GroupKind: TypeAlias = Literal["live", "solved", "failed", "flat", "unscored"]
DeadBy: TypeAlias = Literal["total", "outcome", "each"]  # the scores that must be equal in a dead group
DEFAULT_TOLERANCE = 1e-6  # of the rewards in a dead group; rounding of float32 sums near 1 is smaller


class Rule(NamedTuple):
    """The rule by which a run decides the kind of a group."""

    outcome_reward: str = ""
    dead_by: str = "total"  # the scores that must be equal: "total", "outcome", or "each" reward of non-zero weight
    tolerance: float = DEFAULT_TOLERANCE
    unscored: str = "term"  # a None next to a score counts as 0 ("term"), or leaves the completion out ("row")


def find_kind(
    rule: Rule,
    totals: Sequence[float | None],
    outcomes: Sequence[float | None],
    scores: Sequence[Sequence[float | None]] = (),
    weights: Sequence[float] = (),
) -> GroupKind:
    """Return the kind of a group. `scores` has one list for each reward."""
    deciding = [outcomes if rule.dead_by == "outcome" else totals]
    if rule.dead_by == "each":
        deciding = [rewards for rewards, weight in zip(scores, weights, strict=True) if weight != 0]
    if not all(is_dead(rewards, rule.tolerance) for rewards in deciding):
        return "live"
    if len(drop_unscored(totals)) < 2:
        return "unscored"
    return name_dead_kind(drop_unscored(outcomes))


def name_dead_kind(outcomes: Sequence[float]) -> GroupKind:
    """Return the kind of a dead group with these scores of the outcome reward."""
    if outcomes and min(outcomes) >= 1:
        return "solved"
    return "failed" if outcomes and max(outcomes) <= 0 else "flat"


def find_kind_alone(outcomes: Sequence[float | None], tolerance: float) -> GroupKind:
    """Return the kind that a group would have if the outcome reward were the only one."""
    return find_kind(Rule(tolerance=tolerance), outcomes, outcomes)


def is_dead(rewards: Sequence[float | None], tolerance: float = DEFAULT_TOLERANCE) -> bool:
    """Whether the rewards of a group are all equal, or fewer than two of them are scored (not None and not NaN)."""
    scored = drop_unscored(rewards)  # the standard deviation of equal float32 rewards, such as 0.7, may be above 0
    return len(scored) < 2 or max(scored) - min(scored) <= tolerance


def count_lessons(kinds: Sequence[GroupKind], by_outcome: Sequence[GroupKind]) -> dict[GroupKind, int]:
    """Count the groups that are live by the outcome, and others by kind: a group that other rewards make live has that by the outcome."""
    pairs = zip(kinds, by_outcome, strict=True)
    counts = Counter(alone if kind == "live" else kind for kind, alone in pairs)
    return {kind: counts[kind] for kind in get_args(GroupKind)}


def drop_unscored(rewards: Sequence[float | None]) -> list[float]:
    return [reward for reward in rewards if reward is not None and reward == reward]


def sum_covariances(terms: np.ndarray) -> np.ndarray:
    """Return the sums of covariances of terms with the total in a group: (..., G, functions) -> (..., functions)."""
    is_scored = ~np.isnan(terms).all(-1, keepdims=True)
    terms = np.nan_to_num(terms) * is_scored
    means = terms.sum(-2, keepdims=True) / is_scored.sum(-2, keepdims=True).clip(1)
    changes = (terms - means) * is_scored
    products = changes * changes.sum(-1, keepdims=True)
    return np.asarray(products.sum(-2))
