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
import tomllib
import traceback
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import describe_reward_error
from ..expressions import Reward
from ..function_rewards import RewardFactory, find_functions
from ..parsing import parse
from ..registry import REGISTRY, wrap_function
from ..scores import make_visible


# Exit codes
FINE = 0
FAULTY = 1
MISUSED = 2
INTERRUPTED = 130
CLOSED = 141  # standard output was closed

TEXTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
OWN_TITLES = ("the job", "the trainer of this package (FilteredGRPOConfig)")  # titles of what `--help` shows
PROGRAMS = ("backend", "packages")  # options of rewards that decide which code runs
LEAST_SIMILARITY = 0.8  # of an unknown option to what is suggested. At 0.6, `--json` suggests `--epsilon`.
# Lays tables out. All that rich would guess is given, so that variables such as TERM and FORCE_COLOR change nothing.
CONSOLE = Console(width=1_000_000, height=1000, color_system=None, force_jupyter=False)
TITLE_WIDTH = 10  # maximum number of columns for the title of a column of numbers. A longer title takes several lines.
MOST_TEXTS = 5  # largest number of faults and warnings, or of examples of a kind, that a summary shows


@contextlib.contextmanager
def exit_on(*errors: type[Exception]) -> Iterator[None]:
    """End the process with one line on errors of these types, which are wrong use, and if a reward raises one, a fault."""
    try:
        yield
    except BrokenPipeError:  # the output is closed, which is not wrong use
        raise
    except Exception as error:
        if (text := describe_reward_error(error)) is not None:
            end(text, FAULTY)
        if not isinstance(error, errors):
            raise
        text = str(error)
        if isinstance(error, OSError) and error.filename and error.strerror:
            text = f"'{error.filename}' cannot be used: {error.strerror}. Choose another path."
        end(f"error: {text}", MISUSED)


class CommandParser(argparse.ArgumentParser):
    """Parser whose errors are one line, as those of all commands. Options must be written out, as in recipes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        text = message.removeprefix("argument ")
        remedy = "" if text.endswith("?") else f". {self.prog} --help lists the options."
        end(f"error: {text[0].upper()}{text[1:]}{remedy}", MISUSED)

    def format_help(self) -> str:
        return f"{super().format_help()}\n{TEXTS['exit_codes']}\n"

    def read(self, arguments: Sequence[str], place: str = "on the command line") -> argparse.Namespace:
        """Return the options, or end the process if there is no such option."""
        options, unknown = self.parse_known_intermixed_args(arguments)
        if unknown:
            self.refuse(unknown[0], place)
        return options

    def refuse(self, unknown: str, place: str) -> NoReturn:
        """End the process because of an argument that is not an option, with what may be meant."""
        name = unknown.split("=")[0]
        remedy = self.suggest(name)
        if not name.startswith("-"):
            remedy = "Write the option before it, such as --rewards, and put a value with spaces in quotes."
        if name == "--dataset_streaming":
            remedy = "A command reads the whole dataset: leave it out, or use FilteredGRPOTrainer in Python."
        end(f"error: {unknown!r} {place} is not an option. {remedy}", MISUSED)

    def suggest(self, name: str) -> str:
        """Return which option may be meant by a name. A recipe has the names of fields, which differ from some options."""
        destinations = {option: action.dest for action in self._actions for option in action.option_strings}
        if destinations.get(name, name[2:]) != name[2:]:
            return f"Write {destinations[name]}."
        close = get_close_matches(name, destinations, n=1, cutoff=LEAST_SIMILARITY)
        close = close or [option for option in destinations if name.startswith(option) and option.startswith("--")]
        return f"Did you mean {close[0]}?" if close else f"{self.prog} --help lists the options."


def build_rewards(expression: str, modules: Sequence[str]) -> Reward:
    """Import the modules, and build the rewards that an expression describes, of plain functions in them if need be."""
    import_modules(modules)
    try:
        return parse(expression)
    except ValueError:
        functions = find_plain_functions(expression, modules)
        if not functions:
            raise
    for name, function in functions.items():
        REGISTRY[name] = wrap_function(function).factory  # an object has another name than its variable
    return parse(expression)


def find_plain_functions(expression: str, modules: Sequence[str]) -> dict[str, Any]:
    """Return what modules have under the names in an expression and can be called, without rewards and classes."""
    names = re.findall(r"[^\W\d]\w*", expression)
    values = {name: getattr(sys.modules[module], name, None) for name in names for module in modules}
    return {
        name: value
        for name, value in values.items()
        if callable(value) and not isinstance(value, RewardFactory | type)
    }


def list_programs(rewards: Reward) -> list[str]:
    """Return the options of rewards that name a module, an interpreter or packages, with which they run programs."""
    options = [pair for function in find_functions(rewards) for pair in {**function.options}.items()]
    named = [f"{name}={value!r}" for name, value in options if name in PROGRAMS and value not in (None, (), "local")]
    return [*dict.fromkeys(named)]


def import_modules(modules: Sequence[str]) -> None:
    if modules and (folder := str(Path.cwd())) not in sys.path:
        sys.path.append(folder)  # at the end, so that a file in this folder replaces no installed module
    for module in modules:
        package = module.split(".")[0]
        if module.endswith(".py") or not package.isidentifier() or not find_spec(package):
            raise ValueError(
                f"There is no module '{module}' in {Path.cwd()} or among the installed packages. Give its name as in an "
                f"import statement, such as --import my_rewards for my_rewards.py, in the folder of its file."
            )
        try:
            importlib.import_module(module)
        except Exception as error:  # a module raises errors of any type
            raise ImportError(
                f"The module '{module}' cannot be imported: {type(error).__name__}: {describe_cause(error)}. Correct the "
                f"module, or install what it needs."
            ) from None


def describe_cause(error: Exception) -> str:
    """Return the message of an error in one line, with the place where it was raised, unless it says that itself."""
    message = " ".join(str(error).split()) or "no message"
    if isinstance(error, SyntaxError):
        return message
    frames = traceback.extract_tb(error.__traceback__)
    frame = [frame for frame in frames if "<frozen" not in frame.filename][-1]
    return f"{message} ({frame.filename}, line {frame.lineno})"


def get_width() -> int:
    """Return the columns of the terminal. A file counts as 80."""
    return max(shutil.get_terminal_size((80, 24)).columns, 60)


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


def format_table(rows: Sequence[Sequence[str]], alignments: str, columns: int | None = None) -> list[str]:
    """Return the lines of a table: `<` aligns texts, which may take several lines, and `>` numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title, alignment in zip(map(make_printable, rows[0]), alignments, strict=False):
        if alignment == "<":
            table.add_column(Text(title), overflow="fold")
        else:
            table.add_column(Text("\n".join(textwrap.wrap(title, TITLE_WIDTH))), justify="right", no_wrap=True)
    for row in rows[1:]:
        table.add_row(*(Text(make_printable(cell)) for cell in row))
    with CONSOLE.capture() as captured:
        CONSOLE.print(table, width=columns or get_width())
    return [line.rstrip() for line in captured.get().splitlines()]


def format_texts(texts: Sequence[str], rest: str) -> list[str]:
    """Return the first texts as lines. If there are more, the last line says where they are."""
    options: dict[str, Any] = {"width": get_width(), "subsequent_indent": "  ", "break_on_hyphens": False}
    lines = [line for text in texts[:MOST_TEXTS] for line in textwrap.wrap(make_printable(text), **options)]
    return lines + [f"... and {len(texts) - MOST_TEXTS} more: {rest}"] * (len(texts) > MOST_TEXTS)


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


@contextlib.contextmanager
def keep_stdout_for_json(is_json: bool) -> Iterator[None]:
    """Send what imported modules and rewards print to standard error if standard output is for JSON."""
    with contextlib.redirect_stdout(sys.stderr) if is_json else contextlib.nullcontext():
        yield


def end(text: str, code: int) -> NoReturn:
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
