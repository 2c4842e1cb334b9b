"""What all subcommands share: a parser, errors without a traceback, exit codes, tables, text that fits a screen, JSON."""

import argparse
import contextlib
import importlib
import json
import os
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from inspect import isfunction
from os.path import exists
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import describe_reward_error
from ..expressions import Reward
from ..parsing import parse
from ..registry import wrap_function
from ..removed import REMOVED
from ..scores import make_visible
from .job_files import FORMATS, RECIPES, find_ending


FINE = 0
"""Exit code of a command that found no fault."""

FAULTY = 1
"""Exit code of a command that found a fault, such as a reward that raises an error."""

MISUSED = 2
"""Exit code of a command that cannot work with its options or files. argparse uses the same one."""

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C or SIGTERM interrupted."""

CLOSED = 141
"""Exit code of a command whose output nobody reads any more. A shell reports the same one for a process that SIGPIPE ended."""

EXIT_CODES = """exit codes:
  0    no fault was found
  1    a fault was found, or a reward raised an error
  2    the command cannot work with its options or files
  130  the command was interrupted
  141  the reader of the output closed it, as in `| head -1`"""
"""The exit codes, as `--help` shows them."""

OWN = ("the job", "the trainer of this package (FilteredGRPOConfig)")
"""Titles of the package's own options, which `--help` shows."""

CONSOLE = Console(width=1_000_000, height=1000, color_system=None, force_jupyter=False)
"""Lays tables out. All that rich would guess is given, so that variables such as TERM and FORCE_COLOR change nothing."""

TITLE_WIDTH = 10
"""Maximum number of columns for the title of a column of numbers. A longer title takes several lines."""

LEAST_SIMILARITY = 0.8
"""Smallest similarity of an unknown option to one that is suggested for it. At 0.6, `--json` suggests `--epsilon`."""


@contextlib.contextmanager
def exit_on(*errors: type[Exception]) -> Iterator[None]:
    """End the process with one line, instead of a traceback, on errors of these types, which are wrong use."""
    try:
        yield
    except BrokenPipeError:  # the output is closed, which is not wrong use
        raise
    except errors as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename and error.strerror:
            text = f"'{error.filename}' cannot be used: {error.strerror}. Choose another path."
        end(f"error: {text}", MISUSED)


@contextlib.contextmanager
def exit_on_reward_error() -> Iterator[None]:
    """End the process with one sentence, instead of a traceback, if a reward raises an error, which is a fault."""
    try:
        yield
    except Exception as error:  # a reward raises errors of any type
        if (text := describe_reward_error(error)) is None:
            raise
        end(text, FAULTY)


class Option(NamedTuple):
    """An option as TRL's parser takes it. The help shows the last spelling, and no option without help."""

    spellings: list[str]
    name: str
    section: str
    kind: str  # int, float, bool or text
    nargs: str | int | None
    choices: list[str]
    default: Any
    help: str | None


class CommandParser(argparse.ArgumentParser):
    """Parser whose errors are one line, as those of all commands."""

    def error(self, message: str) -> NoReturn:
        remedy = "Write one of these" if " could match " in message else f"{self.prog} --help lists the options"
        end(f"error: {message[0].upper()}{message[1:]}. {remedy}.", MISUSED)

    def format_help(self) -> str:
        return f"{super().format_help()}\n{EXIT_CODES}\n"

    def read_arguments(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Return the options, or end the process if there is no such option."""
        options, unknown = self.parse_known_intermixed_args(arguments)
        with exit_on(ValueError):
            self.refuse(unknown, "on the command line")
        return options

    def refuse(self, unknown: Sequence[str], place: str) -> None:
        """Raise an error about the first of the unknown arguments."""
        if unknown:
            name = unknown[0].split("=")[0]
            read = "A command reads the whole dataset. Leave out --dataset_streaming, or use FilteredGRPOTrainer in Python."
            gone = REMOVED | {"dataset_streaming": read}  # which TRL's own scripts have
            if (removed := name.lstrip("-").replace("-", "_")) in gone:
                raise ValueError(gone[removed])
            known = {option: action.dest for action in self._actions for option in action.option_strings}
            if name in known:  # a recipe has the names of fields, which differ from some options
                raise ValueError(f"{name.lstrip('-')!r} {place} is not an option. Write {known[name]}.")
            close = get_close_matches(name, known, n=1, cutoff=LEAST_SIMILARITY) if name.startswith("-") else []
            remedy = f"Did you mean {close[0]}?" if close else f"{self.prog} --help lists the options."
            remedy = remedy if name.startswith("-") else suggest_option(unknown[0], known)
            raise ValueError(f"{unknown[0]!r} {place} is not an option. {remedy}")


def suggest_option(value: str, known: Iterable[str]) -> str:
    """Return what to write before a value without an option, by what it looks like."""
    is_dataset = find_ending(value) in FORMATS or value.startswith("demo.") or value.count("/") == 1 or exists(value)
    is_recipe = value in RECIPES or find_ending(value) in ("yaml", "yml")
    kinds = {"--config": is_recipe, "--rewards": "(" in value, "--dataset_name": is_dataset}
    option = next((name for name, is_alike in kinds.items() if is_alike and name in known), None)
    if option is None:
        return "If it is part of a value with spaces, put the whole value in quotes."
    return f"Write {option} before it."


def build_rewards(expression: str, modules: Sequence[str]) -> Reward:
    """Import the modules, and build the rewards that an expression describes."""
    import_rewards(modules)
    try:
        return parse(expression)
    except ValueError:
        names = re.findall(r"[^\W\d]\w*", expression)
        known = [getattr(sys.modules[module], name, None) for name in names for module in modules]
        functions = [one for one in known if isfunction(one)]
        if not functions:
            raise
    for function in functions:
        wrap_function(function)
    return parse(expression)


def import_rewards(modules: Sequence[str]) -> None:
    """Import the modules, so that they register their rewards. The working directory is searched, too."""
    if modules and (folder := str(Path.cwd())) not in sys.path:
        sys.path.append(folder)  # at the end, so that a file in this folder replaces no installed module
    for module in modules:
        if module.endswith(".py") or not all(part.isidentifier() for part in module.split(".")):
            raise ValueError(
                f"--import must be followed by the name of a module, as in an import statement; got {module!r}. Write "
                f"--import {Path(module).name.removesuffix('.py')}, and start the command in the folder of its file."
            )
        try:
            importlib.import_module(module)
        except Exception as error:  # a module raises errors of any type
            if not (isinstance(error, ModuleNotFoundError) and error.name in (module, module.split(".")[0])):
                raise ImportError(describe_import_error(module, error)) from None
            raise ValueError(
                f"There is no module '{module}' in {Path.cwd()} or among the installed packages. Give its name as in an "
                f"import statement: --import my_rewards for my_rewards.py."
            ) from None


def describe_import_error(module: str, error: Exception) -> str:
    """Return one sentence about an error that a module raised while it was imported, with its place."""
    if isinstance(error, SyntaxError):
        place, text = f"{error.filename}, line {error.lineno}", error.msg
    else:
        frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith("<frozen")]
        place, text = f"{frames[-1].filename}, line {frames[-1].lineno}", " ".join(str(error).split())
    return (
        f"The module '{module}' cannot be imported: {type(error).__name__}: {text or 'no message'} ({place}). "
        f"Correct the module, or install what it needs."
    )


def measure_screen() -> tuple[int, int]:
    """Return the columns and the lines of the terminal, without the line of the prompt. A file counts as 80 by 24."""
    columns, lines = shutil.get_terminal_size((80, 24))
    return max(columns, 60), max(lines, 20) - 1


def make_printable(text: str) -> str:
    """Return the text in one line. Characters that would control the terminal are escaped."""
    return make_visible(" ".join(text.split()))


def cut(text: str, columns: int, *, keep_end: bool = False) -> str:
    """Return the text if it fits into the columns, and otherwise its start or its end with an ellipsis."""
    if cell_len(text) <= columns:
        return text
    if keep_end:
        return f"...{chop_cells(text[::-1], columns - 3)[0][::-1]}"
    return f"{chop_cells(text, columns - 3)[0]}..."


def build_table(rows: Sequence[Sequence[str]], alignments: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title, alignment in zip(map(make_printable, rows[0]), alignments, strict=False):
        if alignment == "<":
            table.add_column(Text(title), overflow="fold")
        else:
            table.add_column(Text("\n".join(textwrap.wrap(title, TITLE_WIDTH))), justify="right", no_wrap=True)
    for row in rows[1:]:
        table.add_row(*(Text(make_printable(cell)) for cell in row))
    return table


def fit_columns(rows: list[list[str]], alignments: str, columns: int, least: int) -> tuple[list[list[str]], int]:
    """Return the rows without the last cells that do not fit, but with the first ones, and the columns that are left."""
    while True:
        left = columns - CONSOLE.measure(build_table(rows, alignments)).maximum
        if left >= 0 or len(rows[0]) <= least:
            return rows, max(left, 0)
        rows = [row[:-1] for row in rows]


def format_table(rows: Sequence[Sequence[str]], alignments: str, columns: int) -> str:
    """Return a table that fits into the columns: `<` aligns texts, which may take several lines, and `>` numbers."""
    with CONSOLE.capture() as captured:
        CONSOLE.print(build_table(rows, alignments), width=columns)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def fit_texts(texts: Sequence[str], columns: int, lines: int, rest: str) -> list[str]:
    """Return the lines of the texts that fit on the screen. If not all do, the last line says where the rest is."""
    options: dict[str, Any] = {"subsequent_indent": "  ", "break_on_hyphens": False}
    wrapped = [line for text in texts for line in textwrap.wrap(make_printable(text), columns, **options)]
    return wrapped if len(wrapped) <= lines else [*wrapped[: lines - 1], f"... and more: {rest}"]


def format_known(value: float | None, form: str) -> str:
    """Return a number in this form, or a dash if it is not known."""
    return "-" if value is None else f"{value:{form}}"


def count(number: int, noun: str) -> str:
    """Return a number of things, such as `1 fault` or `2,000 groups`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


@contextlib.contextmanager
def keep_stdout_for_json(is_json: bool) -> Iterator[None]:
    """Send what imported modules and rewards print to standard error if standard output is for JSON."""
    with contextlib.redirect_stdout(sys.stderr) if is_json else contextlib.nullcontext():
        yield


def end(text: str, code: int) -> NoReturn:
    """End the process with a text on standard error."""
    print(make_visible(text), file=sys.stderr)
    sys.exit(code)


def flush_output(text: str = "") -> None:
    """Write a text and everything before it to standard output. End the process without a traceback if that fails."""
    try:
        print(text, end="", flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries again when it exits
        if isinstance(error, BrokenPipeError):
            sys.exit(CLOSED)
        end(
            f"error: Standard output cannot be written: {error.strerror}. Free some space, or use another file.",
            MISUSED,
        )


def print_json(value: dict[str, Any]) -> None:
    """Print a value as JSON. NaN, which JSON does not have, must be None."""
    print(json.dumps(value, indent=2, allow_nan=False))
