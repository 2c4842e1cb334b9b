"""What a job's command line says before torch and TRL are imported, which takes seconds: help, and what cannot be right."""

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ..removed import REMOVED
from .command_errors import LEAST_SIMILARITY, CommandParser, build_rewards, exit_on
from .data_files import FORMATS, find_ending
from .declared_options import DeclaredOption, read_keys, read_options
from .option_values import check_values, list_possible_values
from .output import EXIT_CODES, FINE, keep_stdout_for_json
from .recipe_files import DEFAULT_RECIPE, RECIPE_FOLDER, RECIPES, check_trust, read_recipe, split_config
from .run_folder import check_output, choose_checkpoint, describe_finished


DESCRIPTIONS = {
    "train": "Train a model with GRPO. If no model, dataset or recipe is given, this uses the recipe addition, which trains "
    "the bundled model on the bundled task. Before the model loads, this runs the same checks as trl-grpo-rewards check. "
    "On several GPUs: accelerate launch -m trl_grpo_rewards.cli train ...",
    "check": "Check a job before it uses GPU hours: rewards, dataset, configuration and chat template. This command takes "
    "the options of trl-grpo-rewards train. It loads the tokenizer but not the model.",
}
"""What the commands that take a job do."""

OWN = ("the job", "the trainer of this package (FilteredGRPOConfig)")
"""Titles of the package's own options, which `--help` shows."""

MOST_USED = (
    "--model_name_or_path, --output_dir, --max_steps, --num_generations, --max_completion_length, --learning_rate, "
    "--report_to and --resume_from_checkpoint"
)
"""Options of TRL that nearly every job sets."""


def read_ahead(command: str, arguments: Sequence[str]) -> None:
    """End the process if the arguments ask for help, or if an option or the rewards are wrong."""
    try:
        parser = build_parser(command)
    except LookupError:  # TRL has moved its classes, so only its parser knows the options
        return
    if {"-h", "--help", "--help-all"} & {*arguments}:
        print(format_help(command, has_all="--help-all" in arguments))
        sys.exit(0)
    options, unknown = parser.parse_known_args(split_config(arguments))
    with exit_on(TypeError, ValueError, ImportError, OSError), keep_stdout_for_json("--json" in arguments):
        parser.refuse(unknown, "on the command line")
        given = {name: value for name, value in vars(options).items() if value is not None}
        default = None if {"dataset_name", "data_files", "model_name_or_path"} & {*given} else DEFAULT_RECIPE
        name = given.pop("config", default)
        recipe = {} if name is None else read_recipe(name)
        recipe.pop("env", None)  # variables, which TRL sets
        parser.refuse([f"--{name}" for name in recipe if not hasattr(options, name)], "in the recipe")
        declared = [*chain.from_iterable(list_options(command).values())]
        settings = {one.name: one.default for one in declared} | recipe | given
        check_values(settings, declared)
        check_paths(settings)
        if name is not None:
            check_trust(name, arguments)
        build_rewards(settings["rewards"], settings["import_modules"] or ())
        finished = find_finished(settings) if command == "train" else None
        if command == "train" and not finished and os.environ.get("RANK", "0") == "0":
            check_output(find_folder(settings), settings["resume_from_checkpoint"])
    if finished:
        if os.environ.get("RANK", "0") == "0":
            print(finished)
        sys.exit(FINE)


def check_paths(settings: Mapping[str, Any]) -> None:
    """Check that the files and folders of a job exist, and that a bundled dataset has this name."""
    model, dataset, deepspeed = (
        str(settings[name] or "") for name in ("model_name_or_path", "dataset_name", "deepspeed")
    )
    if deepspeed.endswith(".json") and not Path(deepspeed).is_file():
        raise ValueError(f"--deepspeed must be a JSON file; there is no {deepspeed!r}. Correct the path.")
    if (model.startswith((".", "/", "~")) or model.count("/") > 1) and not Path(model).exists():
        raise ValueError(
            f"--model_name_or_path must be the folder of a model or its name on the hub; there is no such folder {model!r}. "
            f"Correct the path."
        )
    if dataset.startswith("reasoning_gym:"):
        raise ValueError(REMOVED["reasoning_gym"])
    bundled = read_keys(f"{__package__}.datasets", "BUNDLED")
    close = [] if "/" in dataset else get_close_matches(dataset, bundled, n=1, cutoff=LEAST_SIMILARITY)
    if close and dataset not in bundled and not Path(dataset).exists():
        raise ValueError(f"Did you mean --dataset_name {close[0]}? There is no dataset {dataset!r} in this package.")
    if find_ending(dataset) in FORMATS and not Path(dataset).exists():
        raise ValueError(f"There is no file {dataset!r} in {Path.cwd()}. Correct --dataset_name.")
    files = settings["data_files"] or []
    for file in [files] if isinstance(files, str) else files if dataset in ("", *FORMATS) else []:
        if not re.search(r"://|[*?\[]", file) and not Path(file).exists():
            raise ValueError(
                f"--data_files must name files; there is no file {file!r} in {Path.cwd()}. Correct the path."
            )


def find_finished(settings: Mapping[str, Any]) -> str | None:
    """Return a sentence if the checkpoint to continue from has all steps."""
    if settings["resume_from_checkpoint"] is None:
        return None
    checkpoint = choose_checkpoint(find_folder(settings), settings["resume_from_checkpoint"])
    return describe_finished(checkpoint, int(settings["max_steps"] or -1), float(settings["num_train_epochs"]))


def find_folder(settings: Mapping[str, Any]) -> str:
    """Return the output directory as the trainer will name it."""
    return os.path.expanduser(settings["output_dir"] or "trainer_output")


def list_options(command: str) -> dict[str, list[DeclaredOption]]:
    """Return the options of a job by the titles of their sections."""
    package = __package__.rpartition(".")[0]
    sections = {
        OWN[0]: read_options(f"{__package__}.{command}", f"{command.title()}Arguments"),
        OWN[1]: read_options(f"{package}.training.config", "FilteredGRPOConfig"),
        "the model (TRL's ModelConfig)": read_options("trl", "ModelConfig"),
    }
    trl = read_options("trl", "GRPOConfig")
    inherited = {option.name for option in trl}
    own = {title: [one for one in options if one.name not in inherited] for title, options in sections.items()}
    return {**own, "TRL's trainer (GRPOConfig)": trl}


def build_parser(command: str) -> CommandParser:
    """Return a parser that knows the names of all options. Their values are texts."""
    parser = CommandParser(prog=f"trl-grpo-rewards {command}")
    parser.add_argument("--help-all", action="store_true", help="show the options of TRL, too")
    config = parser.add_argument(
        "--config", nargs="?", const="", help="a YAML file with options, or the name of a bundled recipe"
    )
    config.completer = lambda **_: sorted(RECIPES)  # type: ignore[attr-defined]  # of argcomplete
    for option in chain.from_iterable(list_options(command).values()):
        action = "extend" if option.nargs == "+" else "store"
        added = parser.add_argument(
            *option.spellings,
            dest=option.name,
            action=action,
            nargs=option.nargs,
            metavar=option.metavar,
            help=option.help,
        )
        added.completer = partial(list_possible_values, option)  # type: ignore[attr-defined]
    return parser


def format_help(command: str, *, has_all: bool) -> str:
    """Return the help, which shows each option once, and the options of TRL if they are asked for."""
    formatter = argparse.HelpFormatter(f"trl-grpo-rewards {command}")
    formatter.add_text(f"usage: trl-grpo-rewards {command} [--config RECIPE] [--OPTION VALUE ...]")
    formatter.add_text(DESCRIPTIONS[command])
    formatter.add_text(
        f"RECIPE is a YAML file with options, or one of {', '.join(sorted(RECIPES))}, which are in {RECIPE_FOLDER}. Options "
        f"on the command line take precedence."
    )
    for title, options in list_options(command).items():
        if has_all or title in OWN:
            formatter.start_section(title)
            formatter.add_arguments(
                argparse.Action(
                    option.spellings[-1:], option.name, nargs=option.nargs, metavar=option.metavar, help=option.help
                )
                for option in options
            )
            formatter.end_section()
    if not has_all:
        formatter.add_text(f"All options of TRL can be set, too, such as {MOST_USED}. --help-all shows them.")
    return f"{formatter.format_help()}\n{EXIT_CODES}"
