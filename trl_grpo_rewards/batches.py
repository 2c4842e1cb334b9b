"""Which rows of a micro-batch are computed: pure functions over the dict of tensors that TRL trains on."""

from typing import Any

import torch
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


def compact(batch: dict[str, Any], live: Tensor, size: int, *, shorten: bool = True) -> dict[str, Any]:
    """
    The batch of its live rows, filled up to `size` with dead ones that cost one token each.

    Args:
        batch (`dict`):
            A micro-batch as TRL trains on it.
        live (`torch.Tensor`):
            Mask of shape (rows,).
        size (`int`):
            Rows of the result: at least 1, at least the live rows, at most all.
        shorten (`bool`, *optional*, defaults to `True`):
            Cut the dead rows and drop columns of padding; else all keep their width.
    """
    rows = torch.argsort((~live).int(), stable=True)[:size]
    batch = unsplit_pixel_values_by_grid(take(split_pixel_values_by_grid(batch), rows))
    if "num_images" in batch or not shorten:  # images belong to the tokens of their row: leave it whole
        return batch
    return trim(silence(batch, ~live[rows]))


def take(batch: dict[str, Any], rows: Tensor) -> dict[str, Any]:
    """Index whatever has one entry a row; keep the rest, such as the number of tokens of the whole batch."""
    size = batch["advantages"].size(0)

    def taken(value: Any) -> Any:
        if isinstance(value, Tensor) and value.dim() > 0 and value.size(0) == size:
            return value[rows]
        if isinstance(value, list) and len(value) == size:
            return [value[row] for row in rows.tolist()]
        return value

    return {key: taken(value) for key, value in batch.items()}


def silence(batch: dict[str, Any], rows: Tensor) -> dict[str, Any]:
    """Cut the rows to one token of the prompt and one of the completion; their advantages are 0 already."""
    prompt_mask, completion_mask = batch["prompt_mask"].clone(), batch["completion_mask"].clone()
    prompt_mask[rows, :-1] = 0
    completion_mask[rows, 0] = 1  # no row may be empty: TRL divides by its tokens
    completion_mask[rows, 1:] = 0
    if rows.all():
        prompt_mask, batch = prompt_mask[:, -1:], {**batch, "prompt_ids": batch["prompt_ids"][:, -1:]}
    return {**batch, "prompt_mask": prompt_mask, "completion_mask": completion_mask}


def trim(batch: dict[str, Any]) -> dict[str, Any]:
    """Drop the columns at the right that are padding in every row. Those at the left would move the positions."""
    used = batch["completion_mask"].any(0).nonzero()
    width = int(used.max()) + 1 if len(used) else 1
    return {**batch, **{key: batch[key][:, :width] for key in COMPLETION_WIDE if key in batch}}
