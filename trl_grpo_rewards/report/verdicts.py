"""What happened in a run, in two sentences."""

from collections.abc import Sequence
from typing import Any

from .trends import GROUP_OUTCOMES, RunStatistics, StepBin


STATES = {
    "live": "are live",
    "failed": "failed",
    "flat": "are flat (equal rewards)",
    "unscored": "are unscored",
}
"""What the verdict says about groups that are not solved."""


def write_verdict(
    run: RunStatistics, ends: Sequence[StepBin], held_out: Sequence[dict[str, Any]], rows: Any = None
) -> list[str]:
    """
    Return how the outcome reward and the share of solved groups changed, between `ends` or in `held_out` evaluations.

    The verdict is about the first dataset that was evaluated twice, and about training if there is none. `rows` has the
    number of problems of each as the run's description has it, in which anything may stand.
    """
    values, where = [mean for part in ends if (mean := part.mean(("reward", run.outcome))) is not None], "In training"
    for one in reversed(held_out):
        pair = dict(one["values"]).get(run.outcome)
        if pair and None not in pair and one["evaluations"] > 1:
            count = rows.get(one["dataset"] or "") if isinstance(rows, dict) else None
            known = isinstance(count, int) and count > 0
            problems = f"{count:,} held-out problem{'' if count == 1 else 's'}" if known else "held-out problems"
            values, where = pair, f"On {problems}" + (f" of {one['dataset']}" if one["dataset"] else "")
    first = [f"{where}, {run.outcome} {tell_change(values, run.is_share)}."] if values else []
    return [*first, tell_solved(ends)]


def tell_change(values: Sequence[float], is_share: bool) -> str:
    """Return how a value changed, or what it is if only one is known."""
    start, end = (spell_value(value, is_share) for value in (values[0], values[-1]))
    if len(values) == 1:
        return f"is {start}"
    if start == end:
        return f"stayed at {start}"
    return f"{'rose' if values[-1] > values[0] else 'fell'} from {start} to {end}"


def tell_solved(ends: Sequence[StepBin]) -> str:
    """Return the share of solved groups, and that of the most common other kind."""
    shares = [{kind: part.sums["outcome", kind] / part.sums["groups"] for kind in GROUP_OUTCOMES} for part in ends]
    solved = [one.pop("solved") for one in shares]
    kind = max(shares[-1], key=lambda name: shares[-1][name])
    rest = f"{spell_value(shares[-1][kind], is_share=True)} {STATES[kind]}" if shares[-1][kind] else ""
    told = f"The share of solved training groups {tell_change(solved, is_share=True)}"
    if not any(solved):
        told = "No training group is solved at the end"
    return f"{told}; {rest}." if rest else f"{told}."


def spell_value(value: float, is_share: bool) -> str:
    """Return a share in percent, and any other value with two decimals."""
    if not is_share:
        return f"{value:.2f}"
    return f"{value:.1%}" if 0 < value < 0.1 else f"{value:.0%}"
