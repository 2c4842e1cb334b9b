r"""Notations of sets and families: `a < x < b` for an interval, `k\pi, k \in \mathbb{Z}` for a family of values."""

from .names import find_labelled_value
from .relations import FLIPS
from .sets import Segments, find_segments
from .values import (
    Builder,
    Collection,
    Family,
    Quantity,
    Relation,
    Symbol,
    Value,
    find_index,
    find_symbols,
    is_expression,
)


def find_set(value: Value) -> Segments | None:
    if isinstance(value, Quantity):
        value = value.value
    if isinstance(value, Relation) and set(value.signs) == {"="}:
        labelled = find_labelled_value(value)
        if labelled is None or is_expression(labelled):
            return find_segments(value)
        return find_segments(labelled)
    if isinstance(value, Collection) and value.brackets == "" and all(map(is_expression, value.items)):
        return find_segments(Collection("{}", value.items))
    return find_segments(value)


def find_variables(value: Value) -> set[str]:
    if isinstance(value, Relation):
        sides = value.sides[:1] if value.signs == ("\\in",) else value.sides
        return set().union(*(find_symbols(side) for side in sides if is_expression(side)))
    if isinstance(value, Collection) and value.brackets == "":
        return set().union(*(find_variables(item) for item in value.items))
    return set()


def find_ends(value: Value) -> tuple[str, tuple[Value, Value]] | None:
    """Return the brackets and the ends of an interval such as `(a, b)` or `a < x < b`, or None for other values."""
    if isinstance(value, Collection) and len(value.items) == 2 and value.brackets in ("()", "[]", "(]", "[)"):
        return value.brackets, (value.items[0], value.items[1])
    if not isinstance(value, Relation) or len(value.sides) != 3 or not isinstance(value.sides[1], Symbol):
        return None
    low, _, high = value.sides if "<" in value.signs or "\\le" in value.signs else value.sides[::-1]
    signs = value.signs if low is value.sides[0] else tuple(FLIPS.get(sign, "") for sign in value.signs[::-1])
    if not {*signs} <= {"<", "\\le"}:
        return None
    return ("[" if signs[0] == "\\le" else "(") + ("]" if signs[1] == "\\le" else ")"), (low, high)


def as_family(value: Value) -> Value:
    r"""Return `\{k\pi \mid k \in \mathbb{Z}\}` and `\{x \mid x = k\pi, k \in \mathbb{Z}\}` as `k\pi, k \in \mathbb{Z}`."""
    if not isinstance(value, Builder):
        return value
    condition = value.condition
    if isinstance(condition, Family):
        return condition
    index = find_index(condition)
    return value if index is None or value.head == Symbol(index) else Family(value.head, index)
