"""Prompts that are sampled in place of those with dead groups."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from torch import Tensor
from torch.utils.data import Dataset

from ..errors import CheckpointMismatch
from .groups import Generation
from .placement import spread_groups
from .rows import DataRow, TensorBatch


PLACE_COLUMN = "trl_grpo_rewards_place"  # index of a prompt; rewards and records do not see it
STATE_FILE = "prompts.npz"  # the file in a checkpoint with the state of the stream


@dataclass
class PromptStream:
    """Rows of a dataset of `size` rows, epoch after epoch, in an order that is shuffled by the seed and the epoch."""

    size: int
    seed: int
    shuffle: bool = True
    has_prompts: bool = True  # otherwise, an environment gives another prompt for a row each time
    position: int = 0
    epoch: int = -1

    def draw(self) -> int:
        epoch, index = divmod(self.position, self.size)
        self.position += 1
        if epoch != self.epoch:
            shuffled = torch.randperm(self.size, generator=torch.Generator().manual_seed(self.seed + epoch))
            self.epoch, self.order = epoch, shuffled if self.shuffle else torch.arange(self.size)
        return int(self.order[index])

    def draw_others(self, count: int, avoid: Collection[int]) -> list[int]:
        """Return up to `count` rows that are not among those to avoid, each once. Fewer if the rows begin anew."""
        rows = list[int]()
        before = self.position
        while len(rows) < count and self.position - before < self.size:
            row = self.draw()
            if row not in rows and (row not in avoid or not self.has_prompts):
                rows.append(row)
        return rows

    def save(self, folder: Path) -> None:
        np.savez(folder / STATE_FILE, size=self.size, position=self.position)

    def load(self, folder: Path) -> None:
        """Restore the position of a checkpoint, if there is one: a run that drew no prompts itself has written none."""
        file = folder / STATE_FILE
        if not file.exists():
            return
        with np.load(file) as state:
            size = int(state["size"])
            self.position = int(state["position"])
        if size != self.size:
            raise CheckpointMismatch(
                f"The checkpoint in {folder} must be resumed with the {size} prompts that it was trained on; the "
                f"dataset has {self.size}. Load the same dataset, or start a new run from its weights."
            )

    def check_ranks(self) -> None:
        """Check that all ranks draw the same prompts, or groups would mix prompts. Every rank must call this."""
        positions = gather_object([self.position])
        if len({*positions}) > 1:
            raise RuntimeError(
                f"All ranks must draw the same prompts, but their positions in the prompts differ: "
                f"{', '.join(f'{one} on rank {rank}' for rank, one in enumerate(positions))}. If the machines do not share "
                f"a disk, train with save_on_each_node=True, and resume from a checkpoint that every machine has written."
            )


class PlacedRows(Dataset[DataRow]):
    """Rows of a dataset with their index in it. The dataset is not rewritten, even if it is shuffled or filtered."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> DataRow:
        return {**self.dataset[index], PLACE_COLUMN: index}


def resample(
    trainer: Any,
    sample: Callable[..., Any],
    output: TensorBatch,
    generation: Generation,
    asked: set[int],
) -> tuple[TensorBatch, Tensor, int]:
    """Return the batch with fresh groups in place of dead ones, whether each row is live, and the rounds, on all ranks."""
    packer = trainer._packer
    live = generation.live_groups
    rows = generation.live
    wanted = sampled = len(live)
    found = alive = int(live.sum())
    rounds = 0
    first = packer.unstack(output)
    kept = [*compress(first, rows.tolist())]
    while found < wanted and rounds < trainer.args.max_resample_rounds:
        missing = wanted - found
        count = min(math.ceil(missing * (sampled + 1) / (alive + 1)), wanted)  # expected to fill the batch
        if not (inputs := draw_rows(trainer, count, asked)):
            break
        more, generation, prompts = sample(inputs)
        live = generation.live_groups
        used = live & (live.cumsum(0) <= missing)
        kept += compress(packer.unstack(more), generation.find_rows(used).tolist())
        alive += int(live.sum())
        sampled += len(live)
        rounds += 1
        found += int(used.sum())
        asked = asked.union(prompts)
    if not rounds:
        return output, rows, rounds
    # TRL's micro-batches need as many rows on each rank.
    kept = spread_groups([[row] for row in kept], [1] * len(kept), trainer.accelerator)
    whole = packer.stack(kept + first[:1] * (len(first) - len(kept)))
    return whole, torch.arange(len(first), device=rows.device) < len(kept), rounds


def draw_rows(trainer: Any, count: int, avoid: Collection[int] = ()) -> list[DataRow]:
    """Draw `count` prompts or a few more on all ranks, so that each gets as many rows, and return the rows of this rank."""
    ranks = trainer.accelerator.num_processes
    step = ranks // math.gcd(ranks, trainer.num_generations)
    drawn = trainer._prompts.draw_others(math.ceil(count / step) * step, avoid)
    places = [place for place in drawn[: len(drawn) // step * step] for _ in range(trainer.num_generations)]
    share = len(places) // ranks
    first = trainer.accelerator.process_index * share
    dataset = PlacedRows(trainer.train_dataset)
    return [dataset[place] for place in places[first : first + share]]
