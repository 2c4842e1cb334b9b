"""How many groups of other sizes would be dead."""

import functools
import random

import pytest

from helpers.made_runs import record
from trl_grpo_rewards.report.pass_rates import GROUP_SIZES, PromptHistories, compare_group_sizes


@functools.cache
def group(right: int, size: int) -> dict:
    return record({"boxed": [1] * right + [0] * (size - right)})


def sample(rights: list[int], size: int) -> PromptHistories:
    prompts = PromptHistories()
    for place, right in enumerate(rights):
        prompts.add({"step": 1, **group(right, size), "prompt_id": str(place)})
    return prompts


def test_the_share_of_dead_groups_equals_a_hand_count():
    found = compare_group_sizes(sample([0, 1, 2, 4], 4), own=2)
    dead = dict(found["dead"])
    assert dead[2] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1) / 4)  # of 6 pairs: all, 3, 2, all
    assert dead[4] == 0.5 and found["observed"] == [2, 4] and (found["prompts"], found["since"]) == (4, 1)


@pytest.mark.parametrize("observed", [4, 8, 32])
def test_the_estimate_agrees_with_the_pass_rates_that_made_the_groups(observed):
    rng = random.Random(0)
    rates = [rng.betavariate(0.3, 0.5) for _ in range(900)]
    found = compare_group_sizes(
        sample([sum(rng.random() < rate for _ in range(observed)) for rate in rates], observed)
    )
    for size, dead in found["dead"]:
        assert dead == pytest.approx(sum(rate**size + (1 - rate) ** size for rate in rates) / len(rates), abs=0.03)
    assert found["observed"] == [size for size in GROUP_SIZES if size <= observed]


def test_larger_groups_are_dead_less_often():
    shares = [dead for _, dead in compare_group_sizes(sample([0, 0, 1, 5, 8], 8))["dead"]]
    assert shares == sorted(shares, reverse=True) and shares[0] < 1 and shares[-1] > 0


def test_eight_wrong_answers_do_not_say_that_more_are_wrong_too():
    never, mixed = (dict(compare_group_sizes(sample(rights, 8))["dead"]) for rights in ([0] * 10, [0] * 5 + [1] * 5))
    assert never[32] > 0.99 and mixed[32] < 0.3


@pytest.mark.parametrize("own", [0, 1, 8, 6, 128])
def test_the_size_of_the_run_is_compared_too(own):
    sizes = [size for size, _ in compare_group_sizes(sample([1, 2, 3], 8), own)["dead"]]
    assert sizes == sorted({*GROUP_SIZES, *([own] if own > 1 else [])})


def test_nothing_is_said_if_no_group_was_scored():
    assert compare_group_sizes(PromptHistories())["dead"] == []
