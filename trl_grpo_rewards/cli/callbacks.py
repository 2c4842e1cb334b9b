"""Callbacks of a training run: a table of evaluations before and after it, its report, and a progress bar."""

import contextlib
import logging
import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist, fmean, stdev
from types import FrameType
from typing import Any

from transformers import Trainer, TrainerCallback, TrainerState, TrainingArguments
from transformers.trainer_callback import ProgressCallback

from ..records import files
from ..report import write_report
from ..texts import completion_text, prompt_text
from ..training.groups import ScoredGroups
from .console import format_known, format_table, measure_screen


NORMAL_95 = NormalDist().inv_cdf(0.975)
"""Number of standard errors in half of a 95 % interval."""

REPORT_SHARE = 0.01
"""Maximum share of the time of a run that may be spent on writing its report anew."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Measurement:
    """The result of an evaluation on held-out problems: values by name, a completion of each prompt, and its means."""

    rows: dict[str, float | None]
    completions: dict[str, str]
    means: dict[str, list[float]]


def measure(trainer: Trainer) -> Measurement:
    """Evaluate the trainer's model on its `eval_dataset`, with the same sampling as in training."""
    with collect_groups(trainer) as groups:
        metrics = trainer.evaluate()
    rows = {name: metrics[f"eval_rewards/{name}/mean"] for name in trainer.reward_func_names}
    rows |= {"reward": metrics["eval_reward"], "dead groups": metrics.get("eval_groups/dead")}
    completions: dict[str, str] = {}
    for prompt, completion in zip(trainer._logs["prompt"], trainer._logs["completion"], strict=True):
        completions.setdefault(prompt_text(prompt), completion_text(completion))
    means = {
        name: [mean for one in groups for mean in one.rewards[:, :, place].nanmean(1).tolist()]
        for place, name in enumerate(trainer.reward_func_names)
    }
    means["reward"] = [mean for one in groups for mean in one.totals.nanmean(1).tolist()]
    return Measurement(rows, completions, means)


@contextlib.contextmanager
def collect_groups(trainer: Trainer) -> Iterator[list[ScoredGroups]]:
    """Collect the groups that the trainer scores. TRL keeps those of the last batch only."""
    groups: list[ScoredGroups] = []
    score = trainer._score

    def collect(*args: Any) -> ScoredGroups:
        groups.append(score(*args))
        return groups[-1]

    trainer._score = collect
    try:
        yield groups
    finally:
        del trainer._score


def describe_change(before: Sequence[float], after: Sequence[float]) -> str:
    """Return the mean difference between two evaluations on the same prompts, with its 95 % interval over the prompts."""
    differences = [new - old for old, new in zip(before, after, strict=True) if not math.isnan(new - old)]
    if len(differences) < 2:
        return ""
    return f"{fmean(differences):+.3f} ± {NORMAL_95 * stdev(differences) / math.sqrt(len(differences)):.3f}"


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
        pairs = [(name, value, after.rows[name]) for name, value in before.rows.items()]
        rows = [
            [name, f"{old:.3f}", f"{new:.3f}", describe_change(before.means.get(name, ()), after.means.get(name, ()))]
            for name, old, new in pairs
            if old is not None and new is not None
        ]
        first = f"step {self.first_step}" if self.first_step else "before"
        titles = ["held-out problems", first, "after", "change"]
        table = format_table([titles, *rows], "<>>>", measure_screen()[0])
        lines = [f"Trained to step {steps} in {self.seconds:.0f} s.", "", table]
        common = [prompt for prompt in before.completions if prompt in after.completions]
        for prompt in common[:examples]:
            shown = {first: before.completions[prompt], "after": after.completions[prompt]}
            lines += ["", prompt, *(f"  {f'{name}:':{len(first) + 1}} {text}" for name, text in shown.items())]
        return "\n".join(lines)


class ReportWriter(TrainerCallback):
    """Writes the report of a run anew at checkpoints and evaluations, if there is time for one that has grown."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock, self.start, self.spent = clock, clock(), 0.0
        self.seconds, self.size = 1.0, 1_000_000
        self.has_written = self.has_warned = False

    def on_save(self, args: TrainingArguments, state: TrainerState, *rest: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        run, now, is_written = Path(args.output_dir), self.clock(), False
        try:
            size = sum(file.stat().st_size for file in files.find_record_files(run))
            expected = self.seconds * max(size / self.size, 1)
            if self.spent + expected > REPORT_SHARE * (now - self.start):
                return
            files.logger.disabled = self.has_written  # the first report has warned of damaged records
            write_report(run, run / "report.html")
            is_written = True
        except FileNotFoundError:
            pass  # there are no records yet
        except Exception as error:  # records may be damaged in any way
            if not self.has_warned:
                logger.warning(
                    f"The report cannot be written to '{run}': {str(error).rstrip('.')}. Training continues, and later "
                    f"checkpoints and evaluations try again. Check the disk and the folder."
                )
            self.has_warned = True
        finally:
            files.logger.disabled = False
        seconds = self.clock() - now
        self.spent += seconds
        if is_written:
            self.seconds, self.size, self.has_written = seconds, size, True

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
