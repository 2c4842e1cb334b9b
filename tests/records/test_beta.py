"""Beta distributions by their moments."""

import math
import operator

import pytest

from trl_grpo_rewards.records.beta import beta_moment, count_likelihood, fit_beta


@pytest.mark.parametrize("right, wrong", [(1.0, 1.0), (2.0, 5.0), (0.5, 0.5), (30.0, 3.0)])
def test_a_distribution_is_found_from_its_mean_and_mean_square(right, wrong):
    mean = right / (right + wrong)
    square = right * (right + 1) / (right + wrong) / (right + wrong + 1)
    assert fit_beta(mean, square) == pytest.approx((right, wrong))
    assert (beta_moment(right, wrong, 1), beta_moment(right, wrong, 2)) == pytest.approx((mean, square))
    assert beta_moment(right, wrong, 0) == pytest.approx(1)


@pytest.mark.parametrize("right, wrong", [(1.0, 1.0), (2.0, 5.0), (0.5, 0.5)])
def test_the_likelihoods_of_all_counts_add_up_to_one(right, wrong):
    total = 8
    chances = [math.comb(total, passed) * count_likelihood(right, wrong, passed, total) for passed in range(total + 1)]
    assert sum(chances) == pytest.approx(1)
    assert chances[total] == pytest.approx(beta_moment(right, wrong, total))
    assert sum(map(operator.mul, chances, range(total + 1))) == pytest.approx(total * right / (right + wrong))


@pytest.mark.parametrize("mean, square", [(0.0, 0.0), (1.0, 1.0), (0.5, 0.25), (0.5, 0.5)])
def test_a_distribution_at_the_edge_has_positive_parameters(mean, square):
    right, wrong = fit_beta(mean, square)
    assert right > 0 and wrong > 0 and right / (right + wrong) == pytest.approx(mean, abs=1e-3)
