"""Resampling: dead groups of a batch are replaced by live groups of other prompts."""

import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor

from .groups import Generation
from .placement import copy_row, spread_groups
from .prompts import PLACE_COLUMN, PromptStream
from .rows import TensorBatch, TensorRow


class Resampler:
    """
    Replaces the dead groups of each batch, first with live groups that the step before had sampled beyond its own batch.

    These are kept only if TRL computes log-probabilities when it samples, by which the loss weights them. All ranks take part.
    """

    def __init__(self, trainer: Any, prompts: PromptStream) -> None:
        self.trainer, self.prompts, self.packer = trainer, prompts, trainer._packer
        self.accelerator: Accelerator = trainer.accelerator
        self.surplus = list[tuple[int, list[TensorRow]]]()  # prompts of groups, and the rows of them on this rank

    def fill(
        self, output: TensorBatch, generation: Generation, asked: set[int]
    ) -> tuple[TensorBatch, Tensor, dict[str, float]]:
        """Return the batch without dead groups, whether each row is live, and what is logged. `asked` is not asked again."""
        live, rows = generation.live_groups, generation.live
        wanted, alive, sampled, rounds = len(live), int(live.sum()), len(live), 0
        first = self.packer.unstack(output)
        kept = [row for row, is_live in zip(first, rows.tolist(), strict=True) if is_live]
        carried = self._take_surplus(wanted - alive, asked)
        kept += [row for _, own in carried for row in own]
        asked = asked.union(prompt for prompt, _ in carried)
        found = alive + len(carried)
        while found < wanted and rounds < self.trainer.args.max_resample_rounds:
            missing = wanted - found
            count = min(math.ceil(missing * (sampled + 1) / (alive + 1)), wanted)  # expected to fill the batch
            data, size = self.trainer.train_dataset, self.trainer.num_generations
            inputs = draw_rows(self.prompts, data, count, size, self.accelerator, avoid=asked)
            if not inputs:
                break
            more, generation, prompts = self.trainer._sample(inputs)
            live = generation.live_groups
            used, fresh = live & (live.cumsum(0) <= missing), self.packer.unstack(more)
            kept += select_rows_of(fresh, generation, used)
            self._keep_surplus(fresh, generation, live & ~used, prompts)
            alive, sampled, rounds = alive + int(live.sum()), sampled + len(live), rounds + 1
            found += int(used.sum())
            asked |= {*prompts}
        logged: dict[str, float] = {"resample_rounds": rounds, "carried_over": len(carried)}
        if len(carried) + rounds == 0:
            return output, rows, logged
        # TRL's micro-batches need as many rows on each rank.
        kept = spread_groups([[row] for row in kept], [1] * len(kept), self.accelerator)
        whole = self.packer.stack(kept + first[:1] * (len(first) - len(kept)))
        return whole, torch.arange(len(first), device=rows.device) < len(kept), logged

    def save(self, folder: Path) -> None:
        """Write the groups that are kept for the next step to a checkpoint. Every rank writes its own rows."""
        torch.save(self.surplus, folder / self._file)

    def load(self, folder: Path) -> None:
        """Restore the groups of a checkpoint. They are left out unless every rank has the same ones. Every rank must call this."""
        path = folder / self._file
        kind = self.accelerator.device.type  # a rank of several on the CPU has the device cpu:0, which is not restored
        self.surplus = torch.load(path, map_location=kind, weights_only=True) if path.exists() else []
        if len({*gather_object([str([prompt for prompt, _ in self.surplus])])}) > 1:
            self.surplus = []

    @property
    def _file(self) -> str:
        """Name of the file in a checkpoint. A run with another number of ranks does not find it."""
        return f"surplus_{self.accelerator.process_index}_of_{self.accelerator.num_processes}.pt"

    def _take_surplus(self, count: int, asked: set[int]) -> list[tuple[int, list[TensorRow]]]:
        """Return the first `count` groups that the last step kept, without prompts that were asked. The others are forgotten."""
        groups, self.surplus = self.surplus, []
        return [(prompt, rows) for prompt, rows in groups if prompt not in asked][:count]

    def _keep_surplus(self, rows: list[TensorRow], generation: Generation, groups: Tensor, prompts: list[int]) -> None:
        """Keep the rows of these groups for the next step, if they have log-probabilities."""
        if "old_per_token_logps" in rows[0]:
            for place in groups.nonzero().flatten():
                one = torch.zeros_like(groups).index_fill(0, place, True)
                self.surplus.append((prompts[place], [*map(copy_row, select_rows_of(rows, generation, one))]))


def select_rows_of(rows: list[TensorRow], generation: Generation, groups: Tensor) -> list[TensorRow]:
    """Return the rows of this rank that belong to the groups. `groups`: (groups,)"""
    return [row for row, is_in in zip(rows, generation.find_rows(groups).tolist(), strict=True) if is_in]


def draw_rows(
    stream: PromptStream,
    dataset: Any,
    count: int,
    num_generations: int,
    accelerator: Accelerator,
    avoid: Collection[int] = (),
) -> list[dict[str, Any]]:
    """Draw `count` prompts or a few more on all ranks, so that each gets as many rows, and return the rows of this rank."""
    ranks = accelerator.num_processes
    step = ranks // math.gcd(ranks, num_generations)
    drawn = draw_others(stream, math.ceil(count / step) * step, avoid)
    places = [place for place in drawn[: len(drawn) // step * step] for _ in range(num_generations)]
    share = len(places) // ranks
    first = accelerator.process_index * share
    return [{**dataset[place], PLACE_COLUMN: place} for place in places[first : first + share]]


def draw_others(stream: PromptStream, count: int, avoid: Collection[int]) -> list[int]:
    """Return up to `count` rows that are not among those to avoid, each once. Fewer if the rows begin anew."""
    rows, before, tried = list[int](), stream.position, 0
    while len(rows) < count and stream.position - before < stream.size:
        (row,) = stream.draw(1)
        tried += 1
        if row not in rows and (row not in avoid or not stream.has_prompts):
            rows.append(row)
    stream.skipped = 1.0 - tried / (stream.position - before) if tried else 0.0
    return rows
