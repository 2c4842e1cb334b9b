"""Everything that the page says about one run, computed from its records one at a time."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..records.logs import read_log, read_state
from ..records.runs import list_facts, read_run
from ..records.signs import MIN_POINTS, Signs
from ..records.symptoms import MIN_STEPS, RULES, Anomaly, judge
from ..records.trl_runs import find_output_dir, find_weights, has_records, list_means, read_steps
from .examples import Examples
from .excerpts import Excerpts
from .pass_rates import PromptSample, build_heatmap, compare_group_sizes
from .training_log import compare_held_out, describe_progress, measure_time, select_curves, sum_entry
from .trends import GROUP_OUTCOMES, PASS_BANDS, RunStatistics, StepBin, merge_bins
from .verdicts import name_worst, write_verdict


LINES = ("from trl_grpo_rewards import FilteredGRPOTrainer as GRPOTrainer", "group_records=True")
"""What makes TRL's trainer, or this one, write group records."""


class Summary:
    """What is known about a run, one of `runs` on the page. Records are added in the order of their steps."""

    def __init__(self, source: str | Path, runs: int = 1) -> None:
        self.source = Path(source)
        self.run, self.prompts, self.excerpts = RunStatistics(), PromptSample(), Excerpts(runs)
        self.examples, self.is_recorded = Examples(), has_records(self.source)
        self.description: dict[str, Any] = {}
        self.log: list[dict[str, Any]] = []

    def add(self, record: dict[str, Any]) -> None:
        for part in (self.run, self.prompts, self.excerpts, self.examples):
            part.add(record)

    def add_log(self) -> None:
        """Add the steps of a run that has a log and no records."""
        log = read_log(self.source)
        self.run.weights = find_weights(log)
        for first, entry, records in read_steps(self.source, log):
            for record in records:
                self.add(record)
            self.run.add_entry(sum_entry(entry, first), list_means(entry))

    def describe(self) -> dict[str, Any]:
        """Return the data of the page, with the description of the run and its log."""
        self.run.end_step()
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
        summary.run.whole.last, summary.description.get("options") or {}, summary.log, not summary.is_recorded
    ),
    "verdict": lambda summary: write_verdict(
        summary.run, find_ends(summary.run), compare_held_out(summary.log), summary.description.get("held_out")
    ),
    "examples": lambda summary: summary.examples.describe(),
    "advice": lambda summary: "" if summary.is_recorded else LINES["rewards" in summary.description],
    "facts": lambda summary: list(list_facts(summary.description, summary.log).items()),
    "size": lambda summary: summary.run.size,
    "groups": lambda summary: summary.excerpts.count,
    "prompts": lambda summary: len(summary.prompts.ids),
    "steps": lambda summary: [summary.run.whole.first, summary.run.whole.last],
    "tokens": lambda summary: summary.run.whole.sums["tokens"],
    "outcome": lambda summary: summary.run.outcome,
    "weights": lambda summary: [[name, summary.run.weights.get(name, 1.0)] for name in summary.run.rewards],
    "checked": lambda summary: bool(split_into_tenths(summary.run)),
    "needed": lambda summary: count_needed(summary.run),
    "passed": lambda summary: summary.judged[1],
    "anomalies": lambda summary: [asdict(anomaly) for anomaly in summary.judged[0]],
    "ends": lambda summary: [[part.first, part.last] for part in find_ends(summary.run)],
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
    """Return the columns of the charts over steps: a value for each bin, None if the bin has none."""
    bins = list(run.points)

    def means(series: Hashable) -> list[float | None]:
        return [one.mean(series) for one in bins]

    return {
        "steps": [[one.first, one.last] for one in bins],
        "kinds": [
            [outcome, [share_of(one, "outcome", outcome, GROUP_OUTCOMES) for one in bins]]
            for outcome in GROUP_OUTCOMES
        ],
        "bands": [[band, [share_of(one, "band", band, PASS_BANDS) for one in bins]] for band in PASS_BANDS],
        "mean": means("mean"),
        "spread": means("spread"),
        "rewards": [[name, means(("reward", name))] for name in run.rewards],
        "signal": [[name, [one.signal(name) for one in bins]] for name in run.rewards],
        "length": means("length"),
        "shortest": [one.lowest.get("length") for one in bins],
        "longest": [one.highest.get("length") for one in bins],
        "truncated": means("truncated"),
        "tokens": [one.sums["tokens"] for one in bins],
    }


def share_of(one: StepBin, series: str, name: str, names: Sequence[str]) -> float | None:
    """Return the share of groups of this kind, among those of which it is known, or None without any."""
    known = sum(one.sums[series, other] for other in names)
    return one.sums[series, name] / known if known else None


def find_ends(run: RunStatistics) -> list[StepBin]:
    """Return the first and the last tenth of a run, its first and last step if it is short, or its only step."""
    parts = split_into_tenths(run) or [*run.points]
    return [parts[0], parts[-1]] if len(parts) > 1 else parts


def compare_ends(run: RunStatistics) -> list[dict[str, Any]]:
    """Return values at the beginning and at the end of a run."""
    ends, names = find_ends(run), [run.outcome] if run.outcome else [*run.rewards]
    rows: list[tuple[str, bool, list[float | None]]] = [
        *((f"{name} (training)", run.is_share, [part.mean(("reward", name)) for part in ends]) for name in names),
        ("Solved groups", True, [share_of(part, "outcome", "solved", GROUP_OUTCOMES) for part in ends]),
        ("Live groups", True, [share_of(part, "outcome", "live", GROUP_OUTCOMES) for part in ends]),
        ("Total reward", False, [part.mean("mean") for part in ends]),
        ("Tokens per completion", False, [part.mean("length") for part in ends]),
        ("Truncated", True, [part.mean("truncated") for part in ends]),
    ]
    rows.sort(key=lambda row: not run.outcome and row[0] != "Total reward")
    return [
        {"what": what, "share": is_share, "values": values} for what, is_share, values in rows if None not in values
    ]


def find_anomalies(run: RunStatistics, log: Sequence[dict[str, Any]] = ()) -> tuple[list[Anomaly], list[str]]:
    """Return the warnings about a run, and what is true of it by the rules that have none. A run may have no groups."""
    groups = [describe_bin(run, one) for one in run.points] if run.is_whole else []
    signs = Signs(log, groups, outcome=run.outcome, weights=run.weights)
    told = judge(signs)
    passed = [rule.holds.format(outcome=signs.outcome) for rule in RULES if told.get(rule.name) == []]
    return [one for found in told.values() for one in found], passed


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
