"""Beta distributions of the rate at which a prompt is answered right."""

import math


def beta(mean: float, square: float) -> tuple[float, float]:
    """The beta distribution with this mean and mean square."""
    mean = min(max(mean, 1e-4), 1 - 1e-4)
    spread = (square - mean**2) / (mean * (1 - mean))
    strength = 1 / min(max(spread, 1e-3), 1 - 1e-3) - 1
    return mean * strength, (1 - mean) * strength


def power(right: float, wrong: float, exponent: int) -> float:
    """Mean of p^exponent for a beta distribution of p."""
    of = right + wrong
    return math.exp(math.lgamma(right + exponent) - math.lgamma(right) + math.lgamma(of) - math.lgamma(of + exponent))
