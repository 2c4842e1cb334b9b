"""Which groups teach something: pure functions over rewards of shape (groups, G), NaN where there is no score.

A group is dead when its rewards have no spread (at most the tolerance between the largest and the smallest) or fewer
than two are scored; else it is live. Spread and not standard deviation decides, since identical float32 rewards such
as 0.7 often have a standard deviation that is not 0.
"""

import torch
from torch import Tensor


def total(rewards: Tensor, weights: Tensor) -> Tensor:
    """Weighted sum over the last dimension as TRL forms it: None counts as 0 beside a score, and is None alone."""
    unscored = rewards.isnan().all(-1)
    return (rewards * weights).nansum(-1).masked_fill(unscored, torch.nan)


def spread(rewards: Tensor) -> Tensor:
    """Largest minus smallest reward of each group; 0 where fewer than two are scored. (groups, G) -> (groups,)"""
    scored = ~rewards.isnan()
    highest = rewards.masked_fill(~scored, -torch.inf).amax(1)
    lowest = rewards.masked_fill(~scored, torch.inf).amin(1)
    return torch.where(scored.sum(1) < 2, 0.0, highest - lowest)


def dead(rewards: Tensor, tolerance: float) -> Tensor:
    """Whether each group is dead. (groups, G) -> (groups,), or (groups, G, functions) where each must be dead."""
    if rewards.dim() == 3:
        return torch.stack([dead(column, tolerance) for column in rewards.unbind(2)]).all(0)
    return (spread(rewards) <= tolerance) | ((~rewards.isnan()).sum(1) < 2)


def kinds(dead: Tensor, rewards: Tensor, outcome: Tensor) -> dict[str, Tensor]:
    """
    What the dead groups are, by the outcome reward: each a mask of shape (groups,), disjoint, together `dead`.

    `unscored`: fewer than two rewards are scored. `solved`: the outcome is at least 1 wherever it is scored. `failed`:
    at most 0. `flat`: anything else.
    """
    unscored = dead & ((~rewards.isnan()).sum(1) < 2)
    known = dead & ~unscored & ~outcome.isnan().all(1)
    solved = known & ((outcome >= 1) | outcome.isnan()).all(1)
    failed = known & ((outcome <= 0) | outcome.isnan()).all(1)
    return {"solved": solved, "failed": failed, "flat": dead & ~unscored & ~solved & ~failed, "unscored": unscored}


def signal(rewards: Tensor, weights: Tensor) -> Tensor | None:
    """
    Share of each reward in the variance of the total within groups; None where there is no variance.

    The covariance of the weighted reward with the total over the variance of the total, pooled over the groups. The
    shares sum to 1; one that pulls against the others is negative. (groups, G, functions) -> (functions,)
    """
    scored = ~rewards.isnan().all(2, keepdim=True)
    terms = (rewards * weights).nan_to_num().double()
    mean = (terms * scored).sum(1, keepdim=True) / scored.sum(1, keepdim=True).clamp(min=1)
    terms = (terms - mean) * scored
    totals = terms.sum(2, keepdim=True)
    variance = (totals**2).sum()
    return (terms * totals).sum((0, 1)) / variance if variance > 0 else None


def duplicates(keys: Tensor) -> Tensor:
    """Whether each completion equals another one of its group, by keys that are equal where completions are. (groups, G)"""
    return (keys.unsqueeze(2) == keys.unsqueeze(1)).sum(2) > 1
