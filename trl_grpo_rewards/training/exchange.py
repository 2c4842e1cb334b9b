"""The exchange of rows between ranks. Rows move one at a time, so that no rank holds more than its own."""

from itertools import accumulate

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor

from .placement import Move, plan_moves
from .rows import TensorRow


def spread_groups(groups: list[list[TensorRow]], weights: list[int], accelerator: Accelerator) -> list[TensorRow]:
    """Spread groups of rows over the ranks so that they weigh about the same, and return the rows of this rank."""
    gathered = gather_object([[*zip(weights, map(len, groups), strict=True)]])
    moves = plan_moves([[weight for weight, _ in own] for own in gathered])
    starts = [[*accumulate((size for _, size in own), initial=0)] for own in gathered]
    of_rows = [
        Move(source, target, row)
        for source, target, place in moves
        for row in range(*starts[source][place : place + 2])
    ]
    rows = [row for group in groups for row in group]
    return move_rows(rows, of_rows, accelerator.process_index, accelerator.device)


def move_rows(rows: list[TensorRow], moves: list[Move], rank: int, device: torch.device) -> list[TensorRow]:
    """Carry out moves, which are the same on every rank, and return the rows that this rank has afterwards."""
    received, left = [], set[int]()
    for source, target, place in moves:
        if rank == source:
            send_row(rows[place], target)
            left.add(place)
        elif rank == target:
            received.append(receive_row(source, device))
    return [row for place, row in enumerate(rows) if place not in left] + received


def send_row(row: TensorRow, target: int) -> None:
    """Send a copy of a row. Its tensors are views of a batch, which would otherwise be sent as a whole."""
    own = {key: value.to("cpu", copy=True) if isinstance(value, Tensor) else value for key, value in row.items()}
    dist.send_object_list([own], target)


def receive_row(source: int, device: torch.device) -> TensorRow:
    """Receive a row that another rank sends with [`send_row`]."""
    box: list[TensorRow] = [{}]
    dist.recv_object_list(box, source)
    return {key: value.to(device) if isinstance(value, Tensor) else value for key, value in box[0].items()}
