"""Code that every command needs: importing rewards, and errors without a traceback. Loads neither torch nor TRL."""

import contextlib
import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import describe_reward_error


@contextlib.contextmanager
def exit_on(*errors: type[Exception]) -> Iterator[None]:
    """End the process with one line, instead of a traceback, on errors of these types."""
    try:
        yield
    except errors as error:
        sys.exit(f"{type(error).__name__}: {error}")


@contextlib.contextmanager
def exit_on_reward_error() -> Iterator[None]:
    """End the process with one sentence, instead of a traceback, if a reward raises an error."""
    try:
        yield
    except Exception as error:  # a reward raises errors of any type
        if (text := describe_reward_error(error)) is None:
            raise
        sys.exit(text)


def import_rewards(modules: Sequence[str]) -> None:
    """Import the modules, so that they register their rewards. The working directory is searched, too."""
    sys.path.insert(0, str(Path.cwd()))
    for module in modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module.split(".")[0]:
                raise
            raise ValueError(
                f"There is no module '{module}' in {Path.cwd()} or among the installed packages. "
                f"Give its name as in an import statement: --import my_rewards for my_rewards.py."
            ) from None
