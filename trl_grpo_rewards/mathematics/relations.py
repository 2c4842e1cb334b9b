"""Equations and inequalities that say the same: the differences of their sides are proportional."""

from typing import Any

from .equivalence import draw_points
from .evaluation import Undefined, are_close, evaluate, is_real
from .values import Operation, Relation, Value, find_symbols, is_expression


FLIPS = {"=": "=", "<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le"}


def compare_differences(gold: Relation, answer: Relation) -> bool | None:
    """Compare equations and inequalities by the differences of their sides, which must be proportional."""
    if not all(map(is_expression, (*gold.sides, *answer.sides))):
        return False
    signs = gold.signs[0], answer.signs[0]
    differences = [Operation("+", (one, Operation("-", (other,)))) for one, other in (gold.sides, answer.sides)]
    if (signs[0] == "=") != (signs[1] == "="):
        return False
    factor = find_factor(*differences)
    if factor is None or factor == 0:
        return False
    return signs[0] == "=" or signs[1] == (signs[0] if factor > 0 else FLIPS[signs[0]])


def find_factor(one: Value, other: Value) -> Any:
    """Return the constant that the second expression is times the first one, or None if there is none."""
    symbols = sorted(find_symbols(one) | find_symbols(other))
    if not symbols:
        return None
    factors = []
    for point in draw_points(one, other, symbols):
        try:
            values = evaluate(one, point), evaluate(other, point)
        except Undefined:
            continue
        if values[0] == 0 or not is_real(values[0]) or not is_real(values[1]):
            continue
        factors.append((values[1] / values[0]).real)
        if not are_close(factors[0], factors[-1]):
            return None
        if len(factors) == 4:
            break
    return factors[0] if len(factors) > 1 else None
