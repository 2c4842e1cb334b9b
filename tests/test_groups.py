"""Dead groups and what they are, on tensors with closed-form answers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.training import group_statistics


nan = float("nan")


def test_spread_and_dead():
    rewards = torch.tensor(
        [[0.7, 0.7, 0.7], [0.0, 1.0, nan], [nan, 0.5, nan], [nan, nan, nan], [1.0, 1.0 + 5e-7, 1.0]]
    )
    assert group_statistics.spread(rewards).tolist() == pytest.approx([0.0, 1.0, 0.0, 0.0, 5e-7], abs=1e-7)
    assert group_statistics.dead(rewards, 1e-6).tolist() == [True, False, True, True, True]
    assert group_statistics.dead(rewards, 0.0).tolist() == [True, False, True, True, False]
    assert group_statistics.dead(rewards, 1.0).tolist() == [True] * 5


def test_identical_floats_are_dead_although_their_deviation_is_not_zero():
    rewards = torch.full((1, 7), 0.7)
    assert rewards.std() > 0 and group_statistics.dead(rewards, 0.0).tolist() == [True]


def test_apart_a_group_is_dead_where_every_reward_is():
    pulling = torch.tensor([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.5], [1.0, 0.5]]])
    assert group_statistics.dead(pulling, 1e-6).tolist() == [False, True]
    assert group_statistics.dead(group_statistics.total(pulling, torch.ones(2)), 1e-6).tolist() == [True, True]


def test_total_counts_none_as_zero_beside_a_score():
    rewards = torch.tensor([[1.0, 2.0], [nan, 2.0], [1.0, nan], [nan, nan]])
    assert group_statistics.total(rewards, torch.tensor([1.0, 0.5])).tolist() == pytest.approx(
        [2.0, 1.0, 1.0, nan], nan_ok=True
    )


def test_kinds():
    outcome = torch.tensor([[1.0, 1.0], [0.0, -1.0], [0.5, 0.5], [nan, 1.0], [nan, nan], [1.0, nan], [0.0, 1.0]])
    totals = torch.tensor([[2.0, 2.0], [0.0, 0.0], [0.5, 0.5], [nan, 1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    dead = group_statistics.dead(totals, 1e-6)
    found = {
        name: mask.nonzero().flatten().tolist() for name, mask in group_statistics.kinds(dead, totals, outcome).items()
    }
    assert found == {"solved": [0, 5], "failed": [1], "flat": [2, 4], "unscored": [3]}


def test_signal_shares():
    one, two = [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 2.0, 2.0]
    rewards = torch.tensor([one, two]).T[None]
    assert group_statistics.signal(rewards, torch.tensor([1.0, 1.0])).tolist() == pytest.approx([0.2, 0.8])
    assert group_statistics.signal(rewards, torch.tensor([1.0, 0.5])).tolist() == pytest.approx([0.5, 0.5])
    against = torch.tensor([two, [0.0, 0.0, -1.0, -1.0]]).T[None]
    assert group_statistics.signal(against, torch.ones(2)).tolist() == pytest.approx([2.0, -1.0])
    assert group_statistics.signal(torch.ones(3, 4, 2), torch.ones(2)) is None
    assert group_statistics.signal(torch.ones(0, 4, 2), torch.ones(2)) is None


def test_signal_is_taken_within_groups():
    rewards = torch.tensor([[[0.0, 0.0], [1.0, 0.0]], [[0.0, 9.0], [1.0, 9.0]]])  # the second differs only between
    assert group_statistics.signal(rewards, torch.ones(2)).tolist() == [1.0, 0.0]


def test_duplicates():
    keys = torch.tensor([[1, 1, 2, 3], [1, 4, 5, -1], [7, 7, 7, 7]])
    assert group_statistics.duplicates(keys).tolist() == [[True, True, False, False], [False] * 4, [True] * 4]


scores = st.one_of(st.just(nan), st.sampled_from([0.0, 0.7, 1.0]))


@given(st.lists(st.lists(st.tuples(scores, scores), min_size=4, max_size=4), min_size=1, max_size=5))
def test_kinds_split_the_dead_and_shares_sum_to_one(rows):
    rewards, weights = torch.tensor(rows), torch.tensor([1.0, 0.3])
    totals = group_statistics.total(rewards, weights)
    dead = group_statistics.dead(totals, 1e-6)
    assert torch.equal(
        torch.stack(list(group_statistics.kinds(dead, totals, rewards[:, :, 0]).values())).sum(0), dead.int()
    )
    shares = group_statistics.signal(rewards[~dead], weights)
    assert (shares is None) == bool(dead.all())
    if shares is not None:
        assert shares.sum().item() == pytest.approx(1.0)
