"""Which rows of a batch are computed, and where: pure functions over the dict of tensors that TRL trains on.

Only `even_share` speaks to the other ranks.
"""

from typing import Any

import torch
from accelerate.utils import gather
from torch import Tensor
from trl.trainer.utils import split_pixel_values_by_grid, unsplit_pixel_values_by_grid


COMPLETION_WIDE = (
    "completion_ids",
    "completion_mask",
    "tool_mask",
    "old_per_token_logps",
    "ref_per_token_logps",
    "sampling_per_token_logps",
    "importance_sampling_ratio",
)
"""Tensors of shape (rows, completion tokens); the ratio is (rows, 1) where it is one per sequence."""


def size(batch: dict[str, Any]) -> int:
    return batch["advantages"].size(0)


def window(steps_per_generation: int, gradient_accumulation_steps: int) -> int:
    """How many micro-batches of a generation, from its first, are surely of one optimizer step."""
    shorter, longer = sorted((steps_per_generation, gradient_accumulation_steps))
    return shorter if longer % shorter == 0 else 1


def even(count: int, parts: int) -> list[int]:
    """The count in parts that differ by one at most, larger ones first."""
    return [count // parts + (part < count % parts) for part in range(parts)]


def take(batch: dict[str, Any], rows: Tensor) -> dict[str, Any]:
    """Index whatever has one entry a row; keep the rest, such as the number of tokens of the whole batch."""
    count = size(batch)

    def taken(value: Any) -> Any:
        if isinstance(value, Tensor) and value.dim() > 0 and value.size(0) == count:
            return value[rows]
        if isinstance(value, list) and len(value) == count:
            return [value[row] for row in rows.tolist()]
        return value

    return {key: taken(value) for key, value in split_pixel_values_by_grid(batch).items()}


def widened(key: str, value: Tensor, width: int) -> Tensor:
    """Tokens padded to this width, prompts at the left, completions at the right."""
    missing = width - value.size(1)
    return torch.nn.functional.pad(value, (missing, 0) if key.startswith("prompt") else (0, missing))


def joined(batches: list[dict[str, Any]]) -> dict[str, Any]:
    """One batch of all their rows, with their tokens padded to the widest."""

    def join(key: str, values: list) -> Any:
        if isinstance(values[0], list):
            return [entry for value in values for entry in value]
        if not isinstance(values[0], Tensor) or values[0].dim() == 0:
            return values[0]
        if values[0].dim() == 2:
            width = max(value.size(1) for value in values)
            values = [widened(key, value, width) for value in values]
        return torch.cat(values)

    parts = [split_pixel_values_by_grid(batch) for batch in batches]
    return {key: join(key, [part[key] for part in parts]) for key in parts[0]}


def longest_first(batch: dict[str, Any]) -> dict[str, Any]:
    """Rows in the order of their completions' lengths, so that neighbours need little padding."""
    return take(batch, batch["completion_mask"].sum(1).argsort(descending=True, stable=True))


def even_share(batch: dict[str, Any], rank: int, ranks: int) -> dict[str, Any]:
    """
    This rank's share of the rows of all ranks, which all must call with their own: the same number, at most one less.

    For text alone: what belongs to images is not gathered. Rows keep their tokens, but not the width of the padding.
    """
    count, device = size(batch), batch["advantages"].device
    rows = {
        key: value if value.dim() == 2 else value[:, None]
        for key, value in sorted(batch.items())
        if isinstance(value, Tensor) and value.dim() > 0 and value.size(0) == count
    }
    shapes = gather(torch.tensor([[count, *(value.size(1) for value in rows.values())]], device=device))
    counts, (most, *widths) = shapes[:, 0].tolist(), shapes.max(0).values.tolist()
    real = torch.tensor([row < count for count in counts for row in range(most)], device=device)
    gathered = dict(batch)
    for (key, value), width in zip(rows.items(), widths, strict=True):
        value = gather(torch.nn.functional.pad(widened(key, value, width), (0, 0, 0, most - count)))[real]
        gathered[key] = value.squeeze(1) if batch[key].dim() == 1 else value
    whole = longest_first(gathered)
    return take(whole, torch.arange(rank, size(whole), ranks))


def micro_batches(batch: dict[str, Any], sizes: list[int], spare: dict[str, Any], *, shorten: bool = True) -> list:
    """
    The batch in micro-batches of these sizes, filled up with silent rows that cost one token each.

    Args:
        batch (`dict`):
            Rows to compute, at most as many as all sizes together.
        sizes (`list[int]`):
            Rows of each micro-batch.
        spare (`dict`):
            A batch with a row that may be silenced, should there be no other.
        shorten (`bool`, *optional*, defaults to `True`):
            Cut the silent rows and drop columns of padding; else all keep their width.
    """
    parts, start = [], 0
    for length in sizes:
        rows = list(range(start, min(start + length, size(batch))))
        silent = torch.tensor([False] * len(rows) + [True] * (length - len(rows)), device=batch["advantages"].device)
        part = take(batch if rows else spare, torch.tensor(rows + (rows[:1] or [0]) * (length - len(rows))))
        part["advantages"] = part["advantages"].masked_fill(silent, 0.0)
        if "num_images" not in part:  # images belong to the tokens of their row: leave it whole
            part = silence(part, silent, shorten)
            part = trim(part) if shorten else part
        parts.append(unsplit_pixel_values_by_grid(part))
        start += length
    return parts


def silence(batch: dict[str, Any], rows: Tensor, shorten: bool) -> dict[str, Any]:
    """Mask the rows but for one token of the prompt, so that they add nothing to any sum over tokens."""
    prompt_mask, completion_mask = batch["prompt_mask"].clone(), batch["completion_mask"].clone()
    prompt_mask[rows, :-1] = 0
    prompt_mask[rows, -1] = 1
    completion_mask[rows] = 0
    if rows.all() and shorten:
        prompt_mask, batch = prompt_mask[:, -1:], {**batch, "prompt_ids": batch["prompt_ids"][:, -1:]}
    return {**batch, "prompt_mask": prompt_mask, "completion_mask": completion_mask}


def trim(batch: dict[str, Any]) -> dict[str, Any]:
    """Drop the columns at the right that are padding in every row. Those at the left would move the positions."""
    used = batch["completion_mask"].any(0).nonzero()
    width = int(used.max()) + 1 if len(used) else 1
    return {**batch, **{key: batch[key][:, :width] for key in COMPLETION_WIDE if key in batch}}
