"""What the trainer itself logged: its curves, the time of its steps, and evaluations on held-out problems."""

import math
import re
from typing import Any

import pandas as pd

from ..records.fields import is_number
from ..records.signs import list_evaluations
from .trends import MAX_POINTS, choose_width


CURVES = (  # names in the log that the page draws, unless they are always 0 or not logged
    "entropy kl clip_ratio/region_mean grad_norm learning_rate frac_reward_zero_std groups/padding step_time "
    "groups/seconds_generation groups/seconds_scoring"
).split()
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
    rows = [[entry["step"], *(read_finite(entry.get(name)) for name in CURVES)] for entry in log]
    table = pd.DataFrame(rows, columns=["step", *CURVES], dtype=float).dropna(how="all", subset=[*CURVES])
    points = table.groupby((table["step"] - 1) // choose_width(table["step"], MAX_POINTS))
    means = points.mean()
    return {
        "steps": points["step"].agg(["min", "max"]).astype(int).to_numpy().tolist(),
        "series": [[name, means[name].tolist()] for name in CURVES if table[name].fillna(0).any()],
    }


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
    """Return the values of the first and the last evaluation of each dataset, and the steps of both."""
    return [
        {
            "dataset": dataset,
            "evaluations": len(evaluations),
            "steps": [evaluations[0]["step"], evaluations[-1]["step"]],
            "problems": round(math.prod(read_finite(evaluations[-1].get(name)) or 0.0 for name in SIZE)),
            "is_long": (read_finite(evaluations[-1].get("runtime")) or 0.0) > LONG,
            "values": pair_evaluations(evaluations, "mean", TITLES),
            "deviations": dict(pair_evaluations(evaluations, "std", {"reward_std": "total reward"})),
        }
        for dataset, evaluations in list_evaluations(log).items()
    ]


def pair_evaluations(
    evaluations: list[dict[str, Any]], part: str, titles: dict[str, str]
) -> list[tuple[str, list[float | None]]]:
    """Return the title of each value, and its first and last value. `part` is that of rewards, which are first."""
    before, after = evaluations[0], evaluations[-1]
    named = {name: match[1] for name in before if (match := re.fullmatch(f"rewards/(.+)/{part}", name))}
    named |= {name: titles[name] for name in ("reward", *before) if name in titles.keys() & before.keys()}
    return [(title, [read_finite(before[name]), read_finite(after.get(name))]) for name, title in named.items()]


def read_finite(value: Any) -> float | None:
    """Return a finite number of the log, or None. A larger one than any reward of a record is none."""
    return value if is_number(value) else None
