"""The values of answers. They are frozen, so equal readings are equal values."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, a constant such as `\\pi`, or a name such as `x_1`."""

    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation or a function with its operands. The operands of `+` and `*` are in the order of the text."""

    name: str
    operands: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """
    A value with a unit.

    Args:
        value (`Value`):
            The value without its unit.
        unit (`tuple`):
            Names of units and nouns in one spelling, each with its power.
        product (`Value`, *optional*):
            The product that the text is if the letters of the unit are variables.
    """

    value: "Value"
    unit: tuple[tuple[str, int], ...]
    product: "Value | None" = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A chain of equations or inequalities: `1 < x <= 3` has three sides and two signs."""

    sides: tuple["Value", ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """
    Several values.

    Args:
        brackets (`str`):
            `"{}"` for a set; `"()"`, `"[]"`, `"(]"`, `"[)"` or `"<>"` for a tuple, a vector or an interval; `""` for a
            list without brackets; `"+"` for a quantity in several units, such as 5 feet 6 inches.
        items (`tuple`):
            The values, in the order of the text.
        word (`str`):
            `"and"` or `"or"` if the list contains it, else an empty string.
        decimal (`Fraction`, *optional*):
            The number that the text is with a decimal comma.
    """

    brackets: str
    items: tuple["Value", ...]
    word: str = ""
    decimal: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Builder:
    r"""
    The set of the values that meet a condition.

    Args:
        condition (`Value`):
            The condition.
        head (`Value`):
            What the set contains: a symbol for `\{x \mid x > 1\}`, or an expression for `\{2k \mid k > 1\}`.
        domain (`str`):
            The kind of numbers that it says it contains, such as `"Z"`, or an empty string.
    """

    condition: "Value"
    head: "Value"
    domain: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    r"""The values that an expression takes for all integers, such as `k\pi, k \in \mathbb{Z}`."""

    value: "Value"
    index: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix, a column or a row of values."""

    rows: tuple[tuple["Value", ...], ...]


@dataclass(frozen=True, slots=True)
class Cases:
    """A function by cases: pairs of a value and the condition under which the function has it."""

    rows: tuple[tuple["Value", "Value"], ...]


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio such as `1:2:3`."""

    terms: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day such as `7:30 pm`, with an empty string for the half of the day if the text names none."""

    hour: int
    minute: int
    half: str


@dataclass(frozen=True, slots=True)
class Dashed:
    """Numbers joined by hyphens without space or by `to`: a date, a score or a range, or else a difference or a ratio."""

    numbers: tuple[Fraction, ...]
    word: str = ""


@dataclass(frozen=True, slots=True)
class Labelled:
    """The letter of a choice together with what it stands for, such as `B. Paris`."""

    letter: str
    value: "Value"


@dataclass(frozen=True, slots=True)
class Text:
    """Words, in lower case."""

    words: tuple[str, ...]


Expression = Number | Symbol | Operation
Value = (
    Number
    | Symbol
    | Operation
    | Quantity
    | Relation
    | Collection
    | Builder
    | Family
    | Matrix
    | Cases
    | Ratio
    | Time
    | Dashed
    | Labelled
    | Text
)

ZERO, ONE = Number(Fraction(0)), Number(Fraction(1))


def walk(value: Value) -> list[Value]:
    """Return an expression and all its parts."""
    nodes = [value]
    for node in nodes:
        if type(node) is Operation:
            nodes.extend(node.operands)
    return nodes


def find_names(value: Value) -> set[str]:
    """Return the names in an expression, except those of the indices of sums, products and integrals."""
    names: set[str] = set()
    indices: set[str] = set()
    for node in walk(value):
        if type(node) is Symbol:
            names.add(node.name)
        elif type(node) is Operation and node.name in ("sum", "prod", "int"):
            indices.update(index.name for index in node.operands[:1] if type(index) is Symbol)
    return names - indices


def find_symbols(value: Value) -> set[str]:
    """Return the names of the variables in an expression."""
    return find_names(value) - CONSTANTS


EXPRESSIONS = {Number, Symbol, Operation}
CONSTANTS = {"\\pi", "e", "i", "\\infty"}


def find_index(condition: Value) -> str | None:
    r"""Return the name in a condition such as `k \in \mathbb{Z}`."""
    name, last = condition.sides if isinstance(condition, Relation) and len(condition.sides) == 2 else (None, None)
    is_integer = isinstance(last, Symbol) and last.name[:10] in ("\\mathbb{Z}", "\\mathbb{N}")
    return name.name if isinstance(name, Symbol) and is_integer else None


def is_expression(value: Value) -> bool:
    """Whether a value is made of numbers, symbols and operations only."""
    return all(type(node) in EXPRESSIONS for node in walk(value))


def rename(value: Value, old: str, new: str) -> Value:
    """Return a value with another name for a variable."""
    if isinstance(value, Symbol | Operation):
        return substitute(value, {old: Symbol(new)})
    if isinstance(value, Relation):
        return Relation(tuple(rename(side, old, new) for side in value.sides), value.signs)
    if isinstance(value, Collection):
        return Collection(value.brackets, tuple(rename(item, old, new) for item in value.items), value.word)
    return value


def substitute(value: Value, values: Mapping[str, Value]) -> Value:
    """Return an expression with other expressions in place of names."""
    if isinstance(value, Symbol):
        return values.get(value.name, value)
    if isinstance(value, Operation):
        return Operation(value.name, tuple(substitute(operand, values) for operand in value.operands))
    return value
