"""The constraints of a dataset row, and which of them a completion meets."""

import ast
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from .table import CONSTRAINTS, Check, UnreadableConstraint
from .visible import drop_invisible, has_content


MAX_QUOTED_WORDS = 12
"""Largest number of words that a completion may consist of if the prompt contains it, such as an option to choose."""


class RowConstraint(NamedTuple):
    """A constraint of a row: its id, its check with its arguments, and whether a part of the prompt may meet it."""

    name: str
    check: Check
    copies: bool


def read_constraints(names: Any, arguments: Any = None) -> list[RowConstraint]:
    """
    Return the constraints of a row: ids with their arguments, or dicts with both, or JSON text of either.

    Raises [`UnreadableConstraint`], or an `ImportError` if a constraint needs a package that is not installed.
    """
    pairs = pair_arguments(parse_text(names), parse_text(arguments))
    if not pairs:
        raise UnreadableConstraint("the row has no constraints")
    if unknown := [name for name, _ in pairs if name not in CONSTRAINTS]:
        raise UnreadableConstraint(f"the constraint {unknown[0]!r} is unknown")
    return [RowConstraint(name, CONSTRAINTS[name].bind(given), CONSTRAINTS[name].copies) for name, given in pairs]


def drop_arrays(value: Any) -> Any:
    """Return a value with lists and plain numbers in place of arrays and their numbers, as pandas reads them from files."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [drop_arrays(item) for item in value]
    return {key: drop_arrays(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def pair_arguments(names: Any, arguments: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the ids of a row, each with its arguments."""
    names = [names] if isinstance(names, (str, Mapping)) else names
    if not isinstance(names, (list, tuple)):
        raise UnreadableConstraint(f"the constraints are {names!r:.100}, which is not a list")
    if all(isinstance(one, Mapping) for one in names):
        return [pair for one in names for pair in read_dict(one)]
    given = [arguments] if isinstance(arguments, Mapping) else arguments
    given = [None] * len(names) if given is None else given
    if not isinstance(given, (list, tuple)) or len(given) != len(names):
        raise UnreadableConstraint(f"{len(names)} constraints have the arguments {arguments!r:.100}")
    return [*map(read_pair, names, given)]


def read_dict(one: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the ids of a dict with their arguments, which are in `kwargs` or next to the id."""
    key = next((key for key in ("instruction_id_list", "instruction_id", "id") if key in one), None)
    if key is None:
        raise UnreadableConstraint(f"a constraint has no 'id' or 'instruction_id': {one!r:.100}")
    if isinstance(one[key], (list, tuple)):
        return pair_arguments(one[key], parse_text(one.get("kwargs")))
    given = one["kwargs"] if "kwargs" in one else {name: value for name, value in one.items() if name != key}
    return [read_pair(one[key], given)]


def read_pair(name: Any, arguments: Any) -> tuple[str, Mapping[str, Any]]:
    given = {} if arguments is None else parse_text(arguments)
    if not isinstance(name, str):
        raise UnreadableConstraint(f"the id of a constraint is {name!r:.100}, which is not a text")
    if not isinstance(given, Mapping):
        raise UnreadableConstraint(f"the arguments of a constraint are {given!r:.100}, which is not a dict")
    return name, given


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


def list_verdicts(text: str, constraints: list[RowConstraint], loose: bool = False, prompt: str = "") -> list[bool]:
    """Return which constraints a text meets: none without letters and digits, few if it is a part of the prompt."""
    seen = drop_invisible(text)
    texts = [one for one in (list_readings(seen) if loose else [seen]) if has_content(one)]
    quoted = is_quoted(seen, prompt) and not any(one.copies for one in constraints)
    return [not quoted and any(map(one.check, texts)) for one in constraints]


def is_quoted(text: str, prompt: str) -> bool:
    """Return whether a text of more than a few words is a part of the prompt."""
    asked = prompt.casefold()
    first = text.split(maxsplit=1)[:1]
    if not first or first[0].casefold() not in asked:  # almost all completions end here
        return False
    words = text.casefold().split()
    return len(words) > MAX_QUOTED_WORDS and " ".join(words) in " ".join(asked.split())


def list_readings(text: str) -> list[str]:
    """Return the text as the loose reading of IFEval takes it: without its first or last line, and without asterisks."""
    lines = text.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    return [*dict.fromkeys(one for part in (text, *cut) for one in (part, part.replace("*", "")))]
