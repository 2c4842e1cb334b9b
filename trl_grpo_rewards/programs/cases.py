"""The tests of one row as values: what a program is given, and what it must give back."""

from collections import Counter
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

    function: str
    """Name of the function, or of the method of the class `Solution`."""

    arguments: str
    """JSON text of the list of arguments."""

    accepted: tuple[Any, ...]
    """The values that pass, as plain JSON values."""

    in_place: bool = False
    """Whether a function that returns None is judged by its first argument, as it is after the call."""


@dataclass(frozen=True)
class PythonTests:
    """Tests that are Python code. They run unchanged."""

    blocks: tuple[str, ...]
    """Pieces of code that run one after another in one namespace."""

    entry_point: str | None = None
    """What `check(candidate)` gets: the name of a function, or a path such as `Solution().twoSum`."""


Case: TypeAlias = OutputCase | CallCase | PythonTests

KINDS: dict[type[Case], tuple[str, str]] = {
    OutputCase: ("input with its output", "inputs with their outputs"),
    CallCase: ("call", "calls"),
    PythonTests: ("set of Python tests", "sets of Python tests"),
}
"""Names of the kinds of cases, for one and for several."""


@dataclass(frozen=True)
class RowTests:
    """The tests of one row."""

    cases: tuple[Case, ...]

    def __str__(self) -> str:
        """Return the number of cases of each kind, such as `7 calls`."""
        counts = Counter[type[Case]](map(type, self.cases))
        return ", ".join(f"{count} {KINDS[kind][count > 1]}" for kind, count in counts.items())
