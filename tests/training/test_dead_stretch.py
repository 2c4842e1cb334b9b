"""What a run says when no group is live for several steps."""

import logging

import pytest

from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, demo, reward
from trl_grpo_rewards.records.dead_stretches import MIN_STEPS, REMEDIES
from trl_grpo_rewards.training.alarms import StretchAlarm


@reward(outcome=True)
def never(completion: str) -> float:
    return 0.0


@reward
def letters(completion: str) -> float:
    return len(completion) / 100


@pytest.mark.parametrize("kind", ["failed", "solved", "flat", "unscored"])
def test_an_alarm_says_what_to_look_at(tmp_path, caplog, kind):
    args = small_config(tmp_path)
    alarm = StretchAlarm("never", args)
    for step in range(1, MIN_STEPS + 1):
        alarm.observe(step, [kind] * 4, [kind] * 4)
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith(
        f"No group was live in steps 1 to {MIN_STEPS}, so nothing was learned: 20 of 20 groups were {kind!r}."
    )
    assert REMEDIES[kind].format(outcome="'never'") in said and said.endswith(f"report {args.output_dir}.")


def test_it_is_said_once(tmp_path, caplog):
    alarm = StretchAlarm("never", small_config(tmp_path))
    for step, kind in enumerate(["failed"] * 20 + ["live"] + ["failed"] * 20, 1):
        alarm.observe(step, [kind] * 4, [kind] * 4)
    assert len(caplog.records) == 1


def test_groups_that_only_another_reward_makes_live_are_told_apart(tmp_path, caplog):
    args = small_config(tmp_path, per_device_train_batch_size=16, max_steps=MIN_STEPS + 1)
    rewards = never(name="right") + 0.2 * letters()
    with caplog.at_level(logging.WARNING):
        FilteredGRPOTrainer(demo.MODEL, rewards, args=args, train_dataset=demo.arithmetic(size=64)).train()
    (said,) = (record.getMessage() for record in caplog.records if "were learned" in record.getMessage())
    assert said.startswith(
        "'right' was the same for all completions of each prompt in steps 1 to 5, so only other rewards were learned: "
        "20 of 20 groups were 'failed'. Read some completions"
    )
