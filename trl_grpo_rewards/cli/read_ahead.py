"""A job's command line before torch and TRL are imported, which takes seconds: help, and what cannot be right."""

import argparse
import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..files import replace_file
from . import job_files
from .console import FINE, OWN, TRUTHS, CommandParser, Option, build_rewards, exit_on, keep_stdout_for_json


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

KINDS: dict[str, Any] = {"int": int, "float": float}
"""What reads the values of an option by the name of its type. Other values are texts."""


POSITIVE = (
    "temperature per_device_train_batch_size per_device_eval_batch_size gradient_accumulation_steps num_generations "
    "num_iterations steps_per_generation max_completion_length"
).split()
"""Options of TRL that must be above 0, which TRL finds when it trains, or never."""

NOT_NEGATIVE = ("beta", "learning_rate", "eval_prompts")
"""Options that must be at least 0."""


def load_options(command: str) -> list[Option]:
    """Return the options of a job from a table, which TRL's parser writes if there is none for these versions."""
    file, key = find_table()
    is_own = file.exists() and file.stat().st_uid == getattr(os, "geteuid", int)()  # a folder may be shared
    with contextlib.suppress(OSError, ValueError, TypeError, LookupError):  # a file may be damaged
        table = json.loads(file.read_text(encoding="utf-8")) if is_own else {}
        if table["key"] == key:
            return [Option(*one) for one in table[command]]
    from .job import list_options  # imports torch and TRL

    table = {"key": key, **{name: list_options(name) for name in DESCRIPTIONS}}
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as new:
            json.dump(table, new)
    return [Option(*one) for one in table[command]]


def find_table() -> tuple[Path, str]:
    """Return the file of the table for this environment, and what it depends on besides."""
    names = ("trl", "transformers", __package__.split(".")[0])
    places = [str(spec and spec.origin) for spec in map(find_spec, names)]
    sources = [Path(__file__).parents[1] / name for name in ("cli/job.py", "cli/datasets.py", "training/config.py")]
    key = [*map(version, names), *(source.stat().st_mtime_ns for source in sources)]  # a clone keeps its version
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path("/", cache, names[-1], f"options-{sha256(str(places).encode()).hexdigest()[:16]}.json"), str(key)


def choose(known: Sequence[str], value: str) -> str:
    """Return a value that is one of those known. Hubs have others, with a slash."""
    if value.lower().removeprefix("paged|") in known or "/" in value:
        return value
    close = get_close_matches(value, known, n=3)
    raise argparse.ArgumentTypeError(
        f"it cannot be {value!r}. Did you mean {' or '.join(close)}?"
        if close
        else f"it must be one of {', '.join(known)}; got {value!r}"
    )


def read_number(read: Callable[[str], float], is_positive: bool, value: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (number := read(value)) < math.inf or (number == 0 and not is_positive):
            return number
    bound = "above 0" if is_positive else "of at least 0"
    raise argparse.ArgumentTypeError(f"it must be a {'whole ' * (read is int)}number {bound}; got {value!r}")


def build_parser(command: str, options: Sequence[Option], *, shows_all: bool = True) -> CommandParser:
    """Return a parser of all options. Its help may leave out those of TRL."""
    hint = f"All options of TRL can be set, too, such as {MOST_USED}. --help-all shows them."
    parser = CommandParser(
        prog=f"trl-grpo-rewards {command}",
        usage="%(prog)s [--config RECIPE] [--OPTION VALUE ...]",
        description=DESCRIPTIONS[command],
        epilog=None if shows_all else hint,
        add_help=False,
    )
    general = parser.add_argument_group("options")
    general.add_argument("-h", "--help", action="help", help="show the options of this package")
    general.add_argument("--help-all", action="help", help="show the options of TRL, too")
    recipes = sorted(job_files.RECIPES)
    named = f"a YAML file with options, or one of {', '.join(recipes)}, which are in {job_files.RECIPE_FOLDER}; options on "
    named += "the command line take precedence"
    config = general.add_argument("--config", metavar="RECIPE", help=named)
    config.completer = lambda **_: recipes  # type: ignore[attr-defined]  # of argcomplete
    groups = {option.section: parser.add_argument_group(option.section) for option in options}
    for option in options:
        values = ",".join(option.choices[:2] if option.choices == TRUTHS else option.choices)
        metavar = f"{{{values}}}" if 0 < len(values) <= SHORT else "NUMBER" if option.kind in KINDS else "TEXT"
        read: Any = partial(choose, option.choices) if option.choices else KINDS.get(option.kind)
        if option.name in (*POSITIVE, *NOT_NEGATIVE):
            read = partial(read_number, read, option.name in POSITIVE)
        form: dict[str, Any] = {"nargs": option.nargs, "metavar": metavar, "type": read}
        form |= {"action": "extend"} if option.nargs == "+" else {"const": "true"} if option.nargs == "?" else {}
        shown = option.help if option.nargs != 0 and (shows_all or option.section in OWN) else None
        added = groups[option.section].add_argument(
            *option.spellings,
            dest=option.name,
            help=shown or argparse.SUPPRESS,
            **({"action": "store_const", "const": "false"} if option.nargs == 0 else form),
        )
        added.completer = lambda choices=option.choices, **_: choices  # type: ignore[attr-defined]
    return parser


def list_arguments(recipe: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options of a recipe as a command line would give them."""
    for name, value in recipe.items():
        for one in value if isinstance(value, list) else [] if value is None or name == "env" else [value]:
            yield f"--{name}={one}"


def read_line(command: str, arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of a command line and its recipe, and the arguments for TRL's parser."""
    arguments = [
        re.sub(r"^--(?!help-all)[\w-]+", lambda name: f"--{name[0][2:].replace('-', '_')}", one) for one in arguments
    ]
    options = load_options(command)
    parser = build_parser(command, options, shows_all="--help-all" in arguments)
    given = {name: value for name, value in vars(parser.read(arguments)).items() if value is not None}
    if given.get("selftest", "false").lower() not in TRUTHS[1::2] and (others := {*given} - {"selftest", "json"}):
        raise ValueError(
            f"--selftest checks the labelled rewards of this package, and takes no option except --json; got "
            f"--{', --'.join(sorted(others))}. Leave out either."
        )
    default = None if {"dataset_name", "data_files", "model_name_or_path"} & {*given} else job_files.DEFAULT_RECIPE
    name = given.pop("config", default)
    recipe = {} if name is None else job_files.read_recipe(name)
    found = vars(parser.read([*list_arguments(recipe)], "in the recipe"))
    settings = {option.name: option.default for option in options if option.nargs != 0}
    settings |= {name: value for name, value in found.items() if value is not None} | given
    if name is not None:
        job_files.check_trust(name, recipe, given)
    dataset, files = job_files.name_format(settings["dataset_name"], settings["data_files"])
    given |= {"dataset_name": dataset} if dataset else {}
    given |= {"data_files": files} if files else {}
    line = [] if name is None else ["--config", str(job_files.find_recipe(name))]
    for one, value in given.items():
        line += [f"--{one}", *map(str, value)] if isinstance(value, list) else [f"--{one}={value}"]
    return settings, line


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
