"""A generation: which rows of a rank belong to live groups, and what dead rows look like to TRL."""

from collections import defaultdict, deque

import pytest
import torch

from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.records.fields import Completion
from trl_grpo_rewards.training.generation import (
    Generation,
    add_columns,
    align_columns,
    clear_dead_rows,
    list_completion_facts,
    list_completions,
)
from trl_grpo_rewards.training.scored_groups import ScoredGroups


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


def test_fields_of_a_rollout_become_columns():
    rows = [{"prompt": "a"}, {"prompt": "b"}]
    add_columns(rows, {"turns": [1, 2], "world": "chess", "few": [3]})
    assert rows == [
        {"prompt": "a", "turns": 1, "world": "chess", "few": 3}, {"prompt": "b", "turns": 2, "world": "chess"}
    ]  # fmt: skip


def test_what_rewards_logged_is_split_by_completion():
    parts = [{}, {}], ["a", "b"], ["x", "y"], [[1], [2]], None, {1}
    one, other = list_completions(*parts, {"note": ["n", None], "short": ["s"]})
    assert one == Completion({}, "a", "x", [1], {"lengths": 1, "truncated": False}, {"note": "n"})
    assert other.logged == {"note": None}


def test_the_facts_of_a_completion():
    lengths = [fact["lengths"] for fact in list_completion_facts([[5, 6, 1], [5, 6], []], None, {1})]
    assert lengths == [3, 2, 0] and [*list_completion_facts([[5, 6, 1]], [[1, 0, 1]], {1})[0].values()] == [2, False]
    assert [fact["truncated"] for fact in list_completion_facts([[5, 6, 1], [5, 6], []], None, {1})] == [
        False,
        True,
        True,
    ]


def test_every_column_of_the_table_has_the_rows_of_all_generations():
    logs = {"prompt": deque(maxlen=5), "extra": defaultdict(lambda: deque(maxlen=5))}
    for logged in ({"a": [1, 2]}, {"b": [3, 4]}, {}, {"a": [7, 8]}):
        with align_columns(logs, 2):
            logs["prompt"].extend("??")
            for name, values in logged.items():
                logs["extra"][name].extend(values)
        assert {len(column) for column in logs["extra"].values()} == {len(logs["prompt"])}
    assert [*logs["extra"]["a"]] == [None, None, None, 7, 8] and [*logs["extra"]["b"]] == [4, None, None, None, None]


def test_an_error_leaves_the_table_as_it_was():
    logs = {"prompt": deque("?"), "extra": defaultdict(deque, {"a": deque([1])})}
    with pytest.raises(KeyError), align_columns(logs, 2):
        logs["extra"]["a"].extend([2, 3])
        raise KeyError
    assert {name: [*column] for name, column in logs["extra"].items()} == {"a": [1]}
