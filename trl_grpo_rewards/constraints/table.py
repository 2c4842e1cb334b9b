"""The table of constraints, those of a dataset row with their arguments, and which of them a completion meets."""

import ast
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import chain, pairwise
from typing import Any, Literal, NewType, TypeVar, get_type_hints

from ..visible import drop_invisible
from .splitting import has_content


ConstraintFunction = TypeVar("ConstraintFunction", bound=Callable[..., bool])
CountRelation = Literal["less than", "at least"]
Position = NewType("Position", int)  # the place of a word, a sentence or a paragraph, counted from 1
SAMPLE = "A text."  # on which a constraint is tried when its arguments are read


class UnreadableConstraint(ValueError):
    """Raised when a constraint has an unknown id, or arguments that it cannot work with."""


@dataclass(frozen=True)
class Constraint:
    """A constraint: its id, such as `"punctuation:no_comma"`, and the function that decides."""

    name: str
    function: Callable[..., bool] = field(repr=False)  # of the text, and of the arguments unless they are bound
    copies: bool = False  # whether a completion may consist of a part of the prompt
    package: str | None = None  # that it needs

    @cached_property
    def types(self) -> dict[str, Any]:
        hints = get_type_hints(self.function)
        _, *names = inspect.signature(self.function).parameters
        return {name: hints[name] for name in names}

    def bind(self, arguments: Mapping[str, Any]) -> "Constraint":
        """Return this constraint with its arguments, or raise [`UnreadableConstraint`] or an `ImportError`. None is absent."""
        values = {name: value for name, value in arguments.items() if value is not None}
        if values.keys() != self.types.keys():
            raise UnreadableConstraint(
                f"{self.name} takes the arguments {', '.join(self.types) or 'none'}; got {', '.join(values) or 'none'}"
            )
        read = {name: read_argument(f"{self.name}: {name}", values[name], kind) for name, kind in self.types.items()}
        if self.package and not find_spec(self.package):
            raise ImportError(
                f"The constraint {self.name!r} needs the package '{self.package}', which is not installed. Install it: "
                f"pip install 'trl_grpo_rewards[instructions]'. Or remove the rows with this constraint."
            )
        bound = replace(self, function=partial(self.function, **read))
        bound.function(SAMPLE)  # raises if the arguments do not fit each other
        return bound


CONSTRAINTS: dict[str, Constraint] = {}  # all constraints by their ids


def constraint(
    name: str, *, copies: bool = False, package: str | None = None
) -> Callable[[ConstraintFunction], ConstraintFunction]:
    """Add a function of the text and of arguments to the table under its id. [`read_argument`] says what their types mean."""

    def add(function: ConstraintFunction) -> ConstraintFunction:
        CONSTRAINTS[name] = Constraint(name, function, copies, package)
        return function

    return add


def read_argument(what: str, value: Any, kind: Any) -> Any:
    """Return one argument as its type asks for it. A count may be a float without a fraction, as in IFBench."""
    read = ARGUMENT_READERS[kind](value)
    if read is None:
        raise UnreadableConstraint(f"{what} is {value!r:.100}")
    return read


def is_size(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value < float("inf")


def read_count(value: Any) -> int | None:
    if is_size(value) and value == int(value):
        return int(value)
    return None


def read_filled_list(value: Any) -> list[str] | None:
    if not isinstance(value, (list, tuple)) or not value:
        return None
    if all(map(is_filled, value)):
        return [*value]
    return None


ARGUMENT_READERS: dict[
    Any, Callable[[Any], Any]
] = {  # by the type of an argument; they return None of any other value
    float: lambda value: float(value) if is_size(value) else None,
    int: read_count,
    Position: lambda value: read_count(value) or None,
    str: lambda value: value if is_filled(value) else None,
    list[str]: read_filled_list,
    CountRelation: lambda value: value if value in ("less than", "at least") else None,
}


def is_filled(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    return value.strip() != ""


def is_increasing(numbers: Sequence[int]) -> bool:
    """Return whether each of two or more numbers is larger than the one before."""
    if len(numbers) <= 1:
        return False
    return all(one < other for one, other in pairwise(numbers))


def meets_relation(count: int, relation: CountRelation, threshold: int) -> bool:
    return count < threshold if relation == "less than" else count >= threshold


MAX_QUOTED_WORDS = 12  # words of a completion that may be in the prompt, such as an option to choose


def read_constraints(names: Any, arguments: Any = None) -> list[Constraint]:
    """Return the constraints of a row: ids with their arguments, or dicts with both, or JSON text of either."""
    pairs = pair_arguments(parse_text(names), parse_text(arguments))
    if not pairs:
        raise UnreadableConstraint("the row has no constraints")
    if unknown := [name for name, _ in pairs if name not in CONSTRAINTS]:
        raise UnreadableConstraint(f"the constraint {unknown[0]!r} is unknown")
    return [CONSTRAINTS[name].bind(values) for name, values in pairs]


def drop_arrays(value: Any) -> Any:
    """Return a value with lists and plain numbers in place of arrays and their numbers, as pandas reads them from files."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [drop_arrays(item) for item in value]
    if isinstance(value, Mapping):
        return {key: drop_arrays(item) for key, item in value.items()}
    return value


def pair_arguments(names: Any, arguments: Any) -> list[tuple[str, Mapping[str, Any]]]:
    if isinstance(names, (str, Mapping)):
        names = [names]
    if not isinstance(names, (list, tuple)):
        raise UnreadableConstraint(f"the constraints are {names!r:.100}, which is not a list")
    if all(isinstance(name, Mapping) for name in names):
        return [*chain.from_iterable(map(read_dict, names))]
    values = [arguments] if isinstance(arguments, Mapping) else arguments
    if values is None:
        values = [None] * len(names)
    if not isinstance(values, (list, tuple)) or len(values) != len(names):
        raise UnreadableConstraint(f"{len(names)} constraints have the arguments {arguments!r:.100}")
    return [*map(read_pair, names, values)]


def read_dict(one: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the ids of a dict with their arguments, which are in `kwargs` or next to the id."""
    key = next((key for key in ("instruction_id_list", "instruction_id", "id") if key in one), None)
    if key is None:
        raise UnreadableConstraint(f"a constraint has no 'id' or 'instruction_id': {one!r:.100}")
    if isinstance(one[key], (list, tuple)):
        return pair_arguments(one[key], parse_text(one.get("kwargs")))
    if "kwargs" in one:
        values = one["kwargs"]
    else:
        values = {name: value for name, value in one.items() if name != key}
    return [read_pair(one[key], values)]


def read_pair(name: Any, arguments: Any) -> tuple[str, Mapping[str, Any]]:
    values = {} if arguments is None else parse_text(arguments)
    if not isinstance(name, str):
        raise UnreadableConstraint(f"the id of a constraint is {name!r:.100}, which is not a text")
    if not isinstance(values, Mapping):
        raise UnreadableConstraint(f"the arguments of a constraint are {values!r:.100}, which is not a dict")
    return name, values


def parse_text(value: Any) -> Any:
    """Return the list or dict that a text contains, as JSON or as Python writes it. Other values stay as they are."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise UnreadableConstraint(f"this text is not JSON: {value!r:.100}") from None


def list_verdicts(text: str, constraints: list[Constraint], loose: bool = False, prompt: str = "") -> list[bool]:
    """Return which constraints a text meets: none without letters and digits, few if it is a part of the prompt."""
    seen = drop_invisible(text)
    texts = [*filter(has_content, list_readings(seen) if loose else [seen])]
    if is_quoted(seen, prompt) and not any(constraint.copies for constraint in constraints):
        texts = []
    return [any(map(constraint.function, texts)) for constraint in constraints]


def is_quoted(text: str, prompt: str) -> bool:
    """Return whether a text of more than a few words is a part of the prompt."""
    asked = prompt.casefold()
    first = text.split(maxsplit=1)[:1]
    if not first or first[0].casefold() not in asked:  # almost all completions end here
        return False
    words = text.casefold().split()
    if len(words) <= MAX_QUOTED_WORDS:
        return False
    return " ".join(words) in " ".join(asked.split())


def list_readings(text: str) -> list[str]:
    """Return the text as the loose reading of IFEval takes it: without its first or last line, and without asterisks."""
    lines = text.split("\n")
    parts = [text]
    for part in (lines[1:], lines[:-1], lines[1:-1]):
        parts.append("\n".join(part).strip())
    readings = [reading for part in parts for reading in (part, part.replace("*", ""))]
    return [*dict.fromkeys(readings)]
