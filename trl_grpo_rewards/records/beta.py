"""Beta distributions of a prompt's pass rate."""


def fit_beta(mean: float, mean_square: float) -> tuple[float, float]:
    """Return the parameters of the beta distribution with this mean and mean square."""
    mean = min(max(mean, 1e-4), 1 - 1e-4)
    ratio = (mean_square - mean**2) / (mean * (1 - mean))  # ratio of the variance to its maximum
    strength = 1 / min(max(ratio, 1e-3), 1 - 1e-3) - 1
    return mean * strength, (1 - mean) * strength
