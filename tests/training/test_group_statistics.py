"""Statistics of groups, on tensors with closed-form answers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.records.fields import drop_infinite
from trl_grpo_rewards.training import group_statistics
from trl_grpo_rewards.training.scored_groups import ScoredGroups, build_groups


nan = float("nan")


def test_spread():
    rewards = torch.tensor(
        [[0.7, 0.7, 0.7], [0.0, 1.0, nan], [nan, 0.5, nan], [nan, nan, nan], [1.0, 1.0 + 5e-7, 1.0]]
    )
    assert group_statistics.compute_spreads(rewards).tolist() == pytest.approx([0.0, 1.0, 0.0, 0.0, 5e-7], abs=1e-7)


def test_total_counts_none_as_zero_beside_a_score():
    rewards = torch.tensor([[1.0, 2.0], [nan, 2.0], [1.0, nan], [nan, nan]])
    assert group_statistics.compute_totals(rewards, torch.tensor([1.0, 0.5])).tolist() == pytest.approx(
        [2.0, 1.0, 1.0, nan], nan_ok=True
    )


def test_signal_shares():
    one, two = [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 2.0, 2.0]
    rewards = torch.tensor([one, two]).T[None]
    assert group_statistics.compute_signal(rewards, torch.tensor([1.0, 1.0])).tolist() == pytest.approx([0.2, 0.8])
    assert group_statistics.compute_signal(rewards, torch.tensor([1.0, 0.5])).tolist() == pytest.approx([0.5, 0.5])
    against = torch.tensor([two, [0.0, 0.0, -1.0, -1.0]]).T[None]
    assert group_statistics.compute_signal(against, torch.ones(2)).tolist() == pytest.approx([2.0, -1.0])
    assert group_statistics.compute_signal(torch.ones(3, 4, 2), torch.ones(2)) is None
    assert group_statistics.compute_signal(torch.ones(0, 4, 2), torch.ones(2)) is None


def test_signal_is_taken_within_groups():
    rewards = torch.tensor([[[0.0, 0.0], [1.0, 0.0]], [[0.0, 9.0], [1.0, 9.0]]])  # the second differs only between
    assert group_statistics.compute_signal(rewards, torch.ones(2)).tolist() == [1.0, 0.0]


def test_duplicates():
    keys = torch.tensor([[1, 1, 2, 3], [1, 4, 5, -1], [7, 7, 7, 7]])
    assert group_statistics.find_duplicates(keys).tolist() == [[True, True, False, False], [False] * 4, [True] * 4]


scores = st.one_of(st.just(nan), st.sampled_from([0.0, 0.7, 1.0]))


@given(st.lists(st.lists(st.tuples(scores, scores), min_size=4, max_size=4), min_size=1, max_size=5))
def test_shares_of_the_signal_sum_to_one_where_a_group_is_live(rows):
    groups = scored_groups(rows, weights=[1.0, 0.3])
    shares = group_statistics.compute_signal(groups.rewards[groups.live], groups.weights)
    assert (shares is None) == (not groups.live.any())
    if shares is not None:
        assert shares.sum().item() == pytest.approx(1.0)
    metrics = groups.metrics()
    assert metrics["dead"] == pytest.approx(1 - groups.live.float().mean().item())


def scored_groups(rewards, weights, decided_by="total", tolerance=1e-6):
    keys = torch.arange(len(rewards) * len(rewards[0])).view(len(rewards), -1)
    rule = Rule("one", decided_by, tolerance)
    return ScoredGroups(torch.tensor(rewards), ["one", "two"], torch.tensor(weights), rule, keys)


def test_what_must_be_equal_decides_which_groups_are_dead():
    pulling = [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.5], [1.0, 0.5]], [[1.0, 0.0], [1.0, 1.0]]]
    for decided_by, live in (
        ("total", [False, False, True]),
        ("each", [True, False, True]),
        ("outcome", [True, False, False]),
    ):
        assert scored_groups(pulling, [1.0, 1.0], decided_by).live.tolist() == live
    assert scored_groups(pulling, [1.0, 0.0], "each").live.tolist() == [True, False, False]  # weight 0 does not count


@pytest.mark.parametrize("unscored, totals", [("term", [1.0, 0.5, 1.0, 0.5]), ("row", [None, 0.5, 1.0, 0.5])])
def test_a_row_without_a_score_that_counts_is_left_out_if_the_rule_says_so(unscored, totals):
    rewards = torch.tensor([[1.0, nan, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, nan], [1.0, 1.0, nan]])
    weights = torch.tensor([1.0, -0.5, 0.0])  # a negative weight counts, and a weight of 0 does not
    groups = build_groups(rewards, torch.arange(4), 2, ["a", "b", "c"], weights, Rule("a", unscored=unscored))
    assert [*map(drop_infinite, groups.totals.tolist())] == [totals[:2], totals[2:]]
    assert groups.partly_scored == 0.25 and groups.keys.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("unscored", ["term", "row"])
def test_a_row_that_only_functions_of_weight_0_score_is_unscored(unscored):
    rewards = torch.tensor([[nan, 1.0, 0.5], [0.0, 1.0, nan], [nan, nan, nan], [1.0, nan, 0.5]])
    for weights, totals in (([2.0, 0.0, -0.0], [nan, 0.0, nan, 2.0]), ([0.0, 0.0, 0.0], [0.0, 0.0, nan, 0.0])):
        rule = Rule("b", unscored=unscored)
        groups = build_groups(rewards, torch.arange(4), 4, ["a", "b", "c"], torch.tensor(weights), rule)
        assert drop_infinite(groups.totals.tolist()) == drop_infinite([totals]) and groups.partly_scored == 0
        assert torch.equal(groups.rewards[0].isnan().all(1), torch.tensor(totals).isnan())


def test_no_more_than_the_first_groups_are_taken():
    chosen = torch.tensor([True, False, True, True])
    taken = [group_statistics.take_first(chosen, count).nonzero().flatten().tolist() for count in range(5)]
    assert taken == [[], [0], [0, 2], [0, 2, 3], [0, 2, 3]]
