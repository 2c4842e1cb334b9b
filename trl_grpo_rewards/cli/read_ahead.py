"""A job's command line before torch and TRL are imported, which takes seconds: help, and what cannot be right."""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from copy import copy
from difflib import get_close_matches
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..files import replace_file
from . import job_files
from .console import FINE, OWN, CommandParser, Option, build_rewards, exit_on, keep_stdout_for_json


DESCRIPTIONS = {
    "train": "Train a model with GRPO. If no model, dataset or recipe is given, this uses the recipe addition, which trains "
    "the bundled model on the bundled task. Before the model loads, this runs the same checks as trl-grpo-rewards check. "
    "On several GPUs: accelerate launch -m trl_grpo_rewards.cli train ...",
    "check": "Check a job before it uses GPU hours: rewards, dataset, configuration and chat template. This command takes "
    "the options of trl-grpo-rewards train. It loads the tokenizer but not the model.",
}
"""What the commands that take a job do."""

MOST_USED = (
    "--model_name_or_path, --output_dir, --max_steps, --num_generations, --max_completion_length, --learning_rate, "
    "--report_to and --resume_from_checkpoint"
)
"""Options of TRL that nearly every job sets."""

SHORT = 60
"""Most characters of the values that the help shows instead of a word for their type."""

TRUTHS = ("true", "false", "yes", "no", "t", "f", "y", "n", "1", "0")
"""The values of a switch that the parser of transformers accepts."""

COUNTS = "per_device_train_batch_size per_device_eval_batch_size gradient_accumulation_steps generation_batch_size "
COUNTS += "steps_per_generation num_generations_eval num_iterations max_completion_length"

RANGES: dict[str, tuple[Callable[[float], bool], tuple[str, ...]]] = {
    "at least 1": (lambda value: value >= 1, (*COUNTS.split(),)),
    "at least 2": (lambda value: value >= 2, ("num_generations",)),  # a group of one has no advantage
    "at least 1, or -1 for --num_train_epochs": (lambda value: value >= 1 or value == -1, ("max_steps",)),
    "at least 0": (lambda value: value >= 0, ("beta", "learning_rate", "eval_prompts", "max_resample_rounds")),
    "above 0": (lambda value: value > 0, ("temperature",)),
    "from 0 to 1": (lambda value: 0 <= value <= 1, ("bad_golds",)),
}
"""The numbers without which no job can work. TRL finds most of the others only when the model is loaded."""


def load_options(command: str) -> list[Option]:
    """Return the options of a job from a table, which TRL's parser writes if there is none that it wrote itself."""
    file, key = find_table()
    try:
        digest, text = file.read_text(encoding="utf-8").split("\n", 1)
        is_own = file.stat().st_uid == os.geteuid() and digest == get_digest(key, text)
    except (OSError, ValueError):
        is_own = False
    if not is_own:
        from .job import list_options  # imports torch and TRL

        text = json.dumps({name: list_options(name) for name in DESCRIPTIONS})
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(file) as new:
                new.write(f"{get_digest(key, text)}\n{text}")
    return [Option(*one) for one in json.loads(text)[command]]


def find_table() -> tuple[Path, str]:
    """Return the file of the table for this environment, and what it depends on besides."""
    names = ("trl", "transformers", __package__.split(".")[0])
    places = [str(spec and spec.origin) for spec in map(find_spec, names)]
    sources = [Path(__file__).with_name("job.py"), Path(__file__).parents[1] / "training" / "config.py"]
    key = [*map(version, names), *(source.stat().st_mtime_ns for source in sources)]  # a clone keeps its version
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path("/", cache, names[-1], f"options-{get_digest(*places)[:16]}.json"), str(key)


def get_digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()


class Help(argparse.HelpFormatter):
    """Help that shows one spelling of each option."""

    def add_argument(self, action: argparse.Action) -> None:
        shown = copy(action)
        shown.option_strings = action.option_strings[-1:]
        super().add_argument(shown)


def build_parser(command: str, options: Sequence[Option], *, shows_all: bool = True) -> CommandParser:
    """Return a parser of all options, whose values are texts. Its help may leave out those of TRL."""
    hint = f"All options of TRL can be set, too, such as {MOST_USED}. --help-all shows them."
    parser = CommandParser(
        prog=f"trl-grpo-rewards {command}",
        usage="%(prog)s [--config RECIPE] [--OPTION VALUE ...]",
        description=DESCRIPTIONS[command],
        epilog=None if shows_all else hint,
        formatter_class=Help,
        add_help=False,
    )
    general = parser.add_argument_group("options")
    general.add_argument("-h", "--help", action="help", help="show the options of this package")
    general.add_argument("--help-all", action="help", help="show the options of TRL, too")
    recipes = sorted(job_files.RECIPES)
    named = f"a YAML file with options, or one of {', '.join(recipes)}, which are in {job_files.RECIPE_FOLDER}; options on "
    named += "the command line take precedence"
    config = general.add_argument("--config", nargs="?", const="", metavar="RECIPE", help=named)
    config.completer = lambda **_: recipes  # type: ignore[attr-defined]  # of argcomplete
    groups = {option.section: parser.add_argument_group(option.section) for option in options}
    for option in options:
        values = ",".join(["true", "false"] if option.kind == "bool" else option.choices)
        metavar = f"{{{values}}}" if 0 < len(values) <= SHORT else "TEXT" if option.kind == "text" else "NUMBER"
        form: dict[str, Any] = {"nargs": option.nargs, "metavar": metavar}
        form |= {"action": "extend"} if option.nargs == "+" else {"const": "true"} if option.nargs == "?" else {}
        is_shown = shows_all or option.section in OWN
        added = groups[option.section].add_argument(
            *option.spellings,
            dest=option.name,
            help=(option.help if is_shown else None) or argparse.SUPPRESS,
            **({"action": "store_const", "const": "false"} if option.nargs == 0 else form),
        )
        added.completer = lambda choices=option.choices, **_: choices  # type: ignore[attr-defined]
    return parser


def check_value(option: Option, value: Any) -> None:
    """Check a value, which is text on the command line, and may be anything in a recipe."""
    name, known = option.name, option.choices
    if option.section == OWN[0] and option.kind == "text" and not isinstance(value, str):
        raise ValueError(f"--{name} must be text; got {value!r}. Put it in quotes, or correct the recipe.")
    if option.kind in ("int", "float"):
        wanted = [text for text, (_, names) in RANGES.items() if name in names]
        try:
            number = float(int(value) if option.kind == "int" and isinstance(value, str) else value)
            is_right = option.kind == "float" or not number % 1
            is_right = is_right and all(RANGES[text][0](number) for text in wanted)
        except (TypeError, ValueError, OverflowError):
            is_right = False
        if not is_right:
            must = ", ".join([f"a {'whole ' * (option.kind == 'int')}number", *wanted])
            example = 1 if option.default in (None, -1) else option.default
            raise ValueError(f"--{name} must be {must}; got {value!r}. Write, for example, --{name} {example}.")
    elif option.kind == "bool" and str(value).lower() not in TRUTHS:
        raise ValueError(f"--{name} must be true or false; got {value!r}. Write --{name} true.")
    elif known and str(value).removeprefix("paged|") not in known and "/" not in str(value):  # hubs have others
        close = get_close_matches(str(value), [one[: len(str(value))] for one in known], n=1)
        if similar := [one for one in known if close and one.startswith(close[0])][:3]:
            raise ValueError(f"Did you mean --{name} {' or '.join(similar)}? --{name} cannot be {value!r}.")
        raise ValueError(f"--{name} must be one of {', '.join(known)}; got {value!r}. Choose one of these.")


def read_line(command: str, arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of a command line and its recipe, and the arguments for TRL's parser."""
    options = load_options(command)
    parser = build_parser(command, options, shows_all="--help-all" in arguments)
    found, unknown = parser.parse_known_args(arguments)
    parser.refuse(unknown, "on the command line")
    given = {name: value for name, value in vars(found).items() if value is not None}
    is_selftest = str(given.get("selftest", False)).lower() not in ("false", "f", "no", "n", "0")
    if is_selftest and (others := [f"--{name}" for name in given if name not in ("selftest", "json")]):
        raise ValueError(
            f"--selftest checks the labelled rewards of this package, and takes no option except --json; got "
            f"{', '.join(others)}. Leave out either."
        )
    default = None if {"dataset_name", "data_files", "model_name_or_path"} & {*given} else job_files.DEFAULT_RECIPE
    name = given.pop("config", default)
    recipe = {} if name is None else job_files.read_recipe(name)
    parser.refuse([f"--{one}" for one in recipe if one != "env" and not hasattr(found, one)], "in the recipe")
    settings = {option.name: option.default for option in options if option.nargs != 0} | recipe | given
    for option in options:
        value = None if option.nargs == 0 else (recipe | given).get(option.name)
        if isinstance(value, list) and option.nargs is None and option.kind != "text":
            raise ValueError(f"--{option.name} takes one value; got {value}. Choose one of these.")
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                check_value(option, one)
    if name is not None:
        job_files.check_trust(name, recipe, given)
    dataset, files = job_files.name_format(settings["dataset_name"], settings["data_files"])
    given |= {"dataset_name": dataset} if dataset else {}
    given |= {"data_files": files} if files else {}
    line = [] if name is None else ["--config", str(job_files.find_recipe(name))]
    for one, value in given.items():
        line += [f"--{one}", *value] if isinstance(value, list) else [f"--{one}={value}"]
    return settings | given, line


def read_ahead(command: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments for TRL's parser. End the process on a wish for help, and if an option or the rewards are wrong."""
    finished, is_first = None, os.environ.get("RANK", "0") == "0"  # of the processes of a launcher
    with exit_on(TypeError, ValueError, ImportError, OSError), keep_stdout_for_json("--json" in arguments):
        settings, line = read_line(command, arguments)
        build_rewards(settings["rewards"], settings["import_modules"] or ())
        if command == "train":
            folder, resume = os.path.expanduser(settings["output_dir"] or "trainer_output"), "resume_from_checkpoint"
            if settings[resume] is not None:
                limits = int(settings["max_steps"] or -1), float(settings["num_train_epochs"])
                finished = job_files.describe_finished(job_files.choose_checkpoint(folder, settings[resume]), *limits)
            if not finished and is_first:
                job_files.check_output(folder, settings[resume])
    if finished:
        if is_first:
            print(finished)
        sys.exit(FINE)
    return line
