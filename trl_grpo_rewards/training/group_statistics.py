"""Statistics of groups: pure functions over rewards of shape (groups, G), with NaN where there is no score."""

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
