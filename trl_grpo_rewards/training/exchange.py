"""The exchange of rows between ranks. Groups move one at a time, so that no rank holds much more than its own."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor

from .placement import Move, plan_moves
from .rows import TensorRow


def spread_groups(groups: list[list[TensorRow]], weights: list[int], accelerator: Accelerator) -> list[TensorRow]:
    """Spread groups of rows over the ranks so that they weigh about the same, and return the rows of this rank."""
    moves = plan_moves(gather_object([weights]))
    return [
        row for group in move_groups(groups, moves, accelerator.process_index, accelerator.device) for row in group
    ]


def move_groups(
    groups: list[list[TensorRow]], moves: list[Move], rank: int, device: torch.device
) -> list[list[TensorRow]]:
    """Carry out moves, which are the same on every rank, and return the groups that this rank has afterwards."""
    received, left = [], set[int]()
    for source, target, place in moves:
        if rank == source:
            dist.send_object_list([[copy_row(row, "cpu") for row in groups[place]]], target)
            left.add(place)
        elif rank == target:
            box: list[list[TensorRow]] = [[]]
            dist.recv_object_list(box, source)
            received.append([copy_row(row, device) for row in box[0]])
    return [group for place, group in enumerate(groups) if place not in left] + received


def copy_row(row: TensorRow, device: torch.device | str | None = None) -> TensorRow:
    """Return a row of its own. The tensors of a row are views, with which the whole batch would be kept, or sent."""
    return {
        key: value.to(device or value.device, copy=True) if isinstance(value, Tensor) else value
        for key, value in row.items()
    }
