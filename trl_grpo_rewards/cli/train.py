"""`trl-grpo-rewards train`: train a model with GRPO, by default the bundled model on the bundled task."""

import contextlib
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import torch
from accelerate.utils import broadcast_object_list
from datasets import Dataset
from tqdm.contrib.logging import logging_redirect_tqdm
from transformers.integrations import get_available_reporting_integrations
from transformers.trainer_callback import ProgressCallback
from trl import ModelConfig, get_peft_config, get_quantization_config

from .. import demo
from ..checks import check, verdict
from ..distributed import count_cores
from ..errors import CheckpointMismatch
from ..expressions import Reward
from ..files import find_last_checkpoint, read_state
from ..report import write_report
from ..training.config import FilteredGRPOConfig
from ..training.trainer import FilteredGRPOTrainer
from .callbacks import BeforeAndAfter, Interrupts, ReportWriter, RewardProgress, is_cut_short
from .console import FAULTY, INTERRUPTED, end, exit_on, exit_on_reward_error
from .job import choose_model, describe_sizes, describe_steps, load_tokenizer, prepare_job, read_job
from .job_files import FROM_WEIGHTS, choose_checkpoint


LEAST_SPACE = 1 << 20
"""Free space of a disk that is not full, in bytes."""


def main(arguments: Sequence[str]) -> None:
    with exit_on(TypeError, ValueError, ImportError):
        job, training, model = read_job(arguments, "train")
        check_packages(training, model)
        use_all_cores(training)
        if training.process_index == 0:
            check_writable(Path(training.output_dir))
        training.resume_from_checkpoint = choose_checkpoint(training.output_dir, training.resume_from_checkpoint)
        if (name := choose_model(model.model_name_or_path, job.dataset_name)) is None:
            dataset = ", ".join(job.data_files or [str(job.dataset_name)])
            raise ValueError(
                f"The dataset {dataset!r} needs --model_name_or_path, because the bundled models know only their own tasks. "
                f"To try a bundled model, set it to {demo.MODEL}."
            )
        rewards, train_dataset, eval_dataset = prepare_job(job, training)
        tokenizer, shape = load_tokenizer(name, model, training)
    if training.process_index == 0:
        sizes = describe_sizes(train_dataset, eval_dataset)[:-1]
        print(f"{sizes}; {describe_processes(training)}", describe_steps(training), sep="\n", flush=True)
    has_faults = [False]
    if not job.no_check and training.process_index == 0:
        found = check(rewards, train_dataset, training, tokenizer, job.bad_golds, shape)
        print(verdict(found), flush=True)
        has_faults = [any(one.faults for one in found)]
    if broadcast_object_list(has_faults)[0]:  # all processes end
        if training.process_index == 0:
            end(
                "To see every finding, run trl-grpo-rewards check --details with the same options. --no_check skips these "
                "checks; the trainer still refuses what it cannot train on.",
                FAULTY,
            )
        sys.exit(FAULTY)
    with exit_on(ValueError, ImportError, OSError):  # weights that are missing, packages that a model needs
        trainer = build_trainer(name, training, model, rewards, train_dataset, eval_dataset)
    trainer.run["job"] = asdict(job)
    evaluation, progress = BeforeAndAfter(trainer), RewardProgress()
    trainer.add_callback(Interrupts())
    if training.group_records:
        trainer.add_callback(ReportWriter())
    if eval_dataset is not None:
        trainer.add_callback(evaluation)  # before the bar, so that the bar measures steps only
    if not training.disable_tqdm:
        trainer.remove_callback(ProgressCallback)
        trainer.add_callback(progress)
    with (
        exit_on(CheckpointMismatch),
        exit_on_full_disk(training.output_dir),
        exit_on_reward_error(),
        contextlib.closing(progress),
        end_when_interrupted(trainer),
        logging_redirect_tqdm([logging.getLogger("trl_grpo_rewards")]),  # warnings above the bar, not behind it
    ):
        trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
        if is_cut_short(training, trainer.state):
            raise KeyboardInterrupt
    with exit_on_full_disk(training.output_dir):
        trainer.save_model()
        trainer.create_model_card()
    if trainer.is_world_process_zero():
        trained = f"Trained to step {trainer.state.global_step}."
        print("", trained if eval_dataset is None else evaluation.report(), "", sep="\n")
        print(f"The model is in {training.output_dir}.")
        if training.group_records:
            try:
                print(
                    f"The report is in {write_report(training.output_dir, Path(training.output_dir, 'report.html'))}."
                )
            except (OSError, ValueError) as error:  # which is none of the run
                print(f"The report was not written. {error}")
    disconnect(trainer)


@contextlib.contextmanager
def exit_on_full_disk(folder: str) -> Iterator[None]:
    """End the process with one sentence if the disk is full, for which libraries raise errors of many types."""
    try:
        yield
    except Exception as error:
        if "No space left" not in str(error) and shutil.disk_usage(folder).free > LEAST_SPACE:
            raise
        last = find_last_checkpoint(folder)
        end(
            f"error: The disk of '{folder}' is full ({' '.join(str(error).split())[:200]}). Free disk space, and add "
            f"--resume_from_checkpoint auto to the command{f', which continues from {last}' if last else ''}.",
            FAULTY,
        )


@contextlib.contextmanager
def end_when_interrupted(trainer: FilteredGRPOTrainer) -> Iterator[None]:
    """End the process with a sentence on what is kept if Ctrl-C or SIGTERM interrupts the run."""
    try:
        yield
    except KeyboardInterrupt:
        if trainer.is_world_process_zero():
            folder = trainer.args.output_dir
            last, weights = find_last_checkpoint(folder), find_last_checkpoint(folder, read_state)
            kept = (
                f"The last checkpoint is {last or weights}."
                if weights
                else f"There is no checkpoint (save_steps is {trainer.args.save_steps:g})."
            )
            records = f" The records are in {folder}." if trainer.args.group_records else ""
            remedy = "add --resume_from_checkpoint auto to the command."
            if weights and not last:
                remedy = FROM_WEIGHTS
            print(
                f"\nInterrupted at step {trainer.state.global_step}. {kept}{records} To "
                f"{'continue' if weights else 'start again'}, {remedy}",
                file=sys.stderr,
            )
        sys.exit(INTERRUPTED)


def build_trainer(
    name: str,
    training: FilteredGRPOConfig,
    model: ModelConfig,
    rewards: Reward,
    train_dataset: Dataset,
    eval_dataset: Dataset | None,
) -> FilteredGRPOTrainer:
    training.model_init_kwargs = {
        "revision": model.model_revision,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
        **(training.model_init_kwargs or {}),
    }
    return FilteredGRPOTrainer(
        name,
        rewards,
        args=training,
        train_dataset=train_dataset,
        eval_dataset=eval_dataset,
        quantization_config=get_quantization_config(model),
        peft_config=get_peft_config(model),
    )


def disconnect(trainer: FilteredGRPOTrainer) -> None:
    """End the process group, which the wrapped model keeps alive. Its threads could abort Python while it exits."""
    trainer.model_wrapped = trainer.model
    trainer.accelerator.free_memory()
    trainer.accelerator.end_training()


def check_writable(folder: Path) -> None:
    """Check that files can be written to a folder, or to the folder in which it would be created."""
    parent = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        reason = f"'{parent}' is {'read-only' if parent.is_dir() else 'a file'}"
        raise ValueError(f"The output directory '{folder}' cannot be written: {reason}. Choose another --output_dir.")


def check_packages(training: FilteredGRPOConfig, model: ModelConfig) -> None:
    """Check that the packages and keys that options need are there."""
    needed = {
        "use_peft": (model.use_peft, "peft"),
        "load_in_4bit": (model.load_in_4bit, "bitsandbytes"),
        "load_in_8bit": (model.load_in_8bit, "bitsandbytes"),
        "use_vllm": (training.use_vllm, "vllm"),
        "use_liger_kernel": (training.use_liger_kernel, "liger_kernel"),
    }
    missing = [(option, package) for option, (is_set, package) in needed.items() if is_set and not find_spec(package)]
    trackers = {*training.report_to} - {*get_available_reporting_integrations()}
    for option, package in [*missing, *((f"report_to {one}", one) for one in trackers)]:
        raise ImportError(
            f"--{option} needs the package {package}, which is not installed. Install it with pip install "
            f"{package.replace('_', '-')}, or leave out the option."
        )
    if "wandb" in training.report_to and training.process_index == 0:
        import wandb

        needs_key = wandb.setup().settings.mode in ("online", "run")
        if needs_key and not wandb.login(prompt=False, verify=False):
            raise ValueError(
                "--report_to wandb needs a key, and none is configured. Run wandb login, set WANDB_API_KEY, or set "
                "WANDB_MODE=offline to keep the run on this machine."
            )


def is_launched() -> bool:
    return "ACCELERATE_MIXED_PRECISION" in os.environ or "TORCHELASTIC_RUN_ID" in os.environ


def describe_processes(training: FilteredGRPOConfig) -> str:
    """Return how many processes train, and on which device. On CPUs, accelerate launch starts one without --multi_gpu."""
    device, count = training.device.type, training.world_size
    is_alone = device == "cpu" and count == 1 and is_launched()
    remedy = " --cpu starts only one. To start two, write accelerate launch --multi_gpu --num_processes 2."
    return f"{count} process{'es' * (count > 1)} on the {device.upper()}.{remedy * is_alone}"


def use_all_cores(training: FilteredGRPOConfig) -> None:
    """Share the cores among the processes of this machine. Launchers leave one core to each process on a CPU."""
    if training.device.type == "cpu" and is_launched() and torch.get_num_threads() == 1:
        torch.set_num_threads(max(1, count_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
