"""The options of the commands that train and check: the job, the trainer and the model."""

import argparse
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from trl import GRPOConfig, ModelConfig, TrlParser

from ..training.config import FilteredGRPOConfig
from .console import OWN_TITLES, CommandParser


DEPENDENCIES = r"(accelerate|datasets|peft|torch|transformers|trl)\b"  # their deprecations are not for users


def option(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass
class JobArguments:
    """The rewards and the datasets of a job."""

    rewards: str = option(
        "boxed(evaluated=True) + 0.2 * tags('think')",
        "Expression of rewards, by their names in the library or in imported modules.",
    )
    import_modules: list[str] = field(
        default_factory=list,
        metadata={"aliases": ["--import"], "help": "Modules to import, which register your own rewards."},
    )
    trust: bool = option(False, "Let the recipe import modules, trust remote code and set environment variables.")
    dataset_name: str | None = option(
        None,
        "Name on the hub, local folder, file (.jsonl, .csv, .parquet ...), demo.arithmetic, demo.programs, demo.mails "
        "or demo.requests. Default: the bundled addition task.",
    )
    dataset_config: str | None = option(
        None, "Configuration of the dataset. For demo, options such as size=1000,seed=7."
    )
    data_files: list[str] | None = option(None, "Files to read.")
    dataset_train_split: str = option("train", "Split for training.")
    dataset_test_split: str = option("test", "Split for evaluation.")
    prompt_column: str = option("prompt", "Column with the question.")
    solution_column: str = option("solution", "Column with the answer, renamed to solution.")
    system_prompt: str | None = option(None, "System message that is put before every prompt.")
    eval_prompts: int = option(
        64,
        "Maximum number of held-out prompts to evaluate before and after training. Without a test split, at most a tenth of "
        "the rows are held out.",
    )
    bad_golds: float = option(0.05, "Stop if more than this share of the solutions is unreadable.")
    no_check: bool = option(False, "Let train skip the checks of rewards, dataset and configuration.")


@dataclass
class CheckArguments(JobArguments):
    """The job to check, and what to print."""

    details: bool = option(False, "Print every finding instead of a summary.")
    json: bool = option(False, "Print the findings as JSON.")


JOBS: dict[str, Any] = {"train": JobArguments, "check": CheckArguments}
TRUTHS = ["true", "false", "yes", "no", "t", "f", "y", "n", "1", "0"]  # values of a switch in transformers

NAMED = {  # values of options that TRL's parser takes as any text. A path with a slash is on the hub.
    "report_to": ["all", "none", *INTEGRATION_TO_CALLBACK],
    "attn_implementation": ["eager", *ALL_ATTENTION_FUNCTIONS],
}

MOST_VALUE_CHARS = 60  # most characters of the values that the help shows instead of a word for their type

EVALUATED = 8  # completions that an evaluation samples at once, as in TRL
EVALUATED_ON_CPU = 32

ARGUMENT_FORMS: dict[Any, dict[str, Any]] = {  # arguments of `add_argument` by the number of values of an option
    0: {"action": "store_const", "const": "false"},
    "?": {"nargs": "?", "const": "true"},
    "+": {"nargs": "+", "action": "extend"},
}


class JobParser(TrlParser, CommandParser):
    """TRL's parser, with errors of one line."""

    def __init__(self, command: str) -> None:
        TrlParser.__init__(self, (JOBS[command], FilteredGRPOConfig, ModelConfig), prog=f"trl-grpo-rewards {command}")


def list_options(command: str) -> list[dict[str, Any]]:
    classes = (JOBS[command], FilteredGRPOConfig, ModelConfig, GRPOConfig)  # the last one has most of the second one
    titles = (*OWN_TITLES, "the model (TRL's ModelConfig)", "TRL's trainer (GRPOConfig)")
    sections: dict[str, str] = {}
    for title, owner in zip(titles, classes, strict=True):
        sections |= dict.fromkeys((option.name for option in fields(owner)), title)
    actions = [action for action in JobParser(command)._actions if action.dest in sections]
    options = [{"section": sections[action.dest], **describe_option(action)} for action in actions]
    return sorted(options, key=lambda option: titles.index(option["section"]))


def describe_option(action: argparse.Action) -> dict[str, Any]:
    """Return what a parser needs to know of an option: its values, and the arguments of `add_argument`."""
    kind = getattr(action.type, "__name__", "")
    choices = list_choices(action)
    spellings = [spelling for spelling in action.option_strings if "-" not in spelling[2:]]
    described = {"name": action.dest, "kind": kind, "choices": choices, "spellings": spellings}
    form = ARGUMENT_FORMS.get(action.nargs, {})
    if action.nargs == 0:  # another spelling of `false`
        return {**described, "form": form, "help": None}
    default = getattr(action.default, "value", action.default)
    if not isinstance(default, (bool, int, float, str)):
        default = None
    form = {**form, "metavar": name_values(kind, choices)}
    return {**described, "form": form, "help": describe_default(action.help, default, choices), "default": default}


def list_choices(action: argparse.Action) -> list[str]:
    """Return the values from which an option chooses. Without any, it takes every text or number."""
    if getattr(action.type, "__name__", "") == "string_to_bool":
        return TRUTHS
    if choices := action.choices or NAMED.get(action.dest):
        return [*map(str, choices)]
    listed = re.search(r"Supported values are (.*?)\.", action.help or "")
    if listed:
        return re.findall(r"'(\w+)'", listed[1])
    return []


def name_values(kind: str, choices: list[str]) -> str:
    """Return the values of an option as its help shows them, or a word for their type."""
    values = ",".join(choices[:2] if choices == TRUTHS else choices)
    if 0 < len(values) <= MOST_VALUE_CHARS:
        return f"{{{values}}}"
    return "NUMBER" if kind in ("int", "float") else "TEXT"


def describe_default(help: str | None, default: Any, choices: list[str]) -> str | None:
    """Return the help of an option with its default, unless it has none, or the help says it."""
    if not help or default is None or default is False or "default" in help.lower():
        return help
    if choices == TRUTHS:
        shown = str(default).lower()
    else:
        shown = str(default).replace("%", "%%")
    return f"{help} Default: {shown}."


def read_job(arguments: Sequence[str], command: str) -> tuple[Any, FilteredGRPOConfig, ModelConfig]:
    """Return the job of arguments that [`read_line`] has checked."""
    warnings.filterwarnings("ignore", category=FutureWarning, module=DEPENDENCIES)
    parser = JobParser(command)
    if not torch.accelerator.is_available():
        parser.set_defaults(use_cpu=True, bf16=False)
    parser.set_defaults(per_device_eval_batch_size=0)
    job, training, model = parser.parse_args_and_config(arguments)
    training.per_device_eval_batch_size = training.per_device_eval_batch_size or fill_evaluation(training)
    return job, training, model


def fill_evaluation(training: FilteredGRPOConfig) -> int:
    """Return how many completions an evaluation samples at once: whole groups. On a GPU, their logits may need much memory."""
    size = training.num_generations_eval or training.num_generations
    most = EVALUATED_ON_CPU if training.device.type == "cpu" else EVALUATED
    return max(1, most // size) * size
