"""Statistics of a run by ranges of its steps: of completions, groups and pass rates; and what the trainer logged."""

import math
import os
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd

from ..diagnosis.series import list_evaluations
from ..records.dead_groups import DEFAULT_TOLERANCE, GroupKind, find_kind_alone, sum_covariances
from ..records.fields import identify_prompt, is_number
from ..records.runs import list_means
from ..texts import prompt_text


GROUP_OUTCOMES = ("solved", "live", "failed", "flat", "unscored")  # in the order of the chart
PASS_BANDS = ("none right", "up to 25%", "up to 50%", "up to 75%", "over 75%", "all right")  # in its order
MAX_POINTS = 120  # maximum number of ranges of steps of a run, and thus of points in a chart
ROUNDING_ERROR = 1e-9  # totals that differ by less count as equal, since sums of floating-point numbers are not exact


def keep_finite(values: Iterable[Any] | None) -> list[float]:
    return [value for value in values or () if is_number(value)]


def choose_width(steps: Any, limit: int) -> int:
    """Return the smallest power of two so that ranges of as many steps are not more than the limit."""
    width = 1
    while len(np.unique((steps - 1) // width)) > limit:
        width *= 2
    return width


class Table:
    """Columns of numbers, with NaN for what is not known. Rows are added one group at a time."""

    def __init__(self) -> None:
        self.columns = {"first": array("d"), "last": array("d")}
        self.size = 0

    def extend(self, first: int, last: int, size: int, columns: Mapping[str, Iterable[Any] | None]) -> None:
        """Add rows about these steps. A column may have fewer values than there are rows."""
        for name, values in {"first": [first] * size, "last": [last] * size, **columns}.items():
            column = self.columns.setdefault(name, array("d"))
            column.extend(repeat(math.nan, self.size - len(column)))
            column.extend(value if is_number(value) else math.nan for value in values or ())
        self.size += size

    def build(self) -> pd.DataFrame:
        return pd.DataFrame({name: pd.Series(np.array(column)) for name, column in self.columns.items()})


class Ranges:
    def __init__(self, tables: Iterable[pd.DataFrame], numbers: Mapping[int, int]) -> None:
        self.parts = [table.groupby(table["range"].map(numbers)) for table in tables]
        self.index = self.parts[0].size().index

    def get(self, how: str, name: str) -> pd.Series:
        """Return a statistic of a column for each range, with NaN for what is not known."""
        part = next((one for one in self.parts if name in one.obj), None)
        return pd.Series(math.nan, self.index) if part is None else part[name].agg(how).reindex(self.index)

    @property
    def steps(self) -> list[list[int]]:
        ends = (self.get("min", "first").astype(int), self.get("max", "last").astype(int))
        return [[first, last] for first, last in zip(*ends, strict=True)]


def choose_statistic(name: str) -> str:
    """Return how the values of a column become one value of a point."""
    if name in ("tokens", "completions", "variance") or name.startswith(("lessons/", "signal/")):
        return "sum"
    ends = {"first": "min", "last": "max", "completions/min_length": "min", "completions/max_length": "max"}
    return ends.get(name, "mean")


class RunStatistics:
    """Statistics of a run, whose records are added in the order of their steps and read afterwards."""

    def __init__(self) -> None:
        self.completions, self.groups = Table(), Table()
        self.rewards: dict[str, None] = {}
        self.weights: dict[str, float] = {}
        self.outcome = ""
        self.sizes: Counter[int] = Counter()

    def add(self, record: dict[str, Any], first: int | None = None) -> None:
        """Add a group. Of an entry of a log, `first` is the first step."""
        step, size = record["step"], count_completions(record)
        self.rewards |= dict.fromkeys(record["rewards"])
        self.weights |= record.get("weights") or {}
        self.outcome = self.outcome or find_outcome_reward(record)
        self.sizes[size] += 1
        self.groups.extend(first or step, step, 1, tabulate_group(record, size))
        if first is None:
            self.completions.extend(step, step, max(size, 1), list_scores(record))

    def add_entry(self, entry: dict[str, Any], first: int) -> None:
        """Add an entry of a log, as two completions that have its means and deviations. It says more than some of its groups."""
        lengths = (f"completions/{how}_length" for how in ("mean", "min", "max"))
        names = ("reward", "completions/clipped_ratio", *lengths)
        columns: dict[str, list[Any]] = {name: [entry.get(name)] for name in names}
        for name, mean in list_means(entry).items():
            std = sum(keep_finite([entry.get(f"rewards/{name}/std")]))
            pair = [one + sign * std for one in keep_finite([mean]) for sign in (-1, 1)]
            columns |= {f"rewards/{name}/mean": pair, f"means/{name}": [mean]}
            self.rewards.setdefault(name)
        self.completions.extend(first, entry["step"], 2, columns)

    @cached_property
    def tables(self) -> list[pd.DataFrame]:
        """The completions and the groups, each with its range: the number of a point in charts."""
        tables = [self.completions.build(), self.groups.build()]
        width = choose_width(tables[0]["first"], MAX_POINTS)
        return [table.assign(range=(table["first"] - 1) // width) for table in tables]

    def merge(self, numbers: Mapping[int, int]) -> Ranges:
        """Return statistics by the number of a range. Ranges without a number are left out."""
        return Ranges(self.tables, numbers)

    @cached_property
    def points(self) -> pd.DataFrame:
        """What the rows of each range say, under the names of metrics where there are such."""
        parts = [table.groupby("range") for table in self.tables]
        how = ({name: choose_statistic(name) for name in part.obj if name != "range"} for part in parts)
        steps, groups = (part.agg(each) for part, each in zip(parts, how, strict=True))
        spreads = {name: parts[0][name].std().fillna(0) for name in steps if name.startswith("rewards/")}
        points = steps.join(groups[groups.columns.difference(steps.columns)]).astype({"first": int, "last": int})
        points = points.assign(**{name.removesuffix("mean") + "std": values for name, values in spreads.items()})
        variance = points.get("variance", math.nan)
        shares = {name: points[name] / variance for name in points if name.startswith("signal/")}
        return points.assign(**{f"groups/{name}": values.where(variance > 0) for name, values in shares.items()})

    @property
    def is_whole(self) -> bool:
        """Whether the groups of all steps are known."""
        steps, groups = self.tables
        return bool(((steps["first"] == steps["last"]) & steps["first"].isin(groups["last"])).all())

    @property
    def is_share(self) -> bool:
        """Whether the outcome reward is 1 or 0 for every completion, so that its mean is the share of right ones."""
        scores = self.tables[0].get(f"rewards/{self.outcome}/mean", pd.Series()).dropna()
        return len(scores) > 0 and bool(scores.round(6).isin([0, 1]).all())

    @property
    def ends(self) -> tuple[int, int]:
        return int(self.tables[0]["first"].min()), int(self.tables[0]["last"].max())

    @property
    def size(self) -> int:
        """The most common number of completions in a group."""
        return self.sizes.most_common(1)[0][0] if self.sizes else 0


def count_completions(record: dict[str, Any]) -> int:
    return max(map(len, [record.get("total") or [], record.get("lengths") or [], *record["rewards"].values()]))


def find_outcome_reward(record: dict[str, Any]) -> str:
    """Return the name of the outcome reward, by default the first reward. Empty if there is none."""
    return record.get("outcome_reward") or next(iter(record["rewards"]), "")


def read_outcome_scores(record: dict[str, Any]) -> list[float | None]:
    scores: list[float | None] = record["rewards"].get(find_outcome_reward(record), [])
    return scores


def read_passes(record: dict[str, Any]) -> list[bool]:
    return [score >= 1 for score in read_outcome_scores(record) if score is not None]


def find_lesson(record: dict[str, Any]) -> GroupKind:
    """Return the kind of a group, or of a live one that by the outcome reward alone, as `count_lessons` does."""
    kind: GroupKind = record.get("outcome", "live")
    if kind != "live":
        return kind
    return find_kind_alone(read_outcome_scores(record), record.get("tolerance", DEFAULT_TOLERANCE))


def find_pass_band(passed: int, total: int) -> str:
    return PASS_BANDS[0 if not passed else 5 if passed == total else min(math.ceil(4 * passed / total), 4)]


def list_scores(record: dict[str, Any]) -> dict[str, Iterable[Any] | None]:
    """Return the values of each completion of a group, under the names of the metrics that they are part of."""
    lengths, rewards = record.get("lengths"), record["rewards"]
    found = {f"completions/{how}_length": lengths for how in ("mean", "min", "max")}
    found |= {"completions/clipped_ratio": record.get("truncated")}
    return found | {f"rewards/{name}/mean": scores for name, scores in rewards.items()}


def tabulate_group(record: dict[str, Any], size: int) -> dict[str, Iterable[Any]]:
    """Return the values of a group, under the names of metrics where there are such. Of kinds, one is 1, and others are 0."""
    passes, covariances, outcome = read_passes(record), compute_covariances(record), record.get("outcome")
    band = find_pass_band(sum(passes), len(passes)) if passes else None
    duplicates = record.get("duplicates") if outcome != "solved" else None
    values = {
        "reward": record.get("mean"),
        "spread": record.get("spread"),
        "completions": size,
        "tokens": sum(record.get("lengths") or []),
        "groups/duplicates": None if duplicates is None else duplicates / max(size, 1),
        "groups/dead": outcome != "live" if outcome else None,
        "variance": sum(covariances.values()),
        **{f"signal/{name}": covariance for name, covariance in covariances.items()},
    }
    for part, names, mine in (
        ("groups", GROUP_OUTCOMES, outcome), ("lessons", GROUP_OUTCOMES, find_lesson(record)), ("bands", PASS_BANDS, band),
    ):  # fmt: skip
        values |= {f"{part}/{name}": name == mine if mine else None for name in names}
    for name, scores in record["rewards"].items():
        known = keep_finite(scores)
        values[f"means/{name}"] = sum(known) / len(known) if known else None
    return {name: [value] for name, value in values.items()}


def compute_covariances(record: dict[str, Any]) -> dict[str, float]:
    weights, rewards = record.get("weights") or {}, record["rewards"]
    factors = [weights.get(name, 1.0) for name in rewards]
    scores = np.array([*rewards.values()] or [[]], dtype=float).T
    covariances = sum_covariances(scores * factors) if scores.size else np.zeros(0)
    return dict(zip(rewards, covariances.tolist(), strict=False)) if covariances.sum() > ROUNDING_ERROR**2 else {}


MAX_PROMPTS_SHOWN = 160  # maximum number of prompts in the heatmap. Those with the smallest hashes are shown.
MAX_LABEL = 400  # number of characters of a prompt that are kept to tell it from others
MAX_COLUMNS = 48  # maximum number of columns in the heatmap, each a range of steps
MIN_REPEATED = 0.1  # smallest share of prompts that must be sampled in several steps for a heatmap


class PromptHistories:
    """The groups of each prompt: their steps, right completions, and completions that are known to be right or wrong."""

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self.rows: list[tuple[str, int, int, int]] = []
        self.first, self.last = 0, 0

    def add(self, record: dict[str, Any]) -> None:
        prompt_id, passes = identify_prompt(record), read_passes(record)
        self.first, self.last = self.first or record["step"], record["step"]
        if prompt_id is not None and passes:
            self.rows.append((prompt_id, record["step"], sum(passes), len(passes)))
            if prompt_id not in self.labels:
                self.labels[prompt_id] = label_prompt(record)

    def build_table(self) -> pd.DataFrame:
        table = pd.DataFrame(self.rows, columns=["prompt", "step", "passed", "total"])
        return table.groupby(["prompt", "step"], as_index=False).sum()


def label_prompt(record: dict[str, Any]) -> str:
    """Return the beginning of the prompt, or its id if the record has no text."""
    return " ".join(prompt_text(record.get("prompt")).split())[:MAX_LABEL] or record["prompt_id"]


def leave_out_shared_start(labels: Mapping[str, str]) -> dict[str, str]:
    """Return each prompt without the words with which all of them begin, if these are long."""
    shared = os.path.commonprefix([*labels.values()]).rpartition(" ")[0] if len({*labels.values()}) > 1 else ""
    start = len(shared) + 1 if len(shared) >= 40 else 0
    return {prompt: ("… " if start else "") + text[start:] for prompt, text in labels.items()}


def shorten_labels(labels: Mapping[str, str]) -> dict[str, str]:
    cut = leave_out_shared_start(labels)
    return {prompt: text[:80] + "…" if len(text) > 80 else text for prompt, text in cut.items()}


def build_heatmap(prompts: PromptHistories) -> dict[str, Any]:
    """Return the heatmap: a row for each prompt with the latest pass rate in each range of steps, in the order of `solved`."""
    table, ranges = prompts.build_table(), range(prompts.first, prompts.last + 1)
    width = choose_width(pd.Series(ranges), MAX_COLUMNS)
    columns = range((prompts.first - 1) // width, (prompts.last - 1) // width + 1)
    known = table.groupby("prompt").step.count()  # most prompts of a short run have no history
    shown = known.index[known > 1][: MAX_PROMPTS_SHOWN * ((known > 1).sum() >= max(MIN_REPEATED * len(known), 2))]
    table = table[table.prompt.isin(shown)]
    solved = table[table.passed == table.total].groupby("prompt").step.min().to_dict()
    latest = table.groupby("prompt").last()
    order = sorted(shown, key=lambda one: (solved.get(one, math.inf), -latest.passed[one] / latest.total[one]))
    cells = table.groupby(["prompt", (table.step - 1) // width])[["passed", "total"]].sum()
    rates = (cells.passed / cells.total).unstack().reindex(index=order, columns=columns).ffill(axis=1).round(3)
    labels = shorten_labels(prompts.labels)
    return {
        "steps": [[max(at * width + 1, prompts.first), min((at + 1) * width, prompts.last)] for at in columns],
        "prompts": [[labels[one], solved.get(one)] for one in order],
        "rates": rates.to_numpy().tolist(),
        "total": len(known),
    }


CURVES = (  # names in the log that the page draws, unless they are always 0 or not logged
    "entropy kl clip_ratio/region_mean grad_norm learning_rate frac_reward_zero_std groups/padding step_time "
    "groups/seconds_generation groups/seconds_scoring"
).split()
MAX_METRICS = 40  # maximum number of other names in the log that are drawn; the export of a tracker may have hundreds
# Names in the log that neither a reward nor a callback has logged, but TRL, transformers or this trainer.
LOGGED_BY_TRAINERS = re.compile(
    "(rewards|completions|clip_ratio|vespo|sampling|tools|groups|profiling)/.*|(eval|train)_.*|step|epoch|loss|policy_loss|"
    "aux_loss|grad_norm|learning_rate|reward|reward_std|frac_reward_zero_std|kl|entropy|entropy_coef|cispo_clip_ratio|"
    "step_time|num_tokens|num_input_tokens_seen|total_flos"
)
SIZE = ("runtime", "samples_per_second")  # names in an evaluation whose product is its number of problems
LONG = 1000.0  # seconds of an evaluation above which this is not exact: a log rounds to 0.001

# Names in the log that are compared before and after training, and their titles. A reward has its own name.
TITLES = {
    "reward": "total reward",
    "groups/solved": "solved groups",
    "groups/dead": "dead groups",
    "completions/mean_length": "tokens per completion",
}

ROUNDING = 1e-6  # error of a number of steps that is computed from a logged epoch


def select_curves(log: list[dict[str, Any]]) -> dict[str, Any]:
    names = [*CURVES, *list_metrics(log)]
    rows = [[entry["step"], *(read_finite(entry.get(name)) for name in names)] for entry in log]
    table = pd.DataFrame(rows, columns=["step", *names], dtype=float).dropna(how="all", subset=names)
    points = table.groupby((table["step"] - 1) // choose_width(table["step"], MAX_POINTS))
    means = points.mean()
    return {
        "steps": points["step"].agg(["min", "max"]).astype(int).to_numpy().tolist(),
        "series": [[name, means[name].tolist()] for name in names if table[name].fillna(0).any()],
    }


def list_metrics(log: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names under which rewards have logged values with `log_metric`, and callbacks of the user."""
    names = dict.fromkeys(name for entry in log if "reward" in entry for name in entry)
    return [name for name in names if not LOGGED_BY_TRAINERS.fullmatch(name)][:MAX_METRICS]


def measure_time(log: list[dict[str, Any]]) -> list[list[float]]:
    """Return pairs of a step and the seconds that all steps until then took. Long logs are thinned out."""
    pairs, last, seconds = [], 0, 0.0
    for entry in log:
        step, time = entry["step"], read_finite(entry.get("step_time"))
        if time is not None and step > last:
            seconds += time * (step - last)
            last = step
            pairs.append([last, seconds])
    stride = max(len(pairs) // MAX_POINTS, 1)
    return pairs[:-1:stride] + pairs[-1:]


def describe_progress(last: int, options: dict[str, Any], log: list[dict[str, Any]], is_saved: bool) -> dict[str, Any]:
    """Return how far a run is. Without `max_steps`, the planned steps follow from the share of an epoch that was trained."""
    last = max([last, *(entry["step"] for entry in log)])  # with num_iterations, not every entry has rewards
    planned = options.get("max_steps")
    if not isinstance(planned, int) or planned < 1:
        known = [(entry["step"], read_finite(entry.get("epoch"))) for entry in log if entry["step"]]
        step, epoch = next(((step, epoch) for step, epoch in reversed(known) if epoch and epoch > ROUNDING), (0, 1.0))
        epochs = read_finite(options.get("num_train_epochs")) or 0.0
        planned = math.ceil(epochs * math.ceil(step / epoch - ROUNDING)) or None
    has_ended = any("train_runtime" in entry and entry["step"] >= last for entry in log)
    return {"last": last, "planned": planned, "ended": has_ended or (is_saved and last == planned)}


def compare_held_out(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the values of the first and the last evaluation of each dataset, and the steps of both. A step has one: the last."""
    sets = {
        dataset: [*{evaluation["step"]: evaluation for evaluation in evaluations}.values()]
        for dataset, evaluations in list_evaluations(log).items()
    }
    return [
        {
            "dataset": dataset,
            "evaluations": len(evaluations),
            "steps": [evaluations[0]["step"], evaluations[-1]["step"]],
            "problems": round(math.prod(read_finite(evaluations[-1].get(name)) or 0.0 for name in SIZE)),
            "is_long": (read_finite(evaluations[-1].get("runtime")) or 0.0) > LONG,
            "values": pair_evaluations(evaluations, "mean", TITLES) + pair_metrics(evaluations[0], evaluations[-1]),
            "deviations": dict(pair_evaluations(evaluations, "std", {"reward_std": "total reward"})),
        }
        for dataset, evaluations in sets.items()
    ]


def pair_evaluations(
    evaluations: list[dict[str, Any]], part: str, titles: dict[str, str]
) -> list[tuple[str, list[float | None]]]:
    """Return the title of each value, and its first and last value. `part` is that of rewards, which are first."""
    before, after = evaluations[0], evaluations[-1]
    named = {name: match[1] for name in before if (match := re.fullmatch(f"rewards/(.+)/{part}", name))}
    named |= {name: titles[name] for name in ("reward", *before) if name in titles.keys() & before.keys()}
    return [(title, [read_finite(before[name]), read_finite(after.get(name))]) for name, title in named.items()]


def pair_metrics(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, list[float | None]]]:
    """Return the first and last value of what each reward has logged, unless both are 0."""
    names = [name for name in before if f"rewards/{name.partition('/')[0]}/mean" in before]
    pairs = [(name, [read_finite(before[name]), read_finite(after.get(name))]) for name in names]
    return [(name, values) for name, values in pairs if any(values)]


def read_finite(value: Any) -> float | None:
    """Return a finite number of the log, or None. A larger one than any reward of a record is none."""
    return value if is_number(value) else None
