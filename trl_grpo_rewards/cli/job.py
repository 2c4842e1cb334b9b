"""A training job as a command line describes it, for the command that trains and the one that checks."""

import argparse
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from shlex import quote
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedTokenizerBase
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from trl import GRPOConfig, ModelConfig, TrlParser

from .. import demo
from ..checks.row_shapes import suggest_for
from ..errors import MissingColumn
from ..expressions import Reward
from ..faults import find_column_faults
from ..function_rewards import find_functions
from ..training.config import FilteredGRPOConfig, check_config, option
from ..training.validation import check_named_options, unpack_rewards
from .console import OWN, CommandParser, build_rewards, count
from .datasets import JobArguments, load_problems


DEPENDENCIES = r"(accelerate|datasets|peft|torch|transformers|trl)\b"  # their deprecations are not for users


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

SHORT = 60  # most characters of the values that the help shows instead of a word for their type

FORMS: dict[Any, dict[str, Any]] = {  # arguments of `add_argument` by the number of values of an option
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
    titles = (*OWN, "the model (TRL's ModelConfig)", "TRL's trainer (GRPOConfig)")
    sections = {one.name: title for title, owner in zip(titles, classes, strict=True) for one in fields(owner)}
    actions = [action for action in JobParser(command)._actions if action.dest in sections]
    found = [{"section": sections[action.dest], **describe_option(action)} for action in actions]
    return sorted(found, key=lambda one: titles.index(one["section"]))


def describe_option(action: argparse.Action) -> dict[str, Any]:
    """Return what a parser needs to know of an option: its values, and the arguments of `add_argument`."""
    kind = getattr(action.type, "__name__", "")
    default = getattr(action.default, "value", action.default)
    default = default if isinstance(default, (bool, int, float, str)) else None
    text, named = action.help, re.search(r"Supported values are (.*?)\.", action.help or "")
    choices = action.choices or NAMED.get(action.dest) or re.findall(r"'(\w+)'", named[1] if named else "")
    choices = TRUTHS if kind == "string_to_bool" else [*map(str, choices)]
    if text and not (default is None or default is False or "default" in text.lower()):
        shown = str(default).lower() if choices == TRUTHS else str(default).replace("%", "%%")
        text += f" Default: {shown}."
    values = ",".join(choices[:2] if choices == TRUTHS else choices)
    form = FORMS.get(action.nargs, {})
    more: dict[str, Any] = {"help": None}
    if action.nargs != 0:  # otherwise it is another spelling of `false`
        metavar = f"{{{values}}}" if 0 < len(values) <= SHORT else "NUMBER" if kind in ("int", "float") else "TEXT"
        form, more = {**form, "metavar": metavar}, {"help": text, "default": default}
    spellings = [one for one in action.option_strings if "-" not in one[2:]]
    return {"name": action.dest, "kind": kind, "choices": choices, "spellings": spellings, "form": form, **more}


def read_job(arguments: Sequence[str], command: str) -> tuple[Any, FilteredGRPOConfig, ModelConfig]:
    """Return the job of arguments that [`read_line`] has checked."""
    warnings.filterwarnings("ignore", category=FutureWarning, module=DEPENDENCIES)
    parser = JobParser(command)
    if not torch.accelerator.is_available():
        parser.set_defaults(use_cpu=True, bf16=False)
    job, training, model = parser.parse_args_and_config(arguments)
    return job, training, model


BUNDLED_MODELS = {None: demo.MODEL, "demo.arithmetic": demo.MODEL, "demo.programs": demo.CODER}  # by dataset


def choose_model(model: str | None, dataset: str | None) -> str | None:
    """Return the model, which by default is the one bundled for the dataset, if there is one."""
    return model or BUNDLED_MODELS.get(dataset)


def prepare_job(job: JobArguments, training: FilteredGRPOConfig) -> tuple[Reward, Dataset, Dataset | None]:
    """Return the rewards and the datasets for training and evaluation. Errors are raised before anything large loads."""
    check_config(training)
    rewards = build_rewards(job.rewards, job.import_modules)
    with training.main_process_first():  # the other processes read its cache
        least_rows = (training.generation_batch_size or 0) // training.num_generations
        train_dataset, eval_dataset = load_problems(job, least_rows=least_rows, needed=rewards.columns)
    reward_funcs, _ = unpack_rewards(rewards, training)
    for fault in find_column_faults(train_dataset, find_functions(rewards)):
        raise ValueError(name_option(fault, job, train_dataset)) if isinstance(fault, MissingColumn) else fault
    check_named_options(training, reward_funcs, eval_dataset)
    return rewards, train_dataset, eval_dataset


def name_option(fault: MissingColumn, job: JobArguments, dataset: Dataset) -> str:
    """Return the fault with the option that names the column, or with the reward that fits the dataset."""
    suggestion, column = suggest_for(dataset)
    new = {job.prompt_column: "prompt", job.solution_column: "solution"}.get(fault.column, fault.column)
    if new != fault.column:
        text = f"{fault.problem} --{new}_column {fault.column} renamed it to '{new}'."
        named = fault.suggest(repr(new), fault.call or f"NAME({fault.column}=")
        return f"{text} {'In a function of your own, rename the parameter.' if new == 'prompt' else named}"
    if fault.column != "solution":
        return f"{fault} {suggestion}" if column else str(fault)
    if column and column not in fault.similar:
        return f"{fault.problem} {suggestion}"
    name = f"{quote(fault.similar[0])}." if fault.similar else f"NAME. {suggestion}"
    return f"{fault.problem} Name the column: --solution_column {name}"


def describe_sizes(train_dataset: Dataset, eval_dataset: Dataset | None) -> str:
    held_out = 0 if eval_dataset is None else len(eval_dataset)
    held = f"{f'{held_out:,}' if held_out else 'none'} {'are' if held_out > 1 else 'is'} held out."
    return f"{count(len(train_dataset), 'problem')} to train on; {held}"


def describe_steps(args: FilteredGRPOConfig) -> str:
    """Return how many prompts and completions a generation has, and how many steps learn from them."""
    completions, size, parts = args.generation_batch_size or 0, args.num_generations, args.gradient_accumulation_steps
    steps = Fraction((args.steps_per_generation or parts) * args.num_iterations, parts)
    learned = args.per_device_train_batch_size * args.world_size * parts
    return (
        f"A generation samples {count(completions // size, 'prompt')} with {size} completions each ({completions:,}), for "
        f"{steps} step{'s' * (steps > 1)}. A step is one update of the weights, from {learned:,} completions."
    )


def load_tokenizer(
    name: str, model: ModelConfig, training: FilteredGRPOConfig
) -> tuple[PreTrainedTokenizerBase, PretrainedConfig]:
    try:
        trusted = any(getattr(options, "trust_remote_code", False) for options in (model, training))  # TRL moved it
        given = {"revision": model.model_revision, "trust_remote_code": trusted}
        shape, tokenizer = (one.from_pretrained(name, **given) for one in (AutoConfig, AutoTokenizer))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"The tokenizer of the model {name!r} cannot be loaded: {str(error).splitlines()[0].rstrip('.: ')}. Give the "
            f"name of a model on the hub, or a folder with a config.json: --model_name_or_path."
        ) from None
    return tokenizer, shape
