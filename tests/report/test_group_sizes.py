"""What other group sizes would give."""

import random
from math import comb, sqrt

import pytest
import torch

from helpers.made_runs import record
from trl_grpo_rewards.report.group_sizes import (
    GROUP_SIZES,
    compare_group_sizes,
    draw_chances,
    evaluate_size,
    mean_advantage,
)
from trl_grpo_rewards.report.pass_rates import PromptSample


def sample(rights: list[int], size: int) -> PromptSample:
    prompts = PromptSample()
    for place, right in enumerate(rights):
        prompts.add({"step": 1, **record({"boxed": [1] * right + [0] * (size - right)}, prompt=str(place))})
    return prompts


def test_the_share_of_dead_groups_equals_a_hand_count():
    found = compare_group_sizes(sample([0, 1, 2, 4], 4))
    sizes = {one["size"]: one for one in found["sizes"]}
    assert sizes[2]["dead"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1) / 4)  # of 6 pairs: all, 3, 2, all
    assert sizes[4]["dead"] == 0.5 and not sizes[4]["extrapolated"] and sizes[8]["extrapolated"]
    assert sizes[4]["signal"] == pytest.approx((mean_advantage(1, 4) + mean_advantage(2, 4)) / 4)


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("is_scaled", [True, False])
def test_the_signal_of_a_group_is_the_mean_size_of_its_advantages(size, is_scaled):
    for right in range(size + 1):
        rewards = torch.tensor([1.0] * right + [0.0] * (size - right))
        advantages = rewards - rewards.mean()
        if is_scaled and 0 < right < size:
            advantages /= rewards.std()  # as TRL divides, which adds 1e-4 to it
        assert mean_advantage(right, size, is_scaled) == pytest.approx(advantages.abs().mean().item(), abs=1e-6)


@pytest.mark.parametrize("is_scaled", [True, False])
def test_the_signal_per_completion_is_that_of_drawn_groups(is_scaled):
    """It is estimated from groups of 8, and compared with the pass rates that made them."""
    rng = random.Random(0)
    rates = [rng.betavariate(0.3, 0.5) for _ in range(4000)]
    seen = [(sum(rng.random() < rate for _ in range(8)), 8) for rate in rates]
    for size in (2, 8, 16, 64):
        truth = dead = 0.0
        for rate in rates:
            chances = [comb(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(size + 1)]
            truth += sum(one * mean_advantage(k, size, is_scaled) for k, one in enumerate(chances)) / len(rates)
            dead += (chances[0] + chances[-1]) / len(rates)
        found = evaluate_size(seen, size, is_scaled)
        assert found["signal"] == pytest.approx(truth, abs=0.02) and found["dead"] == pytest.approx(dead, abs=0.02)


def test_without_scaling_the_signal_has_a_closed_form():
    """p(1-p)(k-1)/k, twice: the mean of |reward - mean of the group|."""
    for passed, size in ((4, 4), (4, 16), (100, 8)):
        expected = 2 * passed / 200 * (1 - passed / 200) * (size - 1) / size * 200 / 199  # drawn without replacement
        found = sum(
            chance * mean_advantage(right, size, False)
            for right, chance in enumerate(draw_chances(passed, 200, size, (1.0, 1.0)))
        )
        assert found == pytest.approx(expected)


def test_chances_are_probabilities():
    for count in [(0, 8), (3, 8), (8, 8), (1, 1)]:
        for size in GROUP_SIZES:
            assert sum(draw_chances(*count, size, (0.4, 0.7))) == pytest.approx(1)


def test_the_size_that_is_enough_depends_on_the_run():
    """The signal grows with the size for every pass rate, so the largest size says nothing. Hard prompts need larger groups."""
    rng = random.Random(0)
    enough = []
    for rate in (0.5, 0.1, 0.02):
        rights = [sum(rng.random() < rate for _ in range(64)) for _ in range(300)]
        found = compare_group_sizes(sample(rights, 64))
        signals = [one["signal"] for one in found["sizes"]]
        assert signals == sorted(signals) and signals[-1] < 2 * sqrt(rate * (1 - rate)) + 0.02
        enough.append(found["enough"])
    assert enough == sorted({*enough}) and enough[0] <= 16 and enough[-1] == 64


def test_eight_wrong_answers_do_not_say_that_sixty_four_are_wrong_too():
    assert evaluate_size([(0, 8)] * 9, 64)["dead"] > 0.99
    assert evaluate_size([(0, 8)] * 5 + [(1, 8)] * 5, 64)["dead"] < 0.6


def test_nothing_scored_and_no_signal():
    assert compare_group_sizes(PromptSample())["sizes"] == []
    assert compare_group_sizes(sample([0, 0, 0], 8))["enough"] is None
