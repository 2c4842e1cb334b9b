"""The means that TRL logs of micro-batches, where they have different numbers of rows, and ranks have fillers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from accelerate import Accelerator
from torch import Tensor
from torch.nn import functional

from .trl_members import replace_members


OF_TOKENS = ("entropy", "kl")
# Means over tokens, or over sequences if TRL has one ratio for each of them.
OF_RATIOS = ("clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean", "cispo_clip_ratio")
OF_SEQUENCES = ("vespo/phi_seq_mean",)
OF_EXTREMES = ("clip_ratio/low_min", "clip_ratio/high_max")  # of a micro-batch
OF_BATCHES = ("policy_loss", "aux_loss")


class Weights(NamedTuple):
    """What a micro-batch weighs in means, on all ranks."""

    tokens: int  # of completions, that count in the loss
    rows: int  # without fillers
    fillers: int = 0  # that ranks without a live row compute
    batches: float = 1.0  # of TRL, for which this one stands
    ranks: int = 0  # with live rows
    most_rows: int = 0  # of a rank

    def sum_up(self, name: str, mean: float, has_sequence_ratios: bool) -> tuple[float, float]:
        """Return the sum whose mean TRL has appended, and the number of its summands."""
        if name in OF_BATCHES:
            return mean, self.batches
        if name in OF_EXTREMES:  # NaN without a token, and 0 for the sequence of a filler
            return (mean, 1.0) if self.rows and not math.isnan(mean) else (0.0, 0.0)
        if name in OF_SEQUENCES or name in OF_RATIOS and has_sequence_ratios:
            of_fillers = self.fillers if name in OF_SEQUENCES else 0  # the weight of a ratio of 1 is 1
            return mean * (self.rows + self.fillers) - of_fillers, self.rows
        return mean * self.tokens, self.tokens


def add_shares(shares: Sequence[tuple[int, int]], fills: Sequence[bool], batches: float) -> Weights:
    """Return the weights of a micro-batch, given the rows and tokens of each rank, and whether it has a filler."""
    rows, tokens = zip(*shares, strict=True)
    most = max(map(sum, zip(rows, fills, strict=True)))
    return Weights(sum(tokens), sum(rows), sum(fills), batches, sum(map(bool, rows)), most)


@dataclass
class MetricMeans:
    """Replaces the values that TRL appends for micro-batches by one mean, until TRL logs it and clears its lists."""

    has_sequence_ratios: bool
    sums: dict[str, tuple[float, float]] = field(default_factory=dict)

    @contextmanager
    def weigh(self, metrics: Mapping[str, list[float]], weights: Weights) -> Iterator[None]:
        """Weight what is appended to metrics in the meantime."""
        lengths = {name: len(values) for name, values in metrics.items()}
        yield
        for name in OF_TOKENS + OF_RATIOS + OF_SEQUENCES + OF_EXTREMES + OF_BATCHES:
            values = metrics.get(name, [])
            if len(values) > lengths.get(name, 0):
                added = weights.sum_up(name, values.pop(), self.has_sequence_ratios)
                before = self.sums[name] if values else (0.0, 0.0)
                total, count = self.sums[name] = before[0] + added[0], before[1] + added[1]
                values[:] = [total / count if count else math.nan]  # which TRL leaves out


@contextmanager
def pad_gathered(accelerator: Accelerator, rows: int, scale: float = 1.0) -> Iterator[None]:
    """Let TRL gather NaN for rows that this rank lacks of `rows`, and losses times `scale`, as it returns them."""
    gather = accelerator.gather
    pad_across = accelerator.pad_across_processes
    of_tokens: list[Tensor] = []  # what TRL has padded itself, since it has a value of each token

    def pad_across_processes(value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        of_tokens.append(pad_across(value, *args, **kwargs))
        return of_tokens[-1]

    def pad(value: Tensor) -> Tensor:
        is_of_rows = value.dim() == 1 and all(value is not one for one in of_tokens)
        missing = rows - value.size(0) if is_of_rows else 0
        value = value if value.dim() else value * scale
        return gather(functional.pad(value, (0, missing), value=torch.nan) if missing > 0 else value)

    with replace_members(accelerator, gather=pad, pad_across_processes=pad_across_processes):
        yield
