"""What a run logged and what its groups say, as series of values over its steps, and robust statistics of a series."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import Any, NamedTuple


MIN_POINTS = 10
"""Number of values from which a series has a trend."""

EVALUATION = (re.compile("(?!train_)(.+)_runtime"), re.compile("(eval.*)_reward"))
"""Names that only an evaluation has. They begin with `eval`, with `eval_` and the dataset, or with another word."""

OUTCOMES = re.compile(
    "accura|answer|boxed|code|correct|exact|math|outcome|pass|right|solv|succe|valid|verif", re.IGNORECASE
)
FORMS = re.compile("format|json|length|penalty|style|tag|xml", re.IGNORECASE)
"""Names of rewards that say what is right, and of those that do not, for logs that do not say which reward does."""


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


class Series(NamedTuple):
    """Finite values, each with its first and its last step."""

    steps: list[tuple[int, int]]
    values: list[float]

    def cut(self, start: int, end: int | None = None) -> "Series":
        return Series(self.steps[start:end], self.values[start:end])

    def since(self, step: int) -> "Series":
        """Return the part after a step."""
        return self.cut(sum(last <= step for _, last in self.steps))

    @property
    def span(self) -> str:
        first, last = self.steps[0][0], self.steps[-1][1]
        return f"step {last}" if first == last else f"steps {first}–{last}"

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def trend(self) -> Trend | None:
        """How the series went, or None if it is too short."""
        count = len(self.values)
        if count < MIN_POINTS:
            return None
        width = max(round(count / 10), 3)
        parts = [self.cut(at, at + width) for at in (0, (count - width) // 2, count - width)]
        medians = [median(part.values) for part in parts]
        return Trend(medians[0], medians[1], medians[2], parts[0].span, parts[2].span, compare_pairs(self.values))

    def find_fall(self) -> tuple["Series", "Series"] | None:
        """Return the best values in a row and the last ones, if these are lower by a twentieth and four standard errors."""
        count = len(self.values)
        width = max(round(count / 10), 3 if count >= MIN_POINTS else 2)
        if count < 2 * width + 1:
            return None
        windows = [self.cut(at, at + width) for at in range(count - width + 1)]
        best, last = max(windows, key=lambda one: one.mean), windows[-1]
        bends = zip(self.values, self.values[1:], self.values[2:], strict=False)
        noise = fmean(abs(one - 2 * other + third) for one, other, third in bends) * math.sqrt(math.pi / 12)
        least = max(0.05 * max(map(abs, self.values)), 4 * noise * math.sqrt(2 / width))
        return (best, last) if best.mean - last.mean > least else None


def has_risen(series: Series) -> bool:
    """Whether a score seems to have risen. A warning that it has not must not be wrong."""
    trend = series.trend
    is_higher = trend is not None and trend.end >= max(1.2 * trend.start, trend.start + 0.1)
    return bool(trend and is_higher and trend.score >= 2 and not series.find_fall())


def compare_pairs(values: Sequence[float]) -> float:
    """Return the standard score of the pairs that rise minus those that fall (Mann and Kendall), of at most 120 means."""
    stride = math.ceil(len(values) / 120)
    means = [fmean(values[place : place + stride]) for place in range(0, len(values), stride)]
    rises = sum((later > one) - (later < one) for place, one in enumerate(means) for later in means[place + 1 :])
    ties = sum(tied * (tied - 1) * (2 * tied + 5) for tied in Counter(means).values())
    variance = (len(means) * (len(means) - 1) * (2 * len(means) + 5) - ties) / 18
    return (rises - math.copysign(1, rises)) / math.sqrt(variance) if rises and variance > 0 else 0.0


def build_series(entries: Iterable[dict[str, Any]], name: str, last: int = 0) -> Series:
    """Return the finite values of a metric. A value is about all steps since the entry before it that has the metric."""
    series = Series([], [])
    for entry in entries:
        value = entry.get(name)
        if (
            isinstance(value, (int, float)) and abs(value) < 1e300
        ):  # leaves out NaN, and integers that are too large for a float
            series.steps.append((min(last + 1, entry["step"]), entry["step"]))
            series.values.append(float(value))
        if name in entry:
            last = entry["step"]
    return series


def read_evaluation(entry: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the dataset of an evaluation, and its values by their names in training. None for an entry of training."""
    found = next((match[1] for one in EVALUATION for name in entry if (match := one.fullmatch(name))), None)
    if found is None or "reward" in entry:
        return None
    values = {name.removeprefix(f"{found}_").removeprefix("eval_"): value for name, value in entry.items()}
    return found.removeprefix("eval").removeprefix("_"), values


@dataclass
class Signs:
    """What is known about a run: entries of its log, and the same metrics from its records, which come before the log."""

    log: Sequence[dict[str, Any]]
    groups: Sequence[dict[str, Any]] = ()
    outcome: str = ""  # its name; without it, names of rewards decide
    weights: dict[str, float] = field(default_factory=dict)  # of rewards that do not have weight 1
    patience: int = 5  # least number of steps without a live group in a log
    since: int = 0  # the step after which entries count

    def __post_init__(self) -> None:
        self.log = [entry for entry in self.log if entry["step"] > self.since or not self.since]
        named = [name for name in self.terms if OUTCOMES.search(name) and not FORMS.search(name)]
        self.outcome = self.outcome or next(iter([*named, *self.terms]), "")

    @cached_property
    def span(self) -> tuple[int, int]:
        """The first and the last step that are known."""
        first = self.groups[0]["first"] if self.groups else self.since + 1
        return first, max((entry["step"] for entry in [*self.groups, *self.log]), default=first - 1)

    @cached_property
    def terms(self) -> list[str]:
        """Names of the rewards."""
        names = dict.fromkeys(name for entry in [*self.groups[:1], *self.log] for name in entry)
        return [match[1] for name in names if (match := re.fullmatch("rewards/(.+)/mean", name))]

    @property
    def dead(self) -> Series:
        """The shares of dead groups, as this trainer logs them, or as TRL does."""
        return self.series("groups/dead", "frac_reward_zero_std")

    @property
    def final(self) -> float:
        """The mean outcome at the end, or 0 if that is not known."""
        trend = self.mean(self.outcome).trend
        return trend.end if trend else 0.0

    def is_learned(self) -> bool:
        """Whether the outcome is so high that little is left to learn, or seems to have risen, even if that is not sure."""
        return self.final >= 0.8 or has_risen(self.mean(self.outcome))

    def weight(self, name: str) -> float:
        return self.weights.get(name, 1.0)

    def series(self, *names: str) -> Series:
        """Return the values of the first of these metrics that has any."""
        known = (build_series(source, name, self.since) for name in names for source in (self.groups, self.log))
        return next((series for series in known if series.values), Series([], []))

    def mean(self, name: str) -> Series:
        """Return the mean scores of a reward."""
        return self.series(f"rewards/{name}/mean")

    def constant(self, name: str) -> Series:
        """Return the mean scores of a reward, with NaN where its completions differ."""
        means, spreads = self.mean(name), self.series(f"rewards/{name}/std")
        alike = {steps for steps, spread in zip(*spreads, strict=True) if spread <= 1e-6}
        return Series(
            means.steps, [value if steps in alike else math.nan for steps, value in zip(*means, strict=True)]
        )

    def held_out(self) -> dict[str, Series]:
        """Return the scores of the evaluations by dataset: by the outcome reward, or else the total."""
        sets: dict[str, list[dict[str, Any]]] = {}
        for entry in self.log:
            if found := read_evaluation(entry):
                sets.setdefault(found[0], []).append(found[1])
        names = f"rewards/{self.outcome}/mean", "reward"
        return {one: Signs(entries, outcome=self.outcome).series(*names) for one, entries in sets.items()}
