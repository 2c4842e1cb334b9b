"""What rewards need on this machine, and what the check says of a job."""

from pathlib import Path

import pytest

from helpers.checks import find_faults, make_problems
from trl_grpo_rewards import boxed, gate, reward, tags
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.checks.contract import check_readiness


def check_disk(folder: str) -> None:
    if not Path(folder).is_dir():
        raise ValueError(f"The reward needs the folder {folder}, which does not exist. Create it.")


@reward(ready=check_disk)
def archived(completion: str, *, folder: str) -> float:
    return 1.0


def test_a_reward_says_what_keeps_it_from_working_here(tmp_path):
    data = make_problems("1", "2")
    assert not check_readiness(boxed() + archived(str(tmp_path))).faults
    gone = boxed() + gate(archived(str(tmp_path / "gone")), by=boxed())
    (fault,) = check_readiness(gone).faults
    assert fault in find_faults(gone, data)
    assert fault == f"The reward needs the folder {tmp_path / 'gone'}, which does not exist. Create it."


@pytest.mark.parametrize(
    "rewards, read", [(tags("think") + gate(boxed(), by=boxed()), "solution (string)"), (tags("think"), "none")]
)
def test_what_the_rewards_read_is_listed(rewards, read):
    assert check(rewards, make_problems("1", "2"))[0].lines == [
        str(rewards),
        f"2 prompts; columns that the rewards read: {read}",
        "The dataset looks like a number or formula as the answer: boxed().",
    ]
