"""The groups of a generation: statistics with closed-form answers, live rows of a rank, and what dead rows look like to TRL."""

from collections import defaultdict, deque

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.records.fields import Completion, drop_infinite
from trl_grpo_rewards.training.groups import (
    Generation,
    ScoredGroups,
    align_columns,
    build_groups,
    clear_dead_rows,
    compute_signal,
    list_completions,
)


nan = float("nan")


def scored_groups(rewards, weights, decided_by="total", tolerance=1e-6):
    keys = torch.arange(len(rewards) * len(rewards[0])).view(len(rewards), -1)
    rule = Rule("one", decided_by, tolerance)
    return ScoredGroups(torch.tensor(rewards), ["one", "two"][: len(weights)], torch.tensor(weights), rule, keys)


def test_signal_shares():
    one, two = [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 2.0, 2.0]
    rewards = torch.tensor([one, two]).T[None]
    assert compute_signal(rewards, torch.tensor([1.0, 1.0])).tolist() == pytest.approx([0.2, 0.8])
    assert compute_signal(rewards, torch.tensor([1.0, 0.5])).tolist() == pytest.approx([0.5, 0.5])
    against = torch.tensor([two, [0.0, 0.0, -1.0, -1.0]]).T[None]
    assert compute_signal(against, torch.ones(2)).tolist() == pytest.approx([2.0, -1.0])
    assert compute_signal(torch.ones(3, 4, 2), torch.ones(2)) is None
    assert compute_signal(torch.ones(0, 4, 2), torch.ones(2)) is None


def test_signal_is_taken_within_groups():
    rewards = torch.tensor([[[0.0, 0.0], [1.0, 0.0]], [[0.0, 9.0], [1.0, 9.0]]])  # the second differs only between
    assert compute_signal(rewards, torch.ones(2)).tolist() == [1.0, 0.0]


def test_duplicates():
    keys = torch.tensor([[1, 1, 2, 3], [1, 4, 5, -1], [7, 7, 7, 7]])
    groups = ScoredGroups(torch.zeros(3, 4, 1), ["one"], torch.ones(1), Rule("one"), keys)
    assert groups.duplicates.tolist() == [[True, True, False, False], [False] * 4, [True] * 4]


scores = st.one_of(st.just(nan), st.sampled_from([0.0, 0.7, 1.0]))


@given(st.lists(st.lists(st.tuples(scores, scores), min_size=4, max_size=4), min_size=1, max_size=5))
def test_shares_of_the_signal_sum_to_one_where_a_group_is_live(rows):
    groups = scored_groups(rows, weights=[1.0, 0.3])
    shares = compute_signal(groups.rewards[groups.live], groups.weights)
    assert (shares is None) == (not groups.live.any())
    if shares is not None:
        assert shares.sum().item() == pytest.approx(1.0)
    metrics = groups.metrics()
    assert metrics["dead"] == pytest.approx(1 - groups.live.float().mean().item())


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


def generation(rewards, rank=0, ranks=1):
    """The part of a rank in a generation with these groups of rewards, scored by one function."""
    rewards = torch.tensor(rewards).unsqueeze(2)
    keys = torch.arange(rewards.numel()).view(rewards.shape[:2])
    groups = ScoredGroups(rewards, ["boxed"], torch.ones(1), Rule("boxed"), keys)
    completions = [Completion({}, "", "", [], {}, {})] * (rewards.numel() // ranks)
    return Generation(completions, groups, rank)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_the_live_rows_of_all_ranks_are_those_of_the_live_groups(ranks):
    rewards = [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.5]]  # with 8 ranks, a group is on two of them
    rows = [row for rank in range(ranks) for row in generation(rewards, rank, ranks).live.tolist()]
    assert rows == [True] * 2 + [False] * 4 + [True] * 2
    chosen = torch.tensor([False, True, False, True])
    rows = torch.cat([generation(rewards, rank, ranks).find_rows(chosen) for rank in range(ranks)])
    assert rows.view(4, 2).all(1).equal(chosen) and rows.view(4, 2).any(1).equal(chosen)


def test_dead_rows_have_no_log_probabilities_and_no_advantage():
    batch = {"old_per_token_logps": torch.full((4, 3), torch.nan), "advantages": torch.tensor([0.5, -0.5, 0.1, 7.0])}
    batch["old_per_token_logps"][:2] = -1.0
    logged = deque([9.0, 0.5, -0.5, batch["advantages"][2].item(), 0.25])  # what TRL has rounded, and what was changed
    clear_dead_rows(batch, generation([[1.0, 0.0], [1.0, 1.0]]), logged)
    assert batch["old_per_token_logps"].tolist() == [[-1.0] * 3] * 2 + [[0.0] * 3] * 2
    assert batch["advantages"].tolist() == [0.5, -0.5, 0.0, 7.0] and [*logged] == [9.0, 0.5, -0.5, 0.0, 0.0]


def test_what_rewards_logged_is_split_by_completion_and_tokens_of_tools_are_not_counted():
    parts = [{}] * 3, ["a"] * 3, ["x"] * 3, [[5, 6, 1], [5, 6], []], [[1, 0, 1], [1, 1], []], {1}
    inputs = [f"<s>a{place}" for place in range(3)]
    logged = {"note": ["n", None, "m"], "short": ["s"]}
    assert list_completions(*parts, logged, inputs) == [
        Completion({}, "a", "x", ids, {"lengths": length, "truncated": is_cut}, {"note": note}, text)
        for ids, length, is_cut, note, text in zip(
            parts[3], (2, 2, 0), (False, True, True), logged["note"], inputs, strict=True
        )
    ]
    (whole,) = list_completions([{}], ["a"], ["x"], [[5, 6, 1]], None, {1}, {}, ["a"])
    assert whole == Completion({}, "a", "x", [5, 6, 1], {"lengths": 3, "truncated": False}, {}, "a")


def test_every_column_of_the_table_has_the_rows_of_all_generations():
    logs = {"prompt": deque(maxlen=5), "extra": defaultdict(lambda: deque(maxlen=5))}
    for logged in ({"a": [1, 2]}, {"b": [3, 4]}, {}, {"a": [7, 8]}):
        with align_columns(logs, 2):
            logs["prompt"].extend("??")
            for name, values in logged.items():
                logs["extra"][name].extend(values)
        assert {len(column) for column in logs["extra"].values()} == {len(logs["prompt"])}
    assert [*logs["extra"]["a"]] == [None, None, None, 7, 8] and [*logs["extra"]["b"]] == [4, None, None, None, None]
