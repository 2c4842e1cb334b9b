"""What happened in a run, in a few sentences. A warning comes before what is good."""

import math
from collections.abc import Sequence
from typing import Any

from ..records.symptoms import Anomaly
from .trends import GROUP_OUTCOMES, Ranges, RunStatistics


STATES = {"failed": "failed", "flat": "are flat (equal rewards)"}  # what the verdict says about such groups
MAX_SETS = 3  # number of datasets of evaluations that the verdict is about. More do not fit on the first screen.


def name_worst(warnings: Sequence[Anomaly]) -> list[str]:
    """Return a sentence with the title of the first warning, which is the worst, or nothing if there is none."""
    more = f", and {len(warnings) - 1} more below" if len(warnings) > 1 else ""
    return [f"Warning: {warnings[0].title}{more}."] if warnings else []


def write_verdict(run: RunStatistics, ends: Ranges, held_out: Sequence[dict[str, Any]], rows: Any = None) -> list[str]:
    """Return how the outcome changed on each dataset that was evaluated twice, else in training; and the solved groups."""
    told = [text for one in held_out if (text := tell_evaluations(run, one, rows))]
    if not told:
        name = run.outcome or "total reward"
        series, means = (f"rewards/{name}/mean", f"means/{name}") if run.outcome else ("reward", "reward")
        values = ends.get("mean", series).dropna().tolist()
        margin = measure_margin(ends.get("sem", means).fillna(math.inf), ends.get("count", means))
        if values:
            told = [f"In training, {run.outcome or 'the total reward'} {tell_change(values, run.is_share, margin)}."]
    more = [f"Below are {len(told) - MAX_SETS} more datasets."] if len(told) > MAX_SETS else []
    return [*told[:MAX_SETS], *more, *tell_solved(ends)]


def tell_evaluations(run: RunStatistics, held_out: dict[str, Any], rows: Any) -> str:
    """Return how the outcome changed between two evaluations. `rows` is anything, at best the number of problems of each."""
    name, dataset = run.outcome or "total reward", held_out["dataset"]
    pair, errors = dict(held_out["values"]).get(name), held_out["deviations"].get(name, [None])
    if not pair or None in pair or held_out["evaluations"] < 2:
        return ""
    known = rows.get(dataset or "") if isinstance(rows, dict) else None
    count = known if isinstance(known, int) and known > 0 else held_out["problems"]
    about = "about " if count != known and held_out["is_long"] else ""
    problems = f"{about}{count:,} held-out problem{'' if count == 1 else 's'}" if count else "held-out problems"
    errors = [math.inf if std is None else std / math.sqrt(count or 1) for std in errors]  # a problem counts once
    change = tell_change(pair, run.is_share, measure_margin(errors, [count] * 2))
    return f"On {problems}{f' of {dataset}' if dataset else ''}, {run.outcome or 'the total reward'} {change}."


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
        return f"went from {start} to {end}, which may be chance"
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
