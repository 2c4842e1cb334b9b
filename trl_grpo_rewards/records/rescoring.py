"""What completions that were sampled before would earn under some rewards, and what other rewards would change."""

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

from ..batch import completion_text, prompt_text
from ..expressions import Reward, Score, score_known_groups
from .completions import Group
from .kinds import is_dead


AT_ONCE = 128
"""Groups that are scored at a time, so that what awaits a server awaits it for all of them."""

SHOWN = 10
"""Rows that are shown of each kind."""


@dataclass
class Scored:
    """
    A group with its scores.

    Args:
        group ([`Group`]):
            The completions.
        scores (`dict[str, list]`):
            Of each term its scores.
        totals (`list`):
            Weighted totals.
        seconds (`dict[str, float]`):
            Seconds that each term took for one row.
        outcome (`str`):
            Name of the outcome reward: the first term that is one, else the first.
    """

    group: Group
    scores: dict[str, list[Score]]
    totals: list[Score]
    seconds: dict[str, float]
    outcome: str

    @property
    def is_dead(self) -> bool:
        """Whether the group would be dead under these rewards, by the rule of its run and in TRL's precision."""
        deciding = {
            "total": [self.totals],
            "outcome": [self.scores[self.outcome]],
            "each": [*self.scores.values()],
        }[self.group.dead_by]
        return all(is_dead([as_float32(score) for score in scores], self.group.tolerance) for scores in deciding)


def score_groups(rewards: Reward, groups: Iterable[Group]) -> Iterator[Scored]:
    """Score groups as TRL would, each term by itself."""
    groups = iter(groups)
    outcome = next((reward.name for reward in rewards.rewards if reward.is_outcome), rewards.rewards[0].name)
    while some := list(islice(groups, AT_ONCE)):
        by_term = {reward.name: score_term(reward, some) for reward in rewards.rewards}
        for index, group in enumerate(some):
            scores = {name: scored[index][0] for name, scored in by_term.items()}
            seconds = {name: scored[index][1] / group.size for name, scored in by_term.items()}
            rows = zip(*scores.values(), strict=True)
            yield Scored(group, scores, [rewards.total(row) for row in rows], seconds, outcome)


def score_term(reward: Reward, groups: list[Group]) -> list[tuple[list[Score], float]]:
    """Scores and seconds of each group; all at once where the reward awaits something."""
    if reward.is_async and not reward.is_grouped:
        return asyncio.run(score_async(reward, groups))
    return [timed_call(reward, group) for group in groups]


def arguments(group: Group) -> dict[str, Any]:
    state = {} if group.step is None else {"trainer_state": SimpleNamespace(global_step=group.step - 1)}
    return {**group.columns, **state}


def timed_call(reward: Reward, group: Group) -> tuple[list[Score], float]:
    start = time.perf_counter()
    if reward.is_grouped:
        return score_known_groups(reward, arguments(group), [0] * group.size), time.perf_counter() - start
    return reward(**arguments(group)), time.perf_counter() - start


async def score_async(reward: Reward, groups: list[Group]) -> list[tuple[list[Score], float]]:
    async def one(group: Group) -> tuple[list[Score], float]:
        start = time.perf_counter()
        return await reward(**arguments(group)), time.perf_counter() - start

    return await asyncio.gather(*map(one, groups))


@dataclass
class Tally:
    """Numbers over all groups, as they pass."""

    scores: dict[str, Counter] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    as_recorded: dict[str, list[int]] = field(default_factory=dict)
    groups: int = 0
    dead: int = 0
    surprising: list[tuple] = field(default_factory=list)

    def add(self, scored: Scored) -> None:
        self.groups += 1
        self.dead += scored.is_dead
        for name, values in [*scored.scores.items(), ("total", scored.totals)]:
            self.scores.setdefault(name, Counter()).update(values)
        for name, seconds in scored.seconds.items():
            self.seconds.setdefault(name, []).append(seconds)
        for name, values in scored.scores.items():
            if name in scored.group.recorded:
                same = sum(map(alike, values, scored.group.recorded[name]))
                seen = self.as_recorded.setdefault(name, [0, 0])
                seen[0], seen[1] = seen[0] + same, seen[1] + len(values)
        for row, surprise in enumerate(surprises(scored.totals)):
            heapq.heappush(self.surprising, (surprise, self.groups, row, scored))
            if len(self.surprising) > SHOWN:
                heapq.heappop(self.surprising)


def alike(score: Score, recorded: Score) -> bool:
    """Whether a score is the recorded one, which has passed through TRL's tensor of float32."""
    if score is None or recorded is None:
        return score is recorded
    return as_float32(score) == recorded


def as_float32(score: Score) -> Score:
    """Return the score as it comes out of TRL's tensor of float32."""
    return None if score is None else struct.unpack("f", struct.pack("f", score))[0]


def surprises(totals: list[Score]) -> list[float]:
    """How far each total is from the mean of its siblings': most for the one who is right, or wrong, alone."""
    known = [total for total in totals if total is not None]
    if len(known) < 2:
        return [0.0] * len(totals)
    whole = sum(known)
    return [0.0 if total is None else abs(total - (whole - total) / (len(known) - 1)) for total in totals]


@dataclass
class Difference:
    """What changes from old rewards to new ones."""

    rows: int = 0
    equal: int = 0
    dead: int = 0
    groups: int = 0
    up: int = 0
    down: int = 0
    examples: dict[str, list[tuple]] = field(default_factory=lambda: {"up": [], "down": []})

    def add(self, new: Scored, old: Scored) -> None:
        self.groups += 1
        self.dead += old.is_dead
        for row, (now, then) in enumerate(zip(new.totals, old.totals, strict=True)):
            self.rows += 1
            if now == then or (now is not None and then is not None and abs(now - then) <= 1e-9):
                self.equal += 1
                continue
            way = "up" if (now is not None and (then is None or now > then)) else "down"
            setattr(self, way, getattr(self, way) + 1)
            if len(self.examples[way]) < SHOWN and all(seen is not new for *_, seen, _ in self.examples[way]):
                self.examples[way].append((then, now, new, row))  # one of a group is enough


def table(tally: Tally) -> str:
    """The numbers of each reward and of the total."""
    lines = [f"{'reward':20} {'mean':>8} {'None':>7} {'p50 ms':>8} {'p99 ms':>8} {'recorded':>9}  scores"]
    for name, scores in tally.scores.items():
        count = scores.total()
        known = Counter({score: number for score, number in scores.items() if score is not None})
        mean = sum(score * number for score, number in known.items()) / known.total() if known else float("nan")
        times = (
            [f"{1000 * at(sorted(tally.seconds[name]), share):8.3f}" for share in (0.5, 0.99)]
            if name in tally.seconds
            else ["", ""]
        )
        same, seen = tally.as_recorded.get(name, (0, 0))
        lines.append(
            f"{name:20} {mean:8.3f} {1 - known.total() / count:7.1%} {times[0]:>8} {times[1]:>8} "
            f"{f'{same / seen:.1%}' if seen else '-':>9}  {distribution(known)}"
        )
    lines.append("")
    lines.append(f"{tally.groups} groups, of which {tally.dead / max(1, tally.groups):.1%} would be dead")
    return "\n".join(lines)


def distribution(scores: Counter) -> str:
    """The scores and their shares where they are few, else their quartiles."""
    count = scores.total()
    if len(scores) <= 4:
        return ", ".join(f"{score:g}: {number / count:.1%}" for score, number in sorted(scores.items()))
    values = sorted(scores.elements())
    return "quartiles " + ", ".join(f"{at(values, share):.4g}" for share in (0, 0.25, 0.5, 0.75, 1))


def at(values: list[float], share: float) -> float:
    return values[round(share * (len(values) - 1))]


def surprising_rows(tally: Tally) -> str:
    found = sorted((entry for entry in tally.surprising if entry[0] > 0), key=lambda entry: -entry[0])
    if not found:
        return ""
    lines = ["most surprising, by the distance from their siblings' mean:"]
    return "\n".join(lines + [excerpt(shown(scored.totals[row]), scored.group, row) for _, _, row, scored in found])


def difference_text(difference: Difference, tally: Tally) -> str:
    rows, groups = max(1, difference.rows), max(1, difference.groups)
    lines = [
        f"against the old rewards: {difference.equal / rows:.1%} of {difference.rows} rows are paid the same, "
        f"{difference.up} more, {difference.down} less; dead groups {difference.dead / groups:.1%} -> "
        f"{tally.dead / groups:.1%}"
    ]
    for way, said in (("up", "paid more"), ("down", "paid less")):
        if difference.examples[way]:
            lines += ["", f"{said}:"]
        for then, now, scored, row in difference.examples[way]:
            lines.append(excerpt(f"{shown(then)} -> {shown(now)}", scored.group, row))
    return "\n".join(lines)


def shown(score: Score) -> str:
    return "None" if score is None else f"{score:.4g}"


def excerpt(label: str, group: Group, row: int) -> str:
    """A row in one line: its label, the question, and how the completion ends."""
    question = prompt_text(group.columns["prompts"][row]) if "prompts" in group.columns else ""
    answer = completion_text(group.columns["completions"][row])
    asked, said = " ".join(question.split()), " ".join(answer.split())
    return f"  {label:>14} | {asked[:50]:50} | {'...' if len(said) > 80 else ''}{said[-80:]}"
