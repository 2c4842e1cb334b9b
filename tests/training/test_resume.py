"""Resampling: dead groups give way to fresh prompts, and a run that was killed goes on as if it had not been."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerCallback

from helpers.processes import build_environment
from helpers.reward_functions import all_dead, mostly_dead, mostly_solved
from helpers.runs import get_metric, read_prompts, small_config
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo


class Asked(TrainerCallback):
    """The prompts and advantages of each micro-batch that is computed."""

    def __init__(self):
        self.rows = []

    def on_step_end(self, args, state, control, **kwargs):
        trainer = self.trainer
        self.rows.append(
            [
                (part["advantages"].tolist(), part["completion_mask"].any(1).tolist())
                for part in trainer._buffered_inputs
            ]
        )


def trained(config, problems, func, **options):
    asked = Asked()
    args = config(**{"zero_variance": "drop", "max_resample_rounds": 20, "max_steps": 3, **options})
    trainer = FilteredGRPOTrainer(demo.MODEL, [func], args=args, train_dataset=problems, callbacks=[asked])
    asked.trainer = trainer
    trainer.train()
    return trainer, asked.rows


@pytest.mark.slow
@pytest.mark.parametrize("split", [{}, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4}])
def test_resample_fills_the_batch_with_live_groups(config, problems, split):
    trainer, steps = trained(config, problems, mostly_dead, **split)
    for parts in steps:
        rows = [row for advantages, used in parts for row in zip(advantages, used, strict=True)]
        assert len(rows) == 8 and all(used and advantage != 0 for advantage, used in rows)
    assert min(get_metric(trainer, "resample_rounds")) >= 1 and get_metric(trainer, "rows_computed") == [8.0] * 3
    assert trainer._prompts.position >= 3


@pytest.mark.slow
def test_resample_goes_no_further_than_its_rounds(config, problems):
    trainer, _ = trained(config, problems, all_dead, max_resample_rounds=2)
    assert get_metric(trainer, "resample_rounds") == [2.0] * 3 and get_metric(trainer, "rows_computed") == [1.0] * 3
    assert trainer._prompts.position == 3 * 2 * 2  # steps, rounds, groups that are missing
    trainer, _ = trained(config, problems, mostly_dead, max_resample_rounds=0)
    assert get_metric(trainer, "resample_rounds") == []


def test_resample_draws_only_what_is_missing(config, problems):
    trainer, _ = trained(config, problems, lambda completions, **_: [float(i % 4) for i in range(len(completions))])
    assert get_metric(trainer, "resample_rounds") == [0.0] * 3 and trainer._prompts.position == 0


def test_resample_needs_a_dataset_that_can_be_indexed(config, problems):
    stream = problems.to_iterable_dataset()
    with pytest.raises(
        ValueError, match="max_resample_rounds=20 requires a dataset that can be indexed, .* is a stream. Load it"
    ):
        trained(config, stream, mostly_dead)


def test_resample_scales_by_group_alone(config, problems):
    for options in ({"scale_rewards": "batch"}, {"multi_objective_aggregation": "normalize_then_sum"}):
        with pytest.raises(ValueError, match="scales rewards by the whole batch. Set scale_rewards"):
            trained(config, problems, mostly_dead, **options)


MODES = {
    "resampling": ({"zero_variance": "drop", "max_resample_rounds": 5, "max_steps": 8}, 64, mostly_dead),
    "selective": ({"selective": True, "selective_prior": "rate", "max_steps": 14}, 24, mostly_solved),
    "both": (
        {"zero_variance": "drop", "max_resample_rounds": 2, "selective": True, "max_steps": 14},
        12,
        mostly_dead,
    ),  # six steps are an epoch
}
"""Options, how many problems there are, and the reward."""


def main(folder: str, mode: str, *resume: str) -> None:
    """What the test below runs: a checkpoint after each second step; it may wait to be killed after five."""
    options, size, func = MODES[mode]
    Path(folder).mkdir(exist_ok=True)
    args = small_config(
        Path(folder), FilteredGRPOConfig, output_dir=folder, learning_rate=1e-3, save_strategy="steps", save_steps=2,
        gradient_accumulation_steps=2, num_iterations=2, **options,
    )  # fmt: skip

    class Wait(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if resume == ("wait",) and state.global_step == 5:
                Path(folder, "killed here").touch()
                time.sleep(60)

    data = demo.arithmetic("train", size=size)
    data = data.add_column("rate", [row / size for row in range(size)])
    trainer = FilteredGRPOTrainer(demo.MODEL, [func], args=args, train_dataset=data, callbacks=[Wait()])
    trainer.train(resume_from_checkpoint=resume == ("resume",))
    trainer.save_model(f"{folder}/end")
    Path(folder, "taken").write_text(json.dumps(trainer._prompts.position))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_resume_after_a_kill_gives_the_parameters_of_an_uninterrupted_run(mode, tmp_path):
    whole, parted = str(tmp_path / "whole"), str(tmp_path / "parted")
    command = [sys.executable, __file__]
    given = {"env": build_environment()}
    subprocess.run([*command, whole, mode], check=True, capture_output=True, **given)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = subprocess.Popen([*command, parted, mode, "wait"], **quiet, **given)
    end = time.monotonic() + 120
    while not Path(parted, "killed here").exists() and time.monotonic() < end:
        time.sleep(0.1)
    os.kill(run.pid, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL and Path(parted, "checkpoint-4").exists()
    subprocess.run([*command, parted, mode, "resume"], check=True, capture_output=True, **given)
    expected, got = (load_file(f"{folder}/end/model.safetensors") for folder in (whole, parted))
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    assert json.loads(Path(whole, "taken").read_text()) == json.loads(Path(parted, "taken").read_text()) > 0
    assert read_prompts(whole) == read_prompts(parted)


if __name__ == "__main__":
    main(*sys.argv[1:])
