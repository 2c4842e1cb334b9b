"""Which prompts come next: in the order of a dataset, or of these the ones whose group is likely to teach something."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Sampler

from .rates import beta, power


STATE = "prompts.json"
"""The file in a checkpoint that says how many prompts were taken."""

MEMORY = "selective.npz"
"""The file in a checkpoint with what is known of prompts, and those that were drawn in this epoch."""

FORGET = 0.5
"""What is kept of a prompt's counts when its next group is counted, since the model has changed."""

FLOOR = 0.1
"""Least probability with which a prompt is drawn when its turn comes."""

PATIENCE = 9
"""How often in a row a prompt may be passed over; the next time it is drawn."""

DRIFT = 0.01
"""Weight of a new group in the moments of all pass rates, and in the line that corrects what is expected."""

ALIKE = np.array([1, 1 / 2, 1 / 2, 1 / 3, 1 / 3])
"""Moments of expected and observed shares of live groups, where what is expected is right: 1, x, y, xx, xy."""


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
        self.epoch = -1

    def take(self, count: int) -> list[int]:
        """The next rows."""
        return [self._next()[0] for _ in range(count)]

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
        if (folder / STATE).exists():
            self.taken = json.loads((folder / STATE).read_text())["taken"]


class SelectiveStream(PromptStream):
    """
    Rows in the same order, less those whose next group is likely to teach nothing.

    What is known of a prompt is how many of its completions were right and how many there were, decayed from group to
    group: with the distribution of pass rates over all prompts as prior, a beta distribution of its own rate p, and so
    the probability that of the next G completions some are right and some wrong, 1 - E[p^G] - E[(1 - p)^G]. The model
    learns between two groups of a prompt, so that a line through what was expected of late and what was seen corrects
    it. A prompt is drawn with the square of that, but at least with [`FLOOR`], always after [`PATIENCE`] times in vain,
    and always if nothing is known of it.

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
        self.right, self.scored = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self.passed_over = np.zeros(size, np.uint8)
        self.moments = np.array([1 / 2, 1 / 3])  # of pass rates that are anywhere alike
        self.line = 8 * ALIKE  # as if eight groups had been seen
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
        self.skipped = 1.0 - count / (self.taken - before)
        return rows

    def _welcome(self, row: int) -> float:
        """Probability with which a prompt is drawn when its turn comes."""
        if self.scored[row] == 0 or self.passed_over[row] >= PATIENCE:
            return 1.0
        return max(self.live_chance(row) ** 2, FLOOR)

    def live_chance(self, row: int) -> float:
        """Probability that the next group of a prompt has right and wrong completions."""
        count, x, y, xx, xy = self.line
        slope = max((count * xy - x * y) / (count * xx - x * x), 0.1)
        return min(max((y + slope * (count * self._expected(row) - x)) / count, 0.01), 0.99)

    def _expected(self, row: int) -> float:
        """The same, if the rate of the prompt is what it was."""
        right, wrong = beta(*self.moments)
        right, wrong = right + self.right[row], wrong + self.scored[row] - self.right[row]
        return 1.0 - power(right, wrong, self.group) - power(wrong, right, self.group)

    def learn(self, rows: Sequence[int], right: Sequence[int], scored: Sequence[int]) -> None:
        """Count the groups of these rows: how many of their completions are right, and of how many."""
        weights = [1.0 / self._welcome(row) for row in rows]  # so that the moments are those of all prompts
        for row, passed, of, weight in zip(rows, right, scored, weights, strict=True):
            if of > 1:
                x, live = self._expected(row), 0 < passed < of
                self.line = (1 - DRIFT) * self.line + np.array([1, x, live, x * x, x * live])
                seen = np.array([passed / of, passed * (passed - 1) / (of * (of - 1))])
                self.moments += DRIFT * weight * (seen - self.moments)
            self.right[row] = FORGET * self.right[row] + passed
            self.scored[row] = FORGET * self.scored[row] + of
            self.passed_over[row] = 0

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
        memory = {name: getattr(self, name) for name in ("right", "scored", "passed_over", "moments", "line")}
        np.savez(folder / MEMORY, drawn=drawn, **memory)

    def load(self, folder: Path) -> None:
        super().load(folder)
        if (folder / MEMORY).exists():
            with np.load(folder / MEMORY) as memory:
                self.right, self.scored = memory["right"], memory["scored"]
                self.passed_over, self.moments, self.line = memory["passed_over"], memory["moments"], memory["line"]
                self.drawn = [*memory["drawn"]]
            self.resumes = True


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
