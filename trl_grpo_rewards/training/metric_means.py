"""Numbers of tokens that are logged, and means over micro-batches of what TRL logs, weighted by what they are means of."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple


OF_TOKENS = ("entropy", "kl")
OF_RATIOS = ("clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean", "cispo_clip_ratio")
"""Means over tokens, or over sequences if TRL has one ratio for each of them."""

OF_SEQUENCES = ("vespo/phi_seq_mean",)
OF_BATCHES = ("policy_loss", "aux_loss")


class Weights(NamedTuple):
    """What a micro-batch weighs in means, on all ranks."""

    tokens: int  # of completions, that count in the loss
    rows: int  # without fillers
    fillers: int = 0  # that ranks without a live row compute
    batches: float = 1.0  # of TRL, for which this one stands

    def sum_up(self, name: str, mean: float, has_sequence_ratios: bool) -> tuple[float, float]:
        """Return the sum whose mean TRL has appended, and the number of its summands."""
        if name in OF_BATCHES:
            return mean, self.batches
        if name in OF_SEQUENCES or name in OF_RATIOS and has_sequence_ratios:
            of_fillers = self.fillers if name in OF_SEQUENCES else 0  # the weight of a ratio of 1 is 1
            return mean * (self.rows + self.fillers) - of_fillers, self.rows
        return mean * self.tokens, self.tokens


class MetricMeans:
    """Replaces the values that TRL appends for micro-batches by one mean, until TRL logs it and clears its lists."""

    def __init__(self, has_sequence_ratios: bool) -> None:
        self.has_sequence_ratios = has_sequence_ratios
        self.sums: dict[str, tuple[float, float]] = {}

    @contextmanager
    def weigh(self, metrics: Mapping[str, list[float]], weights: Weights | None) -> Iterator[None]:
        """Weight what is appended to metrics in the meantime."""
        lengths = {name: len(values) for name, values in metrics.items()}
        yield
        for name in (OF_TOKENS + OF_RATIOS + OF_SEQUENCES + OF_BATCHES) if weights else ():
            values = metrics.get(name, [])
            if weights and len(values) > lengths.get(name, 0):
                last = values.pop()
                before = self.sums[name] if values else (0.0, 0.0)
                added = weights.sum_up(name, last, self.has_sequence_ratios)
                total, count = self.sums[name] = before[0] + added[0], before[1] + added[1]
                values[:] = [total / count if count else last]


class TokenCounts(NamedTuple):
    """Numbers of tokens, each counted once for every pass over it."""

    needed: int = 0  # the different ones of live rows
    computed: int = 0  # with padding
    padded: int = 0  # in TRL's batches, which are as wide as the longest row
    skipped: int = 0  # those of dead rows among the latter

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
