"""What a run writes for its report: a record of each group, its log, and its description."""

import logging
import platform
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import torch
from torch import distributed
from tqdm import tqdm
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ..dataset_rows import show_rows
from ..distributed import rank_index, world_size
from ..expressions import Reward, add
from ..files import find_version
from ..function_rewards import find_functions
from ..records.fields import CompletionFields, describe_completions, describe_groups
from ..records.files import FOLDER, GroupWriter, report_failure
from ..records.held_out import write_held_out
from ..records.runs import LogWriter, write_run
from .config import FilteredGRPOConfig
from .groups import Generation


logger = logging.getLogger(__name__)
# Packages whose versions a description contains.
PACKAGES = "trl_grpo_rewards trl transformers torch datasets accelerate".split()
VERSION = 2  # from 2 on, the log counts a prompt that its group needs once, and before once for each row
SECRET = re.compile(r"(^|_)(token|key|password|secret)$", re.IGNORECASE)  # TRL hides only its own options


class Recorder(TrainerCallback):
    def __init__(self, args: FilteredGRPOConfig) -> None:
        self.args = args
        self.run: dict[str, Any] = {}  # what is described when training begins, with these rewards
        self.rewards: Sequence[Any] = ()
        self.writer = GroupWriter(args.output_dir)
        self.log: LogWriter | None = None
        self.early: list[dict[str, Any]] = []  # entries of evaluations before training

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, *others: Any, **kwargs: Any) -> None:
        self.writer = GroupWriter(self.args.output_dir, state.global_step + 1)
        if state.is_world_process_zero:
            self.run.update(
                started=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
                first_step=state.global_step + 1,
                machine=describe_readiness(self.rewards),
            )
            write_run(self.args.output_dir, self.run)
            self.log = LogWriter(self.args.output_dir)
            self.log.start([*self.early, *state.log_history])
            self.early = []

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        entry = state.log_history[-1]
        if self.log is not None:
            self.log.write(entry)
        elif state.is_world_process_zero:
            self.early.append(entry)

    def record(self, step: int, generation: Generation, advantages: Sequence[float] = ()) -> None:
        """
        Write a record of every group, or of an evaluation, which has no advantages, the score of each problem.

        The advantages of the generation come last. Every rank must call this.
        """
        args = self.args
        if not args.group_records:
            return
        mine: list[CompletionFields] | None = None
        with report_failure("records", self.writer.folder, self.writer.warned):
            mine = describe_completions(generation.completions, args.group_records_text, args.group_records_ids)
        if completions := gather_fields(mine):
            scores = generation.groups.describe([*advantages][-len(completions) :])
            write = self.writer.write if advantages else partial(write_held_out, self.writer)
            write(step, describe_groups(completions, scores))


class PlacePrinter(TrainerCallback):
    """Says at the end of a training where its groups are. A program that says it in other words removes this."""

    def on_train_end(self, args: TrainingArguments, state: TrainerState, *others: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero and args.group_records:
            folder = Path(args.output_dir, FOLDER)
            tqdm.write(
                f"The groups are in {folder}. To read them, run trl-grpo-rewards report {quote(args.output_dir)}."
            )


def gather_fields(completions: list[CompletionFields] | None) -> list[CompletionFields] | None:
    """Return the completions of all ranks on the main process, and none on others. None of one rank is None for all."""
    if world_size() == 1:
        return completions
    parts: list[list[CompletionFields] | None] | None = [[]] * world_size() if rank_index() == 0 else None
    distributed.gather_object(completions, parts)
    return None if parts and None in parts else [one for part in parts or () for one in part or ()]


def describe_run(trainer: Any, weights: Sequence[float] | None) -> dict[str, Any]:
    """Return the description of a run as JSON can hold it, without secrets. `weights` are those of the first rewards."""
    functions = trainer.reward_funcs
    args = trainer.args
    weights = [*(weights or ()), *[1.0] * len(functions)][: len(functions)]
    rewards = [function for function in functions if isinstance(function, Reward)]
    used = [one for reward in rewards for one in find_functions(reward)]
    held_out = trainer.eval_dataset if isinstance(trainer.eval_dataset, dict) else {"": trainer.eval_dataset}
    is_expression = len(rewards) == len(functions) > 0
    if is_expression:
        text = str(add(tuple(zip(weights, rewards, strict=True))))
    else:
        text = " + ".join(
            f"{weight:g} * {name}" for weight, name in zip(weights, trainer.reward_func_names, strict=True)
        )
    return {
        "version": VERSION,
        "rewards": text,
        "is_expression": is_expression,
        "modules": sorted({one.factory.__module__ for one in used if one.factory.is_foreign}),
        "model": trainer.model.config._name_or_path or type(trainer.model).__name__,
        "dataset": describe_dataset(trainer.train_dataset),
        "held_out": {name: len(part) for name, part in held_out.items() if hasattr(part, "__len__")},
        "options": {name: hide_secrets(value) for name, value in args.to_dict().items()},
        "ranks": args.world_size,
        "device": torch.cuda.get_device_name(args.device) if args.device.type == "cuda" else args.device.type,
        "versions": {"python": platform.python_version(), **{name: find_version(name) for name in PACKAGES}},
    }


def describe_readiness(rewards: Iterable[Any]) -> dict[str, str]:
    """Return how rewards that ask nobody work on this machine, such as how programs are kept in."""
    facts = {}
    for function in (one for reward in rewards if isinstance(reward, Reward) for one in find_functions(reward)):
        with suppress(ImportError, OSError, ValueError):  # the first batch raises it, with its remedy
            if not function.asks and (fact := function.ask_trait("ready")):
                facts[str(function)] = fact
    return facts


def hide_secrets(value: Any) -> Any:
    """Return the value of an option without the texts that dictionaries in it hold under names of secrets."""
    if isinstance(value, (list, tuple)):
        return [*map(hide_secrets, value)]
    if not isinstance(value, dict):
        return value
    return {
        name: f"<{str(name).upper()}>" if isinstance(inner, str) and SECRET.search(str(name)) else hide_secrets(inner)
        for name, inner in value.items()
    }


def describe_dataset(dataset: Any) -> dict[str, Any] | None:
    if dataset is None:
        return None
    info = getattr(dataset, "info", None)
    return {
        "name": getattr(info, "dataset_name", None),
        "config": getattr(info, "config_name", None),
        "split": str(dataset.split) if getattr(dataset, "split", None) else None,
        "rows": len(dataset) if hasattr(dataset, "__len__") else None,
        "columns": getattr(show_rows(dataset), "column_names", None),
        "fingerprint": getattr(dataset, "_fingerprint", None),
    }
