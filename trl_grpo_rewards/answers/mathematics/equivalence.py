"""Whether two expressions have the same values, which is tried at points that are derived from the two expressions."""

import itertools
import math
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from .evaluation import NOTHING, are_close, evaluate, evaluate_exactly
from .functions import CONTEXT, Numeric, Point, TooLarge, Undefined
from .values import ZERO, Operation, Symbol, Value, Values, find_names, find_symbols, is_expression, substitute, walk
from .work import count_left, estimate_work


MAX_COMPARED_POINTS = 14  # largest number of points at which two expressions are evaluated
ENOUGH = 4  # number of points at which they must agree


def are_equal_expressions(one: Value, other: Value) -> bool | None:
    """Return whether two expressions have the same values, exactly or at points where both are real; None if not known."""
    exact = evaluate_exactly(one), evaluate_exactly(other)
    if exact[0] is not None and exact[1] is not None:
        return exact[0] == exact[1]
    one, other = cancel_terms(one, other)
    symbols = sorted(find_symbols(one) | find_symbols(other))
    try:
        if symbols:
            return are_equal_functions(one, other, symbols)
        return have_equal_values(one, other)
    except TooLarge:
        return one == other
    except Undefined:
        return None


def have_equal_values(one: Value, other: Value) -> bool:
    numbers = evaluate(one, {}), evaluate(other, {})
    pairs = zip(numbers, (one, other), strict=True)
    are_exact = [number == 0 or cannot_vanish(value) for number, value in pairs]
    return are_close(*numbers, nothing=0 if all(are_exact) else NOTHING)


def are_equal_functions(one: Value, other: Value, symbols: Sequence[str]) -> bool | None:
    """
    Return whether two functions agree at real points. If there are too few of these, integers are tried, then complex values.

    Functions of integers are compared only at integers. Functions with several formulas are compared far from 0, too.
    """
    nothing = 0 if is_exact_at_zero(one) and is_exact_at_zero(other) else NOTHING

    def agree(points: Iterable[Point], only_real: bool = True, enough: float = ENOUGH) -> bool | None:
        return compare_at(points, one, other, only_real, nothing, enough)

    if {*symbols} <= INTEGER_NAMES and have_operation(one, other, OF_INTEGERS):
        return agree(draw_integers(one, other, symbols), enough=math.inf)
    is_real = "i" not in find_names(one) | find_names(other)
    verdict = agree(draw_points(one, other, symbols), is_real)
    if verdict and have_operation(one, other, PIECEWISE):
        return not are_different_far_away(one, other, symbols)
    if verdict is None and is_real:
        verdict = agree(draw_integers(one, other, symbols), enough=math.inf)
    if verdict is None:
        verdict = agree(draw_points(one, other, symbols), only_real=False)
    return verdict


def have_operation(one: Value, other: Value, names: set[str]) -> bool:
    return not names.isdisjoint(list_operations(one) | list_operations(other))


def list_operations(value: Value) -> set[str]:
    """Return the names of the operations in an expression. A power with a whole number as its exponent is a product."""
    operations = set()
    for node in walk(value):
        if isinstance(node, Operation):
            exponent = None
            if node.name == "^":
                exponent = evaluate_exactly(node.operands[1])
            operations.add(node.name if exponent is None or exponent.denominator > 1 else "*")
    return operations


def cancel_terms(one: Value, other: Value) -> tuple[Value, Value]:
    """Return two sums without the terms that both have. A large term would hide the difference of small ones."""
    terms = list_terms(one)
    others = list_terms(other)
    common = Counter(terms) & Counter(others)
    return make_rest(terms, common), make_rest(others, common)


def cannot_vanish(value: Value) -> bool:
    """Whether an expression is not 0 by its form, however small it is: a product, a quotient or a power of such ones."""
    if isinstance(value, Operation) and value.name == "factorial":
        return True
    if isinstance(value, Operation) and value.name in ("*", "/", "^", "-", "sqrt", "exp"):
        last = 1 if value.name in ("^", "exp") else None
        if value.name == "-" and len(value.operands) > 1:
            return False
        return all(map(cannot_vanish, value.operands[:last]))
    return isinstance(value, Symbol) or evaluate_exactly(value) not in (None, 0)


def is_exact_at_zero(value: Value) -> bool:
    """Whether an expression is 0 everywhere or, by its form, nowhere, so that small values of it are no rounding errors."""
    return value == ZERO or cannot_vanish(value)


def list_terms(value: Value) -> Values:
    if isinstance(value, Operation) and value.name == "+":
        return value.operands
    return (value,)


def make_rest(terms: Values, cancelled: Counter[Value]) -> Value:
    left = Counter(cancelled)
    rest = []
    for term in terms:
        if left[term]:
            left[term] -= 1
        else:
            rest.append(term)
    if len(rest) > 1:
        return Operation("+", tuple(rest))
    return rest[0] if rest else ZERO


def compare_at(
    points: Iterable[Point],
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


def make_seed(one: Value | Values, other: Value | Values) -> random.Random:
    try:
        texts = sorted((repr(one), repr(other)))
    except ValueError:  # a number that is too long for Python to write
        texts = []
    return random.Random(zlib.crc32("|".join(texts).encode()))


# Ranges of the absolute values of the variables at the first points.
SIZES = ((0.1, 1.0), (0.1, 1.0), (1.6, 4.0), (1.6, 4.0), (0.1, 1.0), (4.0, 30.0), (4.0, 30.0), (0.0, 0.4))


def draw_points(one: Value, other: Value, symbols: Sequence[str]) -> Iterator[Point]:
    """
    Yield points of every size and sign, the same ones for the same two expressions in either order.

    By turns, all variables are positive, all are negative, and their signs alternate in either way: `|x|` equals `x` at
    positive points, and `|xy|` equals `xy` where the signs are the same. At the first two points, the absolute values
    increase with the names, since functions may also be equal for one order of the variables only.
    """
    rng = make_seed(one, other)
    for number in range(MAX_COMPARED_POINTS):
        size = SIZES[number % len(SIZES)]
        point = {}
        for place, name in enumerate(symbols):
            low, high = rng.choice(SIZES) if number >= len(SIZES) and place else size
            step = (high - low) / len(symbols)
            low, high = (low + place * step, low + (place + 1) * step) if number < 2 else (low, high)
            alternating = (-1) ** place
            sign = (1, -1, alternating, -alternating)[number % 4]
            point[name] = sign * CONTEXT.mpf(rng.uniform(low, high))
        yield point


FARTHEST = 10**6
DIFFERENT = CONTEXT.mpf(10) ** -20  # far away, large numbers that cancel leave larger errors
PIECEWISE = {*"abs norm max min sgn sqrt root ^ floor ceil mod conjugate".split()}  # operations whose formula changes


def are_different_far_away(one: Value, other: Value, symbols: Sequence[str]) -> bool:
    """Return whether two expressions differ where variables are larger than their numbers, as `|x - 50|` and `50 - x` do."""
    rng = make_seed(one, other)
    largest = min(find_largest_number(one, other), FARTHEST)
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


def draw_integers(one: Value, other: Value, symbols: Sequence[str]) -> Iterator[Point]:
    """
    Yield points of every residue: integers in a row, from 1 and beyond the numbers in the expressions, and some far away.

    Functions with the periods p and q are equal if they agree at p + q integers in a row (Fine and Wilf). The other names
    are first multiples of all periods, and then smaller than a period. There are fewer points if they cost much.
    """
    rng = make_seed(one, other)
    largest = find_largest_number(one, other)
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
COEFFICIENTS = {"C": {"A", "B"}, "K": {"A", "B"}, "c": {"a"}}  # next to these, a constant is a coefficient, too
MAX_CONSTANTS = 3
NO_DIFFERENCE = CONTEXT.mpf(10) ** -60  # largest ratio of what is left to the values if functions are dependent
SIDES = ((0.2, 3.0), (-3.0, -0.2))  # a family has its own constants on each of them, as `\ln x + C` has
Vector = list[Numeric]


class Roles(NamedTuple):
    """The arbitrary constants of the gold family and those of the other one, and their common variables, in order."""

    constants: list[str]
    others: list[str]
    variables: list[str]


class Span(NamedTuple):
    """The values of a family that is linear in its constants: `base`, and what each constant multiplies."""

    base: Vector
    slopes: list[Vector]


def are_same_up_to_constants(golds: Values, answers: Values, is_solution: bool = False) -> bool:
    """Return whether expressions are the same functions as others up to arbitrary constants that all of them share."""
    if not all(map(is_expression, (*golds, *answers))):
        return False
    roles = assign_roles(golds, answers, is_solution)
    if roles is None:
        return False
    return are_same_spans(golds, answers, roles) or are_renamed(golds, answers, roles)


def assign_roles(golds: Values, answers: Values, is_solution: bool) -> Roles | None:
    """Return what the names of two families are, or None if the constants of one cannot be those of the other."""
    symbols, answer_symbols = (set[str]().union(*map(find_symbols, values)) for values in (golds, answers))
    constants = find_constants(golds, symbols, is_solution)
    variables = symbols - constants
    others = answer_symbols - variables
    if not 0 < len(constants) == len(others) <= MAX_CONSTANTS:
        return None
    if not variables & VARIABLES or not variables <= answer_symbols:
        return None
    if not are_arbitrary(constants, others, is_solution):
        return None
    return Roles(sorted(constants), sorted(others), sorted(variables))


def are_arbitrary(constants: set[str], others: set[str], is_solution: bool) -> bool:
    """Whether names are those of constants, one of them a general one, or new in a solution: no names that a question gives."""
    if is_solution and 1 < len(constants) == len(others - constants):
        return True
    is_general = any(GENERAL.fullmatch(name) for name in constants | others)
    if not is_general:
        return False
    return all(CONSTANT_NAMES.fullmatch(name) for name in others)


def are_renamed(golds: Values, answers: Values, roles: Roles) -> bool:
    """Return whether expressions equal others with their constants in another order."""
    for order in itertools.permutations(map(Symbol, roles.constants)):
        renaming = dict(zip(roles.others, order, strict=True))
        pairs = zip(golds, answers, strict=True)
        if all(are_equal_expressions(gold, substitute(answer, renaming)) is True for gold, answer in pairs):
            return True
    return False


def find_constants(golds: Values, symbols: set[str], is_solution: bool) -> set[str]:
    numbered = {name for name in symbols if NUMBERED.fullmatch(name)}
    return numbered or find_general_constant(golds, symbols, is_solution)


def find_general_constant(golds: Values, symbols: set[str], is_solution: bool) -> set[str]:
    terms = [term for gold in golds for term in list_terms(gold)]
    for name, coefficients in COEFFICIENTS.items():
        if name in symbols and not symbols & coefficients:
            if Symbol(name) in terms or (is_solution and name == "C"):
                return {name}
    return find_constants_of_solution(symbols) if is_solution else set()


def find_constants_of_solution(symbols: set[str]) -> set[str]:
    for names in ("AB", "k"):
        if usual := {*names} & symbols:
            return usual
    others = symbols - VARIABLES
    return others if len(others) > 1 else set()  # f(x) = ax + b


def are_same_spans(golds: Values, answers: Values, roles: Roles) -> bool:
    """Return whether both are linear in their constants, and the functions that one can be are those of the other."""
    compared = False
    for points in draw_sides(make_seed(golds, answers), roles.variables, 2 * len(roles.constants) + 3):
        try:
            one = find_span(golds, roles.constants, points)
            other = find_span(answers, roles.others, points)
        except Undefined:
            continue
        if one is None or other is None or not is_same_span(one, other):
            return False
        compared = True
    return compared


def is_same_span(one: Span, other: Span) -> bool:
    """Return whether the slopes of each family span those of the other, and the difference of their bases."""
    difference = [value - other_value for value, other_value in zip(one.base, other.base, strict=True)]
    sizes = [*map(abs, one.base), *map(abs, other.base)]
    size = max(*sizes, CONTEXT.mpf(1))
    is_within = is_spanned(one.slopes, [*other.slopes, difference], size)
    if not is_within:
        return False
    return is_spanned(other.slopes, one.slopes, size)


def draw_sides(rng: random.Random, variables: Sequence[str], count: int) -> Iterator[list[Point]]:
    for side in SIDES:
        yield [{name: CONTEXT.mpf(rng.uniform(*side)) for name in variables} for _ in range(count)]


def find_span(values: Values, names: Sequence[str], points: Sequence[Point]) -> Span | None:
    """
    Return the span of a family at some points, or None if it is not linear in its constants.

    With a base b and slopes s, the values are b + c_1 s_1 + ... + c_n s_n. All constants at 0 give b, and one of them at 1
    gives b + s_i. The values at c = (3, 5, 7) show whether the family is linear.
    """

    def compute(*constants: int) -> Vector:
        point_of_constants = dict(zip(names, map(CONTEXT.mpf, constants), strict=True))
        return [
            evaluate(value, {**point, **point_of_constants}, only_real=True) for value in values for point in points
        ]

    base = compute(*[0] * len(names))
    units = [compute(*[int(place == here) for here in range(len(names))]) for place in range(len(names))]
    slopes = [[one - zero for one, zero in zip(unit, base, strict=True)] for unit in units]
    factors = [3 + 2 * place for place in range(len(names))]
    for place, found in enumerate(compute(*factors)):
        changes = [factor * slope[place] for factor, slope in zip(factors, slopes, strict=True)]
        expected = base[place] + sum(changes)
        if abs(found - expected) > NO_DIFFERENCE * max(1, abs(found)):
            return None
    return Span(base, slopes)


def is_spanned(vectors: Sequence[Vector], others: Sequence[Vector], size: Numeric) -> bool:
    """Return whether independent vectors span all the others, by elimination."""
    rows = [list(vector) for vector in vectors]
    rest = [list(vector) for vector in others]
    for place, row in enumerate(rows):
        column = max(range(len(row)), key=lambda here: abs(row[here]))
        if abs(row[column]) <= NO_DIFFERENCE * size:
            return False
        for other in [*rows[place + 1 :], *rest]:
            factor = other[column] / row[column]
            other[:] = [one - factor * mine for one, mine in zip(other, row, strict=True)]
    return all(abs(number) <= NO_DIFFERENCE * size for vector in rest for number in vector)
