"""Beta distributions by their moments."""

import pytest

from trl_grpo_rewards.records.beta import fit_beta


@pytest.mark.parametrize("right, wrong", [(1.0, 1.0), (2.0, 5.0), (0.5, 0.5), (30.0, 3.0)])
def test_a_distribution_is_found_from_its_mean_and_mean_square(right, wrong):
    mean = right / (right + wrong)
    square = right * (right + 1) / (right + wrong) / (right + wrong + 1)
    assert fit_beta(mean, square) == pytest.approx((right, wrong))


@pytest.mark.parametrize("mean, square", [(0.0, 0.0), (1.0, 1.0), (0.5, 0.25), (0.5, 0.5)])
def test_a_distribution_at_the_edge_has_positive_parameters(mean, square):
    right, wrong = fit_beta(mean, square)
    assert right > 0 and wrong > 0 and right / (right + wrong) == pytest.approx(mean, abs=1e-3)
