"""Groups whose rows are on several ranks: how they are gathered, shared out, scored and handed back; and their workers."""

import os
from threading import Lock

import pytest

from helpers.ranks import run_on_forked_ranks
from trl_grpo_rewards import distributed
from trl_grpo_rewards.batch import Batch
from trl_grpo_rewards.distributed import gather_and_score_groups, rank_index, score_share_of_groups, world_size


def build_batch(prompts, **columns) -> Batch:
    return Batch.from_call({"prompts": list(prompts), "completions": list(prompts), "trainer_state": {}, **columns})


def score_by_size(batch: Batch) -> list[float]:
    """Score each row by the size of its group, and log the prompts."""
    batch.log_extra("said", [prompt.upper() for prompt in batch.columns["prompts"]])
    return [float(list(batch.groups).count(group)) for group in batch.groups]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks_share_the_groups_and_leave_none_out(ranks):
    whole = build_batch("aabbccddee").find_groups()
    results = [score_share_of_groups(whole, rank, ranks, score_by_size) for rank in range(ranks)]
    rows = [list(mine) for mine, *_ in results]
    assert sorted(row for mine in rows for row in mine) == list(range(10))
    assert max(map(len, rows)) - min(map(len, rows)) <= 2  # one group
    for mine, scores, logged in results:
        assert scores == [2.0] * len(mine) and logged["said"] == ["AABBCCDDEE"[row] for row in mine]


def test_a_single_process_scores_its_own_groups():
    assert world_size() == 1
    batch = build_batch("aabbb"[:4])
    assert gather_and_score_groups(batch, score_by_size) == [2.0] * 4
    assert batch.logged == {"said": ["A", "A", "B", "B"]}
    with pytest.raises(KeyError):
        gather_and_score_groups(batch, lambda part: part.columns["solution"])


def score_rows_of_rank(rank: int) -> tuple:
    prompts = ["aaab", "bbcccc"][rank]  # one group is on both ranks
    bound_to_their_rank = [Lock() for _ in prompts]  # and thus cannot be sent to another one
    batch = build_batch(prompts, index=[prompt * 2 for prompt in prompts], environments=bound_to_their_rank)
    scores = gather_and_score_groups(batch, score_by_size)
    return world_size(), rank_index(), scores, batch.logged["said"]


def fail_on_rank_0(rank: int) -> str:
    def score(batch):
        if "a" in batch.columns["prompts"]:
            error = ValueError("no a, please")
            error.add_note("(raised in the reward it())")
            raise error
        return score_by_size(batch)

    try:
        gather_and_score_groups(build_batch(["aaab", "bbcccc"][rank]), score)
    except Exception as error:
        return repr(error)


def test_two_ranks_score_whole_groups_and_get_their_own_rows_back():
    assert run_on_forked_ranks(score_rows_of_rank) == [
        (2, 0, [3.0] * 4, list("AAAB")),
        (2, 1, [3.0, 3.0, 3.0, 3.0, 3.0, 1.0], list("BBCCCC")),
    ]


def test_an_error_on_one_rank_ends_all():
    one, other = run_on_forked_ranks(fail_on_rank_0)
    assert one == "ValueError('no a, please')"
    assert "A reward failed on rank 0: ValueError: no a, please (raised in the reward it())." in other


@pytest.mark.parametrize(
    ("content", "expected"), [("200000 100000", 2), ("50000 100000", 1), ("max 100000", None), (None, None)]
)
def test_the_quota_of_a_container_limits_the_cores(tmp_path, monkeypatch, content, expected):
    monkeypatch.setattr(distributed, "CPU_QUOTA", tmp_path / "cpu.max")
    if content:
        distributed.CPU_QUOTA.write_text(content)
    available = len(os.sched_getaffinity(0))
    assert distributed.count_cores() == min(available, expected or available)


def test_ranks_share_the_cores(monkeypatch):
    monkeypatch.delenv("TRL_GRPO_REWARDS_WORKERS", raising=False)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000")
    assert distributed.count_workers() == 1
    monkeypatch.setenv("TRL_GRPO_REWARDS_WORKERS", "7")
    assert distributed.count_workers() == 7
