"""The groups that all ranks have sampled in one generation, with their rewards."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..records.kinds import Kind, is_dead, kind_of_group
from . import group_statistics


@dataclass(frozen=True)
class ScoredGroups:
    """
    The groups of one generation.

    Args:
        rewards (`Tensor` of shape (groups, G, functions)):
            Score of each completion by each reward function. NaN if there is no score.
        weights (`Tensor` of shape (functions,)):
            Weight of each reward function.
        outcome (`int`):
            Place of the outcome reward among the functions.
        decided_by (`str`):
            What makes a group dead: equal weighted totals (`"total"`), equal scores by the outcome reward
            (`"outcome"`), or equal scores by every function of non-zero weight (`"each"`).
        tolerance (`float`):
            Largest difference between rewards that counts as equal.
        keys (`Tensor` of shape (groups, G)):
            Hash of each completion.
        partly_scored (`float`):
            Share of completions that some functions of non-zero weight have scored and others have not.
    """

    rewards: Tensor
    weights: Tensor
    outcome: int
    decided_by: str
    tolerance: float
    keys: Tensor
    partly_scored: float

    @cached_property
    def totals(self) -> Tensor:
        """Weighted total of each completion, of shape (groups, G)."""
        return group_statistics.total(self.rewards, self.weights)

    @property
    def outcomes(self) -> Tensor:
        """Score of each completion by the outcome reward, of shape (groups, G)."""
        return self.rewards[:, :, self.outcome]

    @cached_property
    def kinds(self) -> list[Kind]:
        """What each group is."""
        deciding = {
            "total": self.totals[:, :, None],
            "outcome": self.outcomes[:, :, None],
            "each": self.rewards[:, :, self.weights != 0],
        }[self.decided_by]
        return [
            kind_of_group(all(is_dead(scores, self.tolerance) for scores in by_function), totals, outcomes)
            for by_function, totals, outcomes in zip(
                deciding.transpose(1, 2).tolist(), self.totals.tolist(), self.outcomes.tolist(), strict=True
            )
        ]

    @cached_property
    def live(self) -> Tensor:
        """Whether each group is live."""
        return torch.tensor([kind == "live" for kind in self.kinds], device=self.rewards.device)

    @property
    def duplicates(self) -> Tensor:
        """Whether each completion equals another one of its group, of shape (groups, G)."""
        return group_statistics.duplicates(self.keys)

    def metrics(self, names: list[str]) -> dict[str, float]:
        """Return what TRL logs as `groups/...`. `names` are those of the reward functions."""
        share = {kind: self.kinds.count(kind) / len(self.kinds) for kind in ("solved", "failed", "flat", "unscored")}
        signal = group_statistics.signal(self.rewards[self.live], self.weights)
        return {
            **share,
            "dead": sum(share.values()),
            "spread": group_statistics.spread(self.totals).mean().item(),
            "duplicates": self.duplicates.float().mean().item(),
            "partly_scored": self.partly_scored,
            "rows_kept": self.live.sum().item() * self.rewards.size(1),
            **(
                {} if signal is None else dict(zip((f"signal/{name}" for name in names), signal.tolist(), strict=True))
            ),
        }
