"""Constants in Python code, read from the syntax tree. Nothing is evaluated as code, and sizes are bounded."""

import ast
import operator
from collections.abc import Callable
from typing import Any


MAX_LITERAL_LEVELS = 100
"""Maximum nesting depth of a constant."""

MAX_REPEATED = 100_000
"""Maximum size of what arithmetic on constants gives: items of a sequence, or bits of a number."""

ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
CONVERSIONS: dict[str, Callable[..., Any]] = {one.__name__: one for one in (tuple, list, set, frozenset, float, str)}


def read_literal(node: ast.expr, level: int = 0) -> Any:
    """
    Return the value of a literal, of arithmetic on numbers, of a repeated sequence, or of a call such as `tuple([1, 2])`.

    Raises:
        `ValueError`: the expression is something else, or too large.
    """
    if level > MAX_LITERAL_LEVELS:
        raise ValueError(f"more than {MAX_LITERAL_LEVELS} levels")
    try:
        return read_node(node, level + 1)
    except (ArithmeticError, TypeError, AttributeError) as error:
        raise ValueError(f"not a constant: {error}") from None


def read_node(node: ast.expr, level: int) -> Any:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | complex() | str() | bytes() as value):
            return value
        case ast.List(elts=items):
            return [read_literal(item, level) for item in items]
        case ast.Tuple(elts=items):
            return tuple(read_literal(item, level) for item in items)
        case ast.Set(elts=items):
            return {read_literal(item, level) for item in items}
        case ast.Dict(keys=keys, values=values) if all(keys):
            pairs = zip(keys, values, strict=True)
            return {read_literal(key, level): read_literal(value, level) for key, value in pairs if key}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -read_number(operand, level)
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if is_sequence(left) or is_sequence(right):
            return repeat(read_literal(left, level), read_literal(right, level))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return raise_to_power(read_number(left, level), read_number(right, level))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            return check_bits(ARITHMETIC[type(op)](read_number(left, level), read_number(right, level)))
        case ast.Call(func=ast.Name(id=name), args=[] | [_] as arguments, keywords=[]) if name in CONVERSIONS:
            return CONVERSIONS[name](*(read_literal(argument, level) for argument in arguments))
    raise ValueError("not a constant")


def read_number(node: ast.expr, level: int) -> Any:
    value = read_literal(node, level)
    if type(value) not in (int, float, complex):
        raise ValueError("not a number")
    return value


def is_sequence(node: ast.expr) -> bool:
    return isinstance(node, (ast.List, ast.Tuple)) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )


def repeat(one: Any, other: Any) -> Any:
    sequence, times = (other, one) if type(one) is int else (one, other)
    if type(times) is not int or len(sequence) * times > MAX_REPEATED:
        raise ValueError("too long")
    return sequence * times


def raise_to_power(base: Any, exponent: Any) -> Any:
    if isinstance(base, complex) or isinstance(exponent, complex):
        raise ValueError("not real")
    bits = base.bit_length() if isinstance(base, int) else 0
    if bits * abs(exponent) > MAX_REPEATED or (base < 0 and not isinstance(exponent, int)):
        raise ValueError("too large")
    return base**exponent


def check_bits(number: Any) -> Any:
    if isinstance(number, int) and number.bit_length() > MAX_REPEATED:
        raise ValueError("too large")
    return number
