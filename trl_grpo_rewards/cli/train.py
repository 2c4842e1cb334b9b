"""`trl-grpo-rewards train`: train a model with GRPO, by default the bundled model on the bundled task."""

import contextlib
import logging
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import psutil
import torch
from accelerate.utils import broadcast_object_list
from datasets import Dataset
from pandas import DataFrame, Series
from tqdm.contrib.logging import logging_redirect_tqdm
from transformers import Trainer, TrainerCallback, TrainerState, TrainingArguments
from transformers.integrations import integration_utils
from transformers.trainer_callback import ProgressCallback
from trl import ModelConfig, get_peft_config, get_quantization_config

from ..checks import check, verdict
from ..distributed import count_cores
from ..errors import CheckpointMismatch
from ..expressions import Reward
from ..files import choose_last_checkpoint, describe_fault
from ..report import write_report
from ..report.trends import leave_out_shared_start
from ..texts import completion_text, prompt_text
from ..training.config import FilteredGRPOConfig
from ..training.groups import ScoredGroups
from ..training.recording import PlacePrinter
from ..training.trainer import FilteredGRPOTrainer
from ..traits import Findings
from .console import FAULTY, INTERRUPTED, MISUSED, count, end, exit_on, format_table
from .job import BECOME_MESSAGES, describe_sizes, describe_steps, load_tokenizer, prepare_job
from .job_data import fit_prompts
from .job_files import FROM_WEIGHTS, choose_checkpoint, choose_model
from .job_options import read_job


logger = logging.getLogger(__name__)
FAULTS_FOUND = (
    "To see every finding, run trl-grpo-rewards check --details with the same options. --no_check skips these checks; the "
    "trainer still refuses what it cannot train on."
)
LEAST_FREE = 2**20  # number of free bytes up to which a disk counts as full
LEAST_SECONDS = 1.0  # over which the use of cores is measured
NORMAL_95 = NormalDist().inv_cdf(0.975)  # number of standard errors in half of a 95 % interval
DEAD = "dead groups"  # the share of groups that are dead, next to the scores of an evaluation


def main(arguments: Sequence[str]) -> None:
    with exit_on(TypeError, ValueError, ImportError):
        job, training, model = read_job(arguments, "train")
        use_all_cores(training)
        free_cores = FreeCores()
        training.resume_from_checkpoint = choose_checkpoint(training.output_dir, training.resume_from_checkpoint)
        name = str(choose_model(model.model_name_or_path, job.dataset_name))  # there is one, as was checked before
        rewards, texts, eval_texts = prepare_job(job, training)
        tokenizer, shape = load_tokenizer(name, model, training)
        with training.main_process_first():  # the other processes read its cache
            train_dataset = fit_prompts(texts, tokenizer)
            eval_dataset = fit_prompts(eval_texts, tokenizer)
    has_faults = False
    if training.process_index == 0:
        learning = describe_learning(training, model, arguments)
        print_job(training, train_dataset, eval_dataset, learning, became_messages=train_dataset is not texts)
        if not job.no_check:
            has_faults = print_findings(check(rewards, train_dataset, training, tokenizer, job.bad_golds, shape))
    end_on_faults(has_faults)
    with exit_on(ValueError, ImportError, OSError):  # weights that are missing, packages that a model needs
        trainer = make_trainer(name, rewards, model, training, train_dataset, eval_dataset)
    trainer.run["job"] = asdict(job)
    if training.device.type == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        trainer.add_callback(free_cores)  # before the first evaluation
    evaluation = BeforeAndAfter(trainer)
    if eval_dataset is not None:
        trainer.add_callback(evaluation)  # before the bar, so that the bar measures steps only
    train(trainer)
    if trainer.is_world_process_zero():
        print_end(trainer, evaluation)
    close(trainer)


def end_on_faults(has_faults: bool) -> None:
    """End all processes if the first one has found faults."""
    if broadcast_object_list([has_faults])[0]:
        sys.exit(FAULTY)


def print_end(trainer: FilteredGRPOTrainer, evaluation: "BeforeAndAfter") -> None:
    trained = f"Trained to step {trainer.state.global_step}."
    print("", trained if trainer.eval_dataset is None else evaluation.report(), "", sep="\n")
    print_places(trainer.args)


def close(trainer: FilteredGRPOTrainer) -> None:
    """Let Python exit: a wrapped model keeps the process group alive, whose threads could abort it."""
    trainer.model_wrapped = trainer.model
    trainer.accelerator.free_memory()
    trainer.accelerator.end_training()


def print_job(
    training: FilteredGRPOConfig,
    train_dataset: Dataset,
    eval_dataset: Dataset | None,
    learning: str,
    *,
    became_messages: bool,
) -> None:
    sizes = describe_sizes(train_dataset, eval_dataset)[:-1]
    become = [BECOME_MESSAGES] if became_messages else []
    lines = [f"{sizes}; {describe_processes(training)}", *become, describe_steps(training), learning]
    print(*lines, sep="\n", flush=True)


def describe_learning(training: FilteredGRPOConfig, model: ModelConfig, arguments: Sequence[str]) -> str:
    """Return how fast which weights learn. If nobody chose that, say how to begin with a recipe."""
    weights = "an adapter" if model.use_peft else "all weights"
    rate = f"The learning rate is {training.learning_rate:g}, for {weights}."
    chosen = {argument.partition("=")[0] for argument in arguments}
    if chosen.isdisjoint(("--config", "--learning_rate")):
        return (
            f"{rate} This is TRL's default. To train your own data with the values of a recipe, add it, for example --config "
            f"smollm2-fields. Your own options take precedence."
        )
    return rate


def print_findings(findings: list[Findings]) -> bool:
    """Print what the checks of a job have found. Return whether they have found a fault."""
    has_faults = any(finding.faults for finding in findings)
    remedy = [f"\n{FAULTS_FOUND}"] if has_faults else []
    print(verdict(findings), *remedy, sep="\n", flush=True)
    return has_faults


def make_trainer(
    name: str,
    rewards: Reward,
    model: ModelConfig,
    training: FilteredGRPOConfig,
    train_dataset: Dataset,
    eval_dataset: Dataset | None,
) -> FilteredGRPOTrainer:
    os.makedirs(training.output_dir, exist_ok=True)
    options = {
        "revision": model.model_revision,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
    }
    training.model_init_kwargs = {**options, **(training.model_init_kwargs or {})}
    return FilteredGRPOTrainer(
        name,
        rewards,
        args=training,
        train_dataset=train_dataset,
        eval_dataset=eval_dataset,
        quantization_config=get_quantization_config(model),
        peft_config=get_peft_config(model),
    )


def train(trainer: FilteredGRPOTrainer) -> None:
    """Train with a bar of this command, and save the model with its card."""
    training = trainer.args
    progress = RewardProgress()
    trainer.remove_callback(PlacePrinter)  # the end of this command says where the report is
    if not training.disable_tqdm:
        trainer.remove_callback(ProgressCallback)
        trainer.add_callback(progress)
    with (
        exit_on(CheckpointMismatch, ImportError),  # and a reward that raises an error
        explain_full_disk(training.output_dir),
        explain_tracker(training.report_to),
        contextlib.closing(progress),
        end_when_interrupted(trainer),
        logging_redirect_tqdm([logging.getLogger("trl_grpo_rewards")]),  # warnings above the bar, not behind it
    ):
        trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
        if training.enable_jit_checkpoint and trainer.state.global_step < trainer.state.max_steps:  # SIGTERM ended it
            raise KeyboardInterrupt
        trainer.save_model()
        trainer.create_model_card(Path(training.output_dir).name)


def print_places(training: FilteredGRPOConfig) -> None:
    """Write the report, and print where it and the model are."""
    print(f"The model is in {training.output_dir}.")
    if not training.group_records:
        return
    try:
        page = write_report(training.output_dir, Path(training.output_dir, "report.html"))
        print(f"The report is in {page}.")
    except (OSError, ValueError) as error:  # which is none of the run
        print(f"The report was not written. {error}")


@contextlib.contextmanager
def explain_full_disk(folder: str) -> Iterator[None]:
    """End the process with one line if the disk is full, which errors of torch and safetensors do not say."""
    try:
        yield
    except Exception as error:
        free = shutil.disk_usage(folder).free
        if free > LEAST_FREE:
            raise
        cause = str(error).splitlines()[0].rstrip(".")
        end(
            f"error: The disk of '{folder}' is full ({free:,} bytes are left), so a file of the run was not written: {cause}. "
            f"Make room, and continue from the last complete checkpoint: add --resume_from_checkpoint auto.",
            FAULTY,
        )


@contextlib.contextmanager
def explain_tracker(trackers: Sequence[str]) -> Iterator[None]:
    """End the process with one line if a tracker raises an error, for example because it needs a key."""
    try:
        yield
    except Exception as error:
        files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
        if integration_utils.__file__ not in files:
            raise
        cause = " ".join(str(error).split()).rstrip(".")
        end(
            f"error: A tracker of --report_to {' '.join(trackers)} raised {type(error).__name__}: {cause}. Set the tracker up, for "
            f"example by its login, or train without it: --report_to none.",
            MISUSED,
        )


@contextlib.contextmanager
def end_when_interrupted(trainer: FilteredGRPOTrainer) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if trainer.is_world_process_zero():
            print(f"\n{describe_interruption(trainer)}", file=sys.stderr)
        sys.exit(INTERRUPTED)


def describe_interruption(trainer: FilteredGRPOTrainer) -> str:
    """Return at which step a run was interrupted, and how to continue it."""
    last = choose_last_checkpoint(trainer.args.output_dir)
    kept = "No checkpoint was saved. To start over in the same folder,"
    if last:
        kept = f"The last checkpoint is {last}. To continue,"
    is_whole = last is None or describe_fault(Path(last)) is None
    remedy = "add --resume_from_checkpoint auto to the command." if is_whole else FROM_WEIGHTS
    return f"Interrupted at step {trainer.state.global_step}. {kept} {remedy}"


def is_launched() -> bool:
    return not {"ACCELERATE_MIXED_PRECISION", "TORCHELASTIC_RUN_ID"}.isdisjoint(os.environ)


def describe_processes(training: FilteredGRPOConfig) -> str:
    """Return how many processes train, and on which device. On CPUs, accelerate launch starts one without --multi_gpu."""
    device = training.device.type
    number = training.world_size
    processes = f"{number} process{'es' * (number > 1)} on the {device.upper()}."
    if device == "cpu" and number == 1 and is_launched():
        return (
            f"{processes} --cpu starts only one. To start two, write accelerate launch --multi_gpu --num_processes 2."
        )
    return processes


def use_all_cores(training: FilteredGRPOConfig) -> None:
    """Share the cores among the processes of this machine. Launchers leave one core to each process on a CPU."""
    if training.device.type == "cpu" and is_launched() and torch.get_num_threads() == 1:
        processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        torch.set_num_threads(max(1, count_cores() // processes))


# --- callbacks --------------------------------------------------------------------------------------------------------
class FreeCores(TrainerCallback):
    """
    Uses as many threads as there are free cores, and at least one.

    The threads of an operation wait for the last one. If another program has its core, the others spin, for minutes in a run.
    """

    def __init__(self) -> None:
        self.process = psutil.Process()
        self.most = torch.get_num_threads()
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


def evaluate_model(trainer: Trainer) -> tuple[DataFrame, dict[str, str]]:
    """Evaluate a model on its `eval_dataset`. Return the means of each group, with its total, and a completion of each prompt."""
    groups: list[ScoredGroups] = []  # TRL keeps those of the last batch only
    score = trainer._score

    def collect(*args: Any) -> ScoredGroups:
        groups.append(score(*args))
        return groups[-1]

    trainer._score = collect
    try:
        trainer.evaluate()
    finally:
        del trainer._score
    scores = []
    for scored in groups:
        columns = torch.column_stack([scored.rewards.nanmean(1), scored.totals.nanmean(1)])
        scores.append(columns.cpu().numpy())
    means = DataFrame(np.concatenate(scores), columns=[*trainer.reward_func_names, "reward"])
    if groups[0].size > 1:  # one completion is no group
        live = np.concatenate([scored.live.cpu().numpy() for scored in groups])
        means[DEAD] = 1.0 - live
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
        if state.is_world_process_zero:  # the bar begins after the first batch
            print(f"Evaluating {count(len(self.trainer.eval_dataset), 'held-out problem')} first.", flush=True)
        self.before = evaluate_model(self.trainer)
        self.start = time.monotonic()

    def on_train_end(self, args: TrainingArguments, state: TrainerState, *rest: Any, **kwargs: Any) -> None:
        self.seconds = time.monotonic() - self.start
        has_trained = state.global_step > self.first_step
        if has_trained and (not args.enable_jit_checkpoint or state.global_step >= state.max_steps):
            self.after = evaluate_model(self.trainer)

    def report(self, examples: int = 3) -> str:
        if self.trainer.state.global_step == self.first_step:
            return describe_finished(self.before[0], self.first_step)
        return self.compare(examples)

    def compare(self, examples: int) -> str:
        """Return a table of both evaluations with changes on the same prompts, and completions of a few problems."""
        before, old = self.before
        after, new = self.after
        first = f"step {self.first_step}" if self.first_step else "before"
        rows = [["held-out problems", first, "after", "change"]]
        for name in after:
            is_scored = not (before[name].isna().all() or after[name].isna().all())
            if is_scored:
                change = "" if name == DEAD else describe_change(after[name] - before[name])
                rows.append([name, f"{before[name].mean():.3f}", f"{after[name].mean():.3f}", change])
        lines = [f"Trained to step {self.trainer.state.global_step} in {self.seconds:.0f} s.", ""]
        lines += format_table(rows, "<>>>")
        labels = leave_out_shared_start({prompt: " ".join(prompt.split()) for prompt in old if prompt in new})
        for prompt, label in [*labels.items()][:examples]:
            texts = {first: old[prompt], "after": new[prompt]}
            lines += ["", label, *(f"  {f'{name}:':{len(first) + 1}} {text}" for name, text in texts.items())]
        return "\n".join(lines)


def describe_finished(means: DataFrame, step: int) -> str:
    """Return a table of the evaluation of a run that had no step left. A second one would differ only by chance."""
    rows = [[name, f"{mean:.3f}"] for name, mean in means.mean().dropna().items()]
    table = format_table([["held-out problems", f"step {step}"], *rows], "<>")
    return "\n".join([f"No step was left to train: the run had ended at step {step}.", "", *table])


def describe_change(changes: Series) -> str:
    """Return the mean of changes on the same prompts with half of its 95 % interval, or nothing for a single prompt."""
    changes = changes.dropna()
    if len(changes) < 2:
        return ""
    return f"{changes.mean():+.3f} ± {NORMAL_95 * changes.sem():.3f}"


class RewardProgress(ProgressCallback):
    """A progress bar with the reward and the share of dead groups, instead of a printed line of all metrics."""

    def on_train_begin(self, *rest: Any, **kwargs: Any) -> None:
        super().on_train_begin(*rest, **kwargs)
        if self.training_bar is not None:
            self.training_bar.set_description("Training")

    def on_prediction_step(self, *rest: Any, **kwargs: Any) -> None:
        super().on_prediction_step(*rest, **kwargs)
        if self.prediction_bar is not None:
            self.prediction_bar.set_description("Evaluating held-out problems")

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if self.training_bar is not None and "reward" in (logs or {}):
            self.training_bar.set_postfix(reward=logs["reward"], dead=logs.get("groups/dead"))

    def close(self) -> None:
        if self.training_bar is not None:
            self.training_bar.close()
