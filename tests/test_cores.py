"""The number of workers follows the cores, the container's quota, the ranks and the environment."""

import os

import pytest

from trl_grpo_rewards import cores


@pytest.mark.parametrize(
    ("content", "expected"),
    [(["200000 100000"], 2), (["50000 100000"], 1), (["max 100000"], None), (["-1", "100000"], None), ([], None)],
)
def test_the_quota_of_a_container_limits_the_cores(tmp_path, monkeypatch, content, expected):
    files = [str(tmp_path / str(number)) for number in range(max(1, len(content)))]
    for file, text in zip(files, content, strict=False):
        with open(file, "w") as opened:
            opened.write(text)
    monkeypatch.setattr(cores, "CPU_QUOTA_FILES", [files])
    available = len(os.sched_getaffinity(0))
    assert cores.count_cores() == min(available, expected or available)


def test_ranks_share_the_cores(monkeypatch):
    monkeypatch.delenv("TRL_GRPO_REWARDS_WORKERS", raising=False)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000")
    assert cores.count_workers() == 1
    monkeypatch.setenv("TRL_GRPO_REWARDS_WORKERS", "7")
    assert cores.count_workers() == 7
