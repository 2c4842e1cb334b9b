"""
Evaluation of expressions at a point with 96 digits.

sympy is not used: it simplifies what it reads, which can take forever. Everything here is bounded in size.
"""

import functools
import operator
from fractions import Fraction
from typing import Any

from mpmath.libmp import NoConvergence

from .functions import COMPUTE, CONTEXT, MAX_LOG, Numeric, TooLarge, Undefined, call
from .rationals import evaluate_exactly
from .values import INFINITY, MINUS_INFINITY, Call, Number, Operation, Symbol, Value


SAME = CONTEXT.mpf(10) ** -70
"""Largest relative difference of equal numbers. Rounding errors are far smaller, differences of answers far larger."""

NOTHING = CONTEXT.mpf(10) ** -85
"""Numbers smaller than this may be the rounding error of 0."""

MAX_TERMS = 500
"""Largest number of terms of a sum or product."""

CONSTANT_VALUES = {"\\pi": +CONTEXT.pi, "e": +CONTEXT.e, "i": CONTEXT.mpc(0, 1)}


def guard(number: Numeric) -> Numeric:
    """Return a number, or raise [`TooLarge`] for one that is too large, infinite or undefined."""
    if not CONTEXT.mag(number) <= MAX_LOG:
        raise TooLarge
    return number


def evaluate(value: Value, point: dict[str, Numeric], only_real: bool = False) -> Numeric:
    """Return the value of an expression at a point. Raises [`Undefined`] if it has none, or none in the real numbers."""
    try:
        return evaluate_node(value, point, only_real)
    except (ZeroDivisionError, ValueError, OverflowError, TypeError, KeyError, NoConvergence):
        raise Undefined from None


@functools.lru_cache(maxsize=4096)
def to_decimal(number: Fraction) -> Numeric:
    whole = CONTEXT.mpf(number.numerator)
    return whole if number.denominator == 1 else whole / number.denominator


def evaluate_node(value: Value, point: dict[str, Numeric], only_real: bool) -> Numeric:
    if type(value) is Number:
        return to_decimal(value.value)
    if isinstance(value, Symbol):
        return point[value.name] if value.name in point else CONSTANT_VALUES[value.name]
    if not isinstance(value, Operation):
        raise Undefined
    if value.name in ("floor", "ceil", "gcd", "lcm"):
        exact = evaluate_exactly(value)
        if exact is not None:
            return to_decimal(exact)
    if value.name in ("sum", "prod"):
        return evaluate_series(value, point, only_real)
    if value.name == "cross":
        return cross(value, point, only_real)
    operands = [evaluate_node(operand, point, only_real) for operand in value.operands]
    if isinstance(value, Call):
        return call(value.name, operands)
    if value.name == "+":
        result = functools.reduce(operator.add, operands)
    elif value.name == "*":
        result = functools.reduce(operator.mul, operands)
    elif value.name in COMPUTE:
        result = COMPUTE[value.name](*operands)
    else:
        raise Undefined
    result = guard(result)
    if only_real and type(result) is not CONTEXT.mpf:
        raise Undefined
    return result


def cross(value: Operation, point: dict[str, Numeric], only_real: bool) -> Numeric:
    """Return the product of two vectors as that of two vectors in a plane, which changes its sign with their order."""
    second = {name: call(name, [number]) if len(name) > 1 else number for name, number in point.items()}
    one, other = ([evaluate_node(side, at, only_real) for at in (point, second)] for side in value.operands)
    return one[0] * other[1] - one[1] * other[0]


def evaluate_series(value: Operation, point: dict[str, Numeric], only_real: bool) -> Numeric:
    """Return a sum or product whose bounds are integers."""
    index, low, high, body = value.operands
    bounds = [evaluate_node(bound, point, only_real) for bound in (low, high)]
    if not isinstance(index, Symbol) or any(
        not isinstance(bound, CONTEXT.mpf) or bound != int(bound) for bound in bounds
    ):
        raise Undefined
    if bounds[1] - bounds[0] > MAX_TERMS:
        raise TooLarge
    terms = [
        evaluate_node(body, {**point, index.name: CONTEXT.mpf(k)}, only_real)
        for k in range(int(bounds[0]), int(bounds[1]) + 1)
    ]
    join = operator.add if value.name == "sum" else operator.mul
    return guard(functools.reduce(join, terms, CONTEXT.mpf(value.name == "prod")))


def are_close(one: Numeric, other: Numeric, nothing: Any = NOTHING) -> bool:
    """Return whether two numbers are equal up to rounding errors. Numbers below `nothing` are equal to 0."""
    size = max(abs(one), abs(other))
    return bool(abs(one - other) <= SAME * size or size < nothing)


def is_real(number: Numeric) -> bool:
    return isinstance(number, CONTEXT.mpf) or abs(number.imag) <= SAME * abs(number)


@functools.lru_cache(maxsize=4096)
def evaluate_constant(value: Value) -> Numeric | None:
    """Return the value of an expression without variables, infinity included, or None if it has none."""
    if value in (INFINITY, MINUS_INFINITY):
        return CONTEXT.inf if value == INFINITY else -CONTEXT.inf
    try:
        return evaluate(value, {})
    except Undefined:
        return None
