"""Whether two expressions have the same values, which is tried at points that are derived from the two expressions."""

import random
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .evaluation import NOTHING, are_close, evaluate
from .functions import CONTEXT, Numeric, TooLarge, Undefined
from .rationals import evaluate_exactly
from .values import ZERO, Operation, Symbol, Value, find_names, find_symbols, walk


POINTS, ENOUGH = 14, 4
"""Number of points at which two expressions are evaluated at most, and number of those that must agree."""


def are_equal_expressions(one: Value, other: Value) -> bool | None:
    """
    Return whether two expressions have the same values, or None if that cannot be computed.

    Rational numbers are compared exactly. Other expressions are evaluated at points that are derived from both. Only
    points at which both are real count, unless one of them contains the imaginary unit or is real nowhere. For variables
    that must be integers, such as in `(-1)^n`, integers are tried.
    """
    exact = evaluate_exactly(one), evaluate_exactly(other)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1]
    one, other = cancel_terms(one, other)
    symbols = sorted(find_symbols(one) | find_symbols(other))
    if not symbols:
        try:
            numbers = evaluate(one, {}), evaluate(other, {})
            is_exact = all(
                number == 0 or cannot_vanish(value) for number, value in zip(numbers, (one, other), strict=True)
            )
            return are_close(*numbers, nothing=0 if is_exact else NOTHING)
        except TooLarge:
            return one == other
        except Undefined:
            return None
    nothing = 0 if cannot_vanish(one) and cannot_vanish(other) else NOTHING
    if len(symbols) == 1 and symbols[0] in "nmkN" and rounds(one) and rounds(other):  # an integer
        points = [{symbols[0]: CONTEXT.mpf(number)} for number in (*range(1, 41), *range(1000, 3000, 97))]
        return all(compare_at([point, point], one, other, True, nothing) for point in points)
    imaginary = "i" in find_names(one) | find_names(other)
    verdict = compare_at(draw_points(one, other, symbols), one, other, not imaginary, nothing)
    if verdict is None and not imaginary:
        verdict = compare_at(draw_integers(one, other, symbols), one, other, True, nothing)
    if verdict is None:
        verdict = compare_at(draw_points(one, other, symbols), one, other, False, nothing)
    return verdict


def rounds(value: Value) -> bool:
    return any(isinstance(node, Operation) and node.name in ("floor", "ceil") for node in walk(value))


def cancel_terms(one: Value, other: Value) -> tuple[Value, Value]:
    """Return two sums without the terms that both have. A large term would hide the difference of small ones."""
    terms, others = list_terms(one), list_terms(other)
    common = Counter(terms) & Counter(others)
    return make_rest(terms, common), make_rest(others, common)


def cannot_vanish(value: Value) -> bool:
    """Whether an expression is not 0 by its form, however small it is: a product, a quotient or a power of such ones."""
    if isinstance(value, Operation) and value.name == "factorial":
        return True
    if isinstance(value, Operation) and value.name in ("*", "/", "^", "-", "sqrt", "exp"):
        last = 1 if value.name in ("^", "exp") else None
        return (value.name != "-" or len(value.operands) == 1) and all(map(cannot_vanish, value.operands[:last]))
    return isinstance(value, Symbol) or evaluate_exactly(value) not in (None, 0)


def list_terms(value: Value) -> Sequence[Value]:
    return value.operands if isinstance(value, Operation) and value.name == "+" else (value,)


def make_rest(terms: Sequence[Value], cancelled: Counter[Value]) -> Value:
    """Return the sum of the terms that are not cancelled."""
    left, rest = Counter(cancelled), []
    for term in terms:
        if left[term]:
            left[term] -= 1
        else:
            rest.append(term)
    return Operation("+", tuple(rest)) if len(rest) > 1 else rest[0] if rest else ZERO


def compare_at(
    points: Iterable[dict[str, Numeric]], one: Value, other: Value, only_real: bool, nothing: Any = NOTHING
) -> bool | None:
    """Return whether two expressions agree at the points where both have a value, or None at too few of them."""
    agreements = 0
    for point in points:
        try:
            values = evaluate(one, point, only_real), evaluate(other, point, only_real)
        except Undefined:
            continue
        if not are_close(*values, nothing):
            return False
        agreements += 1
        if agreements == ENOUGH:
            return True
    return True if agreements >= 2 else None


def make_seed(one: Value | Sequence[Value], other: Value | Sequence[Value]) -> random.Random:
    try:
        texts = sorted((repr(one), repr(other)))
    except ValueError:  # a number that is too long for Python to write
        texts = []
    return random.Random(zlib.crc32("|".join(texts).encode()))


SIZES = ((0.1, 1.0), (0.1, 1.0), (1.6, 4.0), (1.6, 4.0), (0.1, 1.0), (4.0, 30.0), (4.0, 30.0), (0.0, 0.4))
"""Ranges of the absolute values of the variables at the first points."""


def draw_points(one: Value, other: Value, symbols: Sequence[str]) -> Iterator[dict[str, Numeric]]:
    """
    Yield points of every size and sign, the same ones for the same two expressions in either order.

    The first four have all variables positive, all negative, and alternating signs, and increasing absolute values, so
    that functions that are only equal for one order or one sign of the variables differ.
    """
    rng = make_seed(one, other)
    for number in range(POINTS):
        size = SIZES[number % len(SIZES)]
        point = {}
        for place, name in enumerate(symbols):
            low, high = rng.choice(SIZES) if number >= len(SIZES) and place else size
            step = (high - low) / len(symbols)
            low, high = (low + place * step, low + (place + 1) * step) if number < 2 else (low, high)
            sign = (1, -1, (-1) ** place, -((-1) ** place))[number % 4]
            point[name] = sign * CONTEXT.mpf(rng.uniform(low, high))
        yield point


def draw_integers(one: Value, other: Value, symbols: Sequence[str]) -> Iterator[dict[str, Numeric]]:
    rng = make_seed(one, other)
    for number in range(POINTS):
        yield {name: CONTEXT.mpf(number + rng.randint(1, 4)) for name in symbols}
