"""Predicted probabilities, corrected by what came of earlier ones."""

import numpy as np
import pytest

from trl_grpo_rewards.training.calibration import Calibration


def follow(probabilities, chances, seed=0):
    """Return the corrected probabilities and what came of them, where each thing happens with its chance."""
    calibration, results = Calibration(), np.random.default_rng(seed).random(len(chances)) < chances
    corrected = []
    for probability, result in zip(probabilities, results, strict=True):
        corrected.append(calibration.correct(probability))
        calibration.learn(probability, bool(result))
    return np.array(corrected), results


def find_faults(probabilities, results):
    """Return how far the mean of the probabilities is from the share of what happened, for each fifth of them."""
    return [
        abs(probabilities[fifth].mean() - results[fifth].mean())
        for fifth in np.array_split(probabilities.argsort(), 5)
    ]


def test_predictions_are_only_less_extreme_before_anything_is_known():
    before = np.array([0.001, 0.3, 0.5, 0.7, 0.999])
    after = np.array([Calibration().correct(value) for value in before])
    assert after == pytest.approx(before, abs=0.04) and after[2] == 0.5
    assert (abs(after - 0.5) <= abs(before - 0.5)).all() and (after == np.sort(after)).all()


def test_predictions_that_are_too_extreme_are_corrected():
    odds = np.random.default_rng(1).normal(0.5, 2.0, 6000)
    probabilities, chances = 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(-(0.6 * odds - 0.4)))
    corrected, results = follow(probabilities.clip(0.001, 0.999), chances)
    assert max(find_faults(probabilities, results)) > 0.1
    assert max(find_faults(corrected[200:], results[200:])) < 0.05


def test_good_predictions_stay_as_good():
    chances = np.random.default_rng(2).random(2000).clip(0.001, 0.999)
    corrected, results = follow(chances, chances)
    assert max(find_faults(corrected, results)) < 0.05
    assert np.abs(corrected - chances).mean() < 0.05


def test_a_change_is_followed():
    chances = np.where(np.arange(1200) < 600, 0.8, 0.5)
    corrected, _ = follow(np.full(1200, 0.8), chances)
    assert corrected[500:600].mean() == pytest.approx(0.8, abs=0.06)
    assert corrected[900:].mean() == pytest.approx(0.5, abs=0.08)


def test_certain_predictions_that_fail_leave_it_finite():
    calibration = Calibration()
    for _ in range(1000):
        calibration.learn(0.999, False)
        calibration.learn(0.001, True)
    assert all(0.001 <= calibration.correct(value) <= 0.999 for value in (0.001, 0.5, 0.999))
