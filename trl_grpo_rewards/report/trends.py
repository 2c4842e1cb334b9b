"""Statistics of a run over its steps, from the stream of its records: sums in bins of steps, which are the points of charts."""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..records.dead_groups import DEFAULT_TOLERANCE, GroupKind, count_lessons, is_dead, kind_of_group


GROUP_OUTCOMES = ("solved", "live", "failed", "flat", "unscored")
"""The outcomes that a group can have, in the order in which the chart stacks them."""

PASS_BANDS = ("none right", "up to 25%", "up to 50%", "up to 75%", "over 75%", "all right")
"""Ranges of a group's pass rate, in the order in which the chart stacks them."""

MAX_POINTS = 120
"""Maximum number of bins of a run, and thus of points in a chart."""

ROUNDING_ERROR = 1e-9
"""Totals that differ by less count as equal, since sums of floating-point numbers are not exact."""


def keep_finite(values: Iterable[float | None] | None) -> list[float]:
    """Return the finite numbers among the values."""
    return [value for value in values or () if value is not None and math.isfinite(value)]


@dataclass
class StepBin:
    """Sums over the groups of consecutive steps. A series has the keys `(series, "sum")`, `"count"` and `"squares"`."""

    first: int = sys.maxsize
    last: int = 0
    sums: defaultdict[Hashable, float] = field(default_factory=lambda: defaultdict(int))
    lowest: dict[Hashable, float] = field(default_factory=dict)
    highest: dict[Hashable, float] = field(default_factory=dict)

    def add(self, series: Hashable, values: Iterable[float | None] | None) -> None:
        """Add the finite values to a series."""
        if finite := keep_finite(values):
            self.sums[series, "sum"] += sum(finite)
            self.sums[series, "count"] += len(finite)
            self.sums[series, "squares"] += sum(value * value for value in finite)
            self._extend_range(series, min(finite), max(finite))

    def merge(self, other: "StepBin") -> None:
        """Add the steps and the sums of another bin."""
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        for key, value in other.sums.items():
            self.sums[key] += value
        for series, lowest in other.lowest.items():
            self._extend_range(series, lowest, other.highest[series])

    def _extend_range(self, series: Hashable, lowest: float, highest: float) -> None:
        self.lowest[series] = min(lowest, self.lowest.get(series, math.inf))
        self.highest[series] = max(highest, self.highest.get(series, -math.inf))

    def count(self, series: Hashable) -> int:
        return int(self.sums[series, "count"])

    def mean(self, series: Hashable) -> float | None:
        return self.sums[series, "sum"] / self.count(series) if self.count(series) else None

    def deviation(self, series: Hashable) -> float | None:
        """Return the standard deviation of a series, which is 0 only if all its values are equal."""
        mean = self.mean(series)
        if mean is None or self.lowest[series] == self.highest[series]:
            return None if mean is None else 0.0
        return math.sqrt(max(self.sums[series, "squares"] / self.count(series) - mean**2, ROUNDING_ERROR))

    def standard_error(self, series: Hashable) -> float:
        """Return the standard error of the mean, which is infinite for fewer than two values."""
        deviation, count = self.deviation(series), self.count(series)
        return math.inf if deviation is None or count < 2 else deviation / math.sqrt(count - 1)

    def signal(self, reward: str) -> float | None:
        """Return the share of a reward in the variance of the total within groups, as in `groups/signal`."""
        variance = self.sums["variance"]
        return self.sums["signal", reward] / variance if variance > 0 else None


def merge_bins(bins: Iterable[StepBin]) -> StepBin:
    """Return a bin with the steps and the sums of all bins."""
    merged = StepBin()
    for one in bins:
        merged.merge(one)
    return merged


class Timeline:
    """Bins of equal width. The width doubles whenever there are more bins than the limit."""

    def __init__(self, limit: int) -> None:
        self.limit, self.width = limit, 1
        self.bins: dict[int, StepBin] = {}

    def __iter__(self) -> Iterator[StepBin]:
        return iter(self.bins[index] for index in sorted(self.bins))

    def add(self, new: StepBin) -> None:
        self._put(new)
        while len(self.bins) > self.limit:
            self._double_width()

    def _double_width(self) -> None:
        self.width *= 2
        bins, self.bins = [*self], {}
        for one in bins:
            self._put(one)

    def _put(self, new: StepBin) -> None:
        index = (new.first - 1) // self.width
        if index in self.bins:
            self.bins[index].merge(new)
        else:
            self.bins[index] = new


class RunStatistics:
    """Statistics of a run, whose records are added in the order of their steps: `points` of the charts, and the `whole` run."""

    def __init__(self) -> None:
        self.points = Timeline(MAX_POINTS)
        self.whole, self.is_whole = StepBin(), True  # whether the groups of all steps are known
        self.rewards: dict[str, None] = {}
        self.weights: dict[str, float] = {}
        self.outcome = ""
        self.sizes: Counter[int] = Counter()
        self._step: StepBin | None = None

    def add(self, record: dict[str, Any]) -> None:
        group = sum_group(record)
        self.rewards |= dict.fromkeys(record["rewards"])
        self.weights |= record.get("weights") or {}
        self.outcome = self.outcome or find_outcome_reward(record)
        self.sizes[count_completions(record)] += 1
        if self._step is not None and self._step.first == group.first:
            self._step.merge(group)
        else:
            self.end_step()
            self._step = group

    def add_entry(self, entry: StepBin, rewards: Iterable[str]) -> None:
        """Add a step of the log, after the groups of it that are known. What the log says counts more than they do."""
        known = self._step or StepBin()
        ends = known.lowest | entry.lowest, known.highest | entry.highest
        self._step = StepBin(entry.first, entry.last, known.sums | entry.sums, *ends)
        self.is_whole &= entry.first == entry.last and known.sums["groups"] > 0
        self.rewards |= dict.fromkeys(rewards)
        self.end_step()

    def end_step(self) -> None:
        """Add the step that is now complete. This must also be called after the last record."""
        step, self._step = self._step, None
        if step is not None:
            self.whole.merge(step)
            self.points.add(step)

    @property
    def is_share(self) -> bool:
        """Whether the outcome reward is 1 or 0 for every completion, so that its mean is the share of right ones."""
        scores = ("reward", self.outcome)
        lowest, highest = self.whole.lowest.get(scores, -1), self.whole.highest.get(scores, -1)
        return 0 <= lowest and highest <= 1 and self.whole.sums[scores, "sum"] == self.whole.sums[scores, "squares"]

    @property
    def size(self) -> int:
        """The most common number of completions in a group."""
        return self.sizes.most_common(1)[0][0] if self.sizes else 0


def count_completions(record: dict[str, Any]) -> int:
    return max(map(len, [record.get("total") or [], record.get("lengths") or [], *record["rewards"].values()]))


def find_outcome_reward(record: dict[str, Any]) -> str:
    """Return the name of the outcome reward, by default the first reward. Empty if there is none."""
    return record.get("outcome_reward") or next(iter(record["rewards"]), "")


def read_outcome_scores(record: dict[str, Any]) -> list[float | None]:
    """Return the scores of the outcome reward."""
    scores: list[float | None] = record["rewards"].get(find_outcome_reward(record), [])
    return scores


def read_passes(record: dict[str, Any]) -> list[bool]:
    """Return whether each completion with an outcome score is right."""
    return [score >= 1 for score in read_outcome_scores(record) if score is not None]


def read_kinds(record: dict[str, Any]) -> tuple[GroupKind, GroupKind]:
    """Return the kind of a group, and the kind that it would have if the outcome reward were the only one."""
    scores = read_outcome_scores(record)
    mine = kind_of_group(is_dead(scores, record.get("tolerance", DEFAULT_TOLERANCE)), scores, scores)
    return record.get("outcome") or mine, mine


def find_pass_band(passed: int, total: int) -> str:
    """Return the range among [`PASS_BANDS`] in which a pass rate lies."""
    return PASS_BANDS[0 if not passed else 5 if passed == total else min(math.ceil(4 * passed / total), 4)]


def sum_group(record: dict[str, Any]) -> StepBin:
    """Return a bin with the sums of one group."""
    group = StepBin(record["step"], record["step"])
    group.sums["groups"], group.sums["completions"] = 1, count_completions(record)
    group.sums["outcome", record.get("outcome")] = 1
    for kind, count in count_lessons(*([kind] for kind in read_kinds(record))).items():
        group.sums["lessons", kind] = count
    group.add("mean", [record.get("mean")])
    group.add("spread", [record.get("spread")])
    group.add("length", record.get("lengths"))
    group.sums["tokens"] = sum(record.get("lengths") or [])
    group.add("truncated", record.get("truncated"))
    if passes := read_passes(record):
        group.add("pass", passes)
        group.sums["band", find_pass_band(sum(passes), len(passes))] = 1
    if record.get("duplicates") is not None and record.get("outcome") != "solved":
        group.add("duplicates", [record["duplicates"] / max(count_completions(record), 1)])
    for name, scores in record["rewards"].items():
        group.add(("reward", name), scores)
        finite = keep_finite(scores)
        group.add(("group mean", name), [sum(finite) / len(finite)] if finite else None)
    for name in (name for name, weight in (record.get("weights") or {}).items() if weight == 0):
        seen = zip(record.get("total") or (), record["rewards"].get(name, ()), strict=False)
        pairs = [pair for pair in seen if len(keep_finite(pair)) == 2]
        for series, values in zip(("witnessed", "witness"), zip(*pairs, strict=True), strict=False):
            group.add((series, name), values)
    for name, covariance in compute_covariances(record).items():
        group.sums["signal", name] = covariance
        group.sums["variance"] += covariance
    return group


def compute_covariances(record: dict[str, Any]) -> dict[str, float]:
    """Return the covariance of each weighted reward with the total within the group. Their sum is the variance."""
    weights, rewards = record.get("weights") or {}, record["rewards"]
    scores = np.array([*rewards.values()] or [[]], dtype=float)
    scores = scores[:, np.isfinite(scores).any(0)] * np.array([[weights.get(name, 1.0)] for name in rewards])
    if not scores.size:
        return {}
    terms = np.where(np.isfinite(scores), scores, 0.0)
    terms -= terms.mean(1, keepdims=True)
    totals = terms.sum(0)
    return dict(zip(rewards, (terms @ totals).tolist(), strict=True)) if np.ptp(totals) >= ROUNDING_ERROR else {}
