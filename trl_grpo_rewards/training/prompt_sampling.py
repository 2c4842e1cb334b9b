"""The choice of the next prompts: all prompts in order, or mainly those whose groups are likely to be live."""

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import datasets
import numpy as np
import torch
from torch.utils.data import Dataset, Sampler

from ..records.beta import beta_moment, fit_beta


PLACE_COLUMN = "place_in_dataset"
"""Column with the index of a prompt in the dataset, for selective drawing. Rewards and records do not see it."""

POSITION_FILE = "prompts.json"
"""The file in a checkpoint with the position in the order of the prompts."""

MEMORY_FILE = "selective.npz"
"""The file in a checkpoint with what is known about each prompt, and the batches that were drawn in this epoch."""

SAVED_ATTRIBUTES = ("counts", "counted", "groups", "moments", "passed_over", "trust")
"""The attributes of a [`SelectiveStream`] that this file holds, in addition to the batches."""


class Belief(NamedTuple):
    """
    An assumption about how well the past completions of a prompt predict its next ones.

    Args:
        retention (`float`):
            Share of a prompt's counts that is left after as many groups were counted as the dataset has prompts.
        strength (`float`):
            Factor of all counts. A value below 1 makes the pass rate less certain than the counts alone would.
        slip (`float`):
            Number of right completions, and of wrong ones, that is added to the counts.
    """

    retention: float
    strength: float
    slip: float


BELIEFS = (
    Belief(retention=0.2, strength=0.1, slip=0.05),
    Belief(retention=0.4, strength=0.25, slip=0.2),
    Belief(retention=1.0, strength=1.0, slip=0.0),
)
"""Three assumptions: the pass rate of a prompt changes from one group to the next, changes slowly, or stays constant."""

RETENTION, STRENGTH, SLIP = (np.array(values)[:, None] for values in zip(*BELIEFS, strict=True))

TRUST_EXPONENT = 0.99
"""Exponent of the trust in beliefs when a group is counted, so that it depends on about the last hundred groups."""

MOMENTS_RATE = 0.005
"""Weight of a new group in the moments of all pass rates."""

MIN_CHANCE = 0.1
"""Minimum probability with which a prompt is drawn when its turn comes."""

MAX_SKIPS = 9
"""Maximum number of times in a row that a prompt is skipped. The next time, it is drawn."""


class PromptStream:
    """
    Rows of a dataset in a shuffled order, epoch after epoch.

    Args:
        size (`int`):
            Number of rows of the dataset.
        seed (`int`):
            Seed of the order, which is different in each epoch.
        shuffle (`bool`, *optional*, defaults to `True`):
            If `False`, the rows stay in the order of the dataset.
    """

    def __init__(self, size: int, seed: int, shuffle: bool = True) -> None:
        self.size, self.seed, self.shuffle = size, seed, shuffle
        self.position = 0
        self.checksum = 0
        self.epoch = -1

    def compute_fingerprint(self) -> tuple[int, int]:
        """Return the position and a checksum of what was drawn and loaded. Both are equal if two streams are equal."""
        return self.position, self.checksum

    def _update_checksum(self, value: int) -> None:
        self.checksum = (self.checksum * 1_000_003 + value + 1) % 2**61

    def draw(self, count: int) -> list[int]:
        """Return the next rows."""
        rows = [self._advance()[0] for _ in range(count)]
        for row in rows:
            self._update_checksum(row)
        return rows

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

    def save(self, folder: Path, at_end: bool) -> None:
        """Write the state from which the stream can continue. `at_end` says whether an epoch has just ended."""
        (folder / POSITION_FILE).write_text(json.dumps({"taken": self.position, "size": self.size}))

    def load(self, folder: Path) -> None:
        """
        Restore the state that was saved, if there is one.

        Raises:
            `ValueError`: it was saved with another number of prompts.
        """
        if (folder / POSITION_FILE).exists():
            state = json.loads((folder / POSITION_FILE).read_text())
            if state.get("size", self.size) != self.size:
                raise ValueError(
                    f"The checkpoint in {folder} must be resumed with the {state['size']} prompts that it was trained "
                    f"on; the dataset has {self.size}. Load the same dataset, or start a new run from its weights."
                )
            self.position = state["taken"]


class SelectiveStream(PromptStream):
    """
    Rows in the same order as in [`PromptStream`]. Most rows whose next group is unlikely to be live are skipped.

    The stream counts right and wrong completions of each prompt. With the distribution of pass rates over all prompts
    as the prior, the counts give a beta distribution of the prompt's pass rate p. The next G completions of the prompt
    include both right and wrong ones with probability 1 - E[p^G] - E[(1 - p)^G]. How long counts stay valid depends on
    how fast the model learns. The stream therefore averages over several [`BELIEFS`], weighted by how likely each one
    made recent groups.

    A prompt is drawn with a chance equal to the square of this probability, but at least [`MIN_CHANCE`]. It is always
    drawn after [`MAX_SKIPS`] skips in a row, and as long as nothing is known about it.

    Args:
        size (`int`):
            Number of rows of the dataset.
        seed (`int`):
            Seed of the order and of the draws.
        shuffle (`bool`):
            If `False`, the rows stay in the order of the dataset.
        group (`int`):
            Number of completions of a group.
    """

    def __init__(self, size: int, seed: int, shuffle: bool, group: int) -> None:
        super().__init__(size, seed, shuffle)
        self.group = group
        self.counts = np.zeros((len(BELIEFS), 2, size), np.float32)  # right and wrong completions, when last counted
        self.counted = np.zeros(size, np.uint32)  # the value of `groups` at that time, or 0
        self.groups = 0  # number of groups that were counted
        self.trust = np.full(len(BELIEFS), 1 / len(BELIEFS))  # weight of each belief, with a sum of 1
        self.passed_over = np.zeros(size, np.uint8)  # number of skips in a row
        self.moments = np.array([1 / 2, 1 / 3])  # mean and mean square of pass rates, at first of uniform ones
        self.drawn: list[np.ndarray] = []  # the batches of this epoch
        self.is_resumed, self.skipped = False, 0.0

    def draw(self, count: int) -> list[int]:
        """Return the next rows, and set `skipped` to the share of rows that were skipped on the way."""
        rows: list[int] = []
        before = self.position
        while len(rows) < count:
            row, luck = self._advance()
            if luck < self._compute_chance(row):
                rows.append(row)
            else:
                self.passed_over[row] += 1
        for row in rows:
            self._update_checksum(row)
        self.skipped = 1.0 - count / (self.position - before)
        return rows

    def _compute_chance(self, row: int) -> float:
        """Return the probability with which a prompt is drawn when its turn comes."""
        if not self._is_known(row) or self.passed_over[row] >= MAX_SKIPS:
            return 1.0
        return max(self.predict_live(row) ** 2, MIN_CHANCE)

    def _is_known(self, row: int) -> bool:
        return bool(self.counted[row] > 0)

    def predict_live(self, row: int) -> float:
        """Return the probability that the next group of a prompt has right and wrong completions."""
        if not self._is_known(row):
            return self._compute_mixed(*fit_beta(*self.moments.tolist()))
        return float(self.trust @ self._predict_by_belief(row))

    def _predict_by_belief(self, row: int) -> np.ndarray:
        """Return the probability under each belief that the next group has right and wrong completions."""
        shapes = STRENGTH * (fit_beta(*self.moments.tolist()) + self._fade_counts(row) + SLIP)
        return np.array([self._compute_mixed(right, wrong) for right, wrong in shapes.tolist()])

    def _fade_counts(self, row: int) -> np.ndarray:
        """Return the numbers of right and wrong completions that each belief still counts."""
        passes = (self.groups - int(self.counted[row])) / self.size
        return self.counts[:, :, row] * RETENTION**passes

    def _compute_mixed(self, right: float, wrong: float) -> float:
        """Return the probability that a group has right and wrong completions for p ~ Beta(right, wrong)."""
        return min(
            max(1.0 - beta_moment(right, wrong, self.group) - beta_moment(wrong, right, self.group), 0.001), 0.999
        )

    def learn(self, rows: Sequence[int], right: Sequence[int], scored: Sequence[int]) -> None:
        """Count the groups of these rows, given how many completions of each group were right and how many scored."""
        weights = [1.0 / self._compute_chance(row) for row in rows]  # so that the moments are those of all prompts
        for row, passed, total, weight in zip(rows, right, scored, weights, strict=True):
            if total > 1:
                if self._is_known(row):
                    chances = self._predict_by_belief(row)
                    likelihoods = chances if 0 < passed < total else 1.0 - chances
                    self.trust = np.maximum(self.trust**TRUST_EXPONENT * likelihoods, 1e-12)  # each can recover
                    self.trust /= self.trust.sum()
                moments = np.array([passed / total, passed * (passed - 1) / (total * (total - 1))])
                self.moments += MOMENTS_RATE * weight * (moments - self.moments)
        self.groups += len(rows)
        for row, passed, total in zip(rows, right, scored, strict=True):
            self.passed_over[row] = 0
            if total:
                self.counts[:, :, row] = self._fade_counts(row) + [passed, total - passed]
                self.counted[row] = self.groups

    def draw_batches(self, count: int, size: int) -> Iterator[list[int]]:
        """Draw the batches of an epoch. An epoch that was interrupted begins with the batches drawn before."""
        if not self.is_resumed:
            self.drawn = []
        self.is_resumed = False
        for place in range(count):
            if place == len(self.drawn):
                self.drawn.append(np.array(self.draw(size), np.int32))
            yield self.drawn[place].tolist()

    def save(self, folder: Path, at_end: bool) -> None:
        super().save(folder, at_end)
        drawn = np.array([] if at_end else self.drawn, np.int32)
        np.savez(folder / MEMORY_FILE, drawn=drawn, **{name: getattr(self, name) for name in SAVED_ATTRIBUTES})

    def load(self, folder: Path) -> None:
        super().load(folder)
        if (folder / MEMORY_FILE).exists():
            with np.load(folder / MEMORY_FILE) as memory:
                for name in SAVED_ATTRIBUTES:
                    setattr(self, name, memory[name])
                self.groups = int(self.groups)
                self.drawn = [*memory["drawn"]]
                saved = b"".join(memory[name].tobytes() for name in (*SAVED_ATTRIBUTES, "drawn"))
                self._update_checksum(zlib.crc32(saved))
            self.is_resumed = True


class PlacedRows(Dataset[dict[str, Any]]):
    """
    Rows of a dataset with their index in it. The dataset is not rewritten, even if it is shuffled or filtered.

    Args:
        dataset (`datasets.Dataset`):
            The dataset.
    """

    def __init__(self, dataset: datasets.Dataset) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {**self.dataset[index], PLACE_COLUMN: index}


class RepeatSampler(Protocol):
    """The part of TRL's sampler of the same name that [`SelectiveSampler`] uses."""

    num_samples: int
    batch_size: int
    repeat_count: int
    mini_repeat_count: int

    def __len__(self) -> int: ...


class SelectiveSampler(Sampler[int]):
    """
    Sampler that repeats prompts as TRL's sampler does, but draws them from a stream.

    Args:
        repeated ([`~trl.trainer.utils.RepeatSampler`]):
            TRL's sampler, which says how many prompts a batch has and how often they are repeated.
        stream ([`SelectiveStream`]):
            The stream of prompts.
    """

    def __init__(self, repeated: RepeatSampler, stream: SelectiveStream) -> None:
        self.repeated, self.stream = repeated, stream

    def __iter__(self) -> Iterator[int]:
        like = self.repeated
        for batch in self.stream.draw_batches(like.num_samples // like.batch_size, like.batch_size):
            for _ in range(like.repeat_count):
                for row in batch:
                    yield from [row] * like.mini_repeat_count

    def __len__(self) -> int:
        return len(self.repeated)
