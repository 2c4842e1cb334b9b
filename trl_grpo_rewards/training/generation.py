"""One generation: the completions that a rank has sampled, and the scored groups that they belong to."""

from collections import defaultdict
from collections.abc import Callable, Iterator, MutableSequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor

from ..records.fields import Completion
from .rows import TensorBatch
from .scored_groups import ScoredGroups


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
        """Whether each completion of this rank belongs to one of these groups, of shape (rows,)."""
        return self.find_rows(self.live_groups)

    def revive(
        self, batch: TensorBatch, logged: MutableSequence[float], gather: Callable[[Tensor], Tensor]
    ) -> "Generation":
        """Return this generation with the groups that advantages of a batch revive. Log their means in place of TRL's."""
        advantages, mask = batch["advantages"].view(len(self.completions), -1), batch["completion_mask"]
        batch["advantages"] = advantages.squeeze(1)
        means = (advantages * mask).sum(1) / mask.sum(1).clamp(min=1)
        means, is_any = gather(torch.stack([means, advantages.any(1)], 1)).unbind(1)
        for place, mean in enumerate(means.tolist(), start=len(logged) - len(means)):
            logged[place] = mean
        return replace(self, revived=is_any.view(-1, self.groups.size).any(1))


def list_completions(
    rows: list[dict],
    prompts: list,
    contents: list,
    ids: list[list[int]],
    mask: list[list[int]] | None,
    last_ids: set[int],
    logged: dict[str, list],
) -> list[Completion]:
    """Return the completions of a rank, with those of the logged columns that have a value for each completion."""
    columns = {name: values for name, values in logged.items() if len(values) == len(ids)}
    own = [{name: values[place] for name, values in columns.items()} for place in range(len(ids))]
    return [*map(Completion, rows, prompts, contents, ids, list_completion_facts(ids, mask, last_ids), own)]


def list_completion_facts(
    ids: list[list[int]], mask: list[list[int]] | None, last_ids: set[int]
) -> list[dict[str, Any]]:
    """Return the fields of each completion's record that its tokens give. A completion that ends otherwise was truncated."""
    written = mask or [[1] * len(one) for one in ids]  # 0 for tokens of the results of tools
    return [
        {"lengths": sum(map(int, own)), "truncated": not one or one[-1] not in last_ids}
        for one, own in zip(ids, written, strict=True)
    ]


@contextmanager
def align_columns(logs: dict[str, Any], count: int) -> Iterator[None]:
    """Let columns that rewards log get None for rows of TRL's table without values, while TRL adds `count` rows to it."""
    table, logs["extra"] = logs["extra"], defaultdict(list)
    try:
        yield
    finally:
        logged, logs["extra"] = logs["extra"], table
    for name in {**table, **logged}:
        table[name].extend(logged.get(name) or [None] * count)
        table[name].extendleft([None] * (len(logs["prompt"]) - len(table[name])))


def add_columns(rows: list[dict], fields: dict[str, Any]) -> None:
    """Add the extra fields that a rollout function returns to the rows, as TRL does before it scores them."""
    for name, values in fields.items():
        for row, value in zip(rows, values if isinstance(values, list) else repeat(values), strict=False):
            row[name] = value


def agree_on_images(rows: list[dict], images: list | None) -> bool:
    """Return whether all ranks or no ranks have images. TRL gathers images for its table, so all ranks must agree."""
    has_images = images is not None or any(row.get("images") or row.get("image") for row in rows)
    return len({*gather_object([has_images])}) == 1


def clear_dead_rows(batch: TensorBatch, generation: Generation, logged: MutableSequence[float]) -> None:
    """Set log-probabilities of dead rows that were not computed to 0, and advantages that TRL has only rounded to others."""
    dead = ~generation.live[:, None]
    for key in ("old_per_token_logps", "ref_per_token_logps"):
        if key in batch:
            batch[key] = batch[key].masked_fill(dead & batch[key].isnan(), 0.0)
    is_live = generation.groups.live.repeat_interleave(generation.groups.size).tolist()
    first, advantages = len(logged) - len(is_live), batch["advantages"].view(len(dead), -1)
    of_trl = generation.take_own(advantages.new_tensor([*logged][first:]))[:, None]
    batch["advantages"] = advantages.masked_fill(dead & (advantages == of_trl), 0.0).view_as(batch["advantages"])
    for place, live in enumerate(is_live, start=first):
        if not live:
            logged[place] = 0.0
