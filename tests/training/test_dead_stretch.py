"""What a trainer says of facts about its run, such as that no group is live for several steps."""

import logging
from types import SimpleNamespace

import pytest
from transformers import TrainerState

from helpers.made_logs import simulate
from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, demo, reward
from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.records.symptoms import FEW, REMEDIES
from trl_grpo_rewards.training.alarms import FactAlarm


ARGS = SimpleNamespace(process_index=0, output_dir="runs/mine")


@reward(outcome=True)
def never(completion: str) -> float:
    return 0.0


@reward
def letters(completion: str) -> float:
    return len(completion) / 100


def observe(kinds):
    alarm = FactAlarm({}, Rule("never"), {})
    for step, kind in enumerate(kinds, 1):
        alarm.observe(step, 8, [kind] * 4, [kind] * 4)
        alarm.on_step_end(ARGS, TrainerState(global_step=step), None)


@pytest.mark.parametrize("kind", ["failed", "solved", "flat", "unscored"])
def test_an_alarm_says_what_to_look_at(caplog, kind):
    observe([kind] * FEW)
    (said,) = (record.getMessage() for record in caplog.records)
    assert f"No group was live in steps 1–{FEW}, so nothing was learned: 20 of 20 groups were {kind!r}." in said
    assert REMEDIES[kind].format(outcome="never") in said and said.endswith("report runs/mine.")


def test_it_is_said_once(caplog):
    observe(["failed"] * 20 + ["live"] + ["failed"] * 20)
    assert len(caplog.records) == 1


@pytest.mark.parametrize("situation", ["", "unpaid", "cut_off", "not_finite", "unscored", "no_gradient"])
def test_facts_of_the_log_are_told_once(caplog, situation):
    alarm, state = FactAlarm({}, Rule("accuracy"), {}), TrainerState()
    for entry in simulate(situation):
        state.log_history.append(entry)
        state.global_step = entry["step"]
        alarm.on_log(ARGS, state, None)
    assert len(caplog.records) == (situation != "")


def test_the_steps_between_two_logs_count(tmp_path, caplog):
    args = small_config(tmp_path, per_device_train_batch_size=16, max_steps=FEW + 1, logging_steps=50)
    rewards = never(name="right") + 0.2 * letters()
    with caplog.at_level(logging.WARNING):
        FilteredGRPOTrainer(demo.MODEL, rewards, args=args, train_dataset=demo.arithmetic(size=64)).train()
    (said,) = [text for record in caplog.records if "symptoms.md" in (text := record.getMessage())]
    assert said.startswith(
        "right paid nothing. right paid 0 to all 80 completions in steps 1–5; all of the difference comes from letters: the "
        "model learns letters only."
    )
