"""Which prompts are sampled: their order, selective drawing of those that teach, and resampling in place of dead groups."""

import math
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from ..errors import CheckpointMismatch
from ..records.fields import hash_prompt, make_readable
from ..records.files import find_record_files, read_records
from .config import FilteredGRPOConfig
from .groups import Generation
from .placement import copy_row, spread_groups
from .rows import TensorBatch, TensorRow


PLACE_COLUMN = "trl_grpo_rewards_place"  # index of a prompt; rewards and records do not see it
STATE_FILE = "prompts.npz"  # the file in a checkpoint with the state of the stream
MAX_SKIPS = 9  # maximum number of times in a row that a prompt is skipped. The next time, it is drawn.
KEPT = 0.2  # of a prompt's counts when its next group is counted, since the model learns in between
POOL_KEPT = 0.99  # of the counts of all prompts at each group: about the last hundred count
PRIOR_WEIGHT = 8  # number of completions that a pass rate in `selective_prior` counts as


class PromptStream:
    """Rows of a dataset of `size` rows, epoch after epoch, in an order that is shuffled by the seed and the epoch."""

    def __init__(self, size: int, seed: int, shuffle: bool = True) -> None:
        self.size, self.seed, self.shuffle = size, seed, shuffle
        self.position, self.epoch = 0, -1
        self.skipped = 0.0  # share of rows that were skipped in the last draw
        self.has_prompts = True
        self.drawn: list[np.ndarray] = []  # the batches of this epoch, if the sampler is not TRL's

    def draw(self, count: int) -> list[int]:
        """Return the next rows."""
        return [self._advance()[0] for _ in range(count)]

    def _advance(self) -> tuple[int, float]:
        """Return the next row, and a random number between 0 and 1 that belongs to it."""
        epoch, index = divmod(self.position, self.size)
        self.position += 1
        if epoch != self.epoch:
            generator = torch.Generator().manual_seed(self.seed + epoch)
            shuffled = torch.randperm(self.size, generator=generator)
            self.epoch, self.order = epoch, shuffled if self.shuffle else torch.arange(self.size)
            self.luck = torch.rand(self.size, generator=generator)
        return int(self.order[index]), float(self.luck[index])

    def get_state(self) -> dict[str, Any]:
        """Return what is saved in a checkpoint, and must be equal on all ranks."""
        return {"size": np.array(self.size), "position": np.array(self.position)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from the state of a checkpoint."""
        self.position = int(state["position"])

    def save(self, folder: Path, at_end: bool) -> None:
        """Write the state to a checkpoint. `at_end` says whether an epoch has just ended."""
        drawn = np.array([] if at_end else self.drawn, np.int32)
        np.savez(folder / STATE_FILE, drawn=drawn, **self.get_state())

    def load(self, folder: Path) -> None:
        """Restore the state of a checkpoint, if there is one: a run that drew no prompts itself has written none."""
        if not (folder / STATE_FILE).exists():
            return
        with np.load(folder / STATE_FILE) as file:
            state = dict(file)
        if state["size"] != self.size:
            raise CheckpointMismatch(
                f"The checkpoint in {folder} must be resumed with the {state['size']} prompts that it was trained on; the "
                f"dataset has {self.size}. Load the same dataset, or start a new run from its weights."
            )
        self.set_state(state)

    def check_ranks(self) -> None:
        """Check that all ranks draw the same prompts, or groups would mix prompts. Every rank must call this."""
        checksum = 0
        for array in self.get_state().values():
            checksum = zlib.crc32(array.tobytes(), checksum)
        states = gather_object([(self.position, checksum)])
        if len({*states}) > 1:
            raise RuntimeError(
                f"All ranks must draw the same prompts, but their positions in the prompts differ: (prompts taken, "
                f"checksum) is {', '.join(f'{state} on rank {rank}' for rank, state in enumerate(states))}. If the "
                f"machines do not share a disk, train with save_on_each_node=True, and resume from a checkpoint that "
                f"every machine has written."
            )


class SelectiveStream(PromptStream):
    """Rows of [`PromptStream`], each drawn with the square of the probability that its next group is live."""

    def __init__(self, size: int, seed: int, shuffle: bool, group: int, prior: np.ndarray | None = None) -> None:
        super().__init__(size, seed, shuffle)
        self.group = group
        self.counts = np.zeros((2, size), np.float32)  # right and wrong completions of each prompt
        if prior is not None:
            self.counts += PRIOR_WEIGHT * np.nan_to_num([prior, 1 - prior])
        self.pool = np.ones(2)  # right and wrong shares of groups of all prompts
        self.skips = np.zeros(size, np.uint8)  # in a row
        self.is_resumed = False

    def draw(self, count: int) -> list[int]:
        """Return the next rows, and set `skipped` to the share of rows that were skipped on the way."""
        rows: list[int] = []
        before = self.position
        while len(rows) < count:
            row, luck = self._advance()
            if self.skips[row] >= MAX_SKIPS or luck < self.predict_live(row) ** 2:
                rows.append(row)
            else:
                self.skips[row] += 1
        self.skipped = 1.0 - count / (self.position - before)
        return rows

    def predict_live(self, row: int) -> float:
        """Return the probability that the next group of a prompt has right and wrong completions, or 1 if not known."""
        if not self.counts[:, row].any():
            return 1.0
        # The parameters of a beta distribution: right and wrong completions, and the recent pass rate as one more.
        counts: list[float] = (self.counts[:, row] + self.pool / self.pool.sum()).tolist()
        same = [math.prod((one + drawn) / (sum(counts) + drawn) for drawn in range(self.group)) for one in counts]
        return 1.0 - sum(same)  # `same` has the probabilities that all completions are right, and that all are wrong

    def learn(self, rows: Sequence[int], right: Sequence[int], scored: Sequence[int]) -> None:
        """Count the groups of these rows, given how many completions of each group were right and how many scored."""
        for row, passed, total in zip(rows, right, scored, strict=True):
            weight = self.skips[row] + 1.0  # so that all prompts count equally in the pool
            self.skips[row] = 0
            if total:
                group = np.array([passed, total - passed])
                self.counts[:, row] = KEPT * self.counts[:, row] + group
                self.pool = POOL_KEPT * self.pool + weight * group / total

    def draw_batches(self, count: int, size: int) -> Iterator[list[int]]:
        """Draw the batches of an epoch. An epoch that was interrupted begins with the batches drawn before."""
        if not self.is_resumed:
            self.drawn = []
        self.is_resumed = False
        for place in range(count):
            if place == len(self.drawn):
                self.drawn.append(np.array(self.draw(size), np.int32))
            yield self.drawn[place].tolist()

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "counts": self.counts, "pool": self.pool, "skips": self.skips}

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        if "counts" in state:  # otherwise the run was not selective before, and all prompts count as new
            self.counts, self.pool, self.skips = state["counts"], state["pool"], state["skips"]
            self.drawn, self.is_resumed = [*state["drawn"]], True


class PlacedRows(Dataset[dict[str, Any]]):
    """Rows of a dataset with their index in it. The dataset is not rewritten, even if it is shuffled or filtered."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {**self.dataset[index], PLACE_COLUMN: index}


class SelectiveSampler(Sampler[int]):
    """Sampler that repeats prompts as TRL's sampler `repeated` does, but draws them from a stream."""

    def __init__(self, repeated: Any, stream: SelectiveStream) -> None:
        self.repeated, self.stream = repeated, stream

    def __iter__(self) -> Iterator[int]:
        like = self.repeated
        for batch in self.stream.draw_batches(like.num_samples // like.batch_size, like.batch_size):
            for _ in range(like.repeat_count):
                for row in batch:
                    yield from [row] * like.mini_repeat_count

    def __len__(self) -> int:
        return len(self.repeated)


def build_sampler(repeated: Any, prompts: PromptStream | None) -> Sampler[int]:
    """Return the sampler of a run: TRL's sampler `repeated`, unless the stream of prompts is selective."""
    return SelectiveSampler(repeated, prompts) if isinstance(prompts, SelectiveStream) else repeated


def build_prompts(
    args: FilteredGRPOConfig, dataset: Any, prior: np.ndarray | None, has_prompts: bool
) -> PromptStream | None:
    """Return the stream that a run draws prompts from, or None if TRL alone draws them. `prior` is from [`read_prior`]."""
    if not (args.selective or args.max_resample_rounds):
        return None
    order = len(dataset), args.seed + 1, args.shuffle_dataset
    stream = SelectiveStream(*order, args.num_generations, prior) if args.selective else PromptStream(*order)
    stream.has_prompts = has_prompts  # otherwise, an environment gives another prompt for a row each time
    return stream


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
        known, self.surplus = [one for one in self.surplus if one[0] not in asked], []
        carried = known[: wanted - alive]
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
            for place in (live & ~used).nonzero().flatten() if "old_per_token_logps" in fresh[0] else ():
                one = torch.zeros_like(live).index_fill(0, place, True)
                self.surplus.append((prompts[place], [*map(copy_row, select_rows_of(fresh, generation, one))]))
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


def read_prior(prior: str | None, dataset: Any) -> np.ndarray | None:
    """Return the expected pass rate of each prompt, with NaN where it is not known, or None without a prior."""
    if prior is None:
        return None
    if prior in dataset.column_names:
        values = dataset.with_format(None)[prior]
        rates = [check_rate(value, f"Row {row} of the column {prior!r}") for row, value in enumerate(values)]
    elif Path(prior).is_dir():
        known = read_pass_rates(prior)
        rates = [known.get(hash_prompt(make_readable(prompt)), math.nan) for prompt in dataset["prompt"]]
    else:
        raise ValueError(
            f"selective_prior={prior!r} must be a column of the dataset or the output folder of an earlier run; there is no "
            f"such folder, and the columns are {', '.join(map(repr, sorted(dataset.column_names)))}. Correct the name."
        )
    if all(map(math.isnan, rates)):
        raise ValueError(
            f"selective_prior={prior!r} must have pass rates of the dataset's prompts; it has none for all {len(rates):,} of "
            f"them. Choose another column, or a run with the same prompts, system prompt included."
        )
    return np.array(rates)


def check_rate(value: Any, place: str) -> float:
    """Return a pass rate, or NaN if the value is missing."""
    if value is None or value != value:
        return math.nan
    if not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError(
            f"{place} must be a pass rate from 0 to 1, or None if it is not known; got {value!r}. Divide percentages by "
            f"100, and write numbers as numbers."
        )
    return float(value)


def read_pass_rates(folder: str) -> dict[str, float]:
    """Return the share of right completions of each prompt in the records of a run, by the prompt's id."""
    find_record_files(folder)  # raises FileNotFoundError
    outcomes = defaultdict[str, list[bool]](list)
    for record in read_records(folder):
        rewards = record["rewards"]
        scores = rewards.get(record.get("outcome_reward"), next(iter(rewards.values()), []))
        prompt = record.get("dataset_prompt_id", record["prompt_id"])
        outcomes[prompt] += [score >= 1 for score in scores if score is not None]
    return {prompt: fmean(right) for prompt, right in outcomes.items() if right}
