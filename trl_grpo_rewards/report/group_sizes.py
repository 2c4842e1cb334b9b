"""How many groups of other sizes would be dead, estimated from the pass rates of a run's prompts."""

import math
from typing import Any

from .pass_rates import PromptSample


GROUP_SIZES = (4, 8, 16, 32)
"""Group sizes that are compared with the size of the run."""


def compare_group_sizes(sample: PromptSample, own: int = 0) -> dict[str, Any]:
    """Return the expected share of dead groups of each size, from the groups in the last quarter of the steps."""
    start = sample.last - (sample.last - sample.first + 1) / 4
    counts = [count for prompt in sample.prompts.values() if (count := prompt.count_since(start))[1]]
    prior = fit_prior(counts)
    sizes = sorted({*GROUP_SIZES, own} - {0, 1}) if counts else []
    return {
        "dead": [[size, sum(estimate_dead(*one, size, prior) for one in counts) / len(counts)] for size in sizes],
        "observed": [size for size in sizes if sum(total >= size for _, total in counts) >= len(counts) / 2],
        "prompts": len(counts),
        "since": math.floor(start) + 1,
    }


def estimate_dead(passed: int, total: int, size: int, prior: tuple[float, float]) -> float:
    """
    Return the probability that a group of this size is all right or all wrong, for a prompt with these completions.

    Up to `total`, groups are drawn from the observed completions, which is unbiased. For larger groups, the pass rates of
    all prompts count, too, since eight wrong answers do not imply that thirty-two would all be wrong.
    """
    failed = total - passed
    if size <= total:
        return (math.comb(passed, size) + math.comb(failed, size)) / math.comb(total, size)
    alike = [prior[0] + passed, prior[1] + failed]
    return sum(math.prod((part + drawn) / (sum(alike) + drawn) for drawn in range(size)) for part in alike)


def fit_prior(counts: list[tuple[int, int]]) -> tuple[float, float]:
    """Return the beta distribution of pass rates over prompts, from unbiased estimates of its first two moments."""
    pairs = [pair for pair in counts if pair[1] > 1] or [(1, 2)]
    mean = sum(passed / total for passed, total in pairs) / len(pairs)
    mean_square = sum(passed * (passed - 1) / (total * (total - 1)) for passed, total in pairs) / len(pairs)
    mean = min(max(mean, 1e-4), 1 - 1e-4)
    share = (mean_square - mean**2) / (mean * (1 - mean))  # of the largest possible variance
    strength = 1 / min(max(share, 1e-3), 1 - 1e-3) - 1
    return mean * strength, (1 - mean) * strength
