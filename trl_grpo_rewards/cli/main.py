"""The command `trl-grpo-rewards`, and the command line of a job before torch and TRL are imported, which takes seconds."""

import argparse
import contextlib
import io
import json
import math
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..files import check_trl_version, find_version, replace_file
from ..prompt_templates import check_prompt_template
from . import job_files
from .console import (
    INTERRUPTED,
    OWN_TITLES,
    TEXTS,
    CommandParser,
    build_rewards,
    exit_on,
    flush_output,
    keep_stdout_for_json,
    list_programs,
)
from .job_settings import check_group_size, check_packages


COMMANDS = TEXTS["commands"]
DESCRIPTIONS = TEXTS["jobs"]
NUMBER_TYPES: dict[str, Any] = {"int": int, "float": float}  # how values are read, by type; others are texts

POSITIVE = (  # options of TRL that must be above 0, which TRL finds when it trains, or never
    "temperature per_device_train_batch_size per_device_eval_batch_size gradient_accumulation_steps num_generations "
    "num_iterations steps_per_generation max_completion_length"
).split()

NOT_NEGATIVE = ("beta", "learning_rate", "eval_prompts")  # options that must be at least 0
AT_LEAST_0 = " of at least 0"
INTERRUPTS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a subcommand with its arguments, by default those of the process. SIGTERM and SIGHUP interrupt it as Ctrl-C does."""
    for number in INTERRUPTS:
        with contextlib.suppress(ValueError):  # a thread cannot set it
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks for
                signal.signal(number, signal.default_int_handler)
    if "_ARGCOMPLETE" in os.environ:
        complete()
    try:
        run_subcommand(sys.argv[1:] if arguments is None else arguments)
    except OSError:
        flush_output("\n")  # ends the process if the error is that of standard output
        raise
    finally:
        flush_output()


def complete() -> None:
    with contextlib.suppress(ImportError):  # argcomplete is optional
        import argcomplete

        parser = argparse.ArgumentParser()
        commands = parser.add_subparsers()
        for name in COMMANDS:
            if name in DESCRIPTIONS:
                parent = build_job_parser(name, load_options(name))
            else:
                parent = import_module(f".{name}", __package__).build_parser()
            commands.add_parser(name, parents=[parent], add_help=False)
        argcomplete.autocomplete(parser)


def run_subcommand(arguments: Sequence[str]) -> None:
    listed = "\n".join(f"  {name:7} {what}" for name, what in COMMANDS.items())
    parser = CommandParser(
        prog="trl-grpo-rewards",
        usage="%(prog)s COMMAND [OPTION ...]",
        description=f"Composable rewards for GRPO.\n\ncommands:\n{listed}",
        epilog="'trl-grpo-rewards COMMAND --help' lists the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=find_version("trl_grpo_rewards"))
    parser.add_argument("command", choices=COMMANDS, help=argparse.SUPPRESS)
    command = parser.parse_args(arguments[:1] or ["--help"]).command
    for stream in (sys.stdout, sys.stderr):  # a completion may have characters that the terminal or file cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        rest = read_ahead(command, arguments[1:]) if command in DESCRIPTIONS else arguments[1:]
        import_module(f".{command}", __package__).main(rest)  # others are not loaded, because they import torch
    except KeyboardInterrupt:
        print(f"\ntrl-grpo-rewards {command} was interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)


# --- the command line of a job ----------------------------------------------------------------------------------------
def load_options(command: str) -> list[dict[str, Any]]:
    """Return the options of a job from a table, which TRL's parser writes if there is none for these versions."""
    file = find_table()
    table: dict[str, list[dict[str, Any]]] = {}
    with contextlib.suppress(OSError, ValueError, TypeError):  # a file may be damaged, and a folder shared
        if file.stat().st_uid == getattr(os, "geteuid", int)():
            table = dict(json.loads(file.read_text(encoding="utf-8")))
    if command not in table:
        from .job_options import list_options  # imports torch and TRL

        table = {name: list_options(name) for name in DESCRIPTIONS}
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(file) as new:
                json.dump(table, new)
            for old in {*file.parent.glob(f"{file.stem.rpartition('-')[0]}-*.json")} - {file}:
                old.unlink()
    return table[command]


def find_table() -> Path:
    """Return the file of the table for this environment, which its name begins with, and the versions in it."""
    names = ("trl", "transformers", __package__.split(".")[0])
    places = [str(spec and spec.origin) for spec in map(find_spec, names)]
    sources = [Path(__file__).parents[1] / name for name in ("cli/job_options.py", "training/config.py")]
    times = [source.stat().st_mtime_ns for source in sources]  # a clone keeps its version
    keys = [sha256(str(key).encode()).hexdigest()[:16] for key in (places, [*map(find_version, names), *times])]
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # the specification ignores other paths
        cache = os.path.expanduser("~/.cache")
    return Path(cache, names[-1], f"options-{keys[0]}-{keys[1]}.json")


def read_option(option: dict[str, Any], text: str) -> Any:
    """Return the value of an option. Hubs have others than those that are known, with a slash."""
    choices = option["choices"]
    if choices:
        check_choice(choices, text)
        return text
    number_type = NUMBER_TYPES.get(option["kind"])
    if number_type is None:
        return text
    bound = find_bound(option["name"])
    with contextlib.suppress(ValueError):
        number = number_type(text)
        if not bound or 0 < number < math.inf or (number == 0 and bound is AT_LEAST_0):
            return number
    raise argparse.ArgumentTypeError(f"it must be a {'whole ' * (number_type is int)}number{bound}; got {text!r}")


def check_choice(choices: Sequence[str], text: str) -> None:
    if text.lower().removeprefix("paged|") in choices or "/" in text:
        return
    if close := get_close_matches(text, choices, n=3):
        raise argparse.ArgumentTypeError(f"it cannot be {text!r}. Did you mean {' or '.join(close)}?")
    raise argparse.ArgumentTypeError(f"it must be one of {', '.join(choices)}; got {text!r}")


def find_bound(name: str) -> str:
    """Return the range of a number as an error says it, or nothing if every number is allowed."""
    if name in POSITIVE:
        return " above 0"
    return AT_LEAST_0 if name in NOT_NEGATIVE else ""


def build_job_parser(command: str, options: Sequence[dict[str, Any]], *, shows_all: bool = True) -> CommandParser:
    """Return a parser of all options. Its help may leave out those of TRL."""
    hint = f"All options of TRL can be set, too, such as {TEXTS['most_used']}. --help-all shows them."
    parser = CommandParser(
        prog=f"trl-grpo-rewards {command}",
        usage=f"%(prog)s [--config RECIPE] [--OPTION VALUE ...]\n{TEXTS['example']}",
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
    groups = {option["section"]: parser.add_argument_group(option["section"]) for option in options}
    for option in options:
        section = option["section"]
        shown = option["help"] if shows_all or section in OWN_TITLES else None
        form = {**option["form"], "help": shown or argparse.SUPPRESS}
        if "metavar" in form:
            form["type"] = partial(read_option, option)
        added = groups[section].add_argument(*option["spellings"], dest=option["name"], **form)
        added.completer = lambda choices=option["choices"], **_: choices  # type: ignore[attr-defined]
    return parser


def write_arguments(recipe: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options of a recipe as a command line would give them."""
    for name, value in recipe.items():
        if value is not None and name != "env":
            for item in value if isinstance(value, list) else [value]:
                yield f"--{name}={item}"


def read_line(command: str, arguments: Sequence[str]) -> tuple[dict[str, Any], list[str], str | None]:
    """Return the settings of a command line, the arguments for TRL's parser, and the recipe if its rewards are not trusted."""
    arguments = [*map(spell_option, arguments)]
    options = load_options(command)
    parser = build_job_parser(command, options, shows_all="--help-all" in arguments)
    line = drop_unset(vars(parser.read(arguments)))
    if line.get("trust", "true").lower() in ("false", "no", "f", "n", "0"):
        del line["trust"]  # as by default
    is_other_job = {"dataset_name", "data_files", "model_name_or_path"} & {*line}
    name = line.pop("config", None if is_other_job else job_files.DEFAULT_RECIPE)
    recipe = job_files.read_recipe(name)
    from_recipe = read_recipe_options(parser, recipe, options)
    defaults = {option["name"]: option["default"] for option in options if "default" in option}
    settings = {**defaults, **from_recipe, **line}
    dataset, files = job_files.name_format(settings["dataset_name"], settings["data_files"])
    model = [*job_files.find_lacking_model(settings["model_name_or_path"], dataset, files)]
    job_files.refuse([*job_files.find_lacking_trust(name, recipe, line), *model * (command == "train")])
    lists = {
        option: value for option, value in from_recipe.items() if isinstance(value, list)
    }  # of a single value, too
    line = {**lists, **line, **drop_unset({"dataset_name": dataset or None, "data_files": files or None})}
    return settings, write_line(name, line), None if {"rewards", "trust"} & {*line} else name


def spell_option(argument: str) -> str:
    """Return an argument with the name of its option as TRL's parser spells it."""
    return re.sub(r"^--(?!help-all)[\w-]+", lambda name: f"--{name[0][2:].replace('-', '_')}", argument)


def drop_unset(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def read_recipe_options(
    parser: CommandParser, recipe: Mapping[str, Any], options: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the settings of a recipe."""
    settings = drop_unset(vars(parser.read([*write_arguments(recipe)], "in the recipe")))
    for alias in recipe.keys() - {"env", *(option["name"] for option in options)}:
        parser.refuse(f"--{alias}", "in the recipe")  # another spelling of a name could hide what needs trust
    return settings


def write_line(recipe: str | None, options: Mapping[str, Any]) -> list[str]:
    """Return the arguments for TRL's parser."""
    line = [] if recipe is None else ["--config", str(job_files.find_recipe(recipe))]
    for name, value in options.items():
        line += [f"--{name}", *map(str, value)] if isinstance(value, list) else [f"--{name}={value}"]
    return line


def read_ahead(command: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments for TRL's parser. End the process on a wish for help, and if an option or the rewards are wrong."""
    with exit_on(TypeError, ValueError, ImportError, OSError), keep_stdout_for_json("--json" in arguments):
        check_trl_version()
        settings, line, recipe = read_line(command, arguments)
        rewards = build_rewards(settings["rewards"], settings["import_modules"] or ())
        check_group_size(settings)
        check_prompt_template(settings.get("prompt_template"))
        if recipe is not None and (programs := list_programs(rewards)):
            raise job_files.ask_for_trust(recipe, [f"runs programs with {', '.join(programs)}"])
        if command == "train":
            check_packages(settings)
        if command == "train" and os.environ.get("RANK", "0") == "0":  # the first process of a launcher
            folder = os.path.expanduser(settings["output_dir"] or "trainer_output")
            job_files.check_output(folder, settings["resume_from_checkpoint"])
    return line
