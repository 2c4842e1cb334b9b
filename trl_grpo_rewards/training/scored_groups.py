"""The groups of one generation with their rewards."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..distributed import rank_index
from ..records.dead_groups import GroupKind, Rule, has_dead_scores, is_dead, kind_of_group
from ..records.fields import drop_infinite, summarize_totals
from . import group_statistics


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScoredGroups:
    """The groups of one generation, of all ranks."""

    rewards: Tensor  # of shape (groups, G, functions), with NaN where there is no score
    names: list[str]
    weights: Tensor  # of shape (functions,)
    rule: Rule
    keys: Tensor  # hashes of the token ids of completions, of shape (groups, G)
    partly_scored: float = 0.0  # share of completions with a score that lack another one

    @property
    def size(self) -> int:
        """Number of completions in a group."""
        return self.rewards.size(1)

    @cached_property
    def totals(self) -> Tensor:
        """Weighted total of each completion, of shape (groups, G)."""
        return group_statistics.compute_totals(self.rewards, self.weights)

    @property
    def outcomes(self) -> Tensor:
        """Score of each completion by the outcome reward, of shape (groups, G)."""
        return self.rewards[:, :, self.names.index(self.rule.outcome_reward)]

    @cached_property
    def kinds(self) -> list[GroupKind]:
        """The kind of each group."""
        kinds, weights = [], self.weights.tolist()
        parts = (self.rewards.transpose(1, 2), self.totals, self.outcomes)
        for scores, totals, outcomes in zip(*(part.tolist() for part in parts), strict=True):
            dead = has_dead_scores(
                self.rule.dead_by,
                self.rule.tolerance,
                totals=totals,
                outcomes=outcomes,
                scores=scores,
                weights=weights,
            )
            kinds.append(kind_of_group(dead, totals, outcomes))
        return kinds

    @property
    def kinds_by_outcome(self) -> list[GroupKind]:
        """The kind that each group would have if the outcome reward were the only one."""
        return [kind_of_group(is_dead(one, self.rule.tolerance), one, one) for one in self.outcomes.tolist()]

    @cached_property
    def live(self) -> Tensor:
        """Whether each group is live."""
        return torch.tensor([kind == "live" for kind in self.kinds], device=self.rewards.device)

    @property
    def duplicates(self) -> Tensor:
        """Whether each completion equals another one of its group, of shape (groups, G)."""
        return group_statistics.find_duplicates(self.keys)

    def count_right(self) -> tuple[list[int], list[int]]:
        """Return the number of right completions of each group, and the number of those that have an outcome."""
        return (self.outcomes >= 1).sum(1).tolist(), (~self.outcomes.isnan()).sum(1).tolist()

    def metrics(self) -> dict[str, float]:
        """Return the metrics that are logged as `groups/...`."""
        shares = {kind: self.kinds.count(kind) / len(self.kinds) for kind in ("solved", "failed", "flat", "unscored")}
        signal = group_statistics.compute_signal(self.rewards[self.live], self.weights)
        by_name = {} if signal is None else zip(self.names, signal.tolist(), strict=True)
        return {
            **shares,
            "dead": sum(shares.values()),
            "spread": group_statistics.compute_spreads(self.totals).mean().item(),
            "duplicates": self.duplicates.float().mean().item(),
            "partly_scored": self.partly_scored,
            "rows_unscored": self.totals.isnan().sum().item(),
            "rows_kept": self.live.sum().item() * self.size,
            **{f"signal/{name}": share for name, share in by_name},
        }

    def describe(self, advantages: Sequence[float]) -> list[dict[str, Any]]:
        """Return what the record of each group says about its scores. `advantages` has one for each completion."""
        weights = dict(zip(self.names, self.weights.tolist(), strict=True))
        scores, totals = drop_infinite(self.rewards.transpose(1, 2).tolist()), drop_infinite(self.totals.tolist())
        duplicates = self.duplicates.sum(1).tolist()
        return [
            {
                "outcome": kind,
                **self.rule._asdict(),
                "rewards": dict(zip(self.names, scores[group], strict=True)),
                "weights": weights,
                **summarize_totals(totals[group]),
                "advantages": list(advantages[group * self.size : (group + 1) * self.size]),
                "duplicates": duplicates[group],
            }
            for group, kind in enumerate(self.kinds)
        ]


def build_groups(
    rewards: Tensor, keys: Tensor, size: int, names: list[str], weights: Tensor, rule: Rule
) -> ScoredGroups:
    """Return the groups of all ranks. Rows without a score are left out, and so are those with one that is too large."""
    missing = rewards.isnan() & (weights != 0)
    is_missing = missing.any(1)
    is_unscored = is_missing & (missing.sum(1) == (weights != 0).sum())
    left_out = (is_missing if rule.unscored == "row" else is_unscored) | find_too_large(rewards, names, weights)
    groups = rewards.masked_fill(left_out[:, None], torch.nan).view(-1, size, len(names))
    partly = is_missing & ~is_unscored
    return ScoredGroups(groups, names, weights, rule, keys.view(-1, size), partly.float().mean().item())


def find_too_large(rewards: Tensor, names: list[str], weights: Tensor) -> Tensor:
    """Return the rows with a reward of which no standard deviation can be computed, and warn of the first one."""
    limit = math.sqrt(torch.finfo(rewards.dtype).max / len(rewards)) / (2 * len(names))  # of each term, for all rows
    sizes = torch.maximum(rewards.abs(), (rewards * weights).abs())
    is_too_large = (sizes > limit) & (weights != 0)
    if is_too_large.any() and rank_index() == 0:
        row, place = is_too_large.nonzero()[0].tolist()
        logger.warning(
            f"Reward '{names[place]}' gave {rewards[row, place].item():g} for row {row} of the batch. A reward must be within "
            f"±{limit:.2g}, also times its weight, or {rewards.dtype} has no standard deviation for advantages. "
            f"{is_too_large.any(1).sum()} of {len(rewards)} completions are unscored. Return smaller numbers, or None."
        )
    return is_too_large.any(1)
