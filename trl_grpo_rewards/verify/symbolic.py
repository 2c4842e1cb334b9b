"""What math-verify reads and how it judges. All of this may take for ever: call it where it can be ended."""

import functools
import math
import re
from typing import Any

from .equality import ENVIRONMENT, Terms


COMMANDS = re.compile(r"\\[A-Za-z]+")
GREEK = ["{\\rho}", "{\\kappa}", "{\\xi}", "{\\nu}", "{\\mu}", "{\\lambda}", "{\\eta}", "{\\zeta}"]
USUAL = [
    r"-\frac{3 \sqrt{2}+x^{2}}{5 \pi} \cdot 2^{n-1}",
    r"\left(-\infty, \frac{\sqrt{3}}{2}\right] \cup [0, 5)",
    r"\{1, -\frac{1}{2}, x+y\}",
    r"y = 2x^{2} - 5x + 1.5",
    r"-2 \leq x < 7",
    r"x \in (a, b]",
    r"\begin{pmatrix} 1 & -2 \\ \frac{3}{4} & 0 \end{pmatrix}",
    r"\sin^{2}(\frac{\pi}{9}) \cos(2x) + \log_{2} 8 - e^{3t} \tan \theta",
    r"5! \binom{10}{3} |x - 3| (a+5)(b+2)",
    r"3:4",
    r"1 + 2i",
    r"\int_{0}^{1} x^{2} \, dx + \sum_{k=1}^{n} k",
]

CLOSE = 1e-6
"""How far numbers may be apart. math-verify rounds to six decimals, which makes all tiny numbers equal."""


def verified(right: list, given: list, terms: Terms) -> bool:
    """The verdict of math-verify on a parsed gold and a parsed answer."""
    from math_verify import verify

    if not given or is_false(given[0]) or (terms.evaluated and undone(given[0]) and not undone(right[0])):
        return False
    if terms.tolerance is not None and (numbers := values(right[0], given[0])):
        return math.isclose(*numbers, rel_tol=terms.tolerance, abs_tol=terms.tolerance)
    if differ(right[0], given[0]):
        return False
    return verify(right, given, allow_set_relation_comp=True, timeout_seconds=None)


def told_apart(gold: str, answer: str) -> tuple[str, str]:
    """The two with capitals renamed where one has the small letter, too: math-verify makes all letters small."""
    letters = [{*COMMANDS.sub(" ", ENVIRONMENT.sub(" ", text))} for text in (gold, answer)]
    both = sorted(
        letter for letter in letters[0] | letters[1] if any({letter, letter.lower()} <= seen for seen in letters)
    )
    names = dict(zip([letter for letter in both if letter.isupper() and letter.isascii()], GREEK, strict=False))
    if not names:
        return gold, answer
    return tuple(
        re.sub(r"\\[A-Za-z]+|[A-Z]", lambda match: names.get(match[0], match[0]), text) for text in (gold, answer)
    )


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


def warm() -> None:
    """Import math-verify, and read what teaches its parser the usual forms: it is slow at each one's first time."""
    for latex in USUAL:
        parsed(latex)


parsed_gold = functools.lru_cache(maxsize=64)(parsed)
"""The same, remembered: the completions of a group share their gold."""


def values(one: Any, other: Any) -> tuple[float, float] | None:
    """The real numbers that two parsed expressions are; None where one is none."""
    try:
        return float(one), float(other)
    except Exception:  # sympy has many ways to say that something is no number, RecursionError among them
        return None


def differ(one: Any, other: Any) -> bool:
    """
    Whether two expressions have different values at some point, and so are not equal.

    Told in a millisecond, where math-verify spends hundreds on the proof; and tiny numbers are compared relatively.
    """
    from sympy import Derivative, Expr, Integral, Limit, Product, Sum

    if not all(isinstance(e, Expr) and not e.has(Integral, Sum, Product, Limit, Derivative) for e in (one, other)):
        return False
    symbols = sorted(one.free_symbols | other.free_symbols, key=str)
    if any(str(symbol) in ("i", "j") for symbol in symbols):  # which math-verify may take for the imaginary unit
        return False
    point = {symbol: 0.7310585 + 0.2689414 * place for place, symbol in enumerate(symbols)}
    numbers = values(one.subs(point), other.subs(point))
    return numbers is not None and all(map(math.isfinite, numbers)) and not math.isclose(*numbers, rel_tol=CLOSE)


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
    from sympy import Add, Expr, Mul, Number, Pow, UnevaluatedExpr

    if not isinstance(node, Expr) or node.is_Atom or isinstance(node, UnevaluatedExpr):
        return False
    if isinstance(node, Pow) and (node.exp == -1 or node.base == 10):
        return False
    if isinstance(node, Add):
        return sum(map(is_numeral, node.args)) > 1
    if isinstance(node, Mul):
        numbers = [part for part in node.args if isinstance(part, Number)]
        if sum(isinstance(part, Pow) and part.base == 10 for part in node.args) > 1:
            return True
        return len([part for part in numbers if part != -1]) > 1 or (
            len(numbers) > 1 and len(numbers) == len(node.args)
        )
    return not node.free_symbols and isinstance(node.doit(), Number)


def is_numeral(node: Any) -> bool:
    """Whether it is a number as one writes it: also a power of ten, and a multiple of one."""
    from sympy import Mul, Number, Pow

    if isinstance(node, Pow):
        return node.base == 10
    return isinstance(node, Number) or (isinstance(node, Mul) and all(map(is_numeral, node.args)))
