"""A metric of a run as a series of values over its steps, and robust statistics of it."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..records.fields import is_number


MIN_POINTS = 10  # values of a series that has a trend
# Names that only an evaluation has. They begin with `eval`, with `eval_` and the dataset, or with another word.
EVALUATION = (re.compile("(?!train_)(.+)_runtime"), re.compile("(eval.*)_reward"))

OF_LIVE_TOKENS = re.compile("entropy$|kl$|clip_ratio|cispo_|vespo")  # older runs have 0 where no token was live


class Trend(NamedTuple):
    """The medians of the first, the middle and the last tenth of a series, its first and last steps, and a standard score."""

    start: float
    middle: float
    end: float
    early: str
    late: str
    score: float

    @property
    def sign(self) -> int:
        """1 if the series rises, -1 if it falls, by a twentieth or more and a score that one series in 370 has by chance, or 0."""
        change, least = self.end - self.start, 0.05 * max(abs(self.start), abs(self.end))
        return int(math.copysign(abs(change) > least and change * self.score > 0 and abs(self.score) >= 3, change))


@dataclass(frozen=True)
class Series:
    """Finite values, each with its first and its last step."""

    firsts: np.ndarray
    lasts: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)

    def cut(self, start: int, end: int | None = None) -> "Series":
        return self.take(slice(start, end))

    def take(self, places: Any) -> "Series":
        return Series(self.firsts[places], self.lasts[places], self.values[places])

    def since(self, step: int) -> "Series":
        return self.take(self.lasts > step)

    def until(self, step: int) -> "Series":
        return self.take(self.lasts <= step)

    first = property(lambda self: int(self.firsts[0]))
    last = property(lambda self: int(self.lasts[-1]))

    @property
    def span(self) -> str:
        return f"step {self.last}" if self.first == self.last else f"steps {self.first}–{self.last}"

    @property
    def mean(self) -> float:
        return float(self.values.mean()) if len(self) else math.nan

    def mean_during(self, other: "Series") -> float:
        """Return the mean in the steps of another series, or NaN."""
        return self.take((other.first <= self.lasts) & (self.lasts <= other.last)).mean

    @cached_property
    def noise(self) -> float:
        """The standard deviation of a value around a slow change."""
        return float(abs(np.diff(self.values, 2)).mean() * math.sqrt(math.pi / 12)) if len(self) > 2 else math.inf

    @cached_property
    def trend(self) -> Trend | None:
        """How the series went, or None if it is too short."""
        count = len(self)
        if count < MIN_POINTS:
            return None
        width = max(round(count / 10), 3)
        parts = [self.cut(at, at + width) for at in (0, (count - width) // 2, count - width)]
        start, middle, end = (float(np.median(part.values)) for part in parts)
        return Trend(start, middle, end, parts[0].span, parts[2].span, compare_pairs(self.values))

    def find_fall(self) -> tuple["Series", "Series"] | None:
        """Return the best values in a row and the last ones, if these are lower by a twentieth and four standard errors."""
        count = len(self)
        width = max(round(count / 10), min((count + 2) // 4, 5), 2)
        if count < 2 * width + 1:
            return None
        means = sliding_window_view(self.values, width).mean(1)
        place = int(means.argmax())
        least = max(0.05 * abs(self.values).max(), (4 + 40 / count**2) * self.noise * math.sqrt(2 / width))
        return (self.cut(place, place + width), self.cut(-width)) if means[place] - means[-1] > least else None

    def is_falling(self) -> bool:
        return bool(self.find_fall() or (self.trend and self.trend.sign < 0))

    def find_middle(self, trend: Trend) -> int:
        """Return the step by which the series has made half of its way, as means of a tenth of it say."""
        width, middle = max(round(len(self) / 10), 3), (trend.start + trend.end) / 2
        means = sliding_window_view(self.values, width).mean(1)
        there = (means - middle) * (trend.end - trend.start) >= 0
        return int(self.lasts[int(there.argmax()) + width - 1]) if there.any() else self.last

    def has_risen(self, share: float = 0.2) -> bool:
        """Whether a score seems to have risen, by this share of itself. A warning that it has not must not be wrong."""
        trend = self.trend
        if trend is None or trend.score < 2 or self.find_fall():
            return False
        return trend.end - trend.start >= min(0.1, share * max(abs(trend.start), abs(trend.end)))

    def is_flat(self) -> bool:
        """Whether the means of all fifths are the same, although a change by a tenth would have been seen."""
        count, trend = len(self), self.trend
        if trend is None or trend.score >= 1.6:
            return False
        means = [self.cut(count * fifth // 5, count * (fifth + 1) // 5).mean for fifth in range(5)]
        least = 5 * self.noise * math.sqrt(5 / count)
        return max(means) - min(means) <= least <= 0.1 * max(1.0, abs(self.values).max())

    def is_near_top(self, share: float = 0.8) -> bool:
        """Whether a score has gained this share of what there is to gain: up to 1, or up to 0 if no score is above it."""
        trend, lowest, highest = self.trend, self.values.min(initial=0.0), self.values.max(initial=-math.inf)
        if trend is None or highest > 1 or lowest < 0 < highest:  # of other scales, only a rise is known
            return self.has_risen()
        return bool(trend.end > (1 - share) * trend.start if lowest < 0 else trend.end >= share)

    def is_learned(self) -> bool:
        """Whether little is left to learn, or the score seems to have risen."""
        return self.is_near_top() or self.has_risen()


def compare_pairs(values: np.ndarray) -> float:
    """Return the standard score of the pairs that rise minus those that fall (Mann and Kendall), of at most 120 means."""
    stride = math.ceil(len(values) / 120)
    means = np.add.reduceat(values, range(0, len(values), stride)) / stride
    means[-1] = values[(len(means) - 1) * stride :].mean()
    rises = int(np.tril(np.sign(np.subtract.outer(means, means))).sum())
    tied, count = np.unique(means, return_counts=True)[1], len(means)
    variance = (count * (count - 1) * (2 * count + 5) - (tied * (tied - 1) * (2 * tied + 5)).sum()) / 18
    return float((rises - math.copysign(1, rises)) / math.sqrt(variance)) if rises and variance > 0 else 0.0


def build_series(entries: Iterable[dict[str, Any]], name: str, last: int = 0) -> Series:
    """Return the finite values of a metric. A value is about all steps since the entry before it that has the metric."""
    rows = []
    for entry in entries:
        is_empty = OF_LIVE_TOKENS.match(name) and entry.get("groups/dead") == 1 and not entry.get(name)
        if is_number(entry.get(name)) and not is_empty:
            rows.append((min(last + 1, entry["step"]), entry["step"], float(entry[name])))
        if name in entry:
            last = entry["step"]
    columns = [*zip(*rows, strict=True)] or [(), (), ()]
    return Series(*map(np.array, columns))


def list_evaluations(log: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the values of the evaluations of each dataset, by their names in training."""
    sets: dict[str, list[dict[str, Any]]] = {}
    for entry in log:
        found = next((match[1] for one in EVALUATION for name in entry if (match := one.fullmatch(name))), None)
        if found is not None and "reward" not in entry:
            values = {name.removeprefix(f"{found}_").removeprefix("eval_"): value for name, value in entry.items()}
            sets.setdefault(found.removeprefix("eval").removeprefix("_"), []).append(values | {"step": entry["step"]})
    return sets
