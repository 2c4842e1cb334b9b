"""A run that was killed goes on as if it had not been."""

import json
import os
import random
import shutil
import signal
import time
from itertools import islice
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch
from peft import LoraConfig
from safetensors.torch import load_file
from transformers import TrainerCallback
from trl.trainer.utils import RepeatSampler

from helpers.agents import TOKENIZER, Sums
from helpers.models import save_layer
from helpers.processes import fork_fresh
from helpers.reward_functions import mostly_dead
from helpers.runs import read_contents, read_prompts, small_config
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, tags
from trl_grpo_rewards.errors import CheckpointMismatch
from trl_grpo_rewards.training.checkpoints import resume_order


MODES = {
    "keep": ({"zero_variance": "keep"}, mostly_dead),
    "drop": ({"zero_variance": "drop"}, mostly_dead),
    "resampling": ({"zero_variance": "drop", "max_resample_rounds": 5}, mostly_dead),
}
"""Options and the reward. The run that is killed resamples; `"skip"` is the default, which the other runs have."""

LONG = {
    "per_device_train_batch_size": 8, "num_generations": 4, "max_completion_length": 4, "gradient_accumulation_steps": 2,
    "num_iterations": 2, "max_steps": 14, "save_steps": 2,
}  # fmt: skip
"""An epoch has four steps, and leaves two of ten problems out."""


def main(folder: str, *wait: str) -> None:
    """What the test below runs: a checkpoint after each second step; it may wait to be killed after a step."""
    options, func = MODES["resampling"]
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

    data = demo.arithmetic("train", size=10)
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
    config, problems, checkpoint=None, func=mostly_dead, environment=None, peft_config=None, **options
) -> FilteredGRPOTrainer:
    """Train for seven steps with a checkpoint after each, or for the rest of them."""
    small = {"per_device_train_batch_size": 4, "num_generations": 2, "max_completion_length": 4, "max_steps": 7}
    small |= {"learning_rate": 1e-3, "save_strategy": "steps", "save_steps": 1}
    args, tokenizer = config(**small | options), TOKENIZER if environment else None
    trainer = FilteredGRPOTrainer(
        save_layer(),
        [func],
        args,
        problems,
        processing_class=tokenizer,
        environment_factory=environment,
        peft_config=peft_config,
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
@pytest.mark.parametrize("mode", MODES)
def test_resume_in_the_second_and_in_the_third_epoch(mode, config):
    options, func = MODES[mode]
    check_resumes(config, demo.arithmetic("train", size=10), (6, 10), func=func, **LONG, **options)


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
def test_resume_within_a_generation_samples_it_again_and_goes_on_with_the_same_prompts(config, problems):
    problems, options = problems.select(range(9)), {"steps_per_generation": 2}
    whole = train_small(config, problems, **options)
    rest = train_small(config, problems, f"{whole.args.output_dir}/checkpoint-3", **options)
    expected, got = read_prompts(whole.args.output_dir), read_prompts(rest.args.output_dir)
    assert [line[1:] for line in got if line[0] == 4] == [line[1:] for line in expected if line[0] == 3]
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


def list_warnings(caplog) -> list[str]:
    """Return the warnings of this package. transformers has its own, and with TRL before 1.15, tokens are not shared."""
    said = [record.getMessage() for record in caplog.records if record.name.startswith("trl_grpo_rewards")]
    return [text for text in said if "trl 1.15 or newer" not in text]


KINDS = {
    "weights": lambda problems: (problems, {}),
    "adapters": lambda problems: (problems, {"peft_config": LoraConfig(target_modules="all-linear")}),
    "a stream": lambda problems: (problems.to_iterable_dataset(), {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_that_cannot_be_resumed_is_refused_before_it_is_read(config, problems, kind):
    data, options = KINDS[kind](problems)
    whole = train_small(config, data, max_steps=1, save_only_model=True, **options).args.output_dir
    for checkpoint in (True, f"{whole}/checkpoint-1", Path(whole, "checkpoint-1")):
        with pytest.raises(CheckpointMismatch) as caught:
            train_small(config, data, checkpoint, max_steps=2, output_dir=whole, **options)
        assert str(caught.value) == (
            f"'{whole}/checkpoint-1' is not a complete checkpoint: it has no optimizer.pt and no scheduler.pt, which "
            f"save_only_model leaves out. Start a new run from its weights."
        )
    with pytest.raises(CheckpointMismatch, match="must be the folder of a checkpoint, or True for the last one; ther"):
        train_small(config, data, "nowhere", max_steps=2, output_dir=whole, **options)
    shutil.copytree(f"{whole}/checkpoint-1", f"{whole}/checkpoint-3")
    Path(whole, "checkpoint-1", "optimizer.pt").touch()
    Path(whole, "checkpoint-1", "scheduler.pt").touch()
    with pytest.raises(CheckpointMismatch, match=f"Resume '{whole}/checkpoint-1', or start a new run from its weigh"):
        train_small(config, data, f"{whole}/checkpoint-3", max_steps=4, output_dir=whole, **options)


def test_a_checkpoint_of_deepspeed_is_refused_without_it(config, problems, tmp_path):
    (tmp_path / "checkpoint-1" / "global_step1").mkdir(parents=True)
    (tmp_path / "checkpoint-1" / "trainer_state.json").write_text("{}")
    with pytest.raises(CheckpointMismatch, match="no scheduler.pt, which only a run with DeepSpeed can do without. S"):
        train_small(config, problems, f"{tmp_path}/checkpoint-1")


def test_true_resumes_the_last_complete_checkpoint_and_a_missing_random_state_is_a_warning(config, problems, caplog):
    whole = train_small(config, problems, max_steps=2)
    folder = Path(whole.args.output_dir)
    (folder / "checkpoint-3").mkdir()  # as if killed while it was written
    rest = train_small(config, problems, True, max_steps=3, output_dir=str(folder))
    assert [entry["step"] for entry in rest.state.log_history if "loss" in entry] == [1, 2, 3]
    assert not list_warnings(caplog)
    (folder / "checkpoint-1" / "rng_state.pth").unlink()
    train_small(config, problems, f"{folder}/checkpoint-1", max_steps=2)
    (said,) = list_warnings(caplog)
    assert "each rank for a run to go on exactly; it has no rng_state.pth, so other completions are" in said


def test_what_differs_from_the_interrupted_run_is_said_once(config, problems, caplog):
    folder = train_small(config, problems, max_steps=1, func=boxed()).args.output_dir
    other = {"max_steps": 2, "save_steps": 2, "disable_tqdm": False, "learning_rate": 0.5}
    train_small(config, problems.select(range(9)), f"{folder}/checkpoint-1", func=tags("a"), **other)
    (said,) = list_warnings(caplog)
    demo_of = "trl_grpo_rewards.demo.arithmetic"
    assert said == (
        f"The resumed run differs from the interrupted one: Rewards (before: boxed(); now: tags('a')), Dataset (before: "
        f"{demo_of}, 64 rows; now: {demo_of}, 9 rows), Learning rate (before: 0.001; now: 0.5). If this is not intended, "
        f"change it back."
    )


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_finished_run_trains_no_step(config, problems, is_stream):
    data = problems.to_iterable_dataset() if is_stream else problems
    whole = train_small(config, data, max_steps=3)
    for steps in (3, 2):
        rest = train_small(config, data, True, max_steps=steps, output_dir=whole.args.output_dir)
        assert rest.state.global_step == 3 and {record["step"] for record in read_contents(whole.args.output_dir)} == {
            1, 2, 3
        }  # fmt: skip
        pairs = zip(whole.model.parameters(), rest.model.parameters(), strict=True)
        assert all(torch.equal(expected, got) for expected, got in pairs)


# --- the order of prompts


ITERATIONS, BATCH = 3, 4
"""How often TRL repeats a batch of prompts, and how many prompts there are in it."""


def build(size: int, shuffle: bool) -> RepeatSampler:
    return RepeatSampler(range(size), 2, BATCH, ITERATIONS, shuffle, seed=5)


@pytest.mark.parametrize("size", [3, 8, 10])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("epochs", [0, 1, 2, 7])
def test_epochs_after_a_resume_are_those_of_an_uninterrupted_run(size, shuffle, epochs):
    whole, resumed = build(size, shuffle), build(size, shuffle)
    first = [list(whole) for _ in range(epochs)]
    assert resume_order(resumed, float(epochs), 2 * BATCH) == sum(map(len, first)) / (2 * BATCH)
    rest = [list(whole) for _ in range(3)]
    assert [list(resumed) for _ in range(3)] == rest
    assert size == 3 or not shuffle or len({*map(tuple, first + rest)}) == epochs + 3


def test_micro_batches_before_a_checkpoint_are_counted_at_each_of_them():
    steps = len(build(70, True)) // (2 * BATCH)
    assert steps == 17 * ITERATIONS
    for step in range(3 * steps):
        sampler = build(70, True)
        assert resume_order(sampler, step // steps + step % steps / steps, 2 * BATCH) == step
        whole = build(70, True)
        assert [*islice(sampler, 8)] == [[*islice(whole, 8)] for _ in range(step // steps + 1)][-1]


def test_a_stream_has_no_sampler():
    assert resume_order((), 2.5, 8) == 0
