"""Corrects the predicted probability that a group is live, by comparing earlier predictions with their results."""

import math

import numpy as np


FIRST_COEFFICIENTS = np.array([0.0, 0.85])
"""The coefficients before anything is known. They pull predictions toward one half, since most are too extreme."""

FIRST_PRECISION = np.diag([1 / 0.3**2, 1 / 0.2**2])
"""The inverse of the prior covariance of the coefficients. The precision never falls below it."""

EVIDENCE_KEPT = 0.95
"""Share of the earlier evidence that is left when a result is added, so that about the last 20 count."""


class Calibration:
    """
    An online logistic regression (Platt scaling). The corrected log-odds are a + b times the predicted log-odds.

    While the trained model learns, predictions are too extreme, or too low overall. Two coefficients can be learned
    fast enough to correct this.
    """

    def __init__(self) -> None:
        self.coefficients, self.precision = FIRST_COEFFICIENTS.copy(), FIRST_PRECISION.copy()

    def correct(self, probability: float) -> float:
        """Return the corrected probability. The predicted one must be strictly between 0 and 1."""
        log_odds = float(self.coefficients @ describe_prediction(probability))
        return min(max(1.0 / (1.0 + math.exp(-log_odds)), 0.001), 0.999)

    def learn(self, probability: float, result: bool) -> None:
        """Learn from a prediction, as it was before its correction, and whether it came true."""
        features, expected = describe_prediction(probability), self.correct(probability)
        self.precision = FIRST_PRECISION + EVIDENCE_KEPT * (self.precision - FIRST_PRECISION)
        self.precision += expected * (1.0 - expected) * np.outer(features, features)
        self.coefficients = self.coefficients + np.linalg.solve(self.precision, (result - expected) * features)


def describe_prediction(probability: float) -> np.ndarray:
    """Return the features of a prediction: a constant, and its log-odds."""
    return np.array([1.0, math.log(probability / (1.0 - probability))])
