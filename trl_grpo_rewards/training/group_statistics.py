"""Statistics of groups: pure functions of rewards of shape (groups, G), with NaN where there is no score."""

import torch
from torch import Tensor


def compute_totals(rewards: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted sum over the last dimension, as in TRL. NaN counts as 0 unless all rewards are NaN."""
    unscored = rewards.isnan().all(-1)
    return (rewards * weights).nansum(-1).masked_fill(unscored, torch.nan)


def compute_spreads(rewards: Tensor) -> Tensor:
    """Return the largest minus the smallest reward of each group, or 0 with fewer than two. (groups, G) -> (groups,)"""
    scored = ~rewards.isnan()
    highest = rewards.masked_fill(~scored, -torch.inf).amax(1)
    lowest = rewards.masked_fill(~scored, torch.inf).amin(1)
    return torch.where(scored.sum(1) < 2, 0.0, highest - lowest)


def compute_signal(rewards: Tensor, weights: Tensor) -> Tensor | None:
    """
    Return the share of each reward in the variance of totals within groups, or None: (groups, G, functions) -> (functions,).

    It is the covariance of the weighted reward with the total over the variance of the total. The shares sum to 1.
    """
    scored = ~rewards.isnan().all(2, keepdim=True)
    terms = (rewards * weights).nan_to_num().double()
    mean = (terms * scored).sum(1, keepdim=True) / scored.sum(1, keepdim=True).clamp(min=1)
    terms = (terms - mean) * scored
    totals = terms.sum(2, keepdim=True)
    variance = (totals**2).sum()
    return (terms * totals).sum((0, 1)) / variance if variance > 0 else None


def take_first(chosen: Tensor, count: int) -> Tensor:
    """Return the first `count` of the chosen groups. (groups,) -> (groups,)"""
    return chosen & (chosen.cumsum(0) <= count)


def find_duplicates(keys: Tensor) -> Tensor:
    """Return whether each completion equals another one of its group. Equal completions have equal keys. (groups, G)"""
    return (keys.unsqueeze(2) == keys.unsqueeze(1)).sum(2) > 1
