"""What a trainer says of facts about its run, such as that no group is live, and a run that is hopeless ends, if asked."""

import logging
import math

import pytest
import torch
from transformers import TrainerControl, TrainerState
from trl import GRPOConfig, GRPOTrainer

from helpers.made_logs import SITUATIONS, simulate
from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, StopOnWarning, demo, reward
from trl_grpo_rewards.diagnosis.alarms import HOPELESS, Alarm
from trl_grpo_rewards.diagnosis.table import DEAD_GROUP_REMEDIES, FEW
from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.training.groups import build_groups


ARGS = FilteredGRPOConfig("runs/mine", bf16=False, use_cpu=True)


@reward(outcome=True)
def never(completion: str) -> float:
    return 0.0


@reward
def share_of_letters(completion: str) -> float:
    return len(completion) / 100


SCORES = {
    "failed": [0.0, 0.0],
    "solved": [1.0, 1.0],
    "flat": [0.5, 0.5],
    "unscored": [math.nan, math.nan],
    "live": [0.0, 1.0],
}


def observe(kinds):
    alarm = Alarm(ARGS, {}, Rule("never"), {})
    for step, kind in enumerate(kinds, 1):
        rewards = torch.tensor(SCORES[kind] * 16).unsqueeze(1)
        groups = build_groups(rewards, torch.arange(32), 8, ["never"], torch.ones(1), Rule("never"))
        alarm.observe(step, groups.kinds, groups.kinds_by_outcome, groups.totals.numel())
        alarm.on_step_end(None, TrainerState(global_step=step), None)


@pytest.mark.parametrize("kind", ["failed", "solved", "flat", "unscored"])
def test_an_alarm_says_what_to_look_at(caplog, kind):
    observe([kind] * FEW)
    (said,) = (record.getMessage() for record in caplog.records)
    assert f"No group was live in steps 1–{FEW}, so nothing was learned: 20 of 20 groups were {kind!r}." in said
    assert DEAD_GROUP_REMEDIES[kind].format(outcome="never") in said and said.endswith("report runs/mine.")


def test_it_is_said_once(caplog):
    observe(["failed"] * 20 + ["live"] + ["failed"] * 20)
    assert len(caplog.records) == 1


@pytest.mark.parametrize("situation", ["", "unpaid", "cut_off", "not_finite", "unscored", "no_gradient"])
def test_facts_of_the_log_are_told_once(caplog, situation):
    alarm, state = Alarm(ARGS, {}, Rule("accuracy"), {}), TrainerState()
    for entry in simulate(situation):
        state.log_history.append(entry)
        state.global_step = entry["step"]
        alarm.on_log(None, state, None)
    assert len(caplog.records) == (situation != "")


def test_the_steps_between_two_logs_count(tmp_path, caplog):
    args = small_config(tmp_path, per_device_train_batch_size=16, max_steps=FEW + 1, logging_steps=50)
    rewards = never(name="right") + 0.2 * share_of_letters()
    with caplog.at_level(logging.WARNING):
        FilteredGRPOTrainer(demo.MODEL, rewards, args=args, train_dataset=demo.arithmetic(size=64)).train()
    (said,) = [text for record in caplog.records if "symptoms.md" in (text := record.getMessage())]
    assert said.startswith(
        "right paid nothing. right paid 0 to all 80 completions in steps 1–5; all of the difference comes from share_of_letters: the "
        "model learns share_of_letters only."
    )


# --- StopOnWarning


def find_stop(log, start=0):
    """Return the step at which a run with this log is stopped."""
    callback, control = StopOnWarning(), TrainerControl()
    state = TrainerState(log_history=[one for one in log if one["step"] <= start], global_step=start)
    callback.on_train_begin(None, state, control)
    for entry in log[len(state.log_history) :]:
        state.log_history.append(entry)
        state.global_step = entry["step"]
        callback.on_log(None, state, control)
        assert control.should_save == control.should_training_stop
        if control.should_save:
            return entry["step"]
    return None


@pytest.mark.parametrize("situation", ["", *SITUATIONS])
def test_it_stops_hopeless_runs_and_no_others(situation):
    stops = [find_stop(simulate(situation, seed)) for seed in range(3)]
    assert all(step and step < 100 for step in stops) if situation in HOPELESS else stops == [None] * 3


def test_it_is_patient_and_does_not_count_steps_before_a_resume():
    dead = simulate("dead")
    assert find_stop(dead) == 20 and find_stop(dead, start=40) == 60
    late = [one if one["step"] > 50 or "loss" not in one else one | {"frac_reward_zero_std": 0.5} for one in dead]
    assert find_stop(late) == 90
    with pytest.raises(ValueError, match="patience must be at least 1; got 0"):
        StopOnWarning(patience=0)


def mine(completions, **columns):
    return [0.0] * len(completions)


@pytest.mark.parametrize(("cls", "kind"), [(GRPOTrainer, GRPOConfig), (FilteredGRPOTrainer, FilteredGRPOConfig)])
def test_a_run_that_stops_has_a_checkpoint_and_a_reason(tmp_path, caplog, cls, kind):
    args, callbacks = small_config(tmp_path, kind, max_steps=9), [StopOnWarning(patience=6)]
    trainer = cls(demo.MODEL, mine, args=args, train_dataset=demo.arithmetic(size=64), callbacks=callbacks)
    with caplog.at_level(logging.WARNING):
        trainer.train()
    assert trainer.state.global_step == 6 and [*tmp_path.glob("*/checkpoint-6/trainer_state.json")]
    said = [text for one in caplog.records if "StopOnWarning ends" in (text := one.getMessage())]
    assert len(said) == 1 and "No group was live in steps 1–6, so nothing was learned: all were 'failed'." in said[0]
