"""A model of pass rates against what it should find."""

import numpy as np
import pytest

from trl_grpo_rewards.training.pass_rate_model import SPREADS, PassRateModel


def answer(model, rng, weights, spread, groups, size=8):
    """Let the model learn from prompts with these weights. Yield what it predicted, the true rate and the answers."""
    for _ in range(groups):
        features = np.array([1.0, *rng.integers(0, 2, len(weights) - 1)])
        rate = 1 / (1 + np.exp(-(features @ weights + spread * rng.normal())))
        right = int(rng.binomial(size, rate))
        yield (*model.predict(features), rate)
        model.learn(features, right, size, True)


def test_weights_and_their_spread_are_found():
    rng, weights = np.random.default_rng(0), np.array([0.5, 2.0, -1.5, 0.0])
    model = PassRateModel(np.zeros(4), np.full(4, 2.0), 0.0)
    list(answer(model, rng, weights, 0.8, 1500))
    assert model.weights == pytest.approx(weights, abs=0.35)
    assert model.spread_weights @ SPREADS == pytest.approx(0.8, abs=0.3)
    assert all(0 < value < 0.1 for value in np.diag(model.covariance))


@pytest.mark.parametrize("spread", [0.1, 1.0, 2.5])
def test_predictions_are_honest_from_the_first_group_on(spread):
    """The mean is right, and so is the mean square, which says how certain it is."""
    rng, rows = np.random.default_rng(1), []
    for _ in range(12):
        model = PassRateModel(np.zeros(4), np.full(4, 2.0), 0.0)
        rows += answer(model, rng, rng.normal(0, 2**0.5, 4), spread, 60)
    mean, mean_square, rate = np.array(rows).T
    assert mean.mean() == pytest.approx(rate.mean(), abs=0.04)
    assert mean_square.mean() == pytest.approx((rate**2).mean(), abs=0.04)
    for fifth in np.array_split(np.argsort(mean), 5):
        assert mean[fifth].mean() == pytest.approx(rate[fifth].mean(), abs=0.07)


def test_only_new_prompts_tell_how_far_prompts_spread():
    model = PassRateModel(np.zeros(2), np.ones(2), 0.0)
    model.learn(np.ones(2), 3, 8, False)
    assert not model.evidence.any() and model.weights.any()


def test_it_stays_finite_whatever_it_sees():
    model = PassRateModel(np.zeros(3), np.array([2.0, 0.0, 1e-6]), 0.01)
    for place in range(3000):
        model.learn(np.array([1.0, 5.0, 1.0]), 8 * (place % 700 < 350), 8, place % 2 == 0)
    assert np.isfinite(model.weights).all() and (np.linalg.eigvalsh(model.covariance) > 0).all()
    assert 0 < model.predict(np.array([1.0, 0.0, 1.0]))[0] < 1
