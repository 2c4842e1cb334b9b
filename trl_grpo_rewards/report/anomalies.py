"""What is wrong with a run, in words: each trouble with its steps and numbers, none on a run that learns.

Means are compared between tenths of the run, and differ only where the difference is beyond both noise (four standard
errors) and a twentieth of what the reward ever gave.
"""

import math
from dataclasses import dataclass

from .trends import Run, Stretch


STILL = 50
"""Steps of one value that are too many."""

HEAVY = 0.2
"""Share of the weights from which on a reward should have some signal."""

SILENT = 0.02
"""Share of the signal up to which a reward has none."""

NOISE = 4.0
"""Standard errors that are none."""

MOVED = 0.05
"""Of all that a reward ever gave, what is a difference."""

LONGER = 1.2
"""How many times as long completions have become where they climb."""

ALIKE = 0.3
"""By how much the share of duplicates has climbed where a run collapses."""

RIGHT = 0.8
"""Share of right completions from which on they may well be alike."""


@dataclass(frozen=True)
class Trouble:
    """
    One warning.

    Args:
        what (`str`):
            In a few words.
        how (`str`):
            Steps, numbers, and what to do.
    """

    what: str
    how: str


def troubles(run: Run) -> list[Trouble]:
    """All that is wrong with a run."""
    found = unscored(run) | stood_still(run)
    parts = tenths(run)
    if not parts or run.outcome is None:
        return [*found.values()]
    silent = [trouble for name, trouble in gone_silent(run, parts).items() if name not in found]
    return [*found.values(), *silent, *hacked(run, parts), *rambling(run, parts), *collapsed(run, parts)]


def tenths(run: Run) -> list[Stretch]:
    """A run in ten parts, or none if it is shorter than twenty steps."""
    points = list(run.points)
    borders = [round(len(points) * place / 10) for place in range(11)] if len(points) >= 20 else []
    return [together(points[start:end]) for start, end in zip(borders, borders[1:], strict=False)]


def together(stretches: list[Stretch]) -> Stretch:
    whole = Stretch(stretches[0].first, stretches[0].last)
    for stretch in stretches:
        whole.add(stretch)
    return whole


def stood_still(run: Run) -> dict[str, Trouble]:
    """Rewards of one value only, except those that have come to their best one and stay there."""
    found = {}
    for name, standstill in run.rewards.items():
        first, last, value = standstill.longest
        lowest, highest = reach(run, name)
        learned = (
            first > run.whole.first and value == (lowest if weight(run, name) < 0 else highest) and lowest < highest
        )
        if weight(run, name) and last - first + 1 >= STILL and not learned:
            found[name] = Trouble(
                f"{name} never differs",
                f"It was {value:.3g} for every completion in steps {first}–{last}. A reward without a difference "
                f"teaches nothing: look at some completions below, and check what the reward expects of them.",
            )
    return found


def unscored(run: Run) -> dict[str, Trouble]:
    """Rewards that have stopped to give scores, or never began."""
    return {
        name: Trouble(
            f"{name} gives no score",
            f"It was None for every completion in steps {standstill.scored + 1}–{run.whole.last}. Check what it needs: "
            f"its column, or the server it asks.",
        )
        for name, standstill in run.rewards.items()
        if run.whole.last - standstill.scored >= STILL
    }


def gone_silent(run: Run, parts: list[Stretch]) -> dict[str, Trouble]:
    """Rewards of large weight which in no part of the run have a share in what is learned."""
    total = sum(abs(weight(run, name)) for name in run.rewards)
    found = {}
    for name in run.rewards:
        shares = [abs(share) for share in (part.signal(name) for part in parts) if share is not None]
        share = abs(weight(run, name)) / total if total else 0.0
        if share >= HEAVY and shares and max(shares) < SILENT:
            found[name] = Trouble(
                f"{name} weighs much and teaches little",
                f"It has {share:.0%} of the weight and {run.whole.signal(name):.1%} of the signal in {run.whole.steps}: "
                f"within a group it hardly differs. Make it finer, or give it less weight.",
            )
    return found


def hacked(run: Run, parts: list[Stretch]) -> list[Trouble]:
    """Rewards that rise while the outcome falls."""
    best, end = peak(run, parts), parts[-1]
    if not falls(run, best, end):
        return []
    return [
        Trouble(
            f"{name} rises while {run.outcome} falls",
            f"Between {best.steps} and {end.steps}, {name} went from {best.mean(('reward', name)):.2f} to "
            f"{end.mean(('reward', name)):.2f} and {outcome_fell(run, best, end)}. Look for completions that please the "
            f"one without being right by the other.",
        )
        for name in run.rewards
        if name != run.outcome and weight(run, name) * moved(run, name, best, end) > 0
    ]


def rambling(run: Run, parts: list[Stretch]) -> list[Trouble]:
    """Completions that grow longer while the outcome falls."""
    best, end = peak(run, parts), parts[-1]
    short, long = best.mean("length"), end.mean("length")
    if not falls(run, best, end) or not short or not long or long < LONGER * short:
        return []
    return [
        Trouble(
            "Completions grow longer and worse",
            f"Between {best.steps} and {end.steps} the mean length went from {short:.0f} to {long:.0f} tokens, and "
            f"{outcome_fell(run, best, end)}. Check that no reward pays for length, and how many are truncated.",
        )
    ]


def collapsed(run: Run, parts: list[Stretch]) -> list[Trouble]:
    """Completions that become alike without becoming right."""
    start, end = parts[0], parts[-1]
    before, after = start.mean("duplicates"), end.mean("duplicates")
    right = (end.mean("pass") or 0.0) >= RIGHT or moved(run, run.outcome, start, end) > 0
    if right or before is None or after is None or after - before < ALIKE:
        return []
    return [
        Trouble(
            "Completions become alike",
            f"Between {start.steps} and {end.steps} the share that equals a sibling went from {before:.0%} to "
            f"{after:.0%} in groups that are not solved, and {run.outcome} from {value(run, start):.2f} to "
            f"{value(run, end):.2f}. A higher temperature or a smaller learning rate keeps them apart.",
        )
    ]


def weight(run: Run, name: str) -> float:
    return run.weights.get(name, 1.0)


def reach(run: Run, name: str) -> tuple[float, float]:
    """The smallest and the largest score of a reward."""
    return run.whole.lowest.get(("reward", name), 0.0), run.whole.highest.get(("reward", name), 0.0)


def value(run: Run, part: Stretch) -> float:
    """Mean of the outcome reward."""
    return part.mean(("reward", run.outcome)) or 0.0


def peak(run: Run, parts: list[Stretch]) -> Stretch:
    """The part with the best outcome."""
    return max(parts, key=lambda part: value(run, part))


def moved(run: Run, name: str, start: Stretch, end: Stretch) -> float:
    """Change of a reward's mean, 0 where it is noise."""
    before, after = start.mean(("group mean", name)), end.mean(("group mean", name))
    if before is None or after is None:
        return 0.0
    lowest, highest = reach(run, name)
    noise = NOISE * math.hypot(start.error(("group mean", name)), end.error(("group mean", name)))
    return after - before if abs(after - before) > max(noise, MOVED * (highest - lowest)) else 0.0


def falls(run: Run, best: Stretch, end: Stretch) -> bool:
    return moved(run, run.outcome, best, end) < 0


def outcome_fell(run: Run, best: Stretch, end: Stretch) -> str:
    return f"{run.outcome} from {value(run, best):.2f} to {value(run, end):.2f}"
