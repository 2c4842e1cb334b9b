"""
Evaluation of expressions at a point with 96 digits.

sympy is not used: it simplifies what it reads, which can take forever. Everything here is bounded in size.
"""

import functools
import math
import operator
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from mpmath import MPContext
from mpmath.libmp import NoConvergence, mpf_zeta

from .rationals import evaluate_exactly
from .values import Number, Operation, Symbol, Value, find_symbols, walk


class Undefined(Exception):
    """Raised when an expression has no value at a point, or none that can be computed."""


class TooLarge(Undefined):
    """Raised when a number has too many digits to be computed."""


CONTEXT = MPContext()
CONTEXT.prec = 320
"""Precision of the evaluation, in bits."""

SAME = CONTEXT.mpf(10) ** -70
"""Largest relative difference of equal numbers. Rounding errors are far smaller, differences of answers far larger."""

NOTHING = CONTEXT.mpf(10) ** -85
"""Numbers smaller than this may be the rounding error of 0."""

MAX_LOG = 10.0**6
"""Largest logarithm of a number."""

MAX_TERMS = 500
"""Largest number of terms of a sum or product."""

GAUSS_NODES = (24, 31)
"""Numbers of nodes of the two rules for integrals."""

INTEGRAL_ERROR = 1e-12
"""Largest difference of the two rules, and of an integral and an equal number, relative to numbers above 1."""

STEP = CONTEXT.mpf(10) ** -100
"""Distance of the complex point from the real one in a derivative. The error is of the order of its square."""

NOT_ANALYTIC = {"abs", "norm", "conjugate", "int", "sum", "prod", "derivative", "factorial", "gamma"}

Numeric = Any  # a real or complex number of mpmath, which has no types


def guard(number: Numeric) -> Numeric:
    """Return a finite number. Raises [`TooLarge`] or [`Undefined`] for others."""
    if type(number) is CONTEXT.mpf:
        _, mantissa, exponent, size = number._mpf_
        if not mantissa and exponent:
            raise Undefined
        if exponent + size > MAX_LOG:
            raise TooLarge
        return number
    if CONTEXT.isnan(number) or CONTEXT.isinf(number):
        raise Undefined
    if CONTEXT.mag(number) > MAX_LOG:
        raise TooLarge
    return number


def power(base: Numeric, exponent: Numeric) -> Numeric:
    if base == 0 and CONTEXT.re(exponent) <= 0:
        raise Undefined
    if base != 0 and abs(exponent) * max(1, abs(CONTEXT.mag(base))) > MAX_LOG:
        raise TooLarge
    if isinstance(exponent, CONTEXT.mpf) and exponent == int(exponent):
        return base ** int(exponent)
    return CONTEXT.power(base, exponent)


def root(radicand: Numeric, index: Numeric) -> Numeric:
    if isinstance(radicand, CONTEXT.mpf) and radicand < 0 and index == int(index) and int(index) % 2:
        return -power(-radicand, 1 / index)  # the real root
    return power(radicand, 1 / index)


def factorial(number: Numeric) -> Numeric:
    if abs(number) > 10**4:
        raise TooLarge
    return CONTEXT.gamma(number + 1)


def zeta(number: Numeric) -> Numeric:
    if not 1 < number < 10**4:
        raise Undefined
    return CONTEXT.make_mpf(mpf_zeta(number._mpf_, CONTEXT.prec, "n"))  # CONTEXT.zeta changes the precision


def double_factorial(number: Numeric) -> Numeric:
    if not isinstance(number, CONTEXT.mpf) or number != int(number) or not 0 <= number <= 2000:
        raise Undefined
    return CONTEXT.mpf(math.prod(range(int(number), 0, -2)))


def logarithm(number: Numeric, base: Numeric | None = None) -> Numeric:
    if number == 0 or base == 0 or base == 1:
        raise Undefined
    return CONTEXT.ln(number) if base is None else CONTEXT.ln(number) / CONTEXT.ln(base)


def bounded(function: Callable[[Numeric], Numeric]) -> Callable[[Numeric], Numeric]:
    def compute(number: Numeric) -> Numeric:
        if abs(number) > 10**5:
            raise TooLarge
        return function(number)

    return compute


def real(function: Callable[..., Numeric]) -> Callable[..., Numeric]:
    def compute(*numbers: Numeric) -> Numeric:
        if not all(isinstance(number, CONTEXT.mpf) for number in numbers):
            raise Undefined
        return function(*numbers)

    return compute


def evaluate_call(name: str, arguments: Sequence[Numeric]) -> Numeric:
    """Return the value of an unknown function: a number that only depends on its name and its arguments."""
    key = " ".join([name, *(CONTEXT.nstr(argument, 20) for argument in arguments)])
    return CONTEXT.mpf(random.Random(key).uniform(0.5, 3.0))


FUNCTIONS: dict[str, Callable[..., Numeric]] = {
    "+": lambda *terms: functools.reduce(operator.add, terms),
    "-": lambda one, other=None: -one if other is None else one - other,
    "*": lambda *factors: functools.reduce(operator.mul, factors),
    "/": lambda one, other: one / other,
    "mixed": lambda one, other: one + other,
    "^": power,
    "sqrt": lambda number: CONTEXT.sqrt(number),
    "root": root,
    "factorial": factorial,
    "double factorial": double_factorial,
    "binom": lambda above, below: factorial(above) / factorial(below) / factorial(above - below),
    "abs": abs,
    "norm": abs,
    "floor": real(lambda number: CONTEXT.floor(number)),
    "ceil": real(lambda number: CONTEXT.ceil(number)),
    "mod": real(lambda one, other: one - other * CONTEXT.floor(one / other)),
    "max": real(max),
    "min": real(min),
    "degree": lambda number: number,
    "radians": lambda number: number * CONTEXT.pi / 180,
    "ln": logarithm,
    "log": logarithm,
    "lg": lambda number: logarithm(number, CONTEXT.mpf(10)),
    "exp": bounded(CONTEXT.exp),
    **{name: bounded(getattr(CONTEXT, name)) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    # mpmath's own functions for the others change the precision for all threads
    "cot": bounded(lambda number: CONTEXT.cos(number) / CONTEXT.sin(number)),
    "sec": bounded(lambda number: 1 / CONTEXT.cos(number)),
    "csc": bounded(lambda number: 1 / CONTEXT.sin(number)),
    "coth": bounded(lambda number: CONTEXT.cosh(number) / CONTEXT.sinh(number)),
    "arcsin": CONTEXT.asin,
    "arccos": CONTEXT.acos,
    "arctan": CONTEXT.atan,
    "arccot": lambda number: CONTEXT.pi / 2 - CONTEXT.atan(number),
    "arcsec": lambda number: CONTEXT.acos(1 / number),
    "arccsc": lambda number: CONTEXT.asin(1 / number),
    "sech": bounded(lambda number: 1 / CONTEXT.cosh(number)),
    "csch": bounded(lambda number: 1 / CONTEXT.sinh(number)),
    "arcsinh": CONTEXT.asinh,
    "arccosh": CONTEXT.acosh,
    "arctanh": CONTEXT.atanh,
    "arccoth": lambda number: CONTEXT.atanh(1 / number),
    "sgn": real(lambda number: CONTEXT.sign(number)),
    "gamma": lambda number: factorial(number - 1),
    "zeta": real(zeta),
    "conjugate": lambda number: CONTEXT.conj(number),
}
INFINITE = Symbol("\\infty")
NEGATIVE = Operation("-", (INFINITE,))
CONSTANT_VALUES = {"\\pi": +CONTEXT.pi, "e": +CONTEXT.e, "i": CONTEXT.mpc(0, 1)}


def evaluate(value: Value, point: dict[str, Numeric], only_real: bool = False) -> Numeric:
    """Return the value of an expression at a point. Raises [`Undefined`] if it has none, or none in the real numbers."""
    try:
        return evaluate_node(value, point, only_real)
    except (ZeroDivisionError, ValueError, OverflowError, TypeError, NoConvergence):
        raise Undefined from None


@functools.lru_cache(maxsize=4096)
def to_decimal(number: Fraction) -> Numeric:
    whole = CONTEXT.mpf(number.numerator)
    return whole if number.denominator == 1 else whole / number.denominator


def evaluate_node(value: Value, point: dict[str, Numeric], only_real: bool) -> Numeric:
    if type(value) is Number:
        return to_decimal(value.value)
    if type(value) is Symbol:
        found = point.get(value.name)
        if found is None:
            found = CONSTANT_VALUES.get(value.name)
        if found is None:
            raise Undefined
        return found
    if type(value) is not Operation:
        raise Undefined
    if value.name in ("floor", "ceil", "base", "digits", "gcd", "lcm"):
        exact = evaluate_exactly(value)
        if exact is not None:
            return to_decimal(exact)
    if value.name in ("sum", "prod"):
        return evaluate_series(value, point, only_real)
    if value.name == "int":
        return integrate(value, point, only_real)
    if value.name == "derivative":
        return differentiate(value, point)
    operands = [evaluate_node(operand, point, only_real) for operand in value.operands]
    if value.name.startswith("call "):
        return evaluate_call(value.name, operands)
    function = FUNCTIONS.get(value.name)
    if function is None:
        raise Undefined
    result = guard(drop_noise(function(*operands)))
    if only_real and type(result) is not CONTEXT.mpf:
        raise Undefined
    return result


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


def integrate(value: Operation, point: dict[str, Numeric], only_real: bool) -> Numeric:
    """Return a definite integral by two Gauss rules, which must agree. Other integrals count as too hard to compute."""
    variable, low, high, body = value.operands
    if not isinstance(variable, Symbol) or any(infinite in (low, high) for infinite in (INFINITE, NEGATIVE)):
        raise TooLarge
    start, end = (evaluate_node(bound, point, only_real) for bound in (low, high))
    half = (end - start) / 2
    sums = []
    for count in GAUSS_NODES:
        nodes, weights = make_gauss_rule(count)
        values = [
            evaluate_node(body, {**point, variable.name: start + half * (node + 1)}, only_real) for node in nodes
        ]
        sums.append(half * sum(weight * one for weight, one in zip(weights, values, strict=True)))
    if abs(sums[0] - sums[1]) > INTEGRAL_ERROR * max(1, abs(sums[0])):
        raise TooLarge
    return sums[1]


def differentiate(value: Operation, point: dict[str, Numeric]) -> Numeric:
    """Return a derivative from the imaginary part of the value at a complex point next to the real one."""
    variable, body = value.operands
    names = {node.name for node in walk(body) if isinstance(node, Operation)}
    if not isinstance(variable, Symbol) or variable.name not in point or names & NOT_ANALYTIC:
        raise Undefined
    evaluate_node(body, point, True)
    moved = evaluate_node(body, {**point, variable.name: CONTEXT.mpc(point[variable.name], STEP)}, False)
    return CONTEXT.im(moved) / STEP


@functools.lru_cache
def make_gauss_rule(count: int) -> tuple[list[Numeric], list[Numeric]]:
    """Return the nodes and the weights of Gauss's rule between -1 and 1, by Newton's method from Tricomi's estimate."""
    nodes, weights = [], []
    for number in range(1, count + 1):
        node = CONTEXT.cos(CONTEXT.pi * (number - CONTEXT.mpf(1) / 4) / (count + CONTEXT.mpf(1) / 2))
        for _ in range(8):
            before, here = CONTEXT.mpf(1), node
            for degree in range(2, count + 1):
                before, here = here, ((2 * degree - 1) * node * here - (degree - 1) * before) / degree
            slope = count * (node * here - before) / (node * node - 1)
            node -= here / slope
        nodes.append(node)
        weights.append(2 / ((1 - node * node) * slope * slope))
    return nodes, weights


def drop_noise(number: Numeric) -> Numeric:
    """Return a complex number without an imaginary part that is zero."""
    if isinstance(number, CONTEXT.mpc) and number.imag == 0:
        return number.real
    return number


def are_close(one: Numeric, other: Numeric, error: Any = SAME) -> bool:
    """Return whether two numbers are equal up to rounding errors."""
    size = max(abs(one), abs(other))
    return bool(abs(one - other) <= error * size or size < NOTHING)


def is_real(number: Numeric) -> bool:
    return isinstance(number, CONTEXT.mpf) or abs(number.imag) <= SAME * abs(number)


@functools.lru_cache(maxsize=4096)
def evaluate_constant(value: Value) -> Numeric | None:
    """Return the value of an expression without variables, infinity included, or None if it has none."""
    if value in (INFINITE, NEGATIVE):
        return CONTEXT.inf if value == INFINITE else -CONTEXT.inf
    if find_symbols(value):
        return None
    try:
        return evaluate(value, {})
    except Undefined:
        return None
