"""Beta distributions of a prompt's pass rate."""

import math


def fit_beta(mean: float, mean_square: float) -> tuple[float, float]:
    """Return the parameters of the beta distribution with this mean and mean square."""
    mean = min(max(mean, 1e-4), 1 - 1e-4)
    ratio = (mean_square - mean**2) / (mean * (1 - mean))  # ratio of the variance to its maximum
    strength = 1 / min(max(ratio, 1e-3), 1 - 1e-3) - 1
    return mean * strength, (1 - mean) * strength


def beta_moment(right: float, wrong: float, exponent: int) -> float:
    """Return the mean of p^exponent, where p has the beta distribution with parameters `right` and `wrong`."""
    total = right + wrong
    return math.exp(
        math.lgamma(right + exponent) - math.lgamma(right) + math.lgamma(total) - math.lgamma(total + exponent)
    )


def count_likelihood(right: float, wrong: float, passed: int, total: int) -> float:
    """Return the mean of p^passed (1 - p)^(total - passed), where p has the beta distribution with these parameters."""
    failed = total - passed
    return math.exp(
        math.lgamma(right + passed) - math.lgamma(right) + math.lgamma(wrong + failed) - math.lgamma(wrong)
        + math.lgamma(right + wrong) - math.lgamma(right + wrong + total)
    )  # fmt: skip
