"""One generation: the groups of all ranks with their rewards, and the completions that this rank has sampled."""

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from statistics import fmean
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor

from ..distributed import rank_index
from ..records.dead_groups import GroupKind, Rule, find_kind, find_kind_alone, sum_covariances
from ..records.fields import Completion, drop_infinite, summarize_totals
from .rows import DataRow, TensorBatch, TokenIds


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
        """Weighted total of each completion, of shape (groups, G). NaN counts as 0 unless all rewards are NaN, as in TRL."""
        unscored = self.rewards.isnan().all(-1)
        return (self.rewards * self.weights).nansum(-1).masked_fill(unscored, torch.nan)

    @property
    def outcomes(self) -> Tensor:
        return self.rewards[:, :, self.names.index(self.rule.outcome_reward)]

    @cached_property
    def kinds(self) -> list[GroupKind]:
        weights = self.weights.tolist()
        parts = (part.tolist() for part in (self.totals, self.outcomes, self.rewards.transpose(1, 2)))
        groups = zip(*parts, strict=True)
        return [find_kind(self.rule, totals, outcomes, scores, weights) for totals, outcomes, scores in groups]

    @property
    def kinds_by_outcome(self) -> list[GroupKind]:
        return [find_kind_alone(one, self.rule.tolerance) for one in self.outcomes.tolist()]

    @cached_property
    def live(self) -> Tensor:
        return torch.tensor([kind == "live" for kind in self.kinds])

    @property
    def duplicates(self) -> Tensor:
        """Whether each completion equals another one of its group, of shape (groups, G)."""
        return (self.keys.unsqueeze(2) == self.keys.unsqueeze(1)).sum(2) > 1

    def metrics(self) -> dict[str, float]:
        shares = {kind: self.kinds.count(kind) / len(self.kinds) for kind in ("solved", "failed", "flat", "unscored")}
        signal = compute_signal(self.rewards[self.live], self.weights)
        by_name = {} if signal is None else zip(self.names, signal.tolist(), strict=True)
        totals = drop_infinite(self.totals.tolist())
        return {
            **shares,
            "dead": sum(shares.values()),
            "spread": fmean(one["spread"] or 0.0 for one in map(summarize_totals, totals)),
            "duplicates": self.duplicates.float().mean().item(),
            "partly_scored": self.partly_scored,
            "rows_unscored": self.totals.isnan().sum().item(),
            "rows_kept": self.live.sum().item() * self.size,
            **{f"signal/{name}": share for name, share in by_name},
        }

    def describe(self, advantages: Sequence[float]) -> list[dict[str, Any]]:
        """Return what the record of each group says about its scores. `advantages` has one for each completion."""
        weights = dict(zip(self.names, self.weights.tolist(), strict=True))
        scores = drop_infinite(self.rewards.transpose(1, 2).tolist())
        totals = drop_infinite(self.totals.tolist())
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


def compute_signal(rewards: Tensor, weights: Tensor) -> Tensor | None:
    """Return the share of each reward in the variance of totals within groups: (groups, G, functions) -> (functions,)."""
    covariances = sum_covariances((rewards * weights).double().cpu().numpy()).sum(0)
    return torch.from_numpy(covariances / covariances.sum()) if covariances.sum() > 0 else None


@dataclass(frozen=True)
class Generation:
    """The completions of this rank, from when they exist until they are a batch, and the groups of all ranks in order."""

    completions: list[Completion]
    groups: ScoredGroups
    rank: int
    revived: Tensor | bool = False  # whether a subclass has given each group an advantage that is not 0

    def take_own(self, values: Tensor) -> Tensor:
        """Return the values of the completions of this rank. (groups * G,) -> (rows,)"""
        return values.view(-1, len(self.completions))[self.rank]

    def find_rows(self, groups: Tensor) -> Tensor:
        """Return whether each completion of this rank belongs to one of the groups. (groups,) -> (rows,)"""
        return self.take_own(groups.repeat_interleave(self.groups.size))

    @property
    def live_groups(self) -> Tensor:
        """Whether each group is trained on, of shape (groups,)."""
        return self.groups.live | self.revived

    @property
    def live(self) -> Tensor:
        return self.find_rows(self.live_groups)

    def revive(
        self, batch: TensorBatch, logged: MutableSequence[float], gather: Callable[[Tensor], Tensor]
    ) -> "Generation":
        """Return this generation with the groups that advantages of a batch revive. Log their means in place of TRL's."""
        advantages = batch["advantages"].view(len(self.completions), -1)
        mask = batch["completion_mask"]
        batch["advantages"] = advantages.squeeze(1)
        means = (advantages * mask).sum(1) / mask.sum(1).clamp(min=1)
        means, is_any = gather(torch.stack([means, advantages.any(1)], 1)).unbind(1)
        for place, mean in enumerate(means.tolist(), start=len(logged) - len(means)):
            logged[place] = mean
        return replace(self, revived=is_any.view(-1, self.groups.size).any(1).cpu())


def list_completions(
    rows: list[DataRow],
    prompts: list,
    contents: list,
    ids: TokenIds,
    mask: TokenIds | None,
    last_ids: set[int],
    logged: dict[str, list],
    inputs: list,
) -> list[Completion]:
    """
    Return the completions of a rank. A logged column is kept if it has a value for each completion.

    A completion was truncated if it ends in none of `last_ids`. The mask is 0 for tokens of the results of tools. `inputs` are
    the prompts as the model read them, as text.
    """
    facts = (
        {"lengths": sum(map(int, own)), "truncated": not one or one[-1] not in last_ids}
        for one, own in zip(ids, mask or [[1] * len(one) for one in ids], strict=True)
    )
    columns = {name: values for name, values in logged.items() if len(values) == len(ids)}
    own = ({name: values[place] for name, values in columns.items()} for place in range(len(ids)))
    return [*map(Completion, rows, prompts, contents, ids, facts, own, inputs)]


@contextmanager
def align_columns(logs: dict[str, Any], count: int) -> Iterator[None]:
    """Let columns that rewards log get None for rows of TRL's table without values, while TRL adds `count` rows to it."""
    table = logs["extra"]
    logs["extra"] = defaultdict(list)
    try:
        yield
    finally:
        logged = logs["extra"]
        logs["extra"] = table
    for name in {**table, **logged}:
        table[name].extend(logged.get(name) or [None] * count)
        table[name].extendleft([None] * (len(logs["prompt"]) - len(table[name])))


def add_columns(rows: list[DataRow], fields: dict[str, Any]) -> None:
    """Add the extra fields that a rollout function returns to the rows, as TRL does before it scores them."""
    for name, values in fields.items():
        for row, value in zip(rows, values if isinstance(values, list) else repeat(values), strict=False):
            row[name] = value


def mark_text(rows: list[DataRow]) -> None:
    """Let TRL take rows without an image as text, which it does if `images` is an empty list, but not if it is None."""
    images = [row[name] for row in rows for name in ("image", "images") if name in row]
    if images and all(one is None or (isinstance(one, list) and not one) for one in images):
        for row in rows:
            row["images"] = []


def agree_on_images(rows: list[DataRow], images: list | None) -> bool:
    """Return whether all ranks or no ranks have images. TRL gathers images for its table, so all ranks must agree."""
    has_images = images is not None or any(row.get("images") or row.get("image") for row in rows)
    return len({*gather_object([has_images])}) == 1


def clear_dead_rows(batch: TensorBatch, generation: Generation, logged: MutableSequence[float]) -> None:
    """Set log-probabilities of dead rows that were not computed to 0, and advantages that TRL has only rounded to others."""
    dead = ~generation.live[:, None].to(batch["advantages"].device)
    for key in ("old_per_token_logps", "ref_per_token_logps"):
        if key in batch:
            batch[key] = batch[key].masked_fill(dead & batch[key].isnan(), 0.0)
    is_live = generation.groups.live.repeat_interleave(generation.groups.size).tolist()
    first = len(logged) - len(is_live)
    advantages = batch["advantages"].view(len(dead), -1)
    of_trl = generation.take_own(advantages.new_tensor([*logged][first:]))[:, None]
    batch["advantages"] = advantages.masked_fill(dead & (advantages == of_trl), 0.0).view_as(batch["advantages"])
    for place, live in enumerate(is_live, start=first):
        if not live:
            logged[place] = 0.0
