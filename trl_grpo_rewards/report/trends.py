"""What a run did from step to step: sums over the stream of its records, in memory that does not grow with the run.

The sums of a step are those of its groups, those of a stretch of steps are those of its steps. Neighbouring steps are
added up as a run goes on, so that any run fits into a few hundred stretches, of which each chart point is one.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


OUTCOMES = ("live", "solved", "failed", "flat", "unscored")
"""What a group can be, as charts stack it."""

POINTS = 120
"""Stretches of a run at most."""

ROUNDING = 1e-9
"""Difference between totals that is none."""


def known(values: Iterable | None) -> list[float]:
    """The numbers among them: neither None nor infinite."""
    return [value for value in values or () if value is not None and math.isfinite(value)]


@dataclass
class Stretch:
    """
    Sums over the groups of some steps in a row.

    Args:
        first (`int`):
            Its first step.
        last (`int`):
            Its last step.
        sums (`Counter`):
            By what is summed, as `(what, "sum")`, `(what, "count")` and `(what, "squares")`.
        lowest (`dict`):
            The smallest value of each.
        highest (`dict`):
            The largest value of each.
    """

    first: int
    last: int
    sums: Counter = field(default_factory=Counter)
    lowest: dict = field(default_factory=dict)
    highest: dict = field(default_factory=dict)

    def see(self, what: Any, values: Iterable | None) -> None:
        """Add the values that are known."""
        if values := known(values):
            self.sums[what, "sum"] += sum(values)
            self.sums[what, "count"] += len(values)
            self.sums[what, "squares"] += sum(value * value for value in values)
            self._reach(what, min(values), max(values))

    def add(self, other: "Stretch") -> None:
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.sums.update(other.sums)
        for what, lowest in other.lowest.items():
            self._reach(what, lowest, other.highest[what])

    def _reach(self, what: Any, lowest: float, highest: float) -> None:
        self.lowest[what] = min(lowest, self.lowest.get(what, math.inf))
        self.highest[what] = max(highest, self.highest.get(what, -math.inf))

    def count(self, what: Any) -> int:
        return self.sums[what, "count"]

    def mean(self, what: Any) -> float | None:
        return self.sums[what, "sum"] / self.count(what) if self.count(what) else None

    def error(self, what: Any) -> float:
        """Standard error of the mean; infinite where one value or none is known."""
        if self.count(what) < 2:
            return math.inf
        variance = self.sums[what, "squares"] / self.count(what) - self.mean(what) ** 2
        return math.sqrt(max(variance, 0.0) / (self.count(what) - 1))

    def signal(self, name: str) -> float | None:
        """Share of a reward in the variance of the total within groups, as `groups.signal` has it."""
        variance = self.sums["variance"]
        return self.sums["signal", name] / variance if variance > 0 else None

    @property
    def steps(self) -> str:
        return f"step {self.first}" if self.first == self.last else f"steps {self.first}–{self.last}"


class Timeline:
    """
    Stretches of equal length, twice as long whenever there are more than fit.

    Args:
        limit (`int`):
            How many there may be.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.width = limit, 1
        self.stretches: dict[int, Stretch] = {}

    def __iter__(self):
        return iter(self.stretches[place] for place in sorted(self.stretches))

    def add(self, stretch: Stretch) -> None:
        self._put(stretch)
        while len(self.stretches) > self.limit:
            self.widen()

    def widen(self) -> None:
        self.width *= 2
        stretches, self.stretches = [*self], {}
        for stretch in stretches:
            self._put(stretch)

    def _put(self, stretch: Stretch) -> None:
        place = (stretch.first - 1) // self.width
        if place in self.stretches:
            self.stretches[place].add(stretch)
        else:
            self.stretches[place] = stretch


@dataclass
class Standstill:
    """
    The longest stretch of steps in which a reward had one value only.

    Args:
        value (`float`, *optional*):
            Its one value at present; None where it differs.
        first (`int`):
            Step since when.
        longest (`tuple[int, int, float]`):
            First step, last step and value of the longest.
        scored (`int`):
            Last step with a score.
    """

    value: float | None = None
    first: int = 0
    longest: tuple[int, int, float] = (0, -1, 0.0)
    scored: int = 0

    def see(self, step: int, lowest: float, highest: float) -> None:
        self.scored = step
        if not lowest == highest == self.value:
            self.value, self.first = (lowest if lowest == highest else None), step
        if self.value is not None and step - self.first >= self.longest[1] - self.longest[0]:
            self.longest = (self.first, step, self.value)


class Run:
    """
    What the records of a run add up to, one after another in the order of their steps.

    `points` are its stretches, `rewards` the names of its rewards with how each stood still, `weights` what they last
    weighed, `outcome` the one that says what is right, `whole` the sums over all steps.
    """

    def __init__(self) -> None:
        self.points = Timeline(POINTS)
        self.rewards: dict[str, Standstill] = {}
        self.weights: dict[str, float] = {}
        self.outcome: str | None = None
        self.sizes: Counter[int] = Counter()
        self.whole: Stretch | None = None
        self._step: Stretch | None = None

    def add(self, record: dict[str, Any]) -> None:
        sums = counted(record)
        for name in scores(record):
            self.rewards.setdefault(name, Standstill(scored=sums.first - 1))
        self.weights |= record.get("weights") or {}
        self.outcome = self.outcome or outcome_reward(record)
        self.sizes[size(record)] += 1
        if self._step is not None and self._step.first == sums.first:
            self._step.add(sums)
        else:
            self.end_step()
            self._step = sums

    def end_step(self) -> None:
        """Add up the step that is complete; also to be called after the last record."""
        step, self._step = self._step, None
        if step is None:
            return
        for name, standstill in self.rewards.items():
            if step.count(("reward", name)):
                standstill.see(step.first, step.lowest["reward", name], step.highest["reward", name])
        self.whole = self.whole or Stretch(step.first, step.last)
        self.whole.add(step)
        self.points.add(step)

    @property
    def size(self) -> int:
        """Completions of a group, as most have them."""
        return self.sizes.most_common(1)[0][0] if self.sizes else 0


def scores(record: dict[str, Any]) -> dict[str, list[float | None]]:
    """Of each reward the scores of the group."""
    return record.get("rewards") or {}


def size(record: dict[str, Any]) -> int:
    return max(map(len, [record.get("total") or [], record.get("lengths") or [], *scores(record).values()]))


def outcome_reward(record: dict[str, Any]) -> str | None:
    """Name of the reward that says what is right, which is the first where the record does not name it."""
    return record.get("outcome_reward") or next(iter(scores(record)), None)


def outcomes(record: dict[str, Any]) -> list[float | None]:
    """Scores of the outcome reward."""
    return scores(record).get(outcome_reward(record), [])


def passes(record: dict[str, Any]) -> list[bool]:
    """Whether the completions are right, of those that the outcome reward has scored."""
    return [value >= 1 for value in outcomes(record) if value is not None]


def counted(record: dict[str, Any]) -> Stretch:
    """The sums of one group."""
    group = Stretch(record["step"], record["step"])
    group.sums["groups"] = 1
    group.sums["outcome", record.get("outcome")] = 1
    group.see("mean", [record.get("mean")])
    group.see("spread", [record.get("spread")])
    group.see("length", record.get("lengths"))
    group.see("truncated", record.get("truncated"))
    group.see("pass", passes(record))
    if record.get("duplicates") is not None and record.get("outcome") != "solved":
        group.see("duplicates", [record["duplicates"] / max(size(record), 1)])
    for name, values in scores(record).items():
        group.see(("reward", name), values)
        group.see(("group mean", name), [sum(known(values)) / len(known(values))] if known(values) else None)
    for name, covariance in covariances(record).items():
        group.sums["signal", name] = covariance
        group.sums["variance"] += covariance
    return group


def covariances(record: dict[str, Any]) -> dict[str, float]:
    """Of each reward the covariance of what it adds with the total, within the group; their sum is the variance."""
    weights, rewards = record.get("weights") or {}, scores(record)
    rows = [row for row in zip(*rewards.values(), strict=False) if known(row)]
    if not rows:
        return {}
    terms = {
        name: centred([weights.get(name, 1.0) * (value if known([value]) else 0.0) for value in column])
        for name, column in zip(rewards, zip(*rows, strict=True), strict=True)
    }
    totals = [sum(row) for row in zip(*terms.values(), strict=True)]
    if max(totals) - min(totals) < ROUNDING:
        return {}
    return {name: sum(map(lambda one, total: one * total, column, totals)) for name, column in terms.items()}


def centred(values: list[float]) -> list[float]:
    mean = sum(values) / len(values)
    return [value - mean for value in values]
