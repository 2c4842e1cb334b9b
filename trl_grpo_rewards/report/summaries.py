"""Everything that the page says about one run, computed from its records one at a time."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from ..records.runs import (
    find_output_dir,
    find_weights,
    has_records,
    list_facts,
    read_log,
    read_run,
    read_state,
    read_steps,
)
from ..records.signs import MIN_POINTS, Signs
from ..records.symptoms import MIN_STEPS, RULES, Anomaly, judge
from .excerpts import Examples, Excerpts
from .pass_rates import PromptHistories, build_heatmap, compare_group_sizes
from .training_log import compare_held_out, describe_progress, measure_time, select_curves
from .trends import GROUP_OUTCOMES, PASS_BANDS, Ranges, RunStatistics
from .verdicts import name_worst, write_verdict


LINES = ("from trl_grpo_rewards import FilteredGRPOTrainer as GRPOTrainer", "group_records=True")
"""What makes TRL's trainer, or this one, write group records."""


class Summary:
    """What is known about a run, one of `runs` on the page. Records are added in the order of their steps."""

    def __init__(self, source: str | Path, runs: int = 1) -> None:
        self.source = Path(source)
        self.run, self.prompts, self.excerpts = RunStatistics(), PromptHistories(), Excerpts(runs)
        self.examples, self.is_recorded = Examples(), has_records(self.source)
        self.description: dict[str, Any] = {}
        self.log: list[dict[str, Any]] = []

    def add(self, record: dict[str, Any], first: int | None = None) -> None:
        self.run.add(record, first)
        for part in (self.prompts, self.excerpts, self.examples):
            part.add(record)

    def add_log(self) -> None:
        """Add the steps of a run that has a log and no records."""
        log = read_log(self.source)
        self.run.weights = find_weights(log)
        for first, entry, records in read_steps(self.source, log):
            for record in records:
                self.add(record, first)
            self.run.add_entry(entry, first)

    def describe(self) -> dict[str, Any]:
        """Return the data of the page, with the description of the run and its log."""
        self.description, self.log = read_run(find_output_dir(self.source)) or {}, read_log(self.source)
        if not self.is_recorded:
            self.description = self.description or {"options": {"max_steps": read_state(self.source).get("max_steps")}}
        self.judged = find_anomalies(self.run, self.log)
        found = {name: describe(self) for name, describe in FIELDS.items()}
        return found | {"verdict": [*name_worst(found["anomalies"]), *found["verdict"]]}

    @property
    def name(self) -> str:
        return find_output_dir(self.source).name


FIELDS: dict[str, Callable[[Summary], Any]] = {
    "name": lambda summary: summary.name,
    "progress": lambda summary: describe_progress(
        summary.run.ends[1], summary.description.get("options") or {}, summary.log, not summary.is_recorded
    ),
    "verdict": lambda summary: write_verdict(
        summary.run, find_ends(summary.run), compare_held_out(summary.log), summary.description.get("held_out")
    ),
    "examples": lambda summary: summary.examples.describe(),
    "advice": lambda summary: "" if summary.is_recorded else LINES["rewards" in summary.description],
    "facts": lambda summary: list(list_facts(summary.description, summary.log).items()),
    "size": lambda summary: summary.run.size,
    "groups": lambda summary: summary.excerpts.count,
    "prompts": lambda summary: len(summary.prompts.labels),
    "steps": lambda summary: [*summary.run.ends],
    "tokens": lambda summary: int(summary.run.points.get("sum", "tokens").sum()),
    "outcome": lambda summary: summary.run.outcome,
    "weights": lambda summary: [[name, summary.run.weights.get(name, 1.0)] for name in summary.run.rewards],
    "checked": lambda summary: is_long(summary.run),
    "needed": lambda summary: count_needed(summary.run),
    "passed": lambda summary: summary.judged[1],
    "anomalies": lambda summary: [asdict(anomaly) for anomaly in summary.judged[0]],
    "ends": lambda summary: find_ends(summary.run).steps,
    "is_share": lambda summary: summary.run.is_share,
    "changes": lambda summary: compare_ends(summary.run),
    "held_out": lambda summary: compare_held_out(summary.log),
    "points": lambda summary: chart_columns(summary.run),
    "log": lambda summary: select_curves(summary.log),
    "time": lambda summary: measure_time(summary.log),
    "heat": lambda summary: build_heatmap(summary.prompts),
    "sizes": lambda summary: compare_group_sizes(summary.prompts, summary.run.size),
}
"""What the page knows about a run. The scripts in `page` read it by these names."""


def chart_columns(run: RunStatistics) -> dict[str, Any]:
    """Return the columns of the charts over steps: a value for each point, NaN if there is none."""

    def read(name: str, how: str = "mean") -> list[float]:
        values: list[float] = run.points.get(how, name).tolist()
        return values

    return {
        "steps": run.points.steps,
        "kinds": [[kind, read(f"kinds/{kind}")] for kind in GROUP_OUTCOMES],
        "bands": [[band, read(f"bands/{band}")] for band in PASS_BANDS],
        "mean": read("reward"),
        "spread": read("spread"),
        "rewards": [[name, read(f"rewards/{name}/mean")] for name in run.rewards],
        "signal": [[name, run.points.signal(name).tolist()] for name in run.rewards],
        "length": read("completions/mean_length"),
        "shortest": read("completions/min_length", "min"),
        "longest": read("completions/max_length", "max"),
        "truncated": read("completions/clipped_ratio"),
        "tokens": run.points.get("sum", "tokens").fillna(0).tolist(),
    }


def is_long(run: RunStatistics) -> bool:
    there, needed = count_needed(run)
    return there >= needed


def find_ends(run: RunStatistics) -> Ranges:
    """Return the first and the last tenth of a run, its first and last point if it is short, or its only point."""
    points = [*run.points.index]
    size = round(len(points) / 10) if is_long(run) else 1
    last = points[round(len(points) * 0.9) :] if is_long(run) else points[-1:]
    return run.merge(dict.fromkeys(points[:size], 0) | dict.fromkeys(last, min(len(points) - 1, 1)))


def compare_ends(run: RunStatistics) -> list[dict[str, Any]]:
    """Return values at the beginning and at the end of a run."""
    ends, names = find_ends(run), [run.outcome] if run.outcome else [*run.rewards]
    rows = [
        *((f"{name} (training)", run.is_share, f"rewards/{name}/mean") for name in names),
        ("Solved groups", True, "kinds/solved"),
        ("Live groups", True, "kinds/live"),
        ("Total reward", False, "reward"),
        ("Tokens per completion", False, "completions/mean_length"),
        ("Truncated", True, "completions/clipped_ratio"),
    ]
    rows.sort(key=lambda row: not run.outcome and row[0] != "Total reward")
    known = [(what, is_share, ends.get("mean", name)) for what, is_share, name in rows]
    return [
        {"what": what, "share": share, "values": values.tolist()}
        for what, share, values in known
        if values.notna().all()
    ]


def find_anomalies(run: RunStatistics, log: Sequence[dict[str, Any]] = ()) -> tuple[list[Anomaly], list[str]]:
    """Return the warnings about a run, and what is true of it by the rules that have none. A run may have no groups."""
    groups = describe_points(run) if run.is_whole else []
    signs = Signs(log, groups, outcome=run.outcome, weights=run.weights)
    told = judge(signs)
    passed = [rule.holds.format(outcome=signs.outcome) for rule in RULES if told.get(rule.name) == []]
    return [one for found in told.values() for one in found], passed


def count_needed(run: RunStatistics) -> list[int]:
    """Return how many steps a run has, and how many trends need; or how many values and how many of these, if it is long."""
    first, last = run.ends
    steps = last - first + 1
    return [steps, MIN_STEPS] if steps < MIN_STEPS else [len(run.points.index), MIN_POINTS]


def describe_points(run: RunStatistics) -> list[dict[str, Any]]:
    """Return what the groups of each point say, under the names of the trainer's metrics."""
    points = run.points
    means = ("reward", "completions/clipped_ratio", "completions/mean_length", "groups/duplicates")
    columns = {name: points.get("mean", name) for name in means}
    columns |= {"completions/max_length": points.get("max", "completions/max_length")}
    columns |= {f"groups/{kind}": points.get("mean", f"kinds/{kind}") for kind in GROUP_OUTCOMES}
    columns |= {"groups/dead": 1 - columns["groups/live"]}
    for name in run.rewards:
        columns[f"rewards/{name}/mean"] = points.get("mean", f"rewards/{name}/mean")
        columns[f"rewards/{name}/std"] = points.get("std", f"rewards/{name}/mean").fillna(0)
        columns[f"groups/signal/{name}"] = points.signal(name)
        columns |= {f"{series}/{name}": points.get("mean", f"{series}/{name}") for series in ("witnessed", "witness")}
    counts = {
        name: points.get("sum", name).astype(int)
        for name in ("completions", *(f"lessons/{kind}" for kind in GROUP_OUTCOMES))
    }
    entries: list[dict[str, Any]] = pd.DataFrame(columns | counts).to_dict("records")
    for entry, (first, last) in zip(entries, points.steps, strict=True):
        entry |= {
            "first": first,
            "step": last,
            "lessons": {kind: entry.pop(f"lessons/{kind}") for kind in GROUP_OUTCOMES},
        }
    return entries
