"""The table of constraints: a function by its id, with arguments that are read by their types."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any, Literal, NewType, TypeAlias, TypeVar, get_type_hints


Check: TypeAlias = Callable[[str], bool]
"""Returns whether a text meets a constraint."""

Function = TypeVar("Function", bound=Callable[..., bool])

Relation = Literal["less than", "at least"]

Position = NewType("Position", int)
"""The place of a word, a sentence or a paragraph, counted from 1."""


SAMPLE = "A text."
"""A text on which a constraint is tried when its arguments are read."""


class UnreadableConstraint(ValueError):
    """Raised when a constraint has an unknown id, or arguments that it cannot work with."""


@dataclass(frozen=True)
class Constraint:
    """A constraint: its id, such as `"punctuation:no_comma"`, and the function that decides."""

    name: str
    function: Callable[..., bool] = field(repr=False)
    """Gets the text and the arguments, and returns whether the text meets the constraint."""
    copies: bool = False
    """Whether a completion may consist of a part of the prompt."""
    package: str | None = None
    """Name of the package that it needs."""

    @cached_property
    def types(self) -> dict[str, Any]:
        """The types of its arguments, by name."""
        names = [*inspect.signature(self.function).parameters][1:]
        hints = get_type_hints(self.function)
        return {name: hints[name] for name in names}

    def read_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the function takes them. Arguments that are None count as absent."""
        given = {name: value for name, value in arguments.items() if value is not None}
        if given.keys() != self.types.keys():
            raise UnreadableConstraint(
                f"{self.name} takes the arguments {', '.join(self.types) or 'none'}; got {', '.join(given) or 'none'}"
            )
        return {name: read_argument(f"{self.name}: {name}", given[name], kind) for name, kind in self.types.items()}

    def bind(self, arguments: Mapping[str, Any]) -> Check:
        """Return the check of this constraint with its arguments, or raise [`UnreadableConstraint`] or an `ImportError`."""
        read = self.read_arguments(arguments)
        if self.package and not find_spec(self.package):
            raise ImportError(
                f"The constraint {self.name!r} needs the package '{self.package}', which is not installed. Install it: "
                f"pip install 'trl_grpo_rewards[instructions]'. Or remove the rows with this constraint."
            )
        check = partial(self.function, **read)
        check(SAMPLE)  # raises if the arguments do not fit each other
        return check


CONSTRAINTS: dict[str, Constraint] = {}
"""All constraints by their ids."""


def constraint(name: str, *, copies: bool = False, package: str | None = None) -> Callable[[Function], Function]:
    """
    Add a function to the table under its id.

    The function gets the text and keyword arguments, and returns whether the text meets the constraint. The type of an
    argument decides how it is read: `int` is a count, [`Position`] counts from 1, `float` is a number, `str` is a text
    that is not empty, `list[str]` is a list of such texts, and [`Relation`] compares. It raises
    [`UnreadableConstraint`] if the arguments do not fit each other.
    """

    def add(function: Function) -> Function:
        CONSTRAINTS[name] = Constraint(name, function, copies, package)
        return function

    return add


def read_argument(what: str, value: Any, kind: Any) -> Any:
    """Return one argument as its type asks for it. A count may be a float without a fraction, as in IFBench."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")
    if kind is float and is_number:
        return float(value)
    if kind in (int, Position) and is_number and value == int(value) >= (kind is Position):
        return int(value)
    if kind is str and is_filled(value):
        return value
    if kind == list[str] and isinstance(value, (list, tuple)) and value and all(map(is_filled, value)):
        return [*value]
    if kind == Relation and value in ("less than", "at least"):
        return value
    raise UnreadableConstraint(f"{what} is {value!r:.100}")


def is_filled(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


def meets_relation(count: int, relation: Relation, threshold: int) -> bool:
    return count < threshold if relation == "less than" else count >= threshold
