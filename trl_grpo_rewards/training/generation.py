"""One generation: the completions that a rank has sampled, and the scored groups that they belong to."""

from collections.abc import Mapping, MutableSequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from accelerate.utils import gather_object
from torch import Tensor

from ..records.fields import Completion
from .rows import TensorBatch
from .scored_groups import ScoredGroups


@dataclass(frozen=True)
class Generation:
    """
    One generation, from the moment when its completions exist until it is a batch.

    Args:
        completions (list of [`Completion`]):
            The completions of this rank.
        groups ([`ScoredGroups`]):
            The groups of all ranks, rank by rank.
        rank (`int`):
            Index of this rank.
    """

    completions: list[Completion]
    groups: ScoredGroups
    rank: int

    def find_rows(self, groups: Tensor) -> Tensor:
        """Return whether each completion of this rank belongs to one of the groups. (groups,) -> (rows,)"""
        count = len(self.completions)
        return groups.repeat_interleave(self.groups.size)[self.rank * count : (self.rank + 1) * count]

    @property
    def live(self) -> Tensor:
        """Whether each completion of this rank belongs to a live group, of shape (rows,)."""
        return self.find_rows(self.groups.live)


def add_columns(rows: list[dict], fields: dict[str, Any]) -> None:
    """Add the extra fields that a rollout function returns to the rows, as TRL does before it scores them."""
    for name, values in fields.items():
        for row, value in zip(rows, values if isinstance(values, list) else repeat(values), strict=False):
            row[name] = value


def agree_on_images(rows: list[dict], images: list | None) -> bool:
    """Return whether all ranks or no ranks have images. TRL gathers images for its table, so all ranks must agree."""
    has_images = images is not None or any(row.get("images") or row.get("image") for row in rows)
    return len({*gather_object([has_images])}) == 1


def split_logged(columns: Mapping[str, list[Any]], count: int) -> list[dict[str, Any]]:
    """Return what the rewards logged about each of `count` completions. A column of another length is left out."""
    whole = {name: values for name, values in columns.items() if len(values) == count}
    return [{name: values[place] for name, values in whole.items()} for place in range(count)]


def clear_dead_rows(batch: TensorBatch, generation: Generation, advantages: MutableSequence[float]) -> None:
    """
    Set the log-probabilities of dead rows and the logged advantages of dead groups to 0. No filler row contains NaN then.

    The log ends with the advantages of the generation, or with fewer if it is too short for them.
    """
    for key in ("old_per_token_logps", "ref_per_token_logps"):
        if key in batch:
            batch[key] = batch[key].masked_fill(~generation.live[:, None], 0.0)
    is_live = generation.groups.live.repeat_interleave(generation.groups.size).tolist()
    for place, live in enumerate(is_live, start=len(advantages) - len(is_live)):
        if place >= 0 and not live:
            advantages[place] = 0.0
