"""Everything that the page says about one run, computed from its records one at a time, and first what happened in words."""

import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..diagnosis.series import MIN_POINTS
from ..diagnosis.signs import Signs
from ..diagnosis.symptoms import diagnose
from ..diagnosis.table import MIN_STEPS, SYMPTOMS, Anomaly
from ..records.fields import is_number
from ..records.files import read_records
from ..records.held_out import read_held_out
from ..records.runs import (
    find_output_dir,
    find_weights,
    has_records,
    list_facts,
    read_log,
    read_planned,
    read_run,
    read_steps,
)
from .doubts import Doubts
from .excerpts import Examples, Excerpts
from .group_sizes import GroupSizes
from .trends import (
    GROUP_OUTCOMES,
    PASS_BANDS,
    PromptHistories,
    Ranges,
    RunStatistics,
    build_heatmap,
    compare_held_out,
    describe_progress,
    list_metrics,
    measure_time,
    select_curves,
)


# What makes TRL's trainer, or this one, write group records.
LINES = ("from trl_grpo_rewards import FilteredGRPOTrainer as GRPOTrainer", "group_records=True")


class Summary:
    def __init__(self, source: str | Path, runs: int = 1) -> None:
        self.source = Path(source)
        self.run, self.prompts = RunStatistics(), PromptHistories()
        self.excerpts, self.examples, self.doubts = Excerpts(runs), Examples(), Doubts()
        self.sizes = GroupSizes()
        self.log, self.description = read_log(self.source), read_run(find_output_dir(self.source)) or {}
        self.is_recorded = has_records(self.source)
        if not self.is_recorded:
            self.description = self.description or {"options": {"max_steps": read_planned(self.source)}}
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
        for part in (self.prompts, self.excerpts, self.examples, self.doubts, self.sizes):
            part.add(record)

    @property
    def name(self) -> str:
        return find_output_dir(self.source).name

    @property
    def last(self) -> int:
        """The last step that is known."""
        return max([self.run.ends[1], *(entry["step"] for entry in self.log)])

    def describe(self) -> dict[str, Any]:
        """Return what the page knows about the run. The scripts in `page` read it by these names."""
        run, log, ends, held_out = self.run, self.log, find_ends(self.run), compare_held_out(self.log)
        warnings, outcome = diagnose_run(run, log)
        anomalies, passed, points = list_anomalies(warnings), list_passed(warnings, outcome), chart_columns(run)
        options, (there, needed) = self.description.get("options") or {}, count_needed(run)
        paired = measure_change_margin(read_held_out(find_output_dir(self.source), self.last))
        margin = paired if len(held_out) == 1 else None  # the scores of problems do not name their dataset
        verdict = write_verdict(run, ends, held_out, self.description.get("held_out"), margin)
        if any(map(warnings.get, FALLS)):  # which are sure, also if the two ends alone may be chance
            verdict = [text.replace(CHANCE, "") for text in verdict]
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
            "changes": [*compare_ends(run, ends), *compare_metrics(log, run.rewards, ends.steps)],
            "held_out": held_out,
            "points": points,
            "log": select_curves(log),
            "time": measure_time(log),
            "heat": build_heatmap(self.prompts),
            "doubts": self.doubts.describe(),
            "sizes": self.sizes.describe() if run.is_share else None,
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
    """Return the first and the last tenth of a run, or up to three of its points if there are more, or its only point."""
    points = [*run.points.index]
    width = max(round(len(points) / 10), min(len(points) // 4, 3), 1)
    last = dict.fromkeys(points[-width:], min(len(points) - 1, 1))
    return run.merge(dict.fromkeys(points[:width], 0) | last)


def compare_ends(run: RunStatistics, ends: Ranges) -> list[dict[str, Any]]:
    """Return the values at both ends that are known, and half of the 95 % interval of their difference."""
    names = sorted(run.rewards, key=lambda name: name != run.outcome)
    rows = [
        *(
            (f"{name} (training)", run.is_share and name == run.outcome, f"rewards/{name}/mean", f"means/{name}")
            for name in names
        ),
        ("Solved groups", True, "groups/solved", "groups/solved"),
        ("Live groups", True, "groups/live", "groups/live"),
        ("Total reward", False, "reward", "reward"),
        ("Tokens per completion", False, "completions/mean_length", ""),
        ("Truncated", True, "completions/clipped_ratio", ""),
    ]
    rows.sort(key=lambda row: not run.outcome and row[0] != "Total reward")
    found = [
        {"what": what, "share": share, "values": ends.get("mean", name), "margin": find_margin(ends, means)}
        for what, share, name, means in rows
    ]
    return [one | {"values": one["values"].tolist()} for one in found if one["values"].notna().all()]


def compare_metrics(
    log: Sequence[dict[str, Any]], rewards: Iterable[str], ends: Sequence[Sequence[int]]
) -> list[dict[str, Any]]:
    """Return the mean at both ends of each metric that a reward logs, unless it is always 0."""
    changes = []
    for name in list_metrics(log):
        known = [(entry["step"], entry[name]) for entry in log if is_number(entry.get(name))]
        if name.partition("/")[0] in rewards and any(value for _, value in known):
            changes.append({"what": name, "share": False, "values": average_ends(known, ends), "margin": None})
    return changes


def average_ends(known: Sequence[tuple[int, float]], ends: Sequence[Sequence[int]]) -> list[float | None]:
    """Return the mean of logged values at each end. An end without an entry has the next one, if it is another."""
    next_ones = (known[0][1] if len(known) > 1 else None, known[-1][1])
    inside = [[value for step, value in known if first <= step <= last] for first, last in ends]
    return [statistics.fmean(found) if found else other for found, other in zip(inside, next_ones, strict=False)]


def find_margin(ends: Ranges, name: str) -> float | None:
    """Return the margin of a column with a row for each group or entry, or None if there are too few."""
    margin = measure_margin(ends.get("sem", name).fillna(math.inf), ends.get("count", name)) if name else math.inf
    return margin if math.isfinite(margin) else None


def find_anomalies(run: RunStatistics, log: Sequence[dict[str, Any]] = ()) -> tuple[list[Anomaly], list[str]]:
    """Return the warnings about a run, and what is true of it by the rules that have none. A run may have no groups."""
    warnings, outcome = diagnose_run(run, log)
    return list_anomalies(warnings), list_passed(warnings, outcome)


def diagnose_run(run: RunStatistics, log: Sequence[dict[str, Any]]) -> tuple[dict[str, list[Anomaly]], str]:
    """Return the warnings by rule, and the name of the outcome reward."""
    groups = describe_points(run) if run.is_whole else []
    signs = Signs(log, groups, outcome=run.outcome, weights=run.weights)
    return diagnose(signs), signs.outcome


def list_anomalies(warnings: dict[str, list[Anomaly]]) -> list[Anomaly]:
    return [one for found in warnings.values() for one in found]


def list_passed(warnings: dict[str, list[Anomaly]], outcome: str) -> list[str]:
    silent = [one for one in SYMPTOMS if warnings.get(one.name) == [] and not any(map(warnings.get, one.unless))]
    return [one.holds.format(outcome=outcome) for one in silent]


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


CHANCE = ", which may be chance"
FALLS = ("broken", "held_out_fall", "form", "longer", "fall")  # warnings that say that something falls
STATES = {"failed": "failed", "flat": "are flat (equal rewards)"}  # what the verdict says about such groups
MAX_SETS = 3  # number of datasets of evaluations that the verdict is about. More do not fit on the first screen.


def name_worst(warnings: Sequence[Anomaly]) -> list[str]:
    """Return a sentence with the title of the first warning, which is the worst, or nothing if there is none."""
    more = f", and {len(warnings) - 1} more below" if len(warnings) > 1 else ""
    return [f"Warning: {warnings[0].title}{more}."] if warnings else []


def write_verdict(
    run: RunStatistics,
    ends: Ranges,
    held_out: Sequence[dict[str, Any]],
    rows: Any = None,
    paired: float | None = None,
) -> list[str]:
    """Return how the outcome changed on each dataset that was evaluated twice, else in training; and the solved groups."""
    told = [text for one in held_out if (text := tell_evaluations(run, one, rows, paired))]
    if not told:
        name = run.outcome or "total reward"
        series, means = (f"rewards/{name}/mean", f"means/{name}") if run.outcome else ("reward", "reward")
        values = ends.get("mean", series).dropna().tolist()
        margin = measure_margin(ends.get("sem", means).fillna(math.inf), ends.get("count", means))
        if values:
            told = [f"In training, {run.outcome or 'the total reward'} {tell_change(values, run.is_share, margin)}."]
    more = [f"Below are {len(told) - MAX_SETS} more datasets."] if len(told) > MAX_SETS else []
    return [*told[:MAX_SETS], *more, *tell_solved(ends)]


def tell_evaluations(run: RunStatistics, held_out: dict[str, Any], rows: Any, paired: float | None) -> str:
    """
    Return how the outcome changed between two evaluations, with the margin over the same problems, if it is known.

    `rows` is anything, at best the number of problems of each.
    """
    name, dataset = run.outcome or "total reward", held_out["dataset"]
    pair, errors = dict(held_out["values"]).get(name), held_out["deviations"].get(name, [None])
    if not pair or None in pair or held_out["evaluations"] < 2:
        return ""
    known = rows.get(dataset or "") if isinstance(rows, dict) else None
    count = known if isinstance(known, int) and known > 0 else held_out["problems"]
    about = "about " if count != known and held_out["is_long"] else ""
    problems = f"{about}{count:,} held-out problem{'' if count == 1 else 's'}" if count else "held-out problems"
    errors = [math.inf if std is None else std / math.sqrt(count or 1) for std in errors]  # a problem counts once
    change = tell_change(pair, run.is_share, measure_margin(errors, [count] * 2) if paired is None else paired)
    return f"On {problems}{f' of {dataset}' if dataset else ''}, {run.outcome or 'the total reward'} {change}."


def measure_change_margin(evaluations: Sequence[dict[str, float]]) -> float | None:
    """Return the margin of the change from the first evaluation to the last one, on the problems that are in both."""
    if len(evaluations) < 2:
        return None
    first, last = evaluations[0], evaluations[-1]
    changes = [last[problem] - first[problem] for problem in first.keys() & last.keys()]
    return measure_paired_margin(changes) if len(changes) > 1 else None


def measure_paired_margin(differences: Sequence[float]) -> float:
    """Return about half of the 95 % interval of the mean of differences on the same problems."""
    count = len(differences)
    return measure_margin([statistics.stdev(differences) / math.sqrt(count)], [count + 1])


def measure_margin(errors: Sequence[float], counts: Sequence[int]) -> float:
    """Return about half of the 95 % interval of the difference between two means with these standard errors."""
    freedom = sum(counts) - 2
    return (2 + 4 / freedom) * math.hypot(*errors) if freedom > 0 else math.inf


def tell_change(values: Sequence[float], is_share: bool, margin: float) -> str:
    """Return how a value changed, or what it is if only one is known. A smaller change than the margin may be chance."""
    start, end = (spell_value(value, is_share) for value in (values[0], values[-1]))
    if len(values) == 1:
        return f"is {start}"
    if start == end:
        return f"stayed at {start}"
    if not abs(values[-1] - values[0]) > margin:
        return f"went from {start} to {end}{CHANCE}"
    return f"{'rose' if values[-1] > values[0] else 'fell'} from {start} to {end}"


def tell_solved(ends: Ranges) -> list[str]:
    """Return the share of solved groups, and that of the most common other kind. Nothing if the groups are not known."""
    counts = ends.get("count", "completions").fillna(0).tolist()
    if not all(counts):
        return []
    kinds = {kind: ends.get("mean", f"groups/{kind}").fillna(0).tolist() for kind in GROUP_OUTCOMES}
    solved = kinds.pop("solved")
    kind = max(kinds, key=lambda name: kinds[name][-1])
    share = kinds[kind][-1]
    rest = f"{spell_value(share, is_share=True)} {STATES.get(kind, f'are {kind}')}" if share else ""
    pooled = sum(map(math.prod, zip(solved, counts, strict=True))) / sum(counts)
    margin = measure_margin([math.sqrt(pooled * (1 - pooled) / count) for count in counts], counts)
    told = f"The share of solved training groups {tell_change(solved, True, margin)}"
    if not any(solved):
        told = "No training group is solved at the end"
    return [f"{told}; {rest}." if rest else f"{told}."]


def spell_value(value: float, is_share: bool) -> str:
    """Return a share in percent, and any other value with two decimals."""
    if not is_share:
        return f"{value:.2f}"
    return f"{value:.1%}" if 0 < value < 0.1 else f"{value:.0%}"
