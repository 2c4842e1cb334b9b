"""What is known about a run: its log, and the same metrics from its records."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .series import Series, build_series, list_evaluations


OUTCOMES = re.compile(
    "accura|answer|boxed|code|correct|exact|math|outcome|pass|right|solv|succe|valid|verif", re.IGNORECASE
)
NOT_OUTCOMES = re.compile("format|json|length|penalty|style|tag|xml", re.IGNORECASE)  # that do not say what is right


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
        named = [name for name in self.terms if OUTCOMES.search(name) and not NOT_OUTCOMES.search(name)]
        self.outcome = self.outcome or next(iter([*named, *self.terms]), "")

    @cached_property
    def span(self) -> tuple[int, int]:
        """The first and the last step that are known."""
        first = self.groups[0]["first"] if self.groups else self.since + 1
        return first, max((entry["step"] for entry in [*self.groups, *self.log]), default=first - 1)

    @cached_property
    def terms(self) -> list[str]:
        names = dict.fromkeys(name for entry in [*self.groups[:1], *self.log] for name in entry)
        return [match[1] for name in names if (match := re.fullmatch("rewards/(.+)/mean", name))]

    @property
    def dead(self) -> Series:
        """The shares of dead groups, as this trainer logs them, or as TRL does."""
        return self.series("groups/dead", "frac_reward_zero_std")

    @cached_property
    def last_live(self) -> int:
        """The last step that is known to have had a live group, or the step before the first one."""
        steps = self.dead.lasts[self.dead.values < 1].tolist()
        if self.groups:
            steps = [entry["step"] for entry in self.groups if entry["lessons"]["live"]]
        return max(steps, default=self.span[0] - 1)

    def count_groups(self, step: int) -> float:
        """Return the number of groups after a step. A log tells at most how many by its tokens; without them, it is one a step."""
        if self.groups:
            return sum(sum(one["lessons"].values()) for one in self.groups if one["step"] > step)
        tokens, lengths = self.series("num_tokens"), self.series("completions/mean_length")
        pace = 1.0
        if len({*tokens.lasts}) > 1 and lengths.mean > 0:
            rate = (tokens.values[-1] - tokens.values[0]) / (tokens.lasts[-1] - tokens.lasts[0])
            pace = max(float(rate) / lengths.mean / 8, 1.0)  # TRL's default is eight
        return pace * (self.span[1] - step)

    def find_last(self, metric: str) -> int:
        """Return the last step that has a metric, whatever its value."""
        return max(entry["step"] for entry in [*self.groups, *self.log] if metric in entry)

    def weight(self, name: str) -> float:
        return self.weights.get(name, 1.0)

    def series(self, *names: str) -> Series:
        """Return the values of the first of these metrics that has any."""
        known = (build_series(source, name, self.since) for name in names for source in (self.groups, self.log))
        return next(filter(len, known), build_series((), ""))

    def mean(self, name: str) -> Series:
        return self.series(f"rewards/{name}/mean")

    def constant(self, name: str) -> Series:
        """Return the mean scores of a reward, with NaN where its completions differ."""
        means, spreads = self.mean(name), self.series(f"rewards/{name}/std")
        alike = np.isin(means.lasts, spreads.lasts[spreads.values <= 1e-6])
        return replace(means, values=np.where(alike, means.values, math.nan))

    def held_out(self) -> dict[str, Series]:
        """Return the scores of the evaluations by dataset: by the outcome reward, or else the total."""
        return {dataset: evaluation.scores for dataset, evaluation in self.evaluations.items()}

    @cached_property
    def evaluations(self) -> dict[str, "Evaluations"]:
        found = {}
        for dataset, entries in list_evaluations(self.log).items():
            signs = Signs(entries, outcome=self.outcome)
            scores = signs.series(f"rewards/{self.outcome}/mean", "reward")
            spreads = signs.series(f"rewards/{self.outcome}/std", "reward_std")
            problems = signs.series("runtime").mean * signs.series("samples_per_second").mean
            found[dataset] = Evaluations(replace(scores, firsts=scores.lasts), spreads, problems)
        return found

    def is_better_held_out(self) -> bool:
        """Whether a held-out score seems to have risen. Of few evaluations, the last must be above the noise of the first."""
        return any(evaluation.is_better() for evaluation in self.evaluations.values())


class Evaluations(NamedTuple):
    """The scores on held-out problems, their standard deviations within an evaluation, and the number of problems."""

    scores: Series
    spreads: Series
    problems: float  # NaN if it is not known

    def is_better(self) -> bool:
        if not self.scores:
            return False
        if self.scores.trend:
            return self.scores.has_risen()
        margin = 0.0
        if self.problems > 0 and len(self.spreads) == len(self.scores):
            margin = 1.64 * math.hypot(*self.spreads.values[[0, -1]]) / math.sqrt(self.problems)
        return bool(self.scores.values[-1] - self.scores.values[0] > margin)
