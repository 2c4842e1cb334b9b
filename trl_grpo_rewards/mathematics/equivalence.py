"""Whether two expressions have the same values, which is tried at points that are derived from the two expressions."""

import itertools
import math
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from .evaluation import NOTHING, are_close, evaluate, evaluate_exactly
from .functions import CONTEXT, Numeric, TooLarge, Undefined
from .values import ZERO, Operation, Symbol, Value, find_names, find_symbols, is_expression, substitute, walk
from .work import count_left, estimate_work


POINTS, ENOUGH = 14, 4  # points at which two expressions are evaluated at most, and that must agree


def are_equal_expressions(one: Value, other: Value) -> bool | None:
    """Return whether two expressions have the same values, exactly or at points where both are real; None if not known."""
    exact = evaluate_exactly(one), evaluate_exactly(other)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1]
    one, other = cancel_terms(one, other)
    symbols = sorted(find_symbols(one) | find_symbols(other))
    if not symbols:
        try:
            numbers = evaluate(one, {}), evaluate(other, {})
            are_exact = [
                number == 0 or cannot_vanish(value) for number, value in zip(numbers, (one, other), strict=True)
            ]
            return are_close(*numbers, nothing=0 if all(are_exact) else NOTHING)
        except TooLarge:
            return one == other
        except Undefined:
            return None
    nothing = 0 if all(value == ZERO or cannot_vanish(value) for value in (one, other)) else NOTHING
    imaginary = "i" in find_names(one) | find_names(other)
    try:
        if {*symbols} <= INTEGER_NAMES and (list_operations(one) | list_operations(other)) & OF_INTEGERS:
            return compare_at(draw_integers(one, other, symbols), one, other, True, nothing, enough=math.inf)
        verdict = compare_at(draw_points(one, other, symbols), one, other, not imaginary, nothing)
        if verdict and (list_operations(one) | list_operations(other)) & PIECEWISE:
            return not are_different_far_away(one, other, symbols)
        if verdict is None and not imaginary:
            integers = draw_integers(one, other, symbols)
            verdict = compare_at(integers, one, other, True, nothing, enough=math.inf)
        if verdict is None:
            verdict = compare_at(draw_points(one, other, symbols), one, other, False, nothing)
        return verdict
    except TooLarge:
        return one == other


def list_operations(value: Value) -> set[str]:
    """Return the names of the operations in an expression. A power with a whole number as its exponent is a product."""
    operations = set()
    for node in walk(value):
        if isinstance(node, Operation):
            exponent = evaluate_exactly(node.operands[1]) if node.name == "^" else None
            operations.add(node.name if exponent is None or exponent.denominator > 1 else "*")
    return operations


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
    left, rest = Counter(cancelled), []
    for term in terms:
        if left[term]:
            left[term] -= 1
        else:
            rest.append(term)
    return Operation("+", tuple(rest)) if len(rest) > 1 else rest[0] if rest else ZERO


def compare_at(
    points: Iterable[dict[str, Numeric]],
    one: Value,
    other: Value,
    only_real: bool,
    nothing: Any = NOTHING,
    enough: float = ENOUGH,
) -> bool | None:
    """
    Return whether two expressions agree at `enough` points where both have a value, or None at too few of them.

    Raises [`TooLarge`] if a value has too many digits at all points.
    """
    agreements = 0
    failures: list[Undefined] = []
    for point in points:
        try:
            values = evaluate(one, point, only_real), evaluate(other, point, only_real)
        except Undefined as error:
            failures.append(error)
            continue
        if not are_close(*values, nothing):
            return False
        agreements += 1
        if agreements == enough:
            return True
    if failures and all(isinstance(error, TooLarge) for error in failures) and not agreements:
        raise TooLarge
    return True if agreements >= 2 else None


def make_seed(one: Value | Sequence[Value], other: Value | Sequence[Value]) -> random.Random:
    try:
        texts = sorted((repr(one), repr(other)))
    except ValueError:  # a number that is too long for Python to write
        texts = []
    return random.Random(zlib.crc32("|".join(texts).encode()))


# Ranges of the absolute values of the variables at the first points.
SIZES = ((0.1, 1.0), (0.1, 1.0), (1.6, 4.0), (1.6, 4.0), (0.1, 1.0), (4.0, 30.0), (4.0, 30.0), (0.0, 0.4))


def draw_points(one: Value, other: Value, symbols: Sequence[str]) -> Iterator[dict[str, Numeric]]:
    """Yield points of every size and sign, the same ones for the same two expressions in either order."""
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


FARTHEST, DIFFERENT = 10**6, CONTEXT.mpf(10) ** -20  # far away, large numbers that cancel leave larger errors
PIECEWISE = {*"abs norm max min sgn sqrt root ^ floor ceil mod conjugate".split()}  # operations whose formula changes


def are_different_far_away(one: Value, other: Value, symbols: Sequence[str]) -> bool:
    """Return whether two expressions differ where variables are larger than their numbers, as `|x - 50|` and `50 - x` do."""
    rng, largest = make_seed(one, other), min(find_largest_number(one, other), FARTHEST)
    for signs in ((1, 1), (-1, -1), (1, -1), (-1, 1))[: 2 * min(2, len(symbols))]:
        point = {
            name: signs[place % 2] * largest * CONTEXT.mpf(rng.uniform(1, 2)) for place, name in enumerate(symbols)
        }
        try:
            values = evaluate(one, point, True), evaluate(other, point, True)
        except Undefined:
            continue
        if abs(values[0] - values[1]) > DIFFERENT * max(map(abs, values)):
            return True
    return False


def find_largest_number(*values: Value) -> int:
    """Return a whole number above the absolute values of all numbers in expressions, worked out."""
    largest = Fraction(1)
    left = [*values]
    while left:
        value = left.pop()
        number = evaluate_exactly(value)
        if number is not None:
            largest = max(largest, abs(number))
        elif isinstance(value, Operation):
            left += value.operands
    return math.ceil(largest)


INTEGER_NAMES = {*"nmkN"}  # of integers, if a function of integers is taken of them
OF_INTEGERS = {"floor", "ceil", "mod", "gcd", "lcm"}
LONGEST_PERIOD = 12  # of functions of integers that are told from each other
MULTIPLE = math.lcm(*range(1, LONGEST_PERIOD + 1))


def draw_integers(one: Value, other: Value, symbols: Sequence[str]) -> Iterator[dict[str, Numeric]]:
    """
    Yield points of every residue: integers in a row, from 1 and beyond the numbers in the expressions, and some far away.

    Functions with the periods p and q are equal if they agree at p + q integers in a row (Fine and Wilf). The other names
    are first multiples of all periods, and then smaller than a period. There are fewer points if they cost much.
    """
    rng, largest = make_seed(one, other), find_largest_number(one, other)
    cost = 3 * len(symbols) * (estimate_work(one) + estimate_work(other))
    count = int(max(ENOUGH, min(2 * LONGEST_PERIOD, count_left() / 3 / cost)))
    for name in symbols:
        far = max(1000, 10 * largest)
        lines = (1, 1, MULTIPLE), (largest + 1, 1, rng.randint(1, LONGEST_PERIOD - 1)), (far, 97, 1)
        for start, step, fixed in lines:
            others = {symbol: CONTEXT.mpf(fixed * (place + 1)) for place, symbol in enumerate(symbols)}
            for number in range(start, start + step * count, step):
                yield others | {name: CONTEXT.mpf(number)}


# --- up to constants
NUMBERED = re.compile(r"[CcKk]_\d")
GENERAL = re.compile(r"[CK]|[Cc]_\d")  # names of arbitrary constants; one of two families must use them
CONSTANT_NAMES = re.compile(r"[CcKkABDMN](?:_\d)?|\\(?:alpha|beta|lambda)")
VARIABLES = {*"xyztuvwrsp", "\\theta", "\\phi"}
COEFFICIENTS = {"A": {"A", "B"}, "a": {"a"}}  # next to these, `C` and `c` are coefficients, too
MAX_CONSTANTS = 3
NO_DIFFERENCE = CONTEXT.mpf(10) ** -60  # largest ratio of what is left to the values if functions are dependent
SIDES = ((0.2, 3.0), (-3.0, -0.2))  # a family has its own constants on each of them, as `\ln x + C` has
Vector = list[Numeric]


def are_same_up_to_constants(golds: Sequence[Value], answers: Sequence[Value], is_solution: bool = False) -> bool:
    """Return whether expressions are the same functions as others up to arbitrary constants that all of them share."""
    if not all(map(is_expression, (*golds, *answers))):
        return False
    symbols = [set[str]().union(*map(find_symbols, values)) for values in (golds, answers)]
    constants = find_constants(golds, symbols[0], is_solution)
    variables = symbols[0] - constants
    others = symbols[1] - variables
    if not 0 < len(constants) == len(others) <= MAX_CONSTANTS or not variables & VARIABLES:
        return False
    are_renamed = is_solution and 1 < len(constants) == len(others - constants)  # no names that a question gives
    are_constants = [bool(CONSTANT_NAMES.fullmatch(name)) for name in others]
    is_general = any(GENERAL.fullmatch(name) for name in constants | others)
    if not variables <= symbols[1] or not (are_renamed or (all(are_constants) and is_general)):
        return False
    names = sorted(constants), sorted(others)
    if are_same_spans(golds, answers, names, sorted(variables)):
        return True
    renamings = [dict(zip(names[1], order, strict=True)) for order in itertools.permutations(map(Symbol, names[0]))]
    pairs = [*zip(golds, answers, strict=True)]
    return any(
        all(are_equal_expressions(gold, substitute(answer, renaming)) is True for gold, answer in pairs)
        for renaming in renamings
    )


def find_constants(golds: Sequence[Value], symbols: set[str], is_solution: bool) -> set[str]:
    numbered = {name for name in symbols if NUMBERED.fullmatch(name)}
    if numbered:
        return numbered
    terms = [term for gold in golds for term in list_terms(gold)]
    for name in ("C", "K", "c"):
        is_coefficient = symbols & COEFFICIENTS["A" if name.isupper() else "a"]
        if name in symbols and not is_coefficient and (Symbol(name) in terms or (is_solution and name == "C")):
            return {name}
    usual = [{*names} & symbols for names in ("AB", "k")] if is_solution else []
    several = symbols - VARIABLES if is_solution and len(symbols - VARIABLES) > 1 else set[str]()  # f(x) = ax + b
    return next(filter(None, usual), several)


def are_same_spans(
    golds: Sequence[Value], answers: Sequence[Value], names: tuple[list[str], list[str]], variables: list[str]
) -> bool:
    """Return whether both are linear in their constants, and the functions that one can be are those of the other."""
    compared = False
    for points in draw_sides(make_seed(golds, answers), variables, 2 * len(names[0]) + 3):
        try:
            one, other = find_span(golds, names[0], points), find_span(answers, names[1], points)
        except Undefined:
            continue
        if one is None or other is None:
            return False
        mine, its_own = one[1], other[1]
        difference = [value - its_value for value, its_value in zip(one[0], other[0], strict=True)]
        sizes = [*map(abs, one[0]), *map(abs, other[0]), CONTEXT.mpf(1)]
        if not is_spanned(mine, [*its_own, difference], max(sizes)) or not is_spanned(its_own, mine, max(sizes)):
            return False
        compared = True
    return compared


def draw_sides(rng: random.Random, variables: Sequence[str], count: int) -> Iterator[list[dict[str, Numeric]]]:
    for side in SIDES:
        yield [{name: CONTEXT.mpf(rng.uniform(*side)) for name in variables} for _ in range(count)]


def find_span(
    values: Sequence[Value], names: Sequence[str], points: Sequence[dict[str, Numeric]]
) -> tuple[Vector, list[Vector]] | None:
    """Return the values without the constants and the values that each constant multiplies, or None if not linear."""

    def compute(*constants: int) -> Vector:
        given = dict(zip(names, map(CONTEXT.mpf, constants), strict=True))
        return [evaluate(value, {**point, **given}, only_real=True) for value in values for point in points]

    base = compute(*[0] * len(names))
    units = [compute(*[int(place == here) for here in range(len(names))]) for place in range(len(names))]
    slopes = [[one - zero for one, zero in zip(unit, base, strict=True)] for unit in units]
    factors = [3 + 2 * place for place in range(len(names))]
    for place, found in enumerate(compute(*factors)):
        expected = base[place] + sum(factor * slope[place] for factor, slope in zip(factors, slopes, strict=True))
        if abs(found - expected) > NO_DIFFERENCE * max(1, abs(found)):
            return None
    return base, slopes


def is_spanned(vectors: Sequence[Vector], others: Sequence[Vector], size: Numeric) -> bool:
    """Return whether independent vectors span all the others, by elimination."""
    rows, rest = [list(vector) for vector in vectors], [list(vector) for vector in others]
    for place, row in enumerate(rows):
        column = max(range(len(row)), key=lambda here: abs(row[here]))
        if abs(row[column]) <= NO_DIFFERENCE * size:
            return False
        for other in [*rows[place + 1 :], *rest]:
            factor = other[column] / row[column]
            other[:] = [one - factor * mine for one, mine in zip(other, row, strict=True)]
    return all(abs(number) <= NO_DIFFERENCE * size for vector in rest for number in vector)
