"""Errors that commands show without a traceback: those of rewards, missing columns, and checkpoints of other runs."""

import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from inspect import isfunction, signature
from itertools import takewhile
from pathlib import Path
from types import FrameType
from typing import Any

from .batch import HOOKS, ROW_COLUMNS


# Usual names of the column with the right answer, to suggest one if a dataset has no `solution`.
SOLUTION_COLUMNS = ("solution", "answer", "final_answer", "ground_truth", "gold", "target", "label")
ANSWER_WORDS = {
    *SOLUTION_COLUMNS,
    *"answers golden gt truth reference expected correct".split(),
}  # in names of columns
CORRECT = "Correct the reward, or let it return None for what it cannot judge."

TEXT_METHODS = [name for name in dir(str) if name not in dir(list)]  # what only a text has

# Parameters that other trainers and tutorials give what the model wrote, and that TRL knows under another name
COMPLETION_NAMES = "answer generated generation output pred prediction reply response result solution_str text".split()

# What to do about errors of functions that got texts and expect messages, or the reverse.
HINTS: tuple[tuple[type, str, str], ...] = (
    (list, rf"got 'list'|not list$|'list' object has no attribute '({'|'.join(TEXT_METHODS)})'", "A completion is a list of messages here: its text is completion[0]['content']."),
    (str, "string indices must be", "A completion is a text here. For messages, put @reward above and declare 'messages'."),
)  # fmt: skip

RAISED_IN = "(raised in the reward "  # beginning of the note on an error that a reward raised


@contextmanager
def named_in_errors(reward: object) -> Iterator[None]:
    """Add a note with the reward to every error that is raised inside."""
    try:
        yield
    except SystemExit as exit:
        error = RuntimeError(
            f"Reward {reward} called sys.exit({exit.code!r}), which would end the run. Raise an error, or return None."
        )
        error.add_note(f"{RAISED_IN}{reward})")
        raise error from exit
    except Exception as error:
        error.add_note(f"{RAISED_IN}{reward})")
        text = str(describe_reward_error(error))
        hints = [hint for *_, hint in HINTS if text.endswith(hint)]
        error.__notes__ += [hint for hint in hints if hint not in error.__notes__]
        raise


def describe_reward_error(error: Exception) -> str | None:
    """Return one sentence about an error that a reward raised, with its place, or None for any other error."""
    raised_in = [note.removeprefix(RAISED_IN)[:-1] for note in getattr(error, "__notes__", ()) if RAISED_IN in note]
    if not raised_in:
        return None
    text = " ".join(str(error).split())
    name = type(error).__name__
    frames = list_frames(error)
    if not frames:  # the message says what to do
        return f"{name}: {text}"
    function = frames[-1][0]
    file = function.f_code.co_filename
    line = next(line for frame, line in frames if frame.f_code.co_filename == file)  # not inside what the reward calls
    arguments = function.f_locals
    remedy = find_hint(text, arguments) or describe_missing_key(error, arguments) or CORRECT
    return f"Reward {raised_in[0]} raised {name}: {text or 'no message'} ({file}, line {line}). {remedy}"


def list_frames(error: Exception) -> list[tuple[FrameType, int]]:
    """Return the frames outside this package in which an error was raised, with their lines. The function is the last one."""
    frames = [*traceback.walk_tb(error.__traceback__)]
    return [*takewhile(lambda pair: is_foreign(pair[0]), reversed(frames))]


def is_foreign(frame: FrameType) -> bool:
    return Path(__file__).parent not in Path(frame.f_code.co_filename).parents


def find_hint(text: str, arguments: Mapping[str, Any]) -> str | None:
    """Return what to do if an error is usual for a function that got a completion of the other of TRL's formats."""
    completions = arguments.get("completions")
    first = None
    if isinstance(completions, list) and completions:
        first = completions[0]
    completion = arguments.get("completion", first)
    for kind, pattern, hint in HINTS:
        if isinstance(completion, kind) and re.search(pattern, text):
            return hint
    return None


def describe_missing_key(error: Exception, arguments: Mapping[str, Any]) -> str | None:
    """Return which columns there are, if a function looked for another one among its keyword arguments."""
    rest = next((one for one in arguments.values() if isinstance(one, dict) and "completion_ids" in one), None)
    missing = None
    if isinstance(error, KeyError) and error.args:
        missing = error.args[0]
    if rest is None or not isinstance(missing, str) or missing in rest:
        return None
    columns = sorted(rest.keys() - {"prompts", *ROW_COLUMNS, *HOOKS})
    found = " and ".join(map(repr, columns)) or "no other columns"
    return (
        f"The function looks for the column {missing!r}, but the dataset has {found}. Change the name in one of them."
    )


def names_answer(column: str) -> bool:
    """Whether the name of a column says that it contains right answers."""
    return not ANSWER_WORDS.isdisjoint([column, *column.lower().split("_")])


def name_callable(function: Callable[..., Any]) -> str:
    """Return the name under which TRL logs a function, a method, a partial function or an object that can be called."""
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def describe_plain(function: Any) -> str:
    """Return the end of an error about something that can be called, but is no reward and cannot become one as it is."""
    name = name_callable(function)
    if isinstance(function, type):
        return f"the class '{name}' instead of a reward. Make an object of it: {name}(...)."
    if hasattr(function, "forward"):
        return f"the model '{name}' instead of a reward. Pass it beside the rewards: reward_funcs=[*rewards.rewards, model]."
    if not name.isidentifier():
        return f"a function with the name '{name}', which no expression can have. Give it a name with def."
    kind = "plain function" if isfunction(function) else "object"
    return f"the {kind} '{name}' instead of a reward. {describe_renames(function)}"


def describe_renames(function: Callable[..., Any]) -> str:
    """Return what makes a reward of a function or an object that TRL cannot call, with all parameters to rename."""
    needed = list_needed(function)
    completion = find_completion_parameter(needed)
    rename = "" if completion is None else f" rename '{completion}' to 'completion',"
    if isfunction(function):
        call = f"{name_callable(function)}("
        made = f"Put @reward above it,{rename} and call it: {call})."
    else:
        call = "reward(...)("
        made = f"Make a reward of it:{rename}{' and write' if rename else ''} {call})."
    columns = [name for name in needed if name not in ("prompt", "prompts", completion)]
    if completion is None or not columns:
        return made
    other = f"{call}{columns[-1]}={SOLUTION_COLUMNS[0]!r})"
    return f"{made} It reads {' and '.join(map(repr, columns))} of the dataset; {other} reads another column."


def list_needed(function: Callable[..., Any]) -> list[str]:
    """Return the parameters without a default. Some builtin functions do not say theirs."""
    try:
        parameters = signature(function, follow_wrapped=False).parameters.values()  # as TRL calls it
    except ValueError:
        return []
    return [p.name for p in parameters if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD]


def find_completion_parameter(names: Sequence[str]) -> str | None:
    """Return the parameter that may get the completion, if none has the name under which TRL passes it."""
    if not {"completion", "completions", "messages"}.isdisjoint(names):
        return None
    return next((name for name in COMPLETION_NAMES if name in names), None)


def suggest_parameter(name: str, available: Iterable[str]) -> str:
    """Return what to do about a parameter of a plain function for which TRL passes nothing."""
    close = get_close_matches(name, sorted({*available} - {"prompt"}), n=1)
    if close:
        return f"Did you mean '{close[0]}'? Rename the parameter."
    return "Rename the parameter, or add the column to the dataset."


class MissingColumn(ValueError):
    """Raised when a reward needs a column that is not available. A `call` such as `"boxed(solution="` may name another one."""

    def __init__(
        self, reward: str, column: str, available: Iterable[str], call: str | None = None, remedy: str | None = None
    ) -> None:
        available = sorted(available)
        super().__init__(reward, column, available, call, remedy)
        self.column = column
        self.call = call
        self.remedy = remedy
        self.problem = (
            f"Reward '{reward}' needs the column '{column}'; found {', '.join(map(repr, available)) or 'no columns'}."
        )
        is_solution = column in SOLUTION_COLUMNS or (call is not None and call.endswith("solution="))
        usual = [name for name in SOLUTION_COLUMNS if name in available] if is_solution else []
        self.similar = get_close_matches(column, usual, n=1) + usual
        self.similar += get_close_matches(column, available, n=1)

    def suggest(self, other: str, call: str | None) -> str:
        if call is None:
            return f"Rename it: dataset.rename_column({other}, {self.column!r})."
        return f"Name it: {call}{other}{')' * call.count('(')}."

    def __str__(self) -> str:
        if self.remedy or self.similar:
            return f"{self.problem} {self.remedy or self.suggest(repr(self.similar[0]), self.call)}"
        if not self.call:
            return f"{self.problem} Add it to the dataset."
        other = self.suggest("...", self.call).removeprefix("Name it: ")
        return f"{self.problem} Add it to the dataset, or name another one: {other}"


class CheckpointMismatch(ValueError):
    """Raised when a run is resumed from a checkpoint that is not complete, or of a run with another dataset."""


def shorten_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:60]} ... {text[-35:]}"
