r"""
Expressions with arbitrary constants: antiderivatives such as `x^2 + C` and solutions such as `y = C_1e^x + C_2e^{-x}`.

Such an expression is a family of functions. Two families are equal if their constants can be renamed one to one, or if
both are linear in their constants and span the same functions.
"""

import itertools
import random
import re
from collections.abc import Iterator, Sequence

from .equivalence import are_equal_expressions, list_terms, make_seed
from .evaluation import evaluate
from .functions import CONTEXT, Numeric, Undefined
from .values import Symbol, Value, find_symbols, is_expression, substitute


NUMBERED = re.compile(r"[CcKk]_\d")
GENERAL = re.compile(r"[CK]|[Cc]_\d")
"""Names that only stand for arbitrary constants. One of two families must use them."""

CONSTANT_NAMES = re.compile(r"[CcKkABDMN](?:_\d)?|\\(?:alpha|beta|lambda)")
VARIABLES = {*"xyztuvwrsp", "\\theta", "\\phi"}
COEFFICIENTS = {"A": {"A", "B"}, "a": {"a"}}
"""Names of coefficients next to which `C` or `c` is a coefficient as well."""

MAX_CONSTANTS = 3
NO_DIFFERENCE = CONTEXT.mpf(10) ** -60
"""Largest ratio of what is left of a function and its values if the function is a sum of multiples of others."""

SIDES = ((0.2, 3.0), (-3.0, -0.2))
r"""Ranges of the variables. On each of them, a family has its own constants, as `\ln x + C` has below and above 0."""

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
    """Return the names of the arbitrary constants of a gold answer."""
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
    """Yield points with positive variables, and points with negative ones."""
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
