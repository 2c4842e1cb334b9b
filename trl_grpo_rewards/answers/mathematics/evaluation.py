"""Evaluation of expressions: exactly if they are rational numbers, and at a point with 96 digits. All of it is bounded."""

import contextlib
import functools
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mpmath.libmp import NoConvergence

from .functions import COMPUTE, CONTEXT, MAX_LOG, Numeric, Point, TooLarge, Undefined, call_unknown
from .values import (
    INFINITY,
    MINUS_INFINITY,
    Call,
    Number,
    Operation,
    Symbol,
    Value,
    find_symbols,
    is_expression,
    list_parts,
)
from .work import BITS, spend, spend_on


SAME = CONTEXT.mpf(10) ** -70  # largest relative difference of equal numbers; rounding errors are far smaller
NOTHING = CONTEXT.mpf(10) ** -85  # numbers smaller than this may be the rounding error of 0
MAX_TERMS = 500
CONSTANT_VALUES = {"\\pi": +CONTEXT.pi, "e": +CONTEXT.e, "i": CONTEXT.mpc(0, 1)}
MAX_EXACT_BITS = 50_000
MAX_OPERANDS = 500


# --- exactly
def evaluate_exactly(value: Value) -> Fraction | None:
    """Return the rational number that an expression is by its form, or None if it is none or too large."""
    if isinstance(value, Number):
        return value.value
    if not isinstance(value, Operation) or value.name not in EXACT_OPERATIONS or len(value.operands) > MAX_OPERANDS:
        return None
    operands: list[Fraction] = []
    for operand in value.operands:
        number = evaluate_exactly(operand)
        if number is None:
            return None
        operands.append(number)
    spend(1 + sum(map(count_bits, operands)) // BITS)
    try:
        result = EXACT_OPERATIONS[value.name](*operands)
    except (ZeroDivisionError, OverflowError, TypeError, ValueError):
        return None
    spend(0 if result is None else count_bits(result) // BITS)
    return result


def count_bits(number: Fraction) -> int:
    return number.numerator.bit_length() + number.denominator.bit_length()


def exact_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    size = count_bits(base)
    if exponent.denominator in (2, 3, 4) and 0 < base < 10**12 and abs(exponent.numerator) < 10**3:
        roots = [round(part ** (1 / exponent.denominator)) for part in (base.numerator, base.denominator)]
        root = Fraction(*roots)
        if root**exponent.denominator == base:
            return exact_power(root, Fraction(exponent.numerator))
        return None
    if exponent.denominator != 1 or abs(exponent) * size > MAX_EXACT_BITS or (base == 0 and exponent <= 0):
        return None
    spend(int(abs(exponent) * size) // BITS)
    return base ** int(exponent)


def exact_root(radicand: Fraction) -> Fraction | None:
    root = Fraction(math.isqrt(radicand.numerator), math.isqrt(radicand.denominator))
    return root if root * root == radicand else None


def exact_factorial(number: Fraction) -> Fraction | None:
    if number.denominator == 1 and 0 <= number <= 2000:
        return Fraction(math.factorial(int(number)))
    return None


def exact_binomial(above: Fraction, below: Fraction) -> Fraction | None:
    if above.denominator != 1 or below.denominator != 1 or not 0 <= below <= above <= 2000:
        return None
    return Fraction(math.comb(int(above), int(below)))


def exact_product(*factors: Fraction) -> Fraction | None:
    size = sum(map(count_bits, factors))
    if size < 4 * MAX_EXACT_BITS:
        return math.prod(factors, start=Fraction(1))
    return None


def exact_sum(*terms: Fraction) -> Fraction | None:
    size = sum(term.denominator.bit_length() for term in terms)
    if size < MAX_EXACT_BITS:
        return sum(terms, start=Fraction(0))
    return None


def exact_gcd(
    *numbers: Fraction, above: Callable[..., int] = math.gcd, below: Callable[..., int] = math.lcm
) -> Fraction:
    numerator = above(*(number.numerator for number in numbers))
    return Fraction(numerator, below(*(number.denominator for number in numbers)))


EXACT_OPERATIONS: dict[str, Callable[..., Fraction | None]] = {
    "+": exact_sum,
    **{name: COMPUTE[name] for name in ("-", "/", "mixed", "abs", "max", "min")},
    "*": exact_product,
    "^": exact_power,
    "sqrt": exact_root,
    "factorial": exact_factorial,
    "binom": exact_binomial,
    "floor": lambda number: Fraction(math.floor(number)),
    "ceil": lambda number: Fraction(math.ceil(number)),
    "mod": operator.mod,
    "gcd": exact_gcd,
    "lcm": functools.partial(exact_gcd, above=math.lcm, below=math.gcd),
}


# --- at a point
def guard(number: Numeric) -> Numeric:
    if not CONTEXT.mag(number) <= MAX_LOG:
        raise TooLarge
    return number


def evaluate(value: Value, point: Point, only_real: bool = False) -> Numeric:
    """Return the value of an expression at a point. Raises [`Undefined`] if it has none, or none in the real numbers."""
    try:
        return evaluate_node(value, point, only_real)
    except (ZeroDivisionError, ValueError, OverflowError, TypeError, KeyError, NoConvergence):
        raise Undefined from None


@functools.lru_cache(maxsize=4096)
def to_decimal(number: Fraction) -> Numeric:
    whole = CONTEXT.mpf(number.numerator)
    if number.denominator == 1:
        return whole
    return whole / number.denominator


def evaluate_node(value: Value, point: Point, only_real: bool) -> Numeric:
    spend_on(value)
    if type(value) is Number:
        return to_decimal(value.value)
    if isinstance(value, Symbol):
        if value.name in point:
            return point[value.name]
        return CONSTANT_VALUES[value.name]
    if not isinstance(value, Operation):
        raise Undefined
    special = COMPUTED_APART.get(value.name)
    if special is not None and (number := special(value, point, only_real)) is not None:
        return number
    operands = [evaluate_node(operand, point, only_real) for operand in value.operands]
    if isinstance(value, Call):
        return call_unknown(value.name, operands)
    return compute_operation(value.name, operands, only_real)


def compute_operation(name: str, operands: list[Numeric], only_real: bool) -> Numeric:
    if name in ("+", "*"):
        result = functools.reduce(operator.add if name == "+" else operator.mul, operands)
    elif name in COMPUTE:
        result = COMPUTE[name](*operands)
    else:
        raise Undefined
    guard(result)
    if only_real and type(result) is not CONTEXT.mpf:
        raise Undefined
    return result


def evaluate_rational(value: Operation, point: Point, only_real: bool) -> Numeric | None:
    """Return the exact value of an operation that rounding errors could change much, or None if it has none."""
    exact = evaluate_exactly(value)
    return None if exact is None else to_decimal(exact)


def cross(value: Operation, point: Point, only_real: bool) -> Numeric:
    """Return the product of two vectors as that of two vectors in a plane, which changes its sign with their order."""
    second = {name: call_unknown(name, [number]) if len(name) > 1 else number for name, number in point.items()}
    one, other = ([evaluate_node(side, at, only_real) for at in (point, second)] for side in value.operands)
    return one[0] * other[1] - one[1] * other[0]


def evaluate_series(value: Operation, point: Point, only_real: bool) -> Numeric:
    index, low, high, body = value.operands
    first, last = (evaluate_node(bound, point, only_real) for bound in (low, high))
    if not isinstance(index, Symbol) or not is_whole(first) or not is_whole(last):
        raise Undefined
    if last - first > MAX_TERMS:
        raise TooLarge
    spend(int(3 * (last - first + 1)) if last >= first else 1)
    indices = map(CONTEXT.mpf, range(int(first), int(last) + 1))
    terms = [evaluate_node(body, {**point, index.name: number}, only_real) for number in indices]
    join = operator.add if value.name == "sum" else operator.mul
    return guard(functools.reduce(join, terms, CONTEXT.mpf(value.name == "prod")))


def is_whole(number: Numeric) -> bool:
    if not isinstance(number, CONTEXT.mpf):
        return False
    return number == int(number)


# Operations that are not computed from their operands alone; None stands for those that are, after all.
COMPUTED_APART: dict[str, Callable[[Operation, Point, bool], Numeric | None]] = {
    **dict.fromkeys(("floor", "ceil", "gcd", "lcm"), evaluate_rational),
    **dict.fromkeys(("sum", "prod"), evaluate_series),
    "cross": cross,
}


def are_close(one: Numeric, other: Numeric, nothing: Any = NOTHING) -> bool:
    """Return whether two numbers are equal up to rounding errors. Numbers below `nothing` are equal to 0."""
    size = max(abs(one), abs(other))
    return bool(abs(one - other) <= SAME * size or size < nothing)


def is_real(number: Numeric) -> bool:
    return isinstance(number, CONTEXT.mpf) or abs(number.imag) <= SAME * abs(number)


def is_too_large(value: Value) -> bool:
    """Whether a number in a value has too many digits to be computed."""
    if isinstance(value, Operation) and not find_symbols(value):
        try:
            evaluate(value, {})
        except TooLarge:
            return True
        except Undefined:
            pass
        else:
            return False
    return any(map(is_too_large, list_parts(value)))


def evaluate_parts(value: Value) -> None:
    """Do the work of comparing the expressions in a value once: at a point for constants, and at four for others."""
    if not is_expression(value):
        for part in list_parts(value):
            evaluate_parts(part)
        return
    evaluate_exactly(value)
    symbols = find_symbols(value)
    for number in range(2, 6) if symbols else [0]:
        with contextlib.suppress(Undefined):
            evaluate(value, dict.fromkeys(symbols, CONTEXT.mpf(number)))


@functools.lru_cache(maxsize=4096)
def evaluate_constant(value: Value) -> Numeric | None:
    """Return the value of an expression without variables, infinity included, or None if it has none."""
    if value in (INFINITY, MINUS_INFINITY):
        return CONTEXT.inf if value == INFINITY else -CONTEXT.inf
    try:
        return evaluate(value, {})
    except Undefined:
        return None
