"""The functions of one table: how each is written, and how it is computed with 96 digits."""

import math
import operator
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mpmath import MPContext
from mpmath.libmp import mpf_zeta


class Undefined(Exception):
    """Raised when an expression has no value at a point, or none that can be computed."""


class TooLarge(Undefined):
    """Raised when a number has too many digits to be computed."""


CONTEXT = MPContext()
CONTEXT.prec = 320  # precision of the evaluation, in bits
MAX_LOG = 10.0**6  # largest logarithm of a number to the base 2. Larger numbers would take long to compute.
Numeric = Any  # a real or complex number of mpmath, which has no types
Point = dict[str, Numeric]  # the values of variables
Compute = Callable[..., Numeric]


def power(base: Numeric, exponent: Numeric) -> Numeric:
    if base != 0 and abs(exponent) * max(1, abs(CONTEXT.mag(base))) > MAX_LOG:
        raise TooLarge
    return CONTEXT.power(base, exponent)


def root(radicand: Numeric, index: Numeric) -> Numeric:
    is_negative = isinstance(radicand, CONTEXT.mpf) and radicand < 0
    if is_negative and abs(index) < 10**6 and index == int(index) and int(index) % 2:
        return -power(-radicand, 1 / index)  # the real root
    return power(radicand, 1 / index)


def factorial(number: Numeric) -> Numeric:
    if abs(number) > 10**4:
        raise TooLarge
    return CONTEXT.gamma(number + 1)


def binomial(above: Numeric, below: Numeric) -> Numeric:
    return factorial(above) / factorial(below) / factorial(above - below)


def zeta(number: Numeric) -> Numeric:
    real = CONTEXT.mpf(number)  # this raises an error for complex numbers
    return CONTEXT.make_mpf(mpf_zeta(real._mpf_, CONTEXT.prec, "n"))  # CONTEXT.zeta changes the precision


def of_integers(function: Callable[..., int]) -> Compute:
    def compute(*numbers: Numeric) -> Numeric:
        for number in numbers:
            if not isinstance(number, CONTEXT.mpf) or CONTEXT.mag(number) > CONTEXT.prec or number != int(number):
                raise Undefined
        return CONTEXT.mpf(function(*map(int, numbers)))

    return compute


def double_factorial(number: Numeric) -> Numeric:
    if not isinstance(number, CONTEXT.mpf) or not 0 <= number <= 2000 or number != int(number):
        raise Undefined
    return CONTEXT.mpf(math.prod(range(int(number), 0, -2)))


def logarithm(number: Numeric, base: Numeric | None = None) -> Numeric:
    if base is None:
        return CONTEXT.ln(number)
    return CONTEXT.ln(number) / CONTEXT.ln(base)


def bounded(function: Compute) -> Compute:
    def compute(number: Numeric) -> Numeric:
        if abs(number) > 10**5:
            raise TooLarge
        return function(number)

    return compute


def call_unknown(name: str, arguments: Sequence[Numeric]) -> Numeric:
    """Return the value of an unknown function: a number that only depends on its name and its arguments."""
    key = " ".join([name, *(CONTEXT.nstr(argument, 20) for argument in arguments)])
    return CONTEXT.mpf(random.Random(key).uniform(0.5, 3.0))


class Function(NamedTuple):
    """A function of one argument, whose command is its name."""

    compute: Compute
    spellings: str = ""  # other commands for it
    bare: str = ""  # other names that may stand in a text without a backslash. A name that is also a word may not.


FUNCTIONS = {  # functions that take what follows them as their argument
    "sin": Function(bounded(CONTEXT.sin)),
    "cos": Function(bounded(CONTEXT.cos)),
    "tan": Function(bounded(CONTEXT.tan), "tg"),
    # mpmath's own functions for some others change the precision for all threads
    "cot": Function(bounded(lambda number: CONTEXT.cos(number) / CONTEXT.sin(number)), bare="ctg"),
    "sec": Function(bounded(lambda number: 1 / CONTEXT.cos(number))),
    "csc": Function(bounded(lambda number: 1 / CONTEXT.sin(number)), bare="cosec"),
    "arcsin": Function(CONTEXT.asin, bare="asin"),
    "arccos": Function(CONTEXT.acos, bare="acos"),
    "arctan": Function(CONTEXT.atan, bare="arctg atan"),
    "arccot": Function(lambda number: CONTEXT.pi / 2 - CONTEXT.atan(number), bare="arcctg"),
    "arcsec": Function(lambda number: CONTEXT.acos(1 / number)),
    "arccsc": Function(lambda number: CONTEXT.asin(1 / number)),
    "sinh": Function(bounded(CONTEXT.sinh), "sh"),
    "cosh": Function(bounded(CONTEXT.cosh), "ch"),
    "tanh": Function(bounded(CONTEXT.tanh), "th"),
    "coth": Function(bounded(lambda number: CONTEXT.cosh(number) / CONTEXT.sinh(number))),
    "sech": Function(bounded(lambda number: 1 / CONTEXT.cosh(number))),
    "csch": Function(bounded(lambda number: 1 / CONTEXT.sinh(number))),
    "arcsinh": Function(CONTEXT.asinh, bare="arsinh asinh arsh"),
    "arccosh": Function(CONTEXT.acosh, "arch", bare="arcosh acosh"),
    "arctanh": Function(CONTEXT.atanh, bare="artanh atanh arth"),
    "arccoth": Function(lambda number: CONTEXT.atanh(1 / number), bare="arcoth"),
    "log": Function(logarithm),
    "ln": Function(logarithm),
    "lg": Function(lambda number: logarithm(number, CONTEXT.mpf(10))),
    "exp": Function(bounded(CONTEXT.exp)),
    "sgn": Function(CONTEXT.sign, "sign", bare="signum"),
    "abs": Function(abs, bare="Abs"),
    "cis": Function(bounded(lambda number: CONTEXT.exp(CONTEXT.mpc(0, 1) * number))),
}

SPECIAL = {"\\Gamma": "gamma", "\\zeta": "zeta"}  # letters that are functions if a bracket follows
OPERATORS = {*"det dim deg ker max min sup gcd lcm".split()}  # commands that begin a name or take a list
# The name of a function for each of its other spellings.
FUNCTION_OF = {
    other: name for name, (_, spellings, bare) in FUNCTIONS.items() for other in f"{spellings} {bare}".split()
}

# The functions that are read without a backslash.
BARE = {name: name for name in [*FUNCTIONS, *OPERATORS] if len(name) > 2 or name in ("ln", "lg")} | {
    other: name for name, function in FUNCTIONS.items() for other in function.bare.split()
}

COMPUTE: dict[str, Compute] = {
    "-": lambda one, other=None: -one if other is None else one - other,
    "/": operator.truediv,
    "mixed": operator.add,
    "^": power,
    "sqrt": CONTEXT.sqrt,
    "root": root,
    "factorial": factorial,
    "double factorial": double_factorial,
    "binom": binomial,
    "abs": abs,
    "norm": abs,
    "floor": CONTEXT.floor,
    "ceil": CONTEXT.ceil,
    "mod": lambda one, other: one - other * CONTEXT.floor(one / other),
    "gcd": of_integers(math.gcd),
    "lcm": of_integers(math.lcm),
    "max": max,
    "min": min,
    "degree": lambda number: number,
    "radians": lambda number: number * CONTEXT.pi / 180,
    "gamma": lambda number: factorial(number - 1),
    "zeta": zeta,
    "conjugate": CONTEXT.conj,
    **{name: function.compute for name, function in FUNCTIONS.items()},
}
