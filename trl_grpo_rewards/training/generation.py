"""One generation: the completions that a rank has sampled, and the scored groups that they belong to."""

from collections import defaultdict
from collections.abc import Iterator, MutableSequence
from contextlib import contextmanager
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


def list_completions(
    rows: list[dict],
    prompts: list,
    contents: list,
    ids: list[list[int]],
    mask: list[list[int]] | None,
    last_ids: set[int],
    logged: dict[str, list],
) -> list[Completion]:
    """
    Return the completions of a rank. For `mask` and `last_ids`, see [`list_completion_facts`].

    `logged` has the columns that rewards logged. A column that does not have a value for each completion is left out.
    """
    columns = {name: values for name, values in logged.items() if len(values) == len(ids)}
    own = [{name: values[place] for name, values in columns.items()} for place in range(len(ids))]
    return [*map(Completion, rows, prompts, contents, ids, list_completion_facts(ids, mask, last_ids), own)]


def list_completion_facts(
    ids: list[list[int]], mask: list[list[int]] | None, last_ids: set[int]
) -> list[dict[str, Any]]:
    """
    Return the facts about each completion that the record of its group contains, by the name of the field.

    Args:
        ids (`list[list[int]]`):
            Token ids of each completion.
        mask (`list[list[int]]`, *optional*):
            For each token, 1 if the model wrote it, and 0 if it is part of the result of a tool.
        last_ids (`set[int]`):
            Tokens that end a completion. A completion that ends with another token was truncated.
    """
    written = mask or [[1] * len(one) for one in ids]
    return [
        {"lengths": sum(map(int, own)), "truncated": not one or one[-1] not in last_ids}
        for one, own in zip(ids, written, strict=True)
    ]


@contextmanager
def align_columns(logs: dict[str, Any], count: int) -> Iterator[None]:
    """
    Keep the columns that rewards log in line with the prompts of TRL's table, while TRL adds `count` rows to it.

    TRL extends only the columns that are logged. A column without values for these rows gets None, and so does a new
    column for the rows before.
    """
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


def clear_dead_rows(batch: TensorBatch, generation: Generation, advantages: MutableSequence[float]) -> None:
    """
    Set the log-probabilities of dead rows to 0, so that filler rows contain no NaN, and the logged advantages of dead groups.

    The advantages of the generation come last in the log, which may be too short for all of them.
    """
    for key in ("old_per_token_logps", "ref_per_token_logps"):
        if key in batch:
            batch[key] = batch[key].masked_fill(~generation.live[:, None], 0.0)
    is_live = generation.groups.live.repeat_interleave(generation.groups.size).tolist()
    for place, live in enumerate(is_live, start=len(advantages) - len(is_live)):
        if place >= 0 and not live:
            advantages[place] = 0.0
