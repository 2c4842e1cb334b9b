"""The tests of one row as values: what a program is given, and what it must give back."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeAlias


class UnreadableTests(ValueError):
    """Raised when the tests of a row cannot be read. The message says what was expected, what was found and what to do."""


@dataclass(frozen=True)
class OutputCase:
    """
    A run of the program as a script.

    Args:
        input (`str`):
            What it reads from standard input.
        output (`str`):
            What it must write to standard output.
    """

    input: str
    output: str


@dataclass(frozen=True)
class CallCase:
    """
    A call of a function of the program. The program sees the call and never the accepted values.

    Args:
        call (`str`):
            The call as a Python expression.
        accepted (`tuple`):
            The values that pass, as plain data.
        arguments (`str`, *optional*, defaults to `"[]"`):
            JSON text of the list that the call names `arguments`.
        tolerance (`float`, *optional*):
            Maximum absolute difference of two numbers. By default, the comparison decides.
        as_json (`bool`, *optional*, defaults to `False`):
            Whether the accepted values are from JSON, which has no tuples and only texts as keys.
    """

    call: str
    accepted: tuple[Any, ...]
    arguments: str = "[]"
    tolerance: float | None = None
    as_json: bool = False


@dataclass(frozen=True)
class WeakCase:
    """
    Tests that run in the process of the program, which can see and change them. They are the asserts that cannot be
    rewritten as calls.

    Args:
        tests (`str`):
            Python code that raises an error if a test fails.
        asserts (`int`):
            Number of asserts in it.
        names (`frozenset[str]`):
            Names in it that the program may define.
    """

    tests: str
    asserts: int
    names: frozenset[str]


Case: TypeAlias = OutputCase | CallCase | WeakCase

KINDS: dict[type[Case], tuple[str, str]] = {
    OutputCase: ("input with its output", "inputs with their outputs"),
    CallCase: ("call", "calls"),
    WeakCase: ("weak test", "weak tests"),
}
"""Names of the kinds of cases, for one and for several."""


@dataclass(frozen=True)
class RowTests:
    """
    The tests of one row.

    Args:
        cases (`tuple[Case]`):
            The cases, weak ones last.
        imports (`str`, *optional*):
            Python code that runs before the program, in its module.
        setup (`str`, *optional*):
            Python code that runs after the program, in its module.
        language (`str`, *optional*, defaults to `"python"`):
            Language of the programs. Those in another one than Python have only runs as scripts.
    """

    cases: tuple[Case, ...]
    imports: str = ""
    setup: str = ""
    language: str = "python"

    @property
    def weak_asserts(self) -> int:
        """Number of asserts that run in the process of the program."""
        return sum(case.asserts for case in self.cases if isinstance(case, WeakCase))

    def __str__(self) -> str:
        """Return how many cases of each kind there are, such as `7 calls, 1 weak test`."""
        counts = Counter[type[Case]](type(case) for case in self.cases)
        counts[WeakCase] = self.weak_asserts
        return ", ".join(f"{count} {KINDS[kind][count > 1]}" for kind, count in counts.items() if count)
