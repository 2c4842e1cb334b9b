"""Which prompts come next: in the order of a dataset, or of these the ones whose group is likely to teach something."""

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import Dataset, Sampler

from ..records.beta import beta, power


PLACE = "place_in_dataset"
"""Column with the place of a prompt in the dataset, for selective drawing. No reward and no record sees it."""

STATE = "prompts.json"
"""The file in a checkpoint that says how many prompts were taken."""

MEMORY = "selective.npz"
"""The file in a checkpoint with what is known of prompts, and those that were drawn in this epoch."""

REMEMBERED = ("counts", "counted", "groups", "moments", "passed_over", "trust")
"""What of a stream is in it."""


class Belief(NamedTuple):
    """
    How far what a prompt was answered tells what it will be.

    Args:
        kept (`float`):
            Of its counts by the time that as many groups were counted as there are prompts.
        strength (`float`):
            What a count is worth: below 1 the rate is less certain than the counts alone would make it.
        slip (`float`):
            Right completions, and wrong ones, imagined beside those counted.
    """

    kept: float
    strength: float
    slip: float


BELIEFS = (
    Belief(kept=0.2, strength=0.1, slip=0.05),
    Belief(kept=0.4, strength=0.25, slip=0.2),
    Belief(kept=1.0, strength=1.0, slip=0.0),
)
"""The model learns fast, so that rates change between two groups of a prompt; it learns; or rates last."""

KEPT, STRENGTH, SLIP = np.array(BELIEFS).T[:, :, None]

RECENT = 0.99
"""Exponent of the trust in beliefs when a group is counted, so that about the last hundred groups make it."""

DRIFT = 0.005
"""Weight of a new group in the moments of all pass rates."""

FLOOR = 0.1
"""Least probability with which a prompt is drawn when its turn comes."""

PATIENCE = 9
"""How often in a row a prompt may be passed over; the next time it is drawn."""


class PromptStream:
    """
    Rows of a dataset in an order of their own, epoch after epoch.

    Args:
        size (`int`):
            Rows of the dataset.
        seed (`int`):
            Of the order, which is another one in each epoch.
        shuffle (`bool`, *optional*, defaults to `True`):
            Else the order is the dataset's.
    """

    def __init__(self, size: int, seed: int, shuffle: bool = True) -> None:
        self.size, self.seed, self.shuffle = size, seed, shuffle
        self.taken = 0
        self.checksum = 0
        self.epoch = -1

    def fingerprint(self) -> tuple[int, int]:
        """Number of prompts taken, and a checksum of what was taken and loaded: equal where streams are equal."""
        return self.taken, self.checksum

    def _note(self, value: int) -> None:
        self.checksum = (self.checksum * 1_000_003 + value + 1) % 2**61

    def take(self, count: int) -> list[int]:
        """The next rows."""
        rows = [self._next()[0] for _ in range(count)]
        for row in rows:
            self._note(row)
        return rows

    def _next(self) -> tuple[int, float]:
        """The next row, and a number between 0 and 1 that is drawn for it."""
        epoch, index = divmod(self.taken, self.size)
        self.taken += 1
        if epoch != self.epoch:
            generator = torch.Generator().manual_seed(self.seed + epoch)
            shuffled = torch.randperm(self.size, generator=generator)
            self.epoch, self.order = epoch, shuffled if self.shuffle else torch.arange(self.size)
            self.luck = torch.rand(self.size, generator=generator)
        return int(self.order[index]), float(self.luck[index])

    def save(self, folder: Path, at_end: bool) -> None:
        """Write all that is needed to go on from here; `at_end` of an epoch or within it."""
        (folder / STATE).write_text(json.dumps({"taken": self.taken}))

    def load(self, folder: Path) -> None:
        """Go on from what was saved, if anything was."""
        if (folder / STATE).exists():
            self.taken = json.loads((folder / STATE).read_text())["taken"]


class SelectiveStream(PromptStream):
    """
    Rows in the same order, less those whose next group is likely to teach nothing.

    What is known of a prompt is how many of its completions were right and how many wrong: with the distribution of
    pass rates over all prompts as prior, a beta distribution of its own rate p, and so the probability that of the next
    G completions some are right and some wrong, 1 - E[p^G] - E[(1 - p)^G]. How long that holds depends on how fast the
    model learns; so there are several [`BELIEFS`], and each has the weight of how likely it made what was seen of late.
    A prompt is drawn with the square of the probability, but at least with [`FLOOR`], always after [`PATIENCE`] times
    in vain, and always if nothing is known of it.

    Args:
        size (`int`):
            Rows of the dataset.
        seed (`int`):
            Of the order and of the draws.
        shuffle (`bool`):
            Else the order is the dataset's.
        group (`int`):
            Completions of a group.
    """

    def __init__(self, size: int, seed: int, shuffle: bool, group: int) -> None:
        super().__init__(size, seed, shuffle)
        self.group = group
        self.counts = np.zeros((len(BELIEFS), 2, size), np.float32)  # right and wrong completions, when last counted
        self.counted = np.zeros(size, np.uint32)  # of all groups, how many were counted until then
        self.groups = 0
        self.trust = np.full(len(BELIEFS), 1 / len(BELIEFS))  # in each belief; 1 in all
        self.passed_over = np.zeros(size, np.uint8)
        self.moments = np.array([1 / 2, 1 / 3])  # of pass rates that are anywhere alike
        self.drawn: list[np.ndarray] = []  # in this epoch, a batch each
        self.resumes, self.skipped = False, 0.0

    def take(self, count: int) -> list[int]:
        """The next rows; `skipped` is then the share of those that were passed over on the way."""
        rows: list[int] = []
        before = self.taken
        while len(rows) < count:
            row, luck = self._next()
            if luck < self._welcome(row):
                rows.append(row)
            else:
                self.passed_over[row] += 1
        for row in rows:
            self._note(row)
        self.skipped = 1.0 - count / (self.taken - before)
        return rows

    def _welcome(self, row: int) -> float:
        """Probability with which a prompt is drawn when its turn comes."""
        if not self._known(row) or self.passed_over[row] >= PATIENCE:
            return 1.0
        return max(self.live_chance(row) ** 2, FLOOR)

    def _known(self, row: int) -> bool:
        return self.counted[row] > 0

    def live_chance(self, row: int) -> float:
        """Probability that the next group of a prompt has right and wrong completions."""
        if not self._known(row):
            return self._live(*beta(*self.moments.tolist()))
        return float(self.trust @ self._believed(row))

    def _believed(self, row: int) -> np.ndarray:
        """The same by each belief."""
        shapes = STRENGTH * (beta(*self.moments.tolist()) + self._faded(row) + SLIP)
        return np.array([self._live(right, wrong) for right, wrong in shapes.tolist()])

    def _faded(self, row: int) -> np.ndarray:
        """Right and wrong completions as each belief has them now."""
        passes = (self.groups - int(self.counted[row])) / self.size
        return self.counts[:, :, row] * KEPT**passes

    def _live(self, right: float, wrong: float) -> float:
        return min(max(1.0 - power(right, wrong, self.group) - power(wrong, right, self.group), 0.001), 0.999)

    def learn(self, rows: Sequence[int], right: Sequence[int], scored: Sequence[int]) -> None:
        """Count the groups of these rows: how many of their completions are right, and of how many."""
        weights = [1.0 / self._welcome(row) for row in rows]  # so that the moments are those of all prompts
        for row, passed, of, weight in zip(rows, right, scored, weights, strict=True):
            if of > 1:
                if self._known(row):
                    chances = self._believed(row)
                    seen = chances if 0 < passed < of else 1.0 - chances
                    self.trust = np.maximum(self.trust**RECENT * seen, 1e-12)  # so that none is lost for good
                    self.trust /= self.trust.sum()
                moments = np.array([passed / of, passed * (passed - 1) / (of * (of - 1))])
                self.moments += DRIFT * weight * (moments - self.moments)
        self.groups += len(rows)
        for row, passed, of in zip(rows, right, scored, strict=True):
            self.passed_over[row] = 0
            if of:
                self.counts[:, :, row] = self._faded(row) + [passed, of - passed]
                self.counted[row] = self.groups

    def batches(self, count: int, size: int) -> Iterator[list[int]]:
        """The batches of an epoch; of one that was interrupted first those that had been drawn."""
        if not self.resumes:
            self.drawn = []
        self.resumes = False
        for place in range(count):
            if place == len(self.drawn):
                self.drawn.append(np.array(self.take(size), np.int32))
            yield self.drawn[place].tolist()

    def save(self, folder: Path, at_end: bool) -> None:
        super().save(folder, at_end)
        drawn = np.array([] if at_end else self.drawn, np.int32)
        np.savez(folder / MEMORY, drawn=drawn, **{name: getattr(self, name) for name in REMEMBERED})

    def load(self, folder: Path) -> None:
        super().load(folder)
        if (folder / MEMORY).exists():
            with np.load(folder / MEMORY) as memory:
                for name in REMEMBERED:
                    setattr(self, name, memory[name])
                self.groups = int(self.groups)
                self.drawn = [*memory["drawn"]]
                self._note(zlib.crc32(b"".join(memory[name].tobytes() for name in (*REMEMBERED, "drawn"))))
            self.resumes = True


class PlacedRows(Dataset):
    """
    Rows of a dataset with their place in it. The dataset is not rewritten, even if it is shuffled or filtered.

    Args:
        dataset (`datasets.Dataset`):
            Gives the rows.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, place: int) -> dict[str, Any]:
        return {**self.dataset[place], PLACE: place}


class SelectiveSampler(Sampler):
    """
    What TRL's sampler of repeated prompts gives, with the prompts of a stream.

    Args:
        repeated (`Sampler`):
            TRL's, which says how many prompts are in a batch and how often they are repeated.
        stream ([`SelectiveStream`]):
            Gives the prompts.
    """

    def __init__(self, repeated: Sampler, stream: SelectiveStream) -> None:
        self.repeated, self.stream = repeated, stream

    def __iter__(self) -> Iterator[int]:
        like = self.repeated
        for batch in self.stream.batches(like.num_samples // like.batch_size, like.batch_size):
            for _ in range(like.repeat_count):
                for row in batch:
                    yield from [row] * like.mini_repeat_count

    def __len__(self) -> int:
        return len(self.repeated)
