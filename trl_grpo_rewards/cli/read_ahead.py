"""What a job's command line says before torch and TRL are imported, which takes seconds: help, and what cannot be right."""

import argparse
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from .command_errors import CommandParser, build_rewards, exit_on
from .declared_options import DeclaredOption, read_options
from .output import EXIT_CODES, keep_stdout_for_json
from .recipe_files import RECIPE_FOLDER, RECIPES, split_config


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
    options, unknown = parser.parse_known_args([part for one in arguments for part in split_config(one)])
    with exit_on(TypeError, ValueError, ImportError), keep_stdout_for_json("--json" in arguments):
        parser.refuse([one for one in unknown if one.startswith("-")], "on the command line")
        if (options.deepspeed or "").endswith(".json") and not Path(options.deepspeed).is_file():
            raise ValueError(f"--deepspeed must be a JSON file; there is no {options.deepspeed!r}. Correct the path.")
        if options.rewards and (options.config is None or options.import_modules):  # a recipe may name modules
            build_rewards(options.rewards, options.import_modules or ())


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
    """Return a parser that knows the names of all options, and values only where the options list them."""
    parser = CommandParser(prog=f"trl-grpo-rewards {command}")
    parser.add_argument("--help-all", action="store_true", help="show the options of TRL, too")
    parser.add_argument("--config", nargs="?", help="a YAML file with options, or the name of a bundled recipe")
    for option in chain.from_iterable(list_options(command).values()):
        action = "extend" if option.nargs == "+" else "store"
        parser.add_argument(
            *option.spellings,
            dest=option.name,
            action=action,
            nargs=option.nargs,
            choices=option.choices,
            metavar=option.metavar,
            help=option.help,
        )
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
