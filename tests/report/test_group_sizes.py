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
        found = evaluate_size([(right, size)], size, is_scaled)["signal"]
        assert found == pytest.approx(advantages.abs().mean().item(), abs=1e-6)


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
            scales = [sqrt(k * (size - k) / size / (size - 1)) or 1.0 if is_scaled else 1.0 for k in range(size + 1)]
            sizes = [2 * k / size * (1 - k / size) / scale for k, scale in enumerate(scales)]
            truth += sum(one * part for one, part in zip(chances, sizes, strict=True)) / len(rates)
            dead += (chances[0] + chances[-1]) / len(rates)
        found = evaluate_size(seen, size, is_scaled)
        assert found["signal"] == pytest.approx(truth, abs=0.02) and found["dead"] == pytest.approx(dead, abs=0.02)


@pytest.mark.parametrize(("passed", "total"), [(2, 100), (16, 64), (1, 8), (4, 8), (8, 8)])
def test_without_scaling_the_signal_is_that_of_every_group_that_can_be_drawn(passed, total):
    for size in (2, 4, 8):
        drawn = sum(
            chance * 2 * right / size * (1 - right / size)
            for right, chance in enumerate(draw_chances(passed, total, size, (1.0, 1.0)))
        )
        assert evaluate_size([(passed, total)], size, False)["signal"] == pytest.approx(drawn)


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


PASS_RATES = {
    "always 2%": lambda rng: 0.02,
    "0 or 3%": lambda rng: rng.choice([0.0, 0.03]),
    "always 10%": lambda rng: 0.1,
    "mostly hard": lambda rng: rng.betavariate(0.3, 6),
    "hard or easy": lambda rng: rng.betavariate(0.2, 0.2),
    "always 50%": lambda rng: 0.5,
    "even": lambda rng: rng.random(),
}
"""Pass rates of prompts."""

ENOUGH_SIZES = {
    "always 2%": 64, "0 or 3%": 64, "always 10%": 32, "mostly hard": 32, "hard or easy": 32, "always 50%": 16, "even": 16
}  # fmt: skip


@pytest.mark.parametrize("size", [8, 64])
@pytest.mark.parametrize("name", PASS_RATES)
def test_the_size_that_is_enough_for_pass_rates(name, size):
    """It depends on the run, and sizes that are extrapolated from groups of 8 agree with those observed in groups of 64."""
    rng = random.Random(0)
    rates = [PASS_RATES[name](rng) for _ in range(300)]
    found = compare_group_sizes(sample([sum(rng.random() < rate for _ in range(size)) for rate in rates], size))
    assert found["enough"] == ENOUGH_SIZES[name]
    assert [one["size"] for one in found["sizes"] if one["extrapolated"]] == [one for one in GROUP_SIZES if one > size]


@pytest.mark.parametrize("size", [8, 64])
@pytest.mark.parametrize("name", PASS_RATES)
def test_without_scaling_the_sizes_compare_alike_in_every_run(name, size):
    """So nothing is recommended: the answer would say nothing about the run."""
    rng = random.Random(0)
    rates = [PASS_RATES[name](rng) for _ in range(50)]
    found = compare_group_sizes(sample([sum(rng.random() < rate for _ in range(size)) for rate in rates], size), False)
    shares = [one["signal"] / found["sizes"][-1]["signal"] for one in found["sizes"]]
    assert shares == pytest.approx([(1 - 1 / size) / (1 - 1 / 64) for size in GROUP_SIZES]) and found["enough"] is None


@pytest.mark.parametrize("own", [0, 1, 8, 6, 128])
def test_the_size_of_the_run_is_compared_too(own):
    sizes = [one["size"] for one in compare_group_sizes(sample([1, 2, 3], 8), own=own)["sizes"]]
    assert sizes == sorted({*GROUP_SIZES, *([own] if own > 1 else [])})


def test_eight_wrong_answers_do_not_say_that_sixty_four_are_wrong_too():
    assert evaluate_size([(0, 8)] * 9, 64)["dead"] > 0.99
    assert evaluate_size([(0, 8)] * 5 + [(1, 8)] * 5, 64)["dead"] < 0.6


def test_nothing_scored_and_no_signal():
    assert compare_group_sizes(PromptSample())["sizes"] == []
    assert compare_group_sizes(sample([0, 0, 0], 8))["enough"] is None
