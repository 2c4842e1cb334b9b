"""What counts as a list, a vector or a list of choices, and the names of its items."""

from collections.abc import Sequence

from .names import find_labelled_value
from .values import (
    ONE,
    ZERO,
    Collection,
    Matrix,
    Operation,
    Relation,
    Symbol,
    Value,
    find_names,
    is_expression,
    substitute,
)


VECTORS = (("\\mathbf{i}", "\\mathbf{j}", "\\mathbf{k}"), ("i", "j", "k"), ("\\hat{x}", "\\hat{y}", "\\hat{z}"))


def as_collection(value: Value, other: Value) -> Collection | None:
    """Return a value as a collection: a column or a row of a matrix and a sum of unit vectors are vectors."""
    if isinstance(value, Collection):
        return value
    if isinstance(value, Matrix):
        if len(value.rows) == 1 or len(value.rows[0]) == 1:
            return Collection("<>", sum(value.rows, ()))
        return None
    size = len(other.items) if isinstance(other, Collection) else 0
    if isinstance(other, Matrix) and 1 in (len(other.rows), len(other.rows[0])):
        size = max(len(other.rows), len(other.rows[0]))
    if size in (2, 3) and is_expression(value):
        for names in VECTORS:
            if find_names(value) & {*names[:size]} and not find_names(value) & {*names[size:]}:
                return find_components(value, names[:size])
    letters = find_letters(value)
    if letters and isinstance(other, Collection) and all(is_letter(item) for item in other.items):
        return Collection("", tuple(map(Symbol, letters)))
    return None


def find_components(value: Value, names: Sequence[str]) -> Collection:
    """Return the vector that an expression in unit vectors is."""
    units = [{other: ONE if other == name else ZERO for other in names} for name in names]
    return Collection("<>", tuple(substitute(value, unit) for unit in units))


def find_letters(value: Value) -> tuple[str, ...]:
    """Return the letters of a product of different capital letters, such as the choices `BD`."""
    operands = value.operands if isinstance(value, Operation) and value.name == "*" else ()
    names = tuple(operand.name for operand in operands if isinstance(operand, Symbol) and is_letter(operand))
    return names if len(names) == len(operands) == len(set(names)) else ()


def is_letter(value: Value) -> bool:
    return isinstance(value, Symbol) and len(value.name) == 1 and value.name in "ABCDEFGHIJ"


def is_ordered(value: Collection) -> bool:
    return value.brackets not in ("", "{}")


def find_item_names(value: Collection) -> list[str]:
    """Return the name of each item, or an empty list if an item has none."""
    names = [
        name_of(item) for item in value.items if isinstance(item, Relation) and find_labelled_value(item) is not None
    ]
    return [str(name) for name in names] if len(names) == len(value.items) else []


def strip_names(value: Collection, names: Sequence[str]) -> Collection:
    if not names:
        return value
    items = [find_labelled_value(item) or item for item in value.items if isinstance(item, Relation)]
    return Collection(value.brackets, tuple(items))


def name_of(relation: Relation) -> Value:
    value = find_labelled_value(relation)
    return relation.sides[-1] if value == relation.sides[0] else relation.sides[0]
