"""Expressions, and what values of every kind share. Values are frozen, so equal readings are equal values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeGuard


@dataclass(frozen=True, slots=True)
class Value:
    """What an answer is. A kind of value that is no expression has a module of its own in `kinds`."""

    __match_args__: ClassVar[tuple[str, ...]]  # the names of the fields


Values = Sequence[Value]


@dataclass(frozen=True, slots=True)
class Number(Value):
    """An exact number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Symbol(Value):
    r"""A variable, a constant such as `\pi`, or a name such as `x_1`."""

    name: str


@dataclass(frozen=True, slots=True)
class Name(Symbol):
    r"""A name that consists of several signs, such as `\max f(x)`. Nothing can be computed with it."""


@dataclass(frozen=True, slots=True)
class Operation(Value):
    """An operation or a function with its operands. The operands of `+` and `*` are in the order of the text."""

    name: str
    operands: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Call(Operation):
    """A call of a function of which only the name is known, such as `f(x)` or `P(A)`."""


def make_name(texts: Sequence[str]) -> Name:
    return Name(" ".join(texts).replace("\\", ""))


ZERO, ONE, MINUS_ONE, TEN = (Number(Fraction(number)) for number in (0, 1, -1, 10))
INFINITY = Symbol("\\infty")
MINUS_INFINITY = Operation("-", (INFINITY,))
EMPTY_SET = Symbol("\\emptyset")
CONSTANTS = {"\\pi", "e", "i", "\\infty"}
WITH_INDEX = {"sum", "prod", "int"}  # operations whose first operand is a variable that occurs only inside


def make_number(number: int | Fraction) -> Number:
    return Number(Fraction(number))


def is_operation(value: Value, *names: str) -> TypeGuard[Operation]:
    return isinstance(value, Operation) and value.name in names


def operands_of(value: Value, *names: str) -> tuple[Value, ...]:
    if is_operation(value, *names):
        return value.operands
    return ()


def list_parts(value: Value) -> list[Value]:
    return [part for name in value.__match_args__ for part in flatten(getattr(value, name))]


def flatten(found: Any) -> Iterator[Value]:
    if isinstance(found, Value):
        yield found
    elif isinstance(found, tuple):
        for part in found:
            yield from flatten(part)


def change_parts(value: Value, change: Callable[[Value], Value]) -> Value:
    def change_all(found: Any) -> Any:
        if isinstance(found, tuple):
            return tuple(map(change_all, found))
        if isinstance(found, Value):
            return change(found)
        return found

    return replace(value, **{name: change_all(getattr(value, name)) for name in value.__match_args__})


def walk(value: Value) -> list[Value]:
    nodes = [value]
    for node in nodes:
        if isinstance(node, Operation):
            nodes.extend(node.operands)
    return nodes


def find_names(value: Value) -> set[str]:
    names: set[str] = set()
    indices: set[str] = set()
    for node in walk(value):
        if isinstance(node, Symbol):
            names.add(node.name)
        elif isinstance(node, Operation) and node.name in WITH_INDEX:
            indices.update(index.name for index in node.operands[:1] if isinstance(index, Symbol))
    return names - indices


def find_symbols(value: Value) -> set[str]:
    return find_names(value) - CONSTANTS


def is_expression(value: Value) -> bool:
    """Whether a value is made of numbers, symbols and operations only."""
    return all(isinstance(node, Number | Symbol | Operation) for node in walk(value))


def substitute(value: Value, values: Mapping[str, Value]) -> Value:
    """Return a value of any kind with other values in place of names."""
    if isinstance(value, Symbol):
        return values.get(value.name, value)
    if isinstance(value, Number):
        return value
    return change_parts(value, lambda part: substitute(part, values))
