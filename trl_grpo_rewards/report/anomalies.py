"""Warnings about a run, each with the steps and the numbers behind it. A run that learns well has no warnings.

Means are compared between tenths of the run. Two means differ if their difference exceeds both four standard errors
and a twentieth of the range of scores.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..records import dead_stretches
from ..records.partings import Parting, Point, find_first_parting
from .trends import RunStatistics, StepBin, merge_bins


MIN_STEPS = 20
"""Number of steps below which a run is too short to compare its tenths."""

CONSTANT_STEPS = 50
"""Number of consecutive steps without a different score, or without any score, that causes a warning."""

LARGE_WEIGHT = 0.2
"""Share of the weights from which a reward is expected to have some signal."""

NO_SIGNAL = 0.02
"""Share of the signal below which a reward counts as having none."""

NOISE = 4.0
"""Number of standard errors that a difference of means must exceed."""

MIN_CHANGE = 0.05
"""Share of a reward's range of scores that a difference of means must exceed."""

LENGTH_GROWTH = 1.2
"""Factor by which the mean length must have grown to cause a warning."""

DUPLICATES_GROWTH = 0.3
"""Increase in the share of duplicates that causes a warning."""

HIGH_PASS_RATE = 0.8
"""Pass rate from which duplicates are expected, since right completions may well be equal."""


@dataclass(frozen=True)
class Anomaly:
    """One warning: a few words, and details with steps, numbers, and what to do."""

    title: str
    details: str


def find_anomalies(run: RunStatistics) -> list[Anomaly]:
    """Return all warnings about a run. One that several checks give is told once."""
    return [*dict.fromkeys(anomaly for found in run_checks(run).values() for anomaly in found)]


def run_checks(run: RunStatistics) -> dict[str, list[Anomaly]]:
    """Return the warnings of each check for which the run is long enough. Its key says what holds without warnings."""
    checks = {}
    constant, unscored, dead = find_constant_rewards(run), find_unscored_rewards(run), find_dead_stretch(run)
    for name, one in dead.items():  # it says more about the same steps
        if name in constant and run.rewards[name].longest[1] == run.whole.last:
            constant[name] = one
        if name in unscored:
            unscored[name] = one
    if run.outcome and run.whole.last - run.whole.first + 1 >= dead_stretches.MIN_STEPS:
        checks[f"In the latest steps, {run.outcome} differs within groups, or most are solved."] = [*dead.values()]
    if run.rewards and run.whole.last - run.whole.first + 1 >= CONSTANT_STEPS:
        checks["Every reward gives scores."] = [one for name, one in unscored.items() if name not in constant]
        checks[f"No reward is constant for {CONSTANT_STEPS} steps, unless at its best score."] = [*constant.values()]
    parts = split_into_tenths(run)
    if not parts or not run.outcome:
        return checks
    weak = find_weak_rewards(run, parts)
    checks["Every reward with a large weight has a signal."] = [
        one for name, one in weak.items() if name not in constant | unscored
    ]
    for name in run.rewards:
        if run.whole.count(("witness", name)):
            checks[f"The total reward and {name} rise together."] = find_parted_witness(run, name)
    if len(run.rewards) > 1:
        checks[f"No reward rises while {run.outcome} falls."] = find_reward_hacking(run, parts)
    checks["Completions do not grow longer and worse."] = find_length_growth(run, parts)
    checks["Completions do not become duplicates without being right."] = find_collapse(run, parts)
    return checks


def find_dead_stretch(run: RunStatistics) -> dict[str, Anomaly]:
    """Return a warning if the outcome reward teaches nothing in the last tenth of the run, unless most groups are solved."""
    dead, run_steps = run.stretch, run.whole.last - run.whole.first + 1
    if not dead.is_long or dead.kind == "solved" or dead.last - dead.first + 1 < run_steps / 10:
        return {}
    return {run.outcome: Anomaly(f"{run.outcome} teaches nothing at the end", dead.describe(run.outcome))}


def split_into_tenths(run: RunStatistics) -> list[StepBin]:
    """Return the run in ten parts, or an empty list if the run is too short."""
    points = list(run.points)
    borders = [round(len(points) * tenth / 10) for tenth in range(11)] if len(points) >= MIN_STEPS else []
    return [merge_bins(points[start:end]) for start, end in zip(borders, borders[1:], strict=False)]


def find_constant_rewards(run: RunStatistics) -> dict[str, Anomaly]:
    """Return a warning for each constant reward, unless it has reached its best score and stays there."""
    found = {}
    for name, history in run.rewards.items():
        first, last, score = history.longest
        lowest, highest = score_range(run, name)
        best = lowest if weight_of(run, name) < 0 else highest
        is_learned = first > run.whole.first and score == best and lowest < highest
        if weight_of(run, name) and last - first + 1 >= CONSTANT_STEPS and not is_learned:
            found[name] = Anomaly(
                f"{name} is constant",
                f"It was {score:.3g} for every completion in steps {first}–{last}. A constant reward has no training "
                f"signal. Read some of the completions below, and check what the reward expects of them.",
            )
    return found


def find_unscored_rewards(run: RunStatistics) -> dict[str, Anomaly]:
    """Return a warning for each reward that stopped giving scores or never gave any."""
    return {
        name: Anomaly(
            f"{name} gives no score",
            f"It was None for every completion in steps {history.last_scored + 1}–{run.whole.last}. Check what it "
            f"needs, such as its dataset column or the server that it calls.",
        )
        for name, history in run.rewards.items()
        if run.whole.last - history.last_scored >= CONSTANT_STEPS
    }


def find_weak_rewards(run: RunStatistics, parts: list[StepBin]) -> dict[str, Anomaly]:
    """Return a warning for each reward that has a large weight but almost no signal in any part of the run."""
    total = sum(abs(weight_of(run, name)) for name in run.rewards)
    found = {}
    for name in run.rewards:
        shares = [abs(share) for share in (part.signal(name) for part in parts) if share is not None]
        weight = abs(weight_of(run, name)) / total if total else 0.0
        if weight >= LARGE_WEIGHT and shares and max(shares) < NO_SIGNAL:
            found[name] = Anomaly(
                f"{name} has a large weight but little signal",
                f"It has {weight:.0%} of the weight and {run.whole.signal(name):.1%} of the signal in "
                f"{run.whole.steps}, because its scores hardly differ within a group. Make its scores finer, "
                f"or lower its weight.",
            )
    return found


def find_parted_witness(run: RunStatistics, name: str) -> list[Anomaly]:
    """Return a warning if the total rises while a reward of weight 0 does not."""
    found = find_first_parting([*list_witnessed(run, name)])
    return [] if found is None else [warn_of_parting(run, name, found)]


def find_reward_hacking(run: RunStatistics, parts: list[StepBin]) -> list[Anomaly]:
    """Return a warning for each reward that rises while the outcome falls."""
    best, end = find_best_part(run, parts), parts[-1]
    if not has_fallen(run, best, end):
        return []
    return [
        Anomaly(
            f"{name} rises while {run.outcome} falls",
            f"Between {best.steps} and {end.steps}, {name} went from {best.mean(('reward', name)):.2f} to "
            f"{end.mean(('reward', name)):.2f}, and {describe_outcome_change(run, best, end)}. Look for completions that "
            f"score high on {name} but are wrong according to {run.outcome}.",
        )
        for name in run.rewards
        if name != run.outcome and weight_of(run, name) * change_of_mean(run, name, best, end) > 0
    ]


def list_witnessed(run: RunStatistics, name: str) -> Iterator[Point]:
    """Yield the means of the total and of a reward of weight 0 over the completions that both score."""
    for point in run.points:
        trained, witness = point.mean(("witnessed", name)), point.mean(("witness", name))
        if trained is not None and witness is not None:
            yield Point(point.first, trained, witness)


def warn_of_parting(run: RunStatistics, witness: str, parting: Parting) -> Anomaly:
    """Return the warning about a total that parts from a witness. It names the reward that most of the rise is from."""
    before = merge_bins(point for point in run.points if point.first <= parting.since)
    after = merge_bins(point for point in run.points if parting.since < point.first <= parting.seen)

    def rise(name: str) -> float:
        means = [part.mean(("reward", name)) or 0.0 for part in (before, after)]
        return weight_of(run, name) * (means[1] - means[0])

    return Anomaly(
        f"The total reward rises while {witness} does not",
        f"They part at about step {parting.since}. Until step {parting.seen}, the total went from {parting.trained[0]:.2f} "
        f"to {parting.trained[1]:.2f}, mostly because of {max(run.rewards, key=rise)}, and {witness} from "
        f"{parting.witness[0]:.2f} to {parting.witness[1]:.2f}. Read completions from step {parting.since} on that have a "
        f"high total and that {witness} scores low.",
    )


def find_length_growth(run: RunStatistics, parts: list[StepBin]) -> list[Anomaly]:
    """Return a warning if completions grow longer while the outcome falls."""
    best, end = find_best_part(run, parts), parts[-1]
    before, after = best.mean("length"), end.mean("length")
    if not has_fallen(run, best, end) or not before or not after or after < LENGTH_GROWTH * before:
        return []
    return [
        Anomaly(
            "Completions grow longer and worse",
            f"Between {best.steps} and {end.steps}, the mean length went from {before:.0f} to {after:.0f} tokens, and "
            f"{describe_outcome_change(run, best, end)}. Check whether a reward grows with length, and how many completions are "
            f"truncated.",
        )
    ]


def find_collapse(run: RunStatistics, parts: list[StepBin]) -> list[Anomaly]:
    """Return a warning if the completions of a group become equal without becoming right."""
    start, end = parts[0], parts[-1]
    before, after = start.mean("duplicates"), end.mean("duplicates")
    is_right = (end.mean("pass") or 0.0) >= HIGH_PASS_RATE or change_of_mean(run, run.outcome, start, end) > 0
    if is_right or before is None or after is None or after - before < DUPLICATES_GROWTH:
        return []
    return [
        Anomaly(
            "Completions become duplicates",
            f"Between {start.steps} and {end.steps}, the share of completions that equal another one of their group "
            f"went from {before:.0%} to {after:.0%} in groups that are not solved, and "
            f"{describe_outcome_change(run, start, end)}. Raise the temperature or lower the learning rate.",
        )
    ]


def weight_of(run: RunStatistics, name: str) -> float:
    return run.weights.get(name, 1.0)


def score_range(run: RunStatistics, name: str) -> tuple[float, float]:
    """Return the smallest and the largest score of a reward."""
    return run.whole.lowest.get(("reward", name), 0.0), run.whole.highest.get(("reward", name), 0.0)


def mean_outcome(run: RunStatistics, part: StepBin) -> float:
    """Return the mean score of the outcome reward."""
    return part.mean(("reward", run.outcome)) or 0.0


def find_best_part(run: RunStatistics, parts: list[StepBin]) -> StepBin:
    """Return the part with the best mean outcome."""
    return max(parts, key=lambda part: mean_outcome(run, part))


def change_of_mean(run: RunStatistics, name: str, start: StepBin, end: StepBin) -> float:
    """Return the change of a reward's mean, or 0 if the change is not significant."""
    series = ("group mean", name)
    before, after = start.mean(series), end.mean(series)
    if before is None or after is None:
        return 0.0
    lowest, highest = score_range(run, name)
    noise = NOISE * math.hypot(start.standard_error(series), end.standard_error(series))
    return after - before if abs(after - before) > max(noise, MIN_CHANGE * (highest - lowest)) else 0.0


def has_fallen(run: RunStatistics, best: StepBin, end: StepBin) -> bool:
    return change_of_mean(run, run.outcome, best, end) < 0


def describe_outcome_change(run: RunStatistics, start: StepBin, end: StepBin) -> str:
    return f"{run.outcome} from {mean_outcome(run, start):.2f} to {mean_outcome(run, end):.2f}"
