"""Corrects predicted probabilities by what came of earlier ones."""

import math

import numpy as np


UNCORRECTED = np.array([0.0, 1.0])
"""The coefficients before anything is known."""

CERTAINTY = np.diag([1 / 0.3**2, 1 / 0.25**2])
"""The inverse of its covariance."""

MEMORY = 0.995
"""Share of the earlier evidence that is left when one more result is added, so that about the last 200 count."""


class Calibration:
    """
    An online logistic regression (Platt scaling). The corrected log-odds are a + b times the predicted log-odds.

    A model that learns while its prompts are predicted makes predictions too extreme, or too low, as a whole. Two numbers
    are learned fast enough to follow it.
    """

    def __init__(self) -> None:
        self.coefficients, self.precision = UNCORRECTED.copy(), CERTAINTY.copy()

    def correct(self, probability: float) -> float:
        """Return the corrected probability."""
        odds = self.coefficients[0] + self.coefficients[1] * math.log(probability / (1.0 - probability))
        return min(max(1.0 / (1.0 + math.exp(-odds)), 0.001), 0.999)

    def learn(self, probability: float, result: bool) -> None:
        """Learn from a prediction, as it was before its correction, and whether it came true."""
        features = np.array([1.0, math.log(probability / (1.0 - probability))])
        expected = self.correct(probability)
        self.precision = CERTAINTY + MEMORY * (self.precision - CERTAINTY)
        self.precision += expected * (1.0 - expected) * np.outer(features, features)
        self.coefficients = self.coefficients + np.linalg.solve(self.precision, (result - expected) * features)
