"""The one rule that says what a group is."""

import pytest
import torch

from trl_grpo_rewards.records.dead_groups import Rule, find_kind, is_dead


nan = float("nan")


@pytest.mark.parametrize(
    "rewards, tolerance, dead",
    [
        ([0.7, 0.7, 0.7], 1e-6, True), ([0.0, 1.0, None], 1e-6, False), ([nan, 0.5, nan], 0.0, True),
        ([None, None], 1.0, True), ([1.0, 1.0 + 5e-7, 1.0], 1e-6, True), ([1.0, 1.0 + 5e-7, 1.0], 0.0, False),
        ([0.500, 0.505, 0.502], 0.01, True),
    ],
)  # fmt: skip
def test_a_group_is_dead_without_spread_or_without_two_scores(rewards, tolerance, dead):
    assert is_dead(rewards, tolerance) is dead


def test_identical_floats_are_dead_although_their_deviation_is_not_zero():
    rewards = torch.full((7,), 0.7)
    assert rewards.std() > 0 and is_dead(rewards.tolist(), 0.0)


@pytest.mark.parametrize(
    "totals, outcomes, kind",
    [
        ([2.0, 2.0], [1.0, 1.0], "solved"), ([0.0, 0.0], [0.0, -1.0], "failed"), ([0.5, 0.5], [0.5, 0.5], "flat"),
        ([None, 1.0], [None, 1.0], "unscored"), ([1.0, 1.0], [nan, nan], "flat"), ([1.0, 1.0], [1.0, None], "solved"),
        ([1.0, 1.0], [1.0, 0.0], "flat"), ([0.0, 1.0], [0.0, 1.0], "live"),
    ],
)  # fmt: skip
def test_kinds(totals, outcomes, kind):
    assert find_kind(Rule(), totals, outcomes) == kind
