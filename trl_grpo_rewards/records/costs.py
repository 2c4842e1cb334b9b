"""What a run cost and what it saved, as sentences from its log."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .fields import is_number


def describe_savings(log: Iterable[dict[str, Any]], is_once: bool) -> str:
    """Return what a run saved in all passes, or nothing if its log does not say. Runs without a version need prompts again."""
    shares = sum_tokens(log)
    if not shares:
        return ""
    needed, computed, skipped = shares
    packed = round(1 - skipped - computed, 2) + 0.0
    once = ", each prompt once" if is_once else ""
    return (
        f"The passes over the model computed {computed:.0%} of the tokens of TRL's batches; {needed:.0%} were needed{once}. "
        f"Skipping dead groups saved {skipped:.0%}, and packing {packed:.0%}."
    )


def sum_tokens(log: Iterable[dict[str, Any]]) -> list[float]:
    """Return the needed, the computed and the skipped tokens as shares of those of TRL's batches, or an empty list."""
    sums = np.zeros(4)
    last_step = 0
    for entry in log:
        if is_number(entry.get("groups/tokens_padded")):
            steps = max(entry["step"] - last_step, 1)  # an entry counts for all steps since the last one
            names = ("needed", "computed", "skipped", "padded")
            sums = sums + steps * np.array([sum_both_passes(entry, f"groups/tokens_{name}") for name in names])
            last_step = entry["step"]
    if not sums[3] > 0:
        return []
    return (sums[:3] / sums[3]).tolist()


def sum_both_passes(entry: dict[str, Any], name: str) -> float:
    """Return the tokens of passes with gradient and of those without."""
    counts = [entry.get(name), entry.get(f"{name}_without_gradient")]
    return sum((float(count or 0) for count in counts if is_number(count)), 0.0)


def describe_costs(log: Iterable[dict[str, Any]]) -> str:
    """Return where the seconds of a run went, or nothing if its log has no times."""
    log = [entry for entry in log if "reward" in entry]
    total, generation, scoring = (
        sum_over_steps(log, name) for name in ("step_time", "groups/seconds_generation", "groups/seconds_scoring")
    )
    if not total:
        return ""
    if not generation:
        return f"{total:,.0f} s in all steps."
    update = max(total - generation - scoring, 0.0)
    parts = (("generation", generation), ("scoring", scoring), ("update", update))
    found = [f"{total:,.0f} s in all steps: {', '.join(f'{name} {seconds / total:.0%}' for name, seconds in parts)}."]
    dead = sum_over_steps(log, "groups/dead", "groups/seconds_generation")
    if dead:
        found.append(f"{dead:,.0f} s of generation ({dead / generation:.0%}) were spent on groups that were dead.")
    if shares := sum_tokens(log):
        saved = update * (1 - shares[1]) / shares[1] if shares[1] > 0 else 0.0
        found.append(f"At the same speed, the tokens that were left out would have taken {saved:,.0f} s.")
    return " ".join(found)


def sum_over_steps(log: Iterable[dict[str, Any]], *names: str) -> float:
    """Return the sum over steps of the product of metrics. An entry has the mean of all steps since the last one."""
    total, last = 0.0, 0
    for entry in log:
        values = [float(entry[name]) for name in names if is_number(entry.get(name))]
        if len(values) == len(names):
            total += math.prod(values) * max(entry["step"] - last, 1)
        last = entry["step"]
    return total
