"""Exact arithmetic on expressions that are rational numbers. Everything is bounded in size."""

import math
from collections.abc import Callable
from fractions import Fraction

from .values import Number, Operation, Value


MAX_BITS = 50_000
"""Largest size of an exact number, in bits."""

MAX_OPERANDS = 500
"""Largest number of operands of an operation."""


def evaluate_exactly(value: Value, max_bits: int | None = None) -> Fraction | None:
    """Return the rational number that an expression is by its form, or None if it is none or too large."""
    if isinstance(value, Number):
        return value.value
    if not isinstance(value, Operation) or value.name not in EXACT or len(value.operands) > MAX_OPERANDS:
        return None
    operands = [evaluate_exactly(operand, max_bits) for operand in value.operands]
    if any(operand is None for operand in operands):
        return None
    try:
        result = EXACT[value.name](*operands)
    except (ZeroDivisionError, OverflowError, TypeError, ValueError):
        return None
    is_large = max_bits and result and max(abs(result.numerator), result.denominator) >> max_bits
    return None if is_large else result


def exact_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    size = base.numerator.bit_length() + base.denominator.bit_length()
    if exponent.denominator in (2, 3, 4) and 0 < base < 10**12 and abs(exponent.numerator) < 10**3:
        roots = [round(part ** (1 / exponent.denominator)) for part in (base.numerator, base.denominator)]
        root = Fraction(*roots)
        return exact_power(root, Fraction(exponent.numerator)) if root**exponent.denominator == base else None
    if exponent.denominator != 1 or abs(exponent) * size > MAX_BITS or (base == 0 and exponent <= 0):
        return None
    return base ** int(exponent)


def exact_root(radicand: Fraction) -> Fraction | None:
    root = Fraction(math.isqrt(radicand.numerator), math.isqrt(radicand.denominator))
    return root if root * root == radicand else None


def exact_factorial(number: Fraction) -> Fraction | None:
    return Fraction(math.factorial(int(number))) if number.denominator == 1 and 0 <= number <= 2000 else None


def exact_binomial(above: Fraction, below: Fraction) -> Fraction | None:
    if above.denominator != 1 or below.denominator != 1 or not 0 <= below <= above <= 2000:
        return None
    return Fraction(math.comb(int(above), int(below)))


def exact_product(*factors: Fraction) -> Fraction | None:
    size = sum(factor.numerator.bit_length() + factor.denominator.bit_length() for factor in factors)
    return math.prod(factors, start=Fraction(1)) if size < 4 * MAX_BITS else None


def exact_sum(*terms: Fraction) -> Fraction | None:
    size = sum(term.denominator.bit_length() for term in terms)
    return sum(terms, start=Fraction(0)) if size < MAX_BITS else None


def exact_gcd(*numbers: Fraction) -> Fraction:
    return Fraction(math.gcd(*(one.numerator for one in numbers)), math.lcm(*(one.denominator for one in numbers)))


def exact_lcm(*numbers: Fraction) -> Fraction:
    return Fraction(math.lcm(*(one.numerator for one in numbers)), math.gcd(*(one.denominator for one in numbers)))


EXACT: dict[str, Callable[..., Fraction | None]] = {
    "+": exact_sum,
    "-": lambda one, other=None: -one if other is None else one - other,
    "*": exact_product,
    "/": lambda one, other: one / other,
    "^": exact_power,
    "mixed": lambda one, other: one + other,
    "sqrt": exact_root,
    "factorial": exact_factorial,
    "binom": exact_binomial,
    "abs": abs,
    "floor": lambda number: Fraction(math.floor(number)),
    "ceil": lambda number: Fraction(math.ceil(number)),
    "mod": lambda one, other: one % other,
    "gcd": exact_gcd,
    "lcm": exact_lcm,
    "max": max,
    "min": min,
}
