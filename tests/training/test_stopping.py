"""A run that is hopeless ends, if asked, in this trainer and in TRL's own."""

import logging

import pytest
from transformers import TrainerControl, TrainerState
from trl import GRPOConfig, GRPOTrainer

from helpers.made_logs import SITUATIONS, simulate
from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, StopOnWarning, demo
from trl_grpo_rewards.training.stopping import HOPELESS


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
