"""The tests of one row as values: what a program is given, and what it must give back."""

from dataclasses import dataclass
from typing import Any, TypeAlias


class UnreadableTests(ValueError):
    """Raised when the tests of a row cannot be read. The message says what was expected, what was found and what to do."""

    is_doubtful = False  # whether the program may have led the tests to what cannot be judged


@dataclass(frozen=True)
class OutputCase:
    """A run of the program as a script: what it reads from standard input, and what it must write."""

    input: str
    output: str


@dataclass(frozen=True)
class CallCase:
    """A call of a function of the program. The program sees the arguments and never the accepted values."""

    function: str  # its name, or that of a method of the class `Solution`
    arguments: str  # JSON text of the list of arguments
    accepted: tuple[Any, ...]  # values that pass, as plain JSON values
    in_place: bool = False  # whether a function that returns None is judged by its first argument after the call


@dataclass(frozen=True)
class PythonTests:
    """Tests that are Python code. They run unchanged, each block after the one before it, in one namespace."""

    blocks: tuple[str, ...]
    entry_point: str | None = None  # what `check(candidate)` gets: a function, or a path such as `Solution().twoSum`


Case: TypeAlias = OutputCase | CallCase | PythonTests


@dataclass(frozen=True)
class RowTests:
    """The tests of one row."""

    cases: tuple[Case, ...]
