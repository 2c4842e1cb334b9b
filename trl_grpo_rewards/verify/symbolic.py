"""What math-verify reads and how it judges. All of this may take for ever: call it where it can be ended."""

import functools
import math
from typing import Any

from .equality import Terms


CLOSE = 1e-6
"""math-verify rounds to six decimals, which makes all tiny numbers equal: they must also be this close relatively."""


def verified(right: list, given: list, terms: Terms) -> bool:
    """The verdict of math-verify on a parsed gold and a parsed answer."""
    from math_verify import verify

    if not given or is_false(given[0]) or (terms.evaluated and undone(given[0]) and not undone(right[0])):
        return False
    if terms.tolerance is not None and (numbers := values(right[0], given[0])):
        return math.isclose(*numbers, rel_tol=terms.tolerance, abs_tol=terms.tolerance)
    if not verify(right, given, allow_set_relation_comp=True, timeout_seconds=None):
        return False
    numbers = values(right[0], given[0])
    return numbers is None or math.isclose(*numbers, rel_tol=CLOSE)


def parsed(latex: str) -> list:
    """What math-verify reads, from a box so that it is the whole and no fragment; empty where it reads nothing."""
    from latex2sympy2_extended import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse

    config = LatexExtractionConfig(
        boxed_match_priority=0,
        try_extract_without_anchor=False,
        normalization_config=NormalizationConfig(malformed_operators=True),
    )
    return parse(f"\\boxed{{{latex}}}", [config], fallback_mode="no_fallback", parsing_timeout=None)


parsed_gold = functools.lru_cache(maxsize=64)(parsed)
"""The same, remembered: the completions of a group share their gold."""


def values(one: Any, other: Any) -> tuple[float, float] | None:
    """The real numbers that two parsed expressions are; None where one is none."""
    try:
        return float(one), float(other)
    except Exception:  # sympy has many ways to say that something is no number, RecursionError among them
        return None


def is_false(expression: Any) -> bool:
    """Whether it states that two different numbers are equal."""
    from sympy import Eq

    sides = values(expression.lhs, expression.rhs) if isinstance(expression, Eq) else None
    return sides is not None and not math.isclose(*sides, rel_tol=CLOSE, abs_tol=CLOSE)


def undone(expression: Any) -> bool:
    """
    Whether an operation is left in it that can be carried out: on numbers alone, with a rational result, or an
    integral, sum, product, limit or derivative. Fractions, powers of ten and their multiples count as numbers.
    """
    from sympy import Derivative, Integral, Limit, MatrixBase, Product, Sum, preorder_traversal

    expressions = list(expression) if isinstance(expression, MatrixBase) else [expression]
    nodes = [node for one in expressions for node in preorder_traversal(one)]
    return any(isinstance(node, (Integral, Sum, Product, Limit, Derivative)) or computable(node) for node in nodes)


def computable(node: Any) -> bool:
    from sympy import Add, Expr, Float, Integer, Mul, Pow, Rational, UnevaluatedExpr

    if not isinstance(node, Expr) or node.is_Atom or isinstance(node, UnevaluatedExpr):
        return False
    if isinstance(node, Pow) and (node.exp == -1 or node.base == 10):
        return False
    if isinstance(node, (Add, Mul)):
        numbers = [part for part in node.args if isinstance(part, (Float, Rational)) and part != -1]
        powers = [part for part in node.args if isinstance(part, Pow) and part.base == 10 and isinstance(node, Add)]
        return len(numbers + powers) > 1
    return not node.free_symbols and isinstance(node.doit(), (Integer, Rational))
