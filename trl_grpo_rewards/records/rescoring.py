"""Scores of recorded completions: what they would earn under other rewards, and how two rewards differ on them."""

import asyncio
import heapq
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..expressions import Reward, find_first_outcome, score_known_groups
from ..loops import run_in_own_loop
from ..scores import Score
from .dead_groups import find_kind
from .files import Group


GROUPS_AT_ONCE = 128  # number of groups that are scored together. Rewards that call a server score them concurrently.
MAX_EXAMPLES = 10  # largest number of rows that are shown of each kind


@dataclass
class ScoredGroup:
    """A group with its scores."""

    group: Group
    scores: dict[str, list[Score]]  # by the name of the term
    totals: list[Score]
    seconds: dict[str, float]  # per row, of each term
    rewards: Reward

    @property
    def is_dead(self) -> bool:
        """Whether the group would be dead under these rewards, by the rule of its run and in TRL's precision."""
        rule = self.group.rule
        weights = self.rewards.weights
        names = [*self.scores]
        scores = to_float32([*self.scores.values()])  # (functions, rows)
        totals = to_float32(self.totals)
        missing = np.isnan(scores) & (np.array(weights) != 0)[:, None]
        left_out = missing.any(0) if rule.unscored == "row" else np.isnan(totals)
        scores[:, left_out] = np.nan
        totals[left_out] = np.nan
        is_named = rule.outcome_reward in names
        if is_named:
            outcome = names.index(rule.outcome_reward)
        else:
            outcome = find_first_outcome(self.rewards.rewards, weights)
        return find_kind(rule, totals.tolist(), scores[outcome].tolist(), scores.tolist(), weights) != "live"


def to_float32(scores: Sequence[Any]) -> np.ndarray:
    """Return scores in the precision of TRL's tensors, with NaN for None."""
    return np.array(scores, dtype=np.float32)


def rescore(rewards: Reward, groups: Iterable[Group]) -> Iterator[ScoredGroup]:
    """Score groups as TRL would, each term separately."""
    groups = iter(groups)
    while chunk := list(islice(groups, GROUPS_AT_ONCE)):
        by_term = {reward.name: score_term(reward, chunk) for reward in rewards.rewards}
        for index, group in enumerate(chunk):
            scores = {name: scored[index][0] for name, scored in by_term.items()}
            seconds = {name: scored[index][1] / group.size for name, scored in by_term.items()}
            totals = [rewards.total(row) for row in zip(*scores.values(), strict=True)]
            yield ScoredGroup(group, scores, totals, seconds, rewards)


def score_term(reward: Reward, groups: list[Group]) -> list[tuple[list[Score], float]]:
    """Return the scores and the seconds of each group. Asynchronous rewards score all groups concurrently."""
    if reward.is_async and not reward.is_grouped:
        return run_in_own_loop(score_async(reward, groups))
    return [score_group(reward, group) for group in groups]


def build_arguments(group: Group) -> dict[str, Any]:
    if group.step is None:
        state = {}
    else:
        state = {"trainer_state": SimpleNamespace(global_step=group.step - 1)}
    return {**group.columns, **state}


def score_group(reward: Reward, group: Group) -> tuple[list[Score], float]:
    start = time.perf_counter()
    if reward.is_grouped:
        return score_known_groups(reward, build_arguments(group), [0] * group.size), time.perf_counter() - start
    return reward(**build_arguments(group)), time.perf_counter() - start


async def score_async(reward: Reward, groups: list[Group]) -> list[tuple[list[Score], float]]:
    async def score_one(group: Group) -> tuple[list[Score], float]:
        start = time.perf_counter()
        return await reward.call_async(**build_arguments(group)), time.perf_counter() - start

    return await asyncio.gather(*map(score_one, groups))


@dataclass
class Tally:
    """Statistics of all groups, which are added one by one, also of how their totals differ from those by old rewards."""

    scores: dict[str, Counter[Score]] = field(default_factory=dict)  # of each term and of the total
    seconds: dict[str, list[float]] = field(default_factory=dict)
    matches: dict[str, tuple[int, int]] = field(default_factory=dict)  # scores that equal the recorded ones, of all
    groups: int = 0
    dead: int = 0
    dead_before: int = 0
    surprising: list[tuple[float, int, int, ScoredGroup]] = field(default_factory=list)  # a heap: surprise, group, row
    changes: Counter[str] = field(default_factory=Counter)  # of rows: "equal", "more" or "less"
    examples: dict[str, list[tuple[Score, Score, ScoredGroup, int]]] = field(
        default_factory=lambda: {"more": [], "less": []}
    )

    def add(self, scored: ScoredGroup, old: ScoredGroup | None = None) -> None:
        self.groups += 1
        self.dead += scored.is_dead
        for name, values in [*scored.scores.items(), ("total", scored.totals)]:
            self.scores.setdefault(name, Counter()).update(values)
        for name, seconds in scored.seconds.items():
            self.seconds.setdefault(name, []).append(seconds)
        self._compare_with_record(scored)
        for row, surprise in enumerate(measure_surprise(scored.totals)):
            heapq.heappush(self.surprising, (surprise, self.groups, row, scored))
            if len(self.surprising) > MAX_EXAMPLES:
                heapq.heappop(self.surprising)
        if old is not None:
            self._compare(old, scored)

    def _compare_with_record(self, scored: ScoredGroup) -> None:
        """Count the scores that equal those of the run."""
        for name in scored.scores.keys() & scored.group.recorded.keys():
            now = to_float32(scored.scores[name])
            then = np.array(scored.group.recorded[name], dtype=float)
            is_equal = np.isclose(now, then, 0, 0, equal_nan=True)
            same, seen = self.matches.get(name, (0, 0))
            self.matches[name] = same + int(is_equal.sum()), seen + len(now)

    def _compare(self, old: ScoredGroup, scored: ScoredGroup) -> None:
        """Count how the totals differ from those by old rewards, and keep the first examples of each way."""
        self.dead_before += old.is_dead
        ways = [*map(name_change, old.totals, scored.totals)]
        self.changes.update(ways)
        for way, examples in self.examples.items():
            if way in ways and len(examples) < MAX_EXAMPLES:  # one row of a group is enough
                row = ways.index(way)
                examples.append((old.totals[row], scored.totals[row], scored, row))


def name_change(before: Score, now: Score) -> str:
    """Return how a total has changed. None is lower than any."""
    if before == now or (before is not None and now is not None and abs(now - before) <= 1e-9):
        return "equal"
    if before is None or (now is not None and now > before):
        return "more"
    return "less"


def measure_surprise(totals: list[Score]) -> list[float]:
    """Return the distance of each total from the mean of the others. A single right or wrong answer is the furthest."""
    scored = [total for total in totals if total is not None]
    if len(scored) < 2:
        return [0.0] * len(totals)
    whole = sum(scored)
    return [0.0 if total is None else abs(total - (whole - total) / (len(scored) - 1)) for total in totals]
