"""What a run saved by skipping dead groups and by packing, in tokens, from its log."""

from collections.abc import Iterable
from typing import Any, NamedTuple


PASSES = ("", "_without_gradient")
"""Ends of the names of what is logged: of passes with gradient, and of passes without."""


class Savings(NamedTuple):
    """The tokens of all passes over the model, as shares of what TRL's batches would have had."""

    needed: float  # of live rows, without padding
    computed: float
    skipped: float  # saved because dead groups were skipped
    packed: float  # saved because the other rows were packed

    def __str__(self) -> str:
        return (
            f"The passes over the model computed {self.computed:.0%} of the tokens of TRL's batches; {self.needed:.0%} were "
            f"needed. Skipping dead groups saved {self.skipped:.0%}, and packing {round(self.packed, 2) + 0.0:.0%}."
        )


def describe_savings(log: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return what a reader should know about the savings of a run by its title, or nothing if its log does not say."""
    found = sum_savings(log)
    return {"Tokens": str(found)} if found else {}


def sum_savings(log: Iterable[dict[str, Any]]) -> Savings | None:
    """Return what a run saved, or None if its log does not say. An entry counts for all steps since the previous one."""
    sums, last = dict.fromkeys(("needed", "computed", "padded", "skipped"), 0.0), 0
    for entry in log:
        if isinstance(entry.get("groups/tokens_padded"), (int, float)):
            steps, last = max(entry["step"] - last, 1), entry["step"]
            for name in sums:
                values = (entry.get(f"groups/tokens_{name}{end}", 0) for end in PASSES)
                sums[name] += steps * sum(value for value in values if isinstance(value, (int, float)))
    whole = sums["padded"]
    if not whole > 0:
        return None
    needed, computed, skipped = (sums[name] / whole for name in ("needed", "computed", "skipped"))
    return Savings(needed, computed, skipped, 1 - skipped - computed)
