"""Scores of recorded completions: what they would earn under other rewards, and how two rewards differ on them."""

import asyncio
import heapq
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from types import SimpleNamespace
from typing import Any

from ..expressions import Reward, find_first_outcome, score_known_groups
from ..scores import Score
from .dead_groups import has_dead_scores
from .files import Group


GROUPS_AT_ONCE = 128
"""Number of groups that are scored together. Rewards that call a server score them concurrently."""

MAX_EXAMPLES = 10
"""Largest number of rows that are shown of each kind."""


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
        rule, weights = self.group.rule, self.rewards.weights
        scores = [[round_to_float32(score) for score in mine] for mine in self.scores.values()]
        totals = [round_to_float32(total) for total in self.totals]
        left_out = [total is None for total in totals]
        if rule.unscored == "row":
            left_out = [
                any(score is None and weight != 0 for score, weight in zip(row, weights, strict=True))
                for row in zip(*scores, strict=True)
            ]
        scores = [leave_out(mine, left_out) for mine in scores]
        totals = leave_out(totals, left_out)
        names = [*self.scores]
        is_named = rule.outcome_reward in names
        outcome = names.index(rule.outcome_reward) if is_named else find_first_outcome(self.rewards.rewards, weights)
        return has_dead_scores(
            rule.dead_by, rule.tolerance, totals=totals, outcomes=scores[outcome], scores=scores, weights=weights
        )


def leave_out(scores: list[Score], left_out: list[bool]) -> list[Score]:
    return [None if out else score for score, out in zip(scores, left_out, strict=True)]


def rescore(rewards: Reward, groups: Iterable[Group]) -> Iterator[ScoredGroup]:
    """Score groups as TRL would, each term separately."""
    groups = iter(groups)
    while some := list(islice(groups, GROUPS_AT_ONCE)):
        by_term = {reward.name: score_term(reward, some) for reward in rewards.rewards}
        for index, group in enumerate(some):
            scores = {name: scored[index][0] for name, scored in by_term.items()}
            seconds = {name: scored[index][1] / group.size for name, scored in by_term.items()}
            rows = zip(*scores.values(), strict=True)
            yield ScoredGroup(group, scores, [rewards.total(row) for row in rows], seconds, rewards)


def score_term(reward: Reward, groups: list[Group]) -> list[tuple[list[Score], float]]:
    """Return the scores and the seconds of each group. Asynchronous rewards score all groups concurrently."""
    if reward.is_async and not reward.is_grouped:
        return asyncio.run(score_async(reward, groups))
    return [score_group(reward, group) for group in groups]


def build_arguments(group: Group) -> dict[str, Any]:
    """Return the arguments of a reward as TRL would pass them."""
    state = {} if group.step is None else {"trainer_state": SimpleNamespace(global_step=group.step - 1)}
    return {**group.columns, **state}


def score_group(reward: Reward, group: Group) -> tuple[list[Score], float]:
    start = time.perf_counter()
    if reward.is_grouped:
        return score_known_groups(reward, build_arguments(group), [0] * group.size), time.perf_counter() - start
    return reward(**build_arguments(group)), time.perf_counter() - start


async def score_async(reward: Reward, groups: list[Group]) -> list[tuple[list[Score], float]]:
    async def score_one(group: Group) -> tuple[list[Score], float]:
        start = time.perf_counter()
        return await reward(**build_arguments(group)), time.perf_counter() - start

    return await asyncio.gather(*map(score_one, groups))


@dataclass
class Tally:
    """Statistics of all groups, which are added one by one."""

    scores: dict[str, Counter[Score]] = field(default_factory=dict)  # of each term and of the total
    seconds: dict[str, list[float]] = field(default_factory=dict)
    matches: dict[str, tuple[int, int]] = field(default_factory=dict)  # scores that equal the recorded ones, of all
    groups: int = 0
    dead: int = 0
    surprising: list[tuple[float, int, int, ScoredGroup]] = field(default_factory=list)  # a heap: surprise, group, row

    def add(self, scored: ScoredGroup) -> None:
        self.groups += 1
        self.dead += scored.is_dead
        for name, values in [*scored.scores.items(), ("total", scored.totals)]:
            self.scores.setdefault(name, Counter()).update(values)
        for name, seconds in scored.seconds.items():
            self.seconds.setdefault(name, []).append(seconds)
        for name, values in scored.scores.items():
            if name in scored.group.recorded:
                same, seen = self.matches.get(name, (0, 0))
                same += sum(map(is_recorded, values, scored.group.recorded[name]))
                self.matches[name] = same, seen + len(values)
        for row, surprise in enumerate(measure_surprise(scored.totals)):
            heapq.heappush(self.surprising, (surprise, self.groups, row, scored))
            if len(self.surprising) > MAX_EXAMPLES:
                heapq.heappop(self.surprising)


def is_recorded(score: Score, recorded: Score) -> bool:
    """Whether a score equals the recorded one, which has passed through TRL's float32 tensor."""
    return round_to_float32(score) == recorded


def round_to_float32(score: Score) -> Score:
    """Return the score in the precision of TRL's float32 tensor."""
    return None if score is None else float(struct.unpack("f", struct.pack("f", score))[0])


def measure_surprise(totals: list[Score]) -> list[float]:
    """Return the distance of each total from the mean of the others. A single right or wrong answer is the furthest."""
    known = [total for total in totals if total is not None]
    if len(known) < 2:
        return [0.0] * len(totals)
    whole = sum(known)
    return [0.0 if total is None else abs(total - (whole - total) / (len(known) - 1)) for total in totals]


@dataclass
class Difference:
    """The differences between old and new rewards. Groups are added one by one."""

    rows: int = 0
    equal: int = 0  # rows with the same total
    dead: int = 0  # groups under the old rewards
    groups: int = 0
    up: int = 0  # rows with a higher total under the new rewards; None is lower than any
    down: int = 0
    examples: dict[str, list[tuple[Score, Score, ScoredGroup, int]]] = field(
        default_factory=lambda: {"up": [], "down": []}
    )

    def add(self, new: ScoredGroup, old: ScoredGroup) -> None:
        self.groups += 1
        self.dead += old.is_dead
        for row, (now, then) in enumerate(zip(new.totals, old.totals, strict=True)):
            self.rows += 1
            if now == then or (now is not None and then is not None and abs(now - then) <= 1e-9):
                self.equal += 1
                continue
            way = "up" if (now is not None and (then is None or now > then)) else "down"
            setattr(self, way, getattr(self, way) + 1)
            is_seen = any(group is new for *_, group, _ in self.examples[way])  # one row of a group is enough
            if len(self.examples[way]) < MAX_EXAMPLES and not is_seen:
                self.examples[way].append((then, now, new, row))
