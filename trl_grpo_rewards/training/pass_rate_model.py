"""An online model of pass rates: Bayesian logistic regression on the features of prompts."""

import numpy as np


SPREADS = np.array([0.1, 0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 2.9, 3.5, 4.3])
"""Possible standard deviations of the log-odds of prompts whose features are the same."""

NODES, SHARES = np.polynomial.hermite_e.hermegauss(21)
SHARES /= SHARES.sum()
"""Points of a standard normal distribution and their probabilities, for integrals."""

DRIFT = 0.0003
"""Share of their first variance by which the weights become less certain with each group."""

MEMORY = 0.999
"""Exponent of the likelihood of all earlier groups when one is added, so that about the last thousand count."""


class PassRateModel:
    """
    A normal distribution of weights. The log-odds of a prompt's pass rate are the sum of its features' weights, plus a
    normal deviation of its own. The size of these deviations is also learned.

    A group changes the weights by as much as it changes the mean and the variance of the prompt's log-odds.

    Args:
        mean (`numpy.ndarray` of shape (features,)):
            The expected weights before anything is known.
        variance (`numpy.ndarray` of shape (features,)):
            Their variances. Features with a variance of 0 are not used.
        progress (`float`):
            Variance of the change of the first weight, which all prompts have, from one group to the next.
    """

    def __init__(self, mean: np.ndarray, variance: np.ndarray, progress: float) -> None:
        self.used = variance.nonzero()[0]
        self.weights = mean[self.used]
        self.covariance = np.diag(variance[self.used])
        self.drift = DRIFT * variance[self.used]
        self.drift[0] = progress
        self.evidence = np.zeros(len(SPREADS))  # log-likelihood of recent new prompts, for each spread

    @property
    def spread_weights(self) -> np.ndarray:
        """The probability of each spread."""
        shares: np.ndarray = np.exp(self.evidence - np.logaddexp.reduce(self.evidence))
        return shares

    def predict(self, features: np.ndarray) -> tuple[float, float]:
        """Return the mean and the mean square of the pass rate of a prompt that was never sampled."""
        mine = features[self.used]
        variance = mine @ self.covariance @ mine + SPREADS**2
        rates = 1 / (1 + np.exp(-(mine @ self.weights + np.sqrt(variance)[:, None] * NODES)))
        weights = self.spread_weights
        return float(weights @ rates @ SHARES), float(weights @ rates**2 @ SHARES)

    def learn(self, features: np.ndarray, right: int, total: int, is_new: bool) -> None:
        """Learn from a group. `is_new` says whether the prompt had never been asked."""
        mine = features[self.used]
        direction = self.covariance @ mine
        mean, variance = mine @ self.weights, mine @ direction + SPREADS**2
        log_odds = mean + np.sqrt(variance)[:, None] * NODES
        likelihoods = np.exp(right * log_odds - total * np.logaddexp(0.0, log_odds)) * SHARES
        evidence = likelihoods.sum(1)
        if is_new:
            self.evidence = MEMORY * self.evidence + np.log(evidence)
        shifts = (likelihoods * log_odds).sum(1) / evidence - mean
        kept = (likelihoods * log_odds**2).sum(1) / evidence - (mean + shifts) ** 2
        shrinkage = np.clip((variance - kept) / variance**2, 0.0, 0.999 / variance)
        weights = self.spread_weights
        self.weights += direction * float(weights @ (shifts / variance))
        self.covariance -= np.outer(direction * float(weights @ shrinkage), direction)
        self.covariance.flat[:: len(self.used) + 1] += self.drift
