"""Selective drawing: prompts whose groups are likely to be live are drawn more often than others."""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..records.beta import beta_moment, count_likelihood, fit_beta
from .calibration import Calibration
from .foresight import POOL, Foresight
from .prompt_features import READ_AHEAD
from .prompt_stream import PromptStream


MEMORY_FILE = "selective.npz"
"""The file in a checkpoint with what is known about each prompt, and the batches that were drawn in this epoch."""

SAVED_ATTRIBUTES = ("counts", "counted", "groups", "moments", "passed_over", "belief_shares")
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

BELIEF_MEMORY = 0.99
"""Exponent of the shares of beliefs when a group is counted, so that it depends on about the last hundred groups."""

MOMENTS_RATE, FIRST_GROUPS = 0.005, 16
"""Weight of a new group in the moments of all pass rates, and number of groups that their first values count as."""

MAX_SKIPS = 9
"""Maximum number of times in a row that a prompt is skipped. The next time, it is drawn."""


class Prediction(NamedTuple):
    """
    What is expected of the next group of a prompt.

    Args:
        live (`float`):
            Probability that it has right and wrong completions, corrected by [`Calibration`].
        pass_rate (`float`):
            Expected share of right completions, which is not corrected.
        is_new (`bool`):
            Whether the prompt was never sampled before.
        reasons (`dict[str, float]`):
            How much each column, or the given pass rate, adds to the log-odds of the prompt's pass rate. Empty if they
            tell nothing.
    """

    live: float
    pass_rate: float
    is_new: bool
    reasons: dict[str, float]

    @property
    def is_foreseen(self) -> bool:
        """Whether this is known although the prompt was never sampled."""
        return self.is_new and bool(self.reasons)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the group's record."""
        reasons = {column: round(value, 4) for column, value in self.reasons.items()}
        return {
            "predicted_live": self.live,
            "predicted_pass_rate": self.pass_rate,
            "is_new_prompt": self.is_new,
            **({"predicted_from": reasons} if reasons else {}),
        }


class SelectiveStream(PromptStream):
    """
    Rows in the same order as in [`PromptStream`]. Most rows whose next group is unlikely to be live are skipped.

    The stream counts right and wrong completions of each prompt. With a prior, the counts give a beta distribution of
    the prompt's pass rate p. The prior is what [`Foresight`] predicts from other prompts and from given pass rates, or
    the distribution of pass rates over all prompts where that predicts nothing. The next G completions of the prompt
    include both right and wrong ones with probability 1 - E[p^G] - E[(1 - p)^G]. How long counts stay valid depends on
    how fast the model learns. The stream therefore averages over several [`BELIEFS`], weighted by how likely each one
    made recent groups. [`Calibration`] corrects the average by how often recent groups were live.

    A prompt is drawn with a chance equal to the square of this probability. It is always drawn after [`MAX_SKIPS`] skips
    in a row, and as long as nothing is known about it. `scripts/study_draws.py` compares this rule with others.

    Args:
        size (`int`):
            Number of rows of the dataset.
        seed (`int`):
            Seed of the order and of the draws.
        shuffle (`bool`):
            If `False`, the rows stay in the order of the dataset.
        group (`int`):
            Number of completions of a group.
        foresight ([`Foresight`], *optional*):
            Predicts the pass rates of prompts that were never sampled.
    """

    def __init__(self, size: int, seed: int, shuffle: bool, group: int, foresight: Foresight | None = None) -> None:
        super().__init__(size, seed, shuffle)
        self.group, self.foresight, self.calibration = group, foresight, Calibration()
        self.counts = np.zeros((len(BELIEFS), 2, size), np.float32)  # right and wrong completions, when last counted
        self.counted = np.zeros(size, np.uint32)  # the value of `groups` at that time, or 0
        self.groups = 0  # number of groups that were counted
        self.belief_shares = np.full(len(BELIEFS), 1 / len(BELIEFS))  # they add up to 1
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
        if self.passed_over[row] >= MAX_SKIPS:
            return 1.0
        if not self._is_known(row) and (
            self.foresight is None or not self.foresight.has_reasons(row, self._find_next)
        ):
            return 1.0
        return self.predict_live(row) ** 2

    def _is_known(self, row: int) -> bool:
        return bool(self.counted[row] > 0)

    def predict(self, row: int) -> Prediction:
        """Return what is expected of the next group of a prompt."""
        shapes, weights = self._find_shapes(row)
        rates = [right / (right + wrong) for right, wrong in shapes]
        pass_rate = sum(weight * rate for weight, rate in zip(weights, rates, strict=True))
        reasons = self.foresight.explain(row) if self.foresight is not None else {}
        live = self.calibration.correct(self._average_mixed(shapes, weights))
        return Prediction(live, pass_rate, not self._is_known(row), reasons)

    def predict_live(self, row: int) -> float:
        """Return the probability that the next group of a prompt has right and wrong completions."""
        return self.calibration.correct(self._average_mixed(*self._find_shapes(row)))

    def _average_mixed(self, shapes: list[list[float]], weights: list[float]) -> float:
        return sum(weight * self._compute_mixed(*shape) for shape, weight in zip(shapes, weights, strict=True))

    def _find_shapes(self, row: int) -> tuple[list[list[float]], list[float]]:
        """Return the parameters of beta distributions for a prompt's pass rate, one for each belief, and their weights."""
        prior = self._find_prior(row)
        if not self._is_known(row):
            return [[*prior]], [1.0]
        return (STRENGTH * (prior + self._fade_counts(row) + SLIP)).tolist(), self.belief_shares.tolist()

    def _find_prior(self, row: int) -> tuple[float, float]:
        """Return the parameters of a beta distribution for a prompt's pass rate, before the prompt was sampled."""
        if self.foresight is None or (self._is_known(row) and self.foresight.source == POOL):
            return fit_beta(*self.moments.tolist())
        return self.foresight.foresee(row, self._find_next)

    def _find_next(self) -> list[int]:
        """Return the rows whose turn comes next in this epoch."""
        start = self.position % self.size
        return self.order[start : start + READ_AHEAD].tolist() if self.epoch >= 0 else []

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
        expected = [self._find_shapes(row) for row in rows]  # before anything is learned from these groups
        for row, (shapes, shares), passed, total in zip(rows, expected, right, scored, strict=True):
            weight = self.passed_over[row] + 1.0  # so that all prompts count equally
            if self.foresight is not None and total:
                self.foresight.learn(row, passed, total, not self._is_known(row))
            if total > 1:
                self.calibration.learn(self._average_mixed(shapes, shares), 0 < passed < total)
                if self._is_known(row):
                    likelihoods = np.array([count_likelihood(alpha, beta, passed, total) for alpha, beta in shapes])
                    updated = self.belief_shares**BELIEF_MEMORY * likelihoods
                    self.belief_shares = np.maximum(updated, 1e-12)  # each can recover
                    self.belief_shares /= self.belief_shares.sum()
                moments = np.array([passed / total, passed * (passed - 1) / (total * (total - 1))])
                rate = max(MOMENTS_RATE, 1 / (self.groups + FIRST_GROUPS))
                self.moments += min(rate * weight, 0.2) * (moments - self.moments)
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
        saved: dict[str, Any] = {name: getattr(self, name) for name in SAVED_ATTRIBUTES} | vars(self.calibration)
        if self.foresight is not None:
            saved |= self.foresight.get_state()
        np.savez(folder / MEMORY_FILE, drawn=drawn, **saved)

    def load(self, folder: Path) -> None:
        super().load(folder)
        if (folder / MEMORY_FILE).exists():
            with np.load(folder / MEMORY_FILE) as memory:
                for name in SAVED_ATTRIBUTES:
                    setattr(self, name, memory[name])
                self.groups = int(self.groups)
                for name in vars(self.calibration).keys() & memory.keys():  # earlier versions had none
                    setattr(self.calibration, name, memory[name])
                self.drawn = [*memory["drawn"]]
                if self.foresight is not None:
                    self.foresight.set_state(memory)
                saved = b"".join(memory[name].tobytes() for name in sorted(memory))
                self._update_checksum(zlib.crc32(saved))
            self.is_resumed = True
