"""What other group sizes would give, estimated from the pass rates of a run's prompts.

A size is judged by its signal: the mean size of the advantage of a completion. It is counted per completion, since
completions are what generation costs. Only right and wrong answers count. For every pass rate the signal grows with the
size. If advantages are divided by the standard deviation of the group, where it stops growing depends on the run.
Otherwise the signal of size k is 2p(1-p)(1-1/k) for pass rate p, so the sizes compare in the same way in every run.
"""

import math
from collections import Counter
from typing import Any

from ..records.beta import fit_beta
from .pass_rates import PromptSample


GROUP_SIZES = (2, 4, 8, 16, 32, 64)
"""Group sizes to compare."""

ENOUGH = 0.9
"""Share of the signal of the largest size from which a smaller size is enough."""

MIN_SIGNAL = 0.01
"""Signal of the largest size below which no size is recommended, since prompts that were never solved have a guess."""


def compare_group_sizes(sample: PromptSample, is_scaled: bool = True, own: int = 0) -> dict[str, Any]:
    """
    Return the expected signal and the expected share of dead groups of each size, and the smallest size that is enough.

    No size is enough if advantages are not scaled, since the answer would be the same for every run.

    Args:
        sample ([`PromptSample`]):
            The prompts of the run. Their groups in the last quarter of the steps are used.
        is_scaled (`bool`, *optional*, defaults to `True`):
            Whether advantages are divided by the standard deviation of the group, TRL's default.
        own (`int`, *optional*, defaults to 0):
            Group size of the run, which is compared as well.
    """
    start = sample.last - (sample.last - sample.first + 1) / 4
    counts = [count for count in (prompt.count_since(start) for prompt in sample.prompts.values()) if count[1]]
    compared = sorted({*GROUP_SIZES, own} - {0, 1}) if counts else []
    sizes = [{"size": size, **evaluate_size(counts, size, is_scaled)} for size in compared]
    least = max(ENOUGH * max((one["signal"] for one in sizes), default=0.0), MIN_SIGNAL)
    return {
        "sizes": sizes,
        "enough": next((one["size"] for one in sizes if is_scaled and one["signal"] >= least), None),
        "prompts": len(counts),
        "since": math.floor(start) + 1,
        "scaled": is_scaled,
    }


def evaluate_size(counts: list[tuple[int, int]], size: int, is_scaled: bool = True) -> dict[str, Any]:
    """
    Return the signal per completion, the share of dead groups, and whether they are mostly extrapolated.

    Args:
        counts (`list[tuple[int, int]]`):
            Number of right completions and of all completions, for each prompt.
        size (`int`):
            Group size.
        is_scaled (`bool`, *optional*, defaults to `True`):
            As in [`compare_group_sizes`].
    """
    prior, signals = fit_prior(counts), [mean_advantage(right, size) for right in range(size + 1)]
    signal = dead = 0.0
    for count, prompts in Counter(counts).items():
        chances = draw_chances(*count, size, prior)
        dead += prompts * (chances[0] + chances[-1])
        scaled = sum(chance * one for chance, one in zip(chances, signals, strict=True))
        signal += prompts * (scaled if is_scaled else 2 * estimate_variance(*count) * (1 - 1 / size))
    is_extrapolated = sum(total < size for _, total in counts) > len(counts) / 2
    return {"signal": signal / len(counts), "dead": dead / len(counts), "extrapolated": is_extrapolated}


def mean_advantage(right: int, size: int) -> float:
    """Return the mean size of the scaled advantage in a group with this number of right completions, which earn 1."""
    return 2 * math.sqrt(right * (size - right) * (size - 1) / size) / size


def estimate_variance(passed: int, total: int) -> float:
    """Return an unbiased estimate of p(1-p) for the pass rate p of a prompt, or 0 for a single completion."""
    return passed * (total - passed) / (total * (total - 1)) if total > 1 else 0.0


def draw_chances(passed: int, total: int, size: int, prior: tuple[float, float]) -> list[float]:
    """
    Return the probability of each number of right completions in a group of this size.

    Up to the number of observed completions, groups are drawn from them, which is unbiased. For larger groups, the prior
    says which rates are likely. The observed rate alone is not enough, since eight wrong answers do not imply that
    sixty-four would all be wrong.
    """
    if size <= total:
        whole = math.comb(total, size)
        return [math.comb(passed, k) * math.comb(total - passed, size - k) / whole for k in range(size + 1)]
    right, wrong = prior[0] + passed, prior[1] + total - passed
    scale = log_beta(right, wrong)
    return [math.comb(size, k) * math.exp(log_beta(right + k, wrong + size - k) - scale) for k in range(size + 1)]


def log_beta(right: float, wrong: float) -> float:
    return math.lgamma(right) + math.lgamma(wrong) - math.lgamma(right + wrong)


def fit_prior(counts: list[tuple[int, int]]) -> tuple[float, float]:
    """Return the beta distribution of pass rates over prompts, from unbiased estimates of its first two moments."""
    pairs = [pair for pair in counts if pair[1] > 1] or [(1, 2)]
    mean = sum(passed / total for passed, total in pairs) / len(pairs)
    mean_square = sum(passed * (passed - 1) / (total * (total - 1)) for passed, total in pairs) / len(pairs)
    return fit_beta(mean, mean_square)
