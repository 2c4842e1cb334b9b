"""`trl-grpo-rewards train`: train a model with GRPO, by default the bundled model on the bundled task."""

import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import psutil
import torch
from accelerate.utils import broadcast_object_list
from pandas import DataFrame
from tqdm.contrib.logging import logging_redirect_tqdm
from transformers import Trainer, TrainerCallback, TrainerState, TrainingArguments
from transformers.trainer_callback import ProgressCallback
from trl import get_peft_config, get_quantization_config

from .. import demo
from ..checks import check, verdict
from ..distributed import count_cores
from ..errors import CheckpointMismatch
from ..files import choose_last_checkpoint, describe_fault
from ..report import write_report
from ..texts import completion_text, prompt_text
from ..training.config import FilteredGRPOConfig
from ..training.groups import ScoredGroups
from ..training.trainer import FilteredGRPOTrainer
from .console import FAULTY, INTERRUPTED, exit_on, format_table
from .job import (
    BECOME_MESSAGES,
    choose_model,
    describe_sizes,
    describe_steps,
    fit_prompts,
    load_tokenizer,
    prepare_job,
    read_job,
)
from .job_files import FROM_WEIGHTS, choose_checkpoint


logger = logging.getLogger(__name__)
FAULTS_FOUND = (
    "To see every finding, run trl-grpo-rewards check --details with the same options. --no_check skips these checks; the "
    "trainer still refuses what it cannot train on."
)
LEAST_SECONDS = 1.0  # over which the use of cores is measured
NORMAL_95 = NormalDist().inv_cdf(0.975)  # number of standard errors in half of a 95 % interval
DEAD = "dead groups"  # the share of groups that are dead, next to the scores of an evaluation


def main(arguments: Sequence[str]) -> None:
    with exit_on(TypeError, ValueError, ImportError):
        job, training, model = read_job(arguments, "train")
        use_all_cores(training)
        free_cores = FreeCores()
        training.resume_from_checkpoint = choose_checkpoint(training.output_dir, training.resume_from_checkpoint)
        if (name := choose_model(model.model_name_or_path, job.dataset_name)) is None:
            dataset = ", ".join(job.data_files or [str(job.dataset_name)])
            raise ValueError(
                f"The dataset {dataset!r} needs --model_name_or_path, because the bundled models know only their own tasks. "
                f"To try a bundled model, set it to {demo.MODEL}."
            )
        rewards, train_dataset, eval_dataset = prepare_job(job, training)
        tokenizer, shape = load_tokenizer(name, model, training)
        texts = train_dataset
        with training.main_process_first():  # the other processes read its cache
            train_dataset, eval_dataset = (fit_prompts(part, tokenizer) for part in (texts, eval_dataset))
    has_faults = [False]
    if training.process_index == 0:
        sizes = describe_sizes(train_dataset, eval_dataset)[:-1]
        become = [BECOME_MESSAGES] * (train_dataset is not texts)
        print(f"{sizes}; {describe_processes(training)}", *become, describe_steps(training), sep="\n", flush=True)
        if not job.no_check:
            found = check(rewards, train_dataset, training, tokenizer, job.bad_golds, shape)
            has_faults = [any(one.faults for one in found)]
            print(verdict(found), *([f"\n{FAULTS_FOUND}"] if has_faults[0] else []), sep="\n", flush=True)
    if broadcast_object_list(has_faults)[0]:  # all processes end
        sys.exit(FAULTY)
    with exit_on(ValueError, ImportError, OSError):  # weights that are missing, packages that a model needs
        os.makedirs(training.output_dir, exist_ok=True)
        given = {
            "revision": model.model_revision,
            "attn_implementation": model.attn_implementation,
            "dtype": model.dtype,
        }
        training.model_init_kwargs = {**given, **(training.model_init_kwargs or {})}
        trainer = FilteredGRPOTrainer(
            name,
            rewards,
            args=training,
            train_dataset=train_dataset,
            eval_dataset=eval_dataset,
            quantization_config=get_quantization_config(model),
            peft_config=get_peft_config(model),
        )
    trainer.run["job"] = asdict(job)
    if training.device.type == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        trainer.add_callback(free_cores)  # before the first evaluation
    evaluation, progress = BeforeAndAfter(trainer), RewardProgress()
    if eval_dataset is not None:
        trainer.add_callback(evaluation)  # before the bar, so that the bar measures steps only
    if not training.disable_tqdm:
        trainer.remove_callback(ProgressCallback)
        trainer.add_callback(progress)
    with (
        exit_on(CheckpointMismatch, ImportError),  # and a reward that raises an error
        contextlib.closing(progress),
        end_when_interrupted(trainer),
        logging_redirect_tqdm([logging.getLogger("trl_grpo_rewards")]),  # warnings above the bar, not behind it
    ):
        trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
        if training.enable_jit_checkpoint and trainer.state.global_step < trainer.state.max_steps:  # SIGTERM ended it
            raise KeyboardInterrupt
    trainer.save_model()
    trainer.create_model_card(Path(training.output_dir).name)
    if trainer.is_world_process_zero():
        trained = f"Trained to step {trainer.state.global_step}."
        print("", trained if eval_dataset is None else evaluation.report(), "", sep="\n")
        print(f"The model is in {training.output_dir}.")
        if training.group_records:
            try:
                page = write_report(training.output_dir, Path(training.output_dir, "report.html"))
                print(f"The report is in {page}.")
            except (OSError, ValueError) as error:  # which is none of the run
                print(f"The report was not written. {error}")
    # The wrapped model keeps the process group alive, whose threads could abort Python while it exits.
    trainer.model_wrapped = trainer.model
    trainer.accelerator.free_memory()
    trainer.accelerator.end_training()


@contextlib.contextmanager
def end_when_interrupted(trainer: FilteredGRPOTrainer) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if trainer.is_world_process_zero():
            folder = trainer.args.output_dir
            last = choose_last_checkpoint(folder)
            kept = (
                f"The last checkpoint is {last}. To continue," if last else "There is no checkpoint. To start again,"
            )
            is_whole = last is None or describe_fault(Path(last)) is None
            remedy = "add --resume_from_checkpoint auto to the command." if is_whole else FROM_WEIGHTS
            print(f"\nInterrupted at step {trainer.state.global_step}. {kept} {remedy}", file=sys.stderr)
        sys.exit(INTERRUPTED)


def is_launched() -> bool:
    return not {"ACCELERATE_MIXED_PRECISION", "TORCHELASTIC_RUN_ID"}.isdisjoint(os.environ)


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


# --- callbacks --------------------------------------------------------------------------------------------------------
class FreeCores(TrainerCallback):
    """
    Uses as many threads as there are free cores, and at least one.

    The threads of an operation wait for the last one. If another program has its core, the others spin, for minutes in a run.
    """

    def __init__(self) -> None:
        self.process, self.most = psutil.Process(), torch.get_num_threads()
        self.is_told = False
        self.count_others()

    def count_others(self) -> float:
        """Return the mean number of cores that other programs have used since the last call."""
        self.last = time.monotonic()
        every: float = psutil.cpu_percent() * psutil.cpu_count()
        own: float = self.process.cpu_percent()
        return (every - own) / 100

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        if time.monotonic() - self.last < LEAST_SECONDS:
            return
        others = self.count_others()
        cores = psutil.cpu_count()
        threads = min(self.most, max(1, round(cores - others)))
        if threads < self.most and not self.is_told:
            self.is_told = True
            logger.warning(
                f"Other programs use {others:.1f} of this machine's {cores} cores, so training uses {threads} "
                f"thread{'s' * (threads > 1)} while they do. To choose the number of threads, set OMP_NUM_THREADS."
            )
        if threads != torch.get_num_threads():  # setting it also changes how MKL computes
            torch.set_num_threads(threads)

    on_step_begin = on_train_begin


def measure(trainer: Trainer) -> tuple[DataFrame, dict[str, str]]:
    """Evaluate a model on its `eval_dataset`. Return the means of each group, with its total, and a completion of each prompt."""
    groups: list[ScoredGroups] = []  # TRL keeps those of the last batch only
    score, names = trainer._score, [*trainer.reward_func_names, "reward"]

    def collect(*args: Any) -> ScoredGroups:
        groups.append(score(*args))
        return groups[-1]

    trainer._score = collect
    try:
        trainer.evaluate()
    finally:
        del trainer._score
    scores = [torch.column_stack([one.rewards.nanmean(1), one.totals.nanmean(1)]).cpu().numpy() for one in groups]
    means = DataFrame(np.concatenate(scores), columns=names)
    if groups[0].size > 1:  # one completion is no group
        means[DEAD] = np.concatenate([1.0 - one.live.cpu().numpy() for one in groups])
    completions: dict[str, str] = {}
    for prompt, completion in zip(trainer._logs["prompt"], trainer._logs["completion"], strict=True):
        completions.setdefault(prompt_text(prompt), completion_text(completion))
    return means, completions


class BeforeAndAfter(TrainerCallback):
    """Evaluates when training begins and ends. Sharded models can only be evaluated within training."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, *rest: Any, **kwargs: Any) -> None:
        self.first_step = state.global_step
        self.before = measure(self.trainer)
        self.start = time.monotonic()

    def on_train_end(self, args: TrainingArguments, state: TrainerState, *rest: Any, **kwargs: Any) -> None:
        self.seconds = time.monotonic() - self.start
        if not args.enable_jit_checkpoint or state.global_step >= state.max_steps:
            self.after = measure(self.trainer)

    def report(self, examples: int = 3) -> str:
        """Return a table of both evaluations with changes on the same prompts, and completions of a few problems."""
        (before, old), (after, new) = self.before, self.after
        first, rows = f"step {self.first_step}" if self.first_step else "before", []
        for name in after:
            change = (after[name] - before[name]).dropna()
            shown = (
                f"{change.mean():+.3f} ± {NORMAL_95 * change.sem():.3f}" if name != DEAD and len(change) > 1 else ""
            )
            if not (before[name].isna().all() or after[name].isna().all()):
                rows.append([name, f"{before[name].mean():.3f}", f"{after[name].mean():.3f}", shown])
        table = format_table([["held-out problems", first, "after", "change"], *rows], "<>>>")
        lines = [f"Trained to step {self.trainer.state.global_step} in {self.seconds:.0f} s.", "", *table]
        for prompt in [prompt for prompt in old if prompt in new][:examples]:
            texts = {first: old[prompt], "after": new[prompt]}
            lines += ["", prompt, *(f"  {f'{name}:':{len(first) + 1}} {text}" for name, text in texts.items())]
        return "\n".join(lines)


class RewardProgress(ProgressCallback):
    """A progress bar with the reward and the share of dead groups, instead of a printed line of all metrics."""

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if self.training_bar is not None and "reward" in (logs or {}):
            self.training_bar.set_postfix(reward=logs["reward"], dead=logs.get("groups/dead"))

    def close(self) -> None:
        if self.training_bar is not None:
            self.training_bar.close()
