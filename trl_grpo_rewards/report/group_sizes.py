"""How many groups would have been live with another number of completions, from the pass rates of a run's own groups."""

import math
from collections import Counter
from typing import Any

import numpy as np

from .trends import keep_finite, read_passes


SIZES = (2, 4, 8, 16, 32, 64)  # numbers of completions that are compared
LARGEST = 4  # times the completions of the run, up to which a size is compared: larger ones cannot be estimated
RATES = (1 - np.cos(np.pi * np.arange(101) / 100)) / 2  # pass rates of an estimate, more of them near 0 and 1
FITTING_STEPS = 100


def find_live_share(rate: Any, size: int) -> Any:
    """Return the probability that completions that are right at this rate, or at each of an array, are not all alike."""
    return 1 - rate**size - (1 - rate) ** size


class GroupSizes:
    """The groups of a run by their numbers of right and of all completions."""

    def __init__(self) -> None:
        self.groups: Counter[tuple[int, int]] = Counter()
        self.lengths = 0.0
        self.completions = 0

    def add(self, record: dict[str, Any]) -> None:
        passes = read_passes(record)
        if len(passes) > 1:
            self.groups[sum(passes), len(passes)] += 1
        lengths = keep_finite(record.get("lengths"))
        self.lengths += sum(lengths)
        self.completions += len(lengths)

    def describe(self) -> dict[str, Any] | None:
        """Return the share of groups by pass rate, and for each size the share of live groups and the tokens for one."""
        if not self.groups:
            return None
        own = Counter[int]()
        rates = Counter[float]()
        for (right, size), count in self.groups.items():
            own[size] += count
            rates[right / size] += count
        size = own.most_common(1)[0][0]
        compared = [(one, self.estimate_live_share(one)) for one in sorted({*SIZES, size}) if one <= LARGEST * size]
        return {
            "size": size,
            "rates": [[rate, count / self.groups.total()] for rate, count in sorted(rates.items())],
            "sizes": [[one, live, self.count_tokens(one, live)] for one, live in compared],
        }

    def count_tokens(self, size: int, live: float) -> float | None:
        """Return the tokens that are sampled for each live group, or None if that is not known."""
        if not live or not self.completions:
            return None
        return size / live * self.lengths / self.completions

    def estimate_live_share(self, size: int) -> float:
        """Return the share of groups of this size that would have been live by the outcome reward."""
        large = {group: count for group, count in self.groups.items() if group[1] >= size}
        number = sum(large.values())
        if number >= self.groups.total() / 2:
            return sum(find_subset_share(*group, size) * count for group, count in large.items()) / number
        return float(estimate_rates(self.groups) @ find_live_share(RATES, size))


def find_subset_share(right: int, count: int, size: int) -> float:
    """Return the probability that some completions of a group, chosen at random, are neither all right nor all wrong."""
    alike = math.comb(right, size) + math.comb(count - right, size)
    return 1 - alike / math.comb(count, size)


def estimate_rates(groups: Counter[tuple[int, int]]) -> Any:
    """
    Return the shares of prompts with each of [`RATES`], which are most likely to give these groups.

    It takes steps of expectation and maximization from equal shares. More steps would follow chance in a short run.
    """
    right = np.array([group[0] for group in groups])[:, None]
    size = np.array([group[1] for group in groups])[:, None]
    counts = np.array([*groups.values()])
    likelihood = RATES**right * (1 - RATES) ** (size - right)
    shares = np.full(len(RATES), 1 / len(RATES))
    for _ in range(FITTING_STEPS):
        joint = shares * likelihood
        shares = counts @ (joint / joint.sum(axis=1, keepdims=True)) / counts.sum()
    return shares
