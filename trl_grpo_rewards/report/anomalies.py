"""The warnings about a run with records: what its groups say, for the rules of `records.symptoms`."""

from collections.abc import Sequence
from typing import Any

from ..records.signs import MIN_POINTS, Signs
from ..records.symptoms import MIN_STEPS, Anomaly, explain_passed, judge
from .trends import GROUP_OUTCOMES, RunStatistics, StepBin, merge_bins


def read_signs(run: RunStatistics, log: Sequence[dict[str, Any]] = ()) -> Signs:
    """Return what is known about a run. A run may have no groups."""
    groups = [describe_bin(run, one) for one in run.points] if run.is_whole else []
    return Signs(log, groups, outcome=run.outcome, weights=run.weights)


def find_anomalies(run: RunStatistics, log: Sequence[dict[str, Any]] = ()) -> list[Anomaly]:
    """Return all warnings about a run."""
    return [one for found in judge(read_signs(run, log)).values() for one in found]


def list_passed(run: RunStatistics, log: Sequence[dict[str, Any]] = ()) -> list[str]:
    """Return what is true of a run according to the rules that can judge it and have no warning."""
    return explain_passed(read_signs(run, log))


def count_needed(run: RunStatistics) -> list[int]:
    """Return how many steps a run has, and how many trends need; or how many values and how many of these, if it is long."""
    steps = run.whole.last - run.whole.first + 1
    return [steps, MIN_STEPS] if steps < MIN_STEPS else [len([*run.points]), MIN_POINTS]


def split_into_tenths(run: RunStatistics) -> list[StepBin]:
    """Return the run in ten parts, or an empty list if the run is too short."""
    points = list(run.points)
    there, needed = count_needed(run)
    borders = [round(len(points) * tenth / 10) for tenth in range(11)] if there >= needed else []
    return [merge_bins(points[start:end]) for start, end in zip(borders, borders[1:], strict=False)]


def describe_bin(run: RunStatistics, one: StepBin) -> dict[str, Any]:
    """Return what the groups of a bin say, under the names of the trainer's metrics."""
    shares = {kind: one.sums["outcome", kind] / one.sums["groups"] for kind in GROUP_OUTCOMES}
    entry = {
        "first": one.first,
        "step": one.last,
        "completions": int(one.sums["completions"]),
        "lessons": {kind: int(one.sums["lessons", kind]) for kind in GROUP_OUTCOMES},
        "reward": one.mean("mean"),
        "completions/clipped_ratio": one.mean("truncated"),
        "completions/mean_length": one.mean("length"),
        "completions/max_length": one.highest.get("length"),
        "groups/duplicates": one.mean("duplicates"),
        "groups/dead": 1 - shares["live"],
        **{f"groups/{kind}": share for kind, share in shares.items()},
    }
    for name in run.rewards:
        entry[f"rewards/{name}/mean"] = one.mean(("reward", name))
        entry[f"rewards/{name}/std"] = one.deviation(("reward", name))
        entry[f"groups/signal/{name}"] = one.signal(name)
        if one.count(("witness", name)):
            entry |= {f"{series}/{name}": one.mean((series, name)) for series in ("witnessed", "witness")}
    return entry
