"""What every command needs: a parser and errors without a traceback, and rewards that are imported. Loads no torch or TRL."""

import argparse
import contextlib
import importlib
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from inspect import isfunction
from os.path import exists
from pathlib import Path
from typing import NoReturn

from ..errors import describe_reward_error
from ..expressions import Reward
from ..parsing import parse
from ..registry import wrap_function
from ..removed import REMOVED
from .data_files import FORMATS, find_ending
from .output import EXIT_CODES, FAULTY, MISUSED, end
from .recipe_files import RECIPES


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
            if (removed := name.lstrip("-").replace("-", "_")) in REMOVED:
                raise ValueError(REMOVED[removed])
            known = [option for action in self._actions for option in action.option_strings]
            if name in known:  # a recipe has the names of fields, which differ from some options
                action = next(action for action in self._actions if name in action.option_strings)
                raise ValueError(f"{name.lstrip('-')!r} {place} is not an option. Write {action.dest}.")
            close = get_close_matches(name, known, n=1, cutoff=LEAST_SIMILARITY) if name.startswith("-") else []
            remedy = f"Did you mean {close[0]}?" if close else f"{self.prog} --help lists the options."
            remedy = remedy if name.startswith("-") else suggest_option(unknown[0], known)
            raise ValueError(f"{unknown[0]!r} {place} is not an option. {remedy}")


def suggest_option(value: str, known: Sequence[str]) -> str:
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
        if not all(part.isidentifier() for part in module.split(".")):
            raise ValueError(
                f"--import must be followed by the name of a module, as in an import statement; got {module!r}. Write "
                f"--import {Path(module).name.removesuffix('.py')}, and start the command in the folder of its file."
            )
        try:
            importlib.import_module(module)
        except Exception as error:  # a module raises errors of any type
            if not (isinstance(error, ModuleNotFoundError) and error.name in (module, module.split(".")[0])):
                raise ImportError(describe_import_error(module, error)) from None
            remedy = (
                f"Leave out .py: --import {module.removesuffix('.py')}."
                if module.endswith(".py")
                else "Give its name as in an import statement: --import my_rewards for my_rewards.py."
            )
            raise ValueError(
                f"There is no module '{module}' in {Path.cwd()} or among the installed packages. {remedy}"
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
