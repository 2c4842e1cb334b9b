"""A run that was killed goes on as if it had not been."""

import json
import os
import random
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerCallback

from helpers.agents import TOKENIZER, Sums
from helpers.models import save_layer
from helpers.processes import fork_fresh
from helpers.reward_functions import mostly_dead, mostly_solved
from helpers.runs import read_contents, read_prompts, small_config
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo


MODES = {
    "keep": ({"zero_variance": "keep"}, mostly_dead),
    "drop": ({"zero_variance": "drop"}, mostly_dead),
    "resampling": ({"zero_variance": "drop", "max_resample_rounds": 5}, mostly_dead),
    "selective": ({"selective": True, "selective_prior": "rate"}, mostly_solved),
    "both": ({"zero_variance": "drop", "max_resample_rounds": 2, "selective": True}, mostly_dead),
}
"""Options and the reward. The run that is killed has both; `"skip"` is the default, which the other runs have."""

LONG = {
    "per_device_train_batch_size": 8, "num_generations": 4, "max_completion_length": 4, "gradient_accumulation_steps": 2,
    "num_iterations": 2, "max_steps": 14, "save_steps": 2,
}  # fmt: skip
"""An epoch has four steps, and leaves two of ten problems out."""


def build_rated_problems():
    return demo.arithmetic("train", size=10).add_column("rate", [row / 10 for row in range(10)])


def main(folder: str, *wait: str) -> None:
    """What the test below runs: a checkpoint after each second step; it may wait to be killed after a step."""
    options, func = MODES["both"]
    args = small_config(
        Path(folder),
        FilteredGRPOConfig,
        output_dir=folder,
        learning_rate=1e-3,
        save_strategy="steps",
        **LONG,
        **options,
    )

    class Wait(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if wait == (str(state.global_step),):
                Path(folder, f"killed after {state.global_step}").touch()
                time.sleep(60)

    data = build_rated_problems()
    trainer = FilteredGRPOTrainer(save_layer(), [func], args, train_dataset=data, callbacks=[Wait()])
    trainer.train(resume_from_checkpoint=any(Path(folder).glob("checkpoint-*")))
    trainer.save_model(f"{folder}/end")
    Path(folder, "taken").write_text(json.dumps(trainer._prompts.position))


def start(folder: Path, *wait: str) -> BaseProcess:
    folder.mkdir(exist_ok=True)
    return fork_fresh(main, str(folder), *wait)


@pytest.mark.slow
def test_resume_after_kills_gives_the_parameters_and_records_of_an_uninterrupted_run(tmp_path):
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    uninterrupted = start(whole)
    for step in (7, 11):  # in the second and in the third epoch
        run, end = start(parted, str(step)), time.monotonic() + 300
        while run.is_alive() and not Path(parted, f"killed after {step}").exists() and time.monotonic() < end:
            time.sleep(0.1)
        os.kill(run.pid, signal.SIGKILL)
        run.join()
        assert run.exitcode == -signal.SIGKILL and Path(parted, f"checkpoint-{step - 1}").exists()
    rest = start(parted)
    for run in (rest, uninterrupted):
        run.join()
    assert rest.exitcode == uninterrupted.exitcode == 0
    expected, got = (load_file(f"{folder}/end/model.safetensors") for folder in (whole, parted))
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    assert Path(whole, "taken").read_text() == Path(parted, "taken").read_text()
    assert read_contents(whole) == read_contents(parted)


class Asked(Sums):
    """An environment that supplies the prompts."""

    def reset(self, **row):
        super().reset()
        return f"What is {random.randrange(90)} + 3?"  # transformers saves the state of `random`


def train_small(
    config, problems, checkpoint=None, func=mostly_dead, environment=None, **options
) -> FilteredGRPOTrainer:
    """Train for seven steps with a checkpoint after each, or for the rest of them."""
    small = {"per_device_train_batch_size": 4, "num_generations": 2, "max_completion_length": 4, "max_steps": 7}
    small |= {"learning_rate": 1e-3, "save_strategy": "steps", "save_steps": 1}
    args, tokenizer = config(**small | options), TOKENIZER if environment else None
    trainer = FilteredGRPOTrainer(
        save_layer(), [func], args, problems, processing_class=tokenizer, environment_factory=environment
    )
    trainer.train(resume_from_checkpoint=checkpoint)
    return trainer


def check_resumes(config, problems, steps: tuple[int, ...], **options) -> None:
    """Check that a run continues exactly after each of these steps."""
    whole = train_small(config, problems, **options)
    assert whole.state.epoch > 3
    for step in steps:
        rest = train_small(config, problems, f"{whole.args.output_dir}/checkpoint-{step}", **options)
        records = [record for record in read_contents(whole.args.output_dir) if record["step"] > step]
        assert read_contents(rest.args.output_dir) == records
        assert rest._prompts == whole._prompts or rest._prompts.position == whole._prompts.position
        pairs = zip(whole.model.parameters(), rest.model.parameters(), strict=True)
        assert all(torch.equal(expected, got) for expected, got in pairs)


def test_resume_in_the_second_epoch_goes_on_with_the_prompts_that_are_left(config, problems):
    check_resumes(config, problems.select(range(5)), (3,))


@pytest.mark.slow
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "both"])
def test_resume_in_the_second_and_in_the_third_epoch(mode, config):
    options, func = MODES[mode]
    check_resumes(config, build_rated_problems(), (6, 10), func=func, **LONG, **options)


EPOCHS = {
    "shuffled": {"steps": (2, 3, 4, 5)},
    "in order": {"shuffle_dataset": False},
    "iterations": {"num_iterations": 2, "size": 3, "steps": (2, 4)},
    "generations of two steps": {"steps_per_generation": 2, "size": 5, "steps": (2, 4)},
}
"""Options, the number of problems, and the steps to resume after. An epoch has two steps, and leaves a problem out."""


@pytest.mark.slow
@pytest.mark.parametrize("case", EPOCHS)
def test_resume_at_an_end_and_within_an_epoch(case, config, problems):
    options = {"size": 5, "steps": (2, 3, 5), **EPOCHS[case]}
    size, steps = options.pop("size"), options.pop("steps")
    check_resumes(config, problems.select(range(size)), steps, **options)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"selective": True}])
def test_resume_within_a_generation_samples_it_again_and_goes_on_with_the_same_prompts(options, config, problems):
    problems, options = problems.select(range(9)), {"steps_per_generation": 2, **options}
    whole = train_small(config, problems, **options)
    rest = train_small(config, problems, f"{whole.args.output_dir}/checkpoint-3", **options)
    expected, got = read_prompts(whole.args.output_dir), read_prompts(rest.args.output_dir)
    assert [line[1:] for line in got if line[0] == 4] == [line[1:] for line in expected if line[0] == 3]
    if "selective" not in options:  # a selective run has also learned twice from the generation
        assert [line for line in got if line[0] > 4] == [line for line in expected if line[0] > 4]
    assert {line[0] for line in got} == {4, 5, 7} and rest.state.epoch == whole.state.epoch


@pytest.mark.slow
def test_resume_while_a_stream_is_read_for_the_first_time(config, problems):
    check_resumes(config, problems.select(range(5)).to_iterable_dataset(), (1, 2))


@pytest.mark.slow
def test_resume_with_prompts_of_an_environment(config):
    check_resumes(
        config, None, (2, 5), func=lambda completions, **_: [*map(float, range(len(completions)))], environment=Asked
    )
