"""Rows that move from rank to rank, one at a time, so that no rank holds more than its own."""

import torch
import torch.distributed as dist
from accelerate.utils import gather_object
from torch import Tensor

from .placement import moves, spaced
from .rows import Row


def spread_evenly(rows: list[Row], rank: int, device: torch.device) -> list[Row]:
    """
    The rows of this rank after the ranks with many have sent some to those with few.

    Every rank must call this with its own rows. The numbers of rows differ by at most one afterwards, and only rows
    that have to move do. Those are evenly spaced among the rows of a rank, so that long and short ones move alike.
    """
    for source, target, count in moves(gather_object([len(rows)])):
        if rank == source:
            given = spaced(count, len(rows))
            for place in given:
                dist.send_object_list([packed(rows[place])], target)
            rows = [row for place, row in enumerate(rows) if place not in {*given}]
        elif rank == target:
            rows = rows + [received(source, device) for _ in range(count)]
    return rows


def packed(row: Row) -> Row:
    """The row without the batch that its tensors are views of."""
    return {key: value.to("cpu", copy=True) if isinstance(value, Tensor) else value for key, value in row.items()}


def received(source: int, device: torch.device) -> Row:
    box = [None]
    dist.recv_object_list(box, source)
    return {key: value.to(device) if isinstance(value, Tensor) else value for key, value in box[0].items()}
