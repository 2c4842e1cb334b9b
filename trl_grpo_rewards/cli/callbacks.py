"""Callbacks of a training run: a table of evaluations before and after it, its report, and a progress bar."""

import contextlib
import logging
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from types import FrameType
from typing import Any

import numpy as np
import torch
from pandas import DataFrame, Series
from transformers import Trainer, TrainerCallback, TrainerState, TrainingArguments
from transformers.trainer_callback import ProgressCallback

from ..records import files
from ..report import write_report
from ..texts import completion_text, prompt_text
from ..training.groups import ScoredGroups
from .console import format_known, format_table


NORMAL_95 = NormalDist().inv_cdf(0.975)
"""Number of standard errors in half of a 95 % interval."""

REPORT_SHARE = 0.01
"""Maximum share of the time of a run that may be spent on writing its report anew."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Measurement:
    """The result of an evaluation on held-out problems: values by name, a completion of each prompt, and means of scores."""

    rows: dict[str, float | None]
    completions: dict[str, str]
    means: DataFrame  # with a row for each group, and a column for each reward and the total


def measure(trainer: Trainer) -> Measurement:
    """Evaluate the trainer's model on its `eval_dataset`, with the same sampling as in training."""
    groups: list[ScoredGroups] = []  # TRL keeps those of the last batch only
    score, names = trainer._score, trainer.reward_func_names

    def collect(*args: Any) -> ScoredGroups:
        groups.append(score(*args))
        return groups[-1]

    trainer._score = collect
    try:
        metrics = trainer.evaluate()
    finally:
        del trainer._score
    rows = {name: metrics[f"eval_rewards/{name}/mean"] for name in names}
    rows |= {"reward": metrics["eval_reward"], "dead groups": metrics.get("eval_groups/dead")}
    completions: dict[str, str] = {}
    for prompt, completion in zip(trainer._logs["prompt"], trainer._logs["completion"], strict=True):
        completions.setdefault(prompt_text(prompt), completion_text(completion))
    scores = [torch.column_stack([one.rewards.nanmean(1), one.totals.nanmean(1)]).cpu().numpy() for one in groups]
    return Measurement(rows, completions, DataFrame(np.concatenate(scores), columns=[*names, "reward"]))


def describe_change(before: Series, after: Series) -> str:
    """Return the mean difference between two evaluations on the same prompts, with its 95 % interval over the prompts."""
    differences = (after - before).dropna()
    if len(differences) < 2:
        return ""
    return f"{differences.mean():+.3f} ± {NORMAL_95 * differences.sem():.3f}"


def is_cut_short(args: TrainingArguments, state: TrainerState) -> bool:
    """Whether SIGTERM ended a run with `enable_jit_checkpoint` before its last step."""
    return bool(args.enable_jit_checkpoint) and state.global_step < state.max_steps


class Interrupts(TrainerCallback):
    """Ends a run at its next step if Python dropped the interrupt, as it does while an object is deleted."""

    def __init__(self) -> None:
        self.came = False
        for number in signal.valid_signals():
            if signal.getsignal(number) is signal.default_int_handler:
                with contextlib.suppress(ValueError):  # a thread cannot set it
                    signal.signal(number, self.interrupt)

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt

    def on_step_end(self, args: TrainingArguments, state: TrainerState, *rest: Any, **kwargs: Any) -> None:
        if self.came:
            raise KeyboardInterrupt


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
        if not is_cut_short(args, state):
            self.after = measure(self.trainer)

    def report(self, examples: int = 3) -> str:
        """Return a table of both evaluations, and the completions of a few problems before and after training."""
        before, after, steps = self.before, self.after, self.trainer.state.global_step
        changes = {name: describe_change(before.means[name], after.means[name]) for name in after.means}
        rows = [
            [name, f"{old:.3f}", f"{after.rows[name]:.3f}", changes.get(name, "")]
            for name, old in before.rows.items()
            if None not in (old, after.rows[name])
        ]
        first = f"step {self.first_step}" if self.first_step else "before"
        table = format_table([["held-out problems", first, "after", "change"], *rows], "<>>>")
        lines = [f"Trained to step {steps} in {self.seconds:.0f} s.", "", *table]
        common = [prompt for prompt in before.completions if prompt in after.completions]
        for prompt in common[:examples]:
            shown = {first: before.completions[prompt], "after": after.completions[prompt]}
            lines += ["", prompt, *(f"  {f'{name}:':{len(first) + 1}} {text}" for name, text in shown.items())]
        return "\n".join(lines)


class ReportWriter(TrainerCallback):
    """Writes the report of a run anew at checkpoints and evaluations, if there is time for one that has grown."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.start, self.spent = clock, clock(), 0.0
        self.seconds, self.size, self.has_warned = 1.0, 1_000_000, False

    def on_save(self, args: TrainingArguments, state: TrainerState, *rest: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        run, now = Path(args.output_dir), self.clock()
        try:
            size = sum(file.stat().st_size for file in files.find_record_files(run))
        except FileNotFoundError:  # there are no records yet
            return
        if self.spent + self.seconds * max(size / self.size, 1) > REPORT_SHARE * (now - self.start):
            return
        try:
            files.logger.disabled = True  # the report at the end of the run warns of damaged records
            write_report(run, run / "report.html")
        except Exception as error:  # records may be damaged in any way
            if not self.has_warned:
                logger.warning(
                    f"The report cannot be written to '{run}': {str(error).rstrip('.')}. Training continues, and later "
                    f"checkpoints and evaluations try again. Check the disk and the folder."
                )
            self.has_warned = True
        finally:
            files.logger.disabled = False
        self.seconds, self.size = self.clock() - now, size
        self.spent += self.seconds

    on_evaluate = on_save


class RewardProgress(ProgressCallback):
    """A progress bar with the reward and the share of dead groups, instead of a printed line of all metrics."""

    def on_log(self, args: Any, state: TrainerState, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if logs and "reward" in logs and state.is_world_process_zero and self.training_bar is not None:
            dead = logs.get("groups/dead")
            self.training_bar.set_postfix(reward=format_known(logs["reward"], ".3f"), dead=format_known(dead, ".2f"))

    def close(self) -> None:
        """Close the bars of a run that was interrupted."""
        for bar in (self.prediction_bar, self.training_bar):
            if bar is not None:
                bar.close()
