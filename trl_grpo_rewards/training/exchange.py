"""The exchange of rows between ranks. Rows move one at a time, so that no rank holds more than its own."""

import torch
import torch.distributed as dist
from accelerate.utils import gather_object
from torch import Tensor

from .placement import pick_evenly, plan_moves
from .rows import TensorRow


def balance_rows(rows: list[TensorRow], rank: int, device: torch.device) -> list[TensorRow]:
    """
    Send rows from ranks with many rows to ranks with few, and return the rows that this rank has afterwards.

    Every rank must call this with its own rows. Afterwards their numbers of rows differ by at most one. Only rows that
    have to move are sent. They are evenly spaced among the rows of their rank, so that long and short ones move alike.
    """
    for source, target, count in plan_moves(gather_object([len(rows)])):
        if rank == source:
            leaving = pick_evenly(count, len(rows))
            for place in leaving:
                send_row(rows[place], target)
            rows = [row for place, row in enumerate(rows) if place not in {*leaving}]
        elif rank == target:
            rows = rows + [receive_row(source, device) for _ in range(count)]
    return rows


def send_row(row: TensorRow, target: int) -> None:
    """Send a copy of a row. Its tensors are views of a batch, which would otherwise be sent as a whole."""
    own = {key: value.to("cpu", copy=True) if isinstance(value, Tensor) else value for key, value in row.items()}
    dist.send_object_list([own], target)


def receive_row(source: int, device: torch.device) -> TensorRow:
    """Receive a row that another rank sends with [`send_row`]."""
    box: list[TensorRow] = [{}]
    dist.recv_object_list(box, source)
    return {key: value.to(device) if isinstance(value, Tensor) else value for key, value in box[0].items()}
