"""Which of several runs is better, by how much, and at what cost."""

import math
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..records.held_out import read_held_out
from ..records.runs import find_output_dir
from .summaries import Summary, measure_margin, measure_paired_margin


def compare_runs(summaries: Sequence[Summary], runs: Sequence[dict[str, Any]]) -> list[str]:
    """Return what is said of each run in comparison with the first one, and nothing of that."""
    evaluations = [read_held_out(find_output_dir(one.source), one.last) for one in summaries]
    scores = [each[-1] if each else {} for each in evaluations]
    return [
        "",
        *(
            f"{tell_difference(runs[0], run, scores[0], mine)}{tell_costs(runs[0], run)}"
            for run, mine in zip(runs[1:], scores[1:], strict=True)
        ),
    ]


def tell_difference(
    first: dict[str, Any], other: dict[str, Any], theirs: dict[str, float], mine: dict[str, float]
) -> str:
    """Return how much better the other run is: problem by problem, by the last evaluation, or by the end of training."""
    same = sorted(theirs.keys() & mine.keys())
    if first["outcome"] != other["outcome"]:
        return f"{other['name']} and {first['name']} have different outcome rewards, so their scores are not compared."
    if len(same) > 1:
        differences = [mine[problem] - theirs[problem] for problem in same]
        where = f"on the same {len(same):,} held-out problems"
        return spell_difference(first, other, statistics.fmean(differences), measure_paired_margin(differences), where)
    evaluated = [one for run in (first, other) if (one := find_last_evaluation(run))]
    if len(evaluated) == 2:
        margin = measure_margin([one.error for one in evaluated], [one.problems for one in evaluated])
        where = "on held-out problems, which may differ"
        return spell_difference(first, other, evaluated[1].mean - evaluated[0].mean, margin, where)
    ends = [one for run in (first, other) if (one := find_end(run))]
    if len(ends) < 2:
        return f"{other['name']} and {first['name']} have no score in common."
    margin = math.hypot(*(one.error for one in ends))
    return spell_difference(first, other, ends[1].mean - ends[0].mean, margin, "at the end of training")


def spell_difference(first: dict[str, Any], other: dict[str, Any], mean: float, margin: float, where: str) -> str:
    word = "better than" if mean > 0 else "worse than"
    if not abs(mean) > margin:
        word = "about as good as"
    interval = f" ± {margin:.2f} (95 % interval)" if math.isfinite(margin) else ""
    change = (
        f"its {first['outcome'] or 'total reward'} is {'higher' if mean > 0 else 'lower'} by {abs(mean):.2f}{interval}"
    )
    chance = "" if abs(mean) > margin else ", which may be chance"
    return f"{other['name']} is {word} {first['name']}: {where}, {change}{chance}."


class ComparedScore(NamedTuple):
    mean: float
    error: float
    problems: int = 0


def find_last_evaluation(run: dict[str, Any]) -> ComparedScore | None:
    """Return the outcome of the last evaluation, its standard error, and the number of problems."""
    name = run["outcome"] or "total reward"
    for held_out in run["held_out"]:
        pair, spreads = dict(held_out["values"]).get(name), held_out["deviations"].get(name)
        if pair and pair[-1] is not None:
            spread = spreads[-1] if spreads and spreads[-1] is not None else math.inf
            return ComparedScore(pair[-1], spread / math.sqrt(held_out["problems"] or 1), held_out["problems"])
    return None


def find_end(run: dict[str, Any]) -> ComparedScore | None:
    """Return the first value at the end of training, and its part of the margin of the change."""
    if not run["changes"]:
        return None
    change = run["changes"][0]
    margin = change["margin"]
    return ComparedScore(change["values"][-1], math.inf if margin is None else margin / math.sqrt(2))


def tell_costs(first: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the differences in seconds and in generated tokens, as far as both are known."""
    seconds = [run["time"][-1][1] if run["time"] else 0.0 for run in (first, other)]
    found = [
        spell_cost(seconds[0], seconds[1], "seconds"),
        spell_cost(first["tokens"], other["tokens"], "generated tokens"),
    ]
    known = [text for text in found if text]
    return f" It took {' and '.join(known)}." if known else ""


def spell_cost(before: float, after: float, unit: str) -> str:
    change = round(after - before)
    if not before or not after or not change or round(after / before, 2) == 1:
        return ""
    noun = unit.removesuffix("s") if abs(change) == 1 else unit
    return f"{abs(change):,} {'more' if change > 0 else 'fewer'} {noun} ({after / before:.2f} times as many)"
