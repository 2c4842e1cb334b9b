"""The tokens that passes over a model need, compute, and would compute in TRL's batches."""

from typing import NamedTuple


class TokenCounts(NamedTuple):
    """
    Numbers of tokens, each counted once for every pass over it: `needed`, the different ones of live rows, `computed` with
    padding, `padded` in TRL's batches, which are as wide as the longest row, and `skipped`, those of dead rows among the
    latter.
    """

    needed: int = 0
    computed: int = 0
    padded: int = 0
    skipped: int = 0

    def times(self, number: int) -> "TokenCounts":
        return TokenCounts(*(number * value for value in self))


def add_counts(*counts: TokenCounts) -> TokenCounts:
    """Return the sum of some counts."""
    return TokenCounts(*map(sum, zip(*counts, strict=True)))


def describe_counts(with_gradient: TokenCounts, without_gradient: TokenCounts) -> dict[str, float]:
    """Return the metrics that are logged as `groups/...`."""
    both = add_counts(with_gradient, without_gradient)
    metrics: dict[str, float] = {f"tokens_{name}": value for name, value in with_gradient._asdict().items()}
    if without_gradient.padded:
        metrics |= {f"tokens_{name}_without_gradient": value for name, value in without_gradient._asdict().items()}
    return metrics | ({"padding": both.computed / both.needed} if both.needed else {})
