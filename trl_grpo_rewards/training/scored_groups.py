"""The groups of one generation with their rewards."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..records.kinds import GroupKind, has_dead_scores, kind_of_group
from . import group_statistics


@dataclass(frozen=True)
class ScoredGroups:
    """
    The groups of one generation, of all ranks.

    Args:
        rewards (`Tensor` of shape (groups, G, functions)):
            Score of each completion by each reward function. NaN if it has no score.
        weights (`Tensor` of shape (functions,)):
            Weight of each reward function.
        outcome (`int`):
            Index of the outcome reward among the functions.
        dead_by (`str`):
            What makes a group dead: equal weighted totals (`"total"`), equal scores by the outcome reward
            (`"outcome"`), or equal scores by each function of non-zero weight (`"each"`).
        tolerance (`float`):
            Largest difference between rewards that counts as equal.
        keys (`Tensor` of shape (groups, G)):
            Hash of the token ids of each completion.
        partly_scored (`float`):
            Share of completions that some functions have scored and at least one of non-zero weight has not.
    """

    rewards: Tensor
    weights: Tensor
    outcome: int
    dead_by: str
    tolerance: float
    keys: Tensor
    partly_scored: float

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
        return self.rewards[:, :, self.outcome]

    @cached_property
    def kinds(self) -> list[GroupKind]:
        """The kind of each group."""
        weights, kinds = self.weights.tolist(), []
        for rewards, totals in zip(self.rewards.transpose(1, 2).tolist(), self.totals.tolist(), strict=True):
            outcomes = rewards[self.outcome]
            dead = has_dead_scores(
                self.dead_by, self.tolerance, totals=totals, outcomes=outcomes, scores=rewards, weights=weights
            )
            kinds.append(kind_of_group(dead, totals, outcomes))
        return kinds

    @cached_property
    def live(self) -> Tensor:
        """Whether each group is live."""
        return torch.tensor([kind == "live" for kind in self.kinds], device=self.rewards.device)

    @property
    def duplicates(self) -> Tensor:
        """Whether each completion equals another one of its group, of shape (groups, G)."""
        return group_statistics.find_duplicates(self.keys)

    def metrics(self, names: list[str]) -> dict[str, float]:
        """Return the metrics that are logged as `groups/...`. `names` are the names of the reward functions."""
        shares = {kind: self.kinds.count(kind) / len(self.kinds) for kind in ("solved", "failed", "flat", "unscored")}
        signal = group_statistics.compute_signal(self.rewards[self.live], self.weights)
        return {
            **shares,
            "dead": sum(shares.values()),
            "spread": group_statistics.compute_spreads(self.totals).mean().item(),
            "duplicates": self.duplicates.float().mean().item(),
            "partly_scored": self.partly_scored,
            "rows_kept": self.live.sum().item() * self.size,
            **(
                {}
                if signal is None
                else {f"signal/{name}": share for name, share in zip(names, signal.tolist(), strict=True)}
            ),
        }
