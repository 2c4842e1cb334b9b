"""Forward passes without gradient over some rows of a batch."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from accelerate.utils import DistributedType, gather_object
from torch import Tensor

from .rows import TensorBatch, select_rows


Logps: TypeAlias = tuple[Tensor, Tensor | None, Tensor | None]
"""Log-probabilities of completion tokens, their entropies, and the load-balancing loss."""

REPLICATED = {DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU}
"""Setups in which one rank can run a forward pass without the others."""


def score_rows(
    score: Callable[..., Logps],
    batch: TensorBatch,
    rows: list[int],
    batch_size: int,
    distributed_type: DistributedType,
) -> Tensor:
    """
    Return the log-probabilities of some rows, and NaN for the other rows, which TRL's metrics leave out.

    Args:
        score (`Callable`):
            TRL's `_get_per_token_logps_and_entropies` with the model.
        batch (`dict`):
            The other arguments of `score`.
        rows (`list[int]`):
            Indices of the rows.
        batch_size (`int`):
            Largest number of rows in a pass.
        distributed_type (`DistributedType`):
            The setup of the ranks.
    """
    batch = {name: value for name, value in batch.items() if value is not None}
    count = batch["input_ids"].size(0)
    logps = torch.full((count, batch["logits_to_keep"]), torch.nan, device=batch["input_ids"].device)
    for part in split_rows(rows, batch_size, distributed_type):
        found, *_ = score(**select_rows(batch, count, part), batch_size=batch_size)
        logps = logps.to(found.dtype)
        logps[part] = found
    return logps


def split_rows(rows: list[int], batch_size: int, distributed_type: DistributedType) -> list[list[int]]:
    """Split rows into passes. A sharded model needs the same number on every rank, so passes of one row are added."""
    passes = [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]
    if distributed_type in REPLICATED:
        return passes
    return passes + [rows[:1] or [0]] * (max(gather_object([len(passes)])) - len(passes))
