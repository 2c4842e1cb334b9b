"""Everything that the page says about one run, computed from its records one at a time."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..records.files import read_records
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
from .pass_rates import PromptHistories, build_heatmap
from .training_log import compare_held_out, describe_progress, measure_time, select_curves
from .trends import GROUP_OUTCOMES, PASS_BANDS, Ranges, RunStatistics
from .verdicts import name_worst, write_verdict


LINES = ("from trl_grpo_rewards import FilteredGRPOTrainer as GRPOTrainer", "group_records=True")
"""What makes TRL's trainer, or this one, write group records."""


class Summary:
    """What is known about a run, one of `runs` on the page."""

    def __init__(self, source: str | Path, runs: int = 1) -> None:
        self.source = Path(source)
        self.run, self.prompts = RunStatistics(), PromptHistories()
        self.excerpts, self.examples = Excerpts(runs), Examples()
        self.log, self.description = read_log(self.source), read_run(find_output_dir(self.source)) or {}
        self.is_recorded = has_records(self.source)
        if not self.is_recorded:
            self.description = self.description or {"options": {"max_steps": read_state(self.source).get("max_steps")}}
            self.run.weights = find_weights(self.log)
            for first, entry, records in read_steps(self.source, self.log):
                for record in records:
                    self.add(record, first)
                self.run.add_entry(entry, first)
            return
        for record in read_records(source):
            self.add(record)
        if not self.excerpts.count:
            raise ValueError(
                f"A report needs at least one group, but the files of '{source}' contain no complete record. Choose the "
                f"folder of a run that trained for at least one step with group_records=True."
            )

    def add(self, record: dict[str, Any], first: int | None = None) -> None:
        """Add a group. Of an entry of a log, `first` is the first step."""
        self.run.add(record, first)
        for part in (self.prompts, self.excerpts, self.examples):
            part.add(record)

    @property
    def name(self) -> str:
        return find_output_dir(self.source).name

    def describe(self) -> dict[str, Any]:
        """Return what the page knows about the run. The scripts in `page` read it by these names."""
        run, log, ends, held_out = self.run, self.log, find_ends(self.run), compare_held_out(self.log)
        (anomalies, passed), points = find_anomalies(run, log), chart_columns(run)
        options, (there, needed) = self.description.get("options") or {}, count_needed(run)
        verdict = write_verdict(run, ends, held_out, self.description.get("held_out"))
        return {
            "name": self.name,
            "progress": describe_progress(run.ends[1], options, log, not self.is_recorded),
            "verdict": [*name_worst(anomalies), *verdict],
            "examples": self.examples.describe(),
            "advice": "" if self.is_recorded else LINES["rewards" in self.description],
            "facts": list(list_facts(self.description, log).items()),
            "size": run.size,
            "groups": self.excerpts.count,
            "prompts": len(self.prompts.labels),
            "steps": [*run.ends],
            "tokens": int(sum(points["tokens"])),
            "outcome": run.outcome,
            "weights": [[name, run.weights.get(name, 1.0)] for name in run.rewards],
            "checked": there >= needed,
            "needed": [there, needed],
            "passed": passed,
            "anomalies": [one._asdict() for one in anomalies],
            "ends": ends.steps,
            "is_share": run.is_share,
            "changes": compare_ends(run, ends),
            "held_out": held_out,
            "points": points,
            "log": select_curves(log),
            "time": measure_time(log),
            "heat": build_heatmap(self.prompts),
        }


def chart_columns(run: RunStatistics) -> dict[str, Any]:
    """Return the columns of the charts over steps: a value for each point, NaN if there is none."""

    def read(name: str) -> list[float]:
        missing = 0 if name == "tokens" else math.nan
        return [*run.points[name].fillna(missing)] if name in run.points else [missing] * len(run.points)

    columns = {
        "mean": "reward", "spread": "spread", "length": "completions/mean_length", "shortest": "completions/min_length",
        "longest": "completions/max_length", "truncated": "completions/clipped_ratio", "tokens": "tokens",
    }  # fmt: skip
    return {
        "steps": run.points[["first", "last"]].to_numpy().tolist(),
        "kinds": [[kind, read(f"groups/{kind}")] for kind in GROUP_OUTCOMES],
        "bands": [[band, read(f"bands/{band}")] for band in PASS_BANDS],
        "rewards": [[name, read(f"rewards/{name}/mean")] for name in run.rewards],
        "signal": [[name, read(f"groups/signal/{name}")] for name in run.rewards],
        **{column: read(name) for column, name in columns.items()},
    }


def find_ends(run: RunStatistics) -> Ranges:
    """Return the first and the last tenth of a run, its first and last point if it is short, or its only point."""
    (there, needed), points = count_needed(run), [*run.points.index]
    first, last = points[:1], points[-1:]
    if there >= needed:
        first, last = points[: round(len(points) / 10)], points[round(len(points) * 0.9) :]
    return run.merge(dict.fromkeys(first, 0) | dict.fromkeys(last, min(len(points) - 1, 1)))


def compare_ends(run: RunStatistics, ends: Ranges) -> list[dict[str, Any]]:
    """Return values at the beginning and at the end of a run."""
    names = [run.outcome] if run.outcome else [*run.rewards]
    rows = [
        *((f"{name} (training)", run.is_share, f"rewards/{name}/mean") for name in names),
        ("Solved groups", True, "groups/solved"),
        ("Live groups", True, "groups/live"),
        ("Total reward", False, "reward"),
        ("Tokens per completion", False, "completions/mean_length"),
        ("Truncated", True, "completions/clipped_ratio"),
    ]
    rows.sort(key=lambda row: not run.outcome and row[0] != "Total reward")
    found = [{"what": what, "share": share, "values": ends.get("mean", name)} for what, share, name in rows]
    return [one | {"values": one["values"].tolist()} for one in found if one["values"].notna().all()]


def find_anomalies(run: RunStatistics, log: Sequence[dict[str, Any]] = ()) -> tuple[list[Anomaly], list[str]]:
    """Return the warnings about a run, and what is true of it by the rules that have none. A run may have no groups."""
    groups = describe_points(run) if run.is_whole else []
    signs = Signs(log, groups, outcome=run.outcome, weights=run.weights)
    told = judge(signs)
    silent = [rule for rule in RULES if told.get(rule.name) == [] and not any(map(told.get, rule.unless))]
    passed = [rule.holds.format(outcome=signs.outcome) for rule in silent]
    return [one for found in told.values() for one in found], passed


def count_needed(run: RunStatistics) -> list[int]:
    """Return how many steps a run has, and how many trends need; or how many values and how many of these, if it is long."""
    first, last = run.ends
    steps = last - first + 1
    return [steps, MIN_STEPS] if steps < MIN_STEPS else [len(run.points.index), MIN_POINTS]


def describe_points(run: RunStatistics) -> list[dict[str, Any]]:
    """Return what the groups of each point say, under the names of the trainer's metrics."""
    entries: list[dict[str, Any]] = run.points.to_dict("records")
    for entry in entries:
        lessons = {kind: int(entry.pop(f"lessons/{kind}")) for kind in GROUP_OUTCOMES}
        entry |= {"step": entry["last"], "completions": int(entry["completions"]), "lessons": lessons}
    return entries
