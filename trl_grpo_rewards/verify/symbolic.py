"""Parsing and comparison by math-verify. A call may never end, so call this only in a process that can be killed."""

import functools
import math
import re
from typing import Any

from ..mathematics.comparison import AnswerRules
from ..mathematics.grammar import read


COMMAND = re.compile(r"\\[A-Za-z]+")
ENVIRONMENT = re.compile(r"\\(?:begin|end) ?\{\w*\*?\}")
SPARE_LETTERS = ["{\\rho}", "{\\kappa}", "{\\xi}", "{\\nu}", "{\\mu}", "{\\lambda}", "{\\eta}", "{\\zeta}"]
WARM_UP_FORMS = [
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

TOLERANCE = 1e-6
"""Maximum difference of equal numbers. It is relative if possible: to math-verify, which rounds to six decimals, all
tiny numbers are equal."""


def verify_expressions(right: list[Any], given: list[Any], rules: AnswerRules) -> bool:
    """Return whether a parsed answer equals a parsed gold answer, as far as math-verify can tell."""
    from math_verify import verify

    if not given or right == UNREAD or is_false_equation(given[0]):
        return False
    if rules.tolerance is not None and (numbers := to_floats(right[0], given[0])):
        return math.isclose(*numbers, rel_tol=rules.tolerance, abs_tol=rules.tolerance)
    if is_different(right[0], given[0]):
        return False
    return bool(verify(right, given, allow_set_relation_comp=True, timeout_seconds=None))


def distinguish_letters(gold: str, answer: str) -> tuple[str, str]:
    """Rename capitals in both texts where one has the same letter in lower case, since math-verify ignores case."""
    letters = [{*COMMAND.sub(" ", ENVIRONMENT.sub(" ", text))} for text in (gold, answer)]
    both = sorted(
        letter for letter in letters[0] | letters[1] if any({letter, letter.lower()} <= seen for seen in letters)
    )
    names = dict(
        zip([letter for letter in both if letter.isupper() and letter.isascii()], SPARE_LETTERS, strict=False)
    )
    if not names:
        return gold, answer
    rename = functools.partial(re.sub, r"\\[A-Za-z]+|[A-Z]", lambda match: names.get(match[0], match[0]))
    return rename(gold), rename(answer)


def parse_latex(latex: str) -> list[Any]:
    """Return what math-verify reads, or an empty list. The LaTeX is put in a box, so that all of it is read."""
    from latex2sympy2_extended import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse

    config = LatexExtractionConfig(
        boxed_match_priority=0,
        try_extract_without_anchor=False,
        normalization_config=NormalizationConfig(malformed_operators=True),
    )
    found: list[Any] = parse(f"\\boxed{{{latex}}}", [config], fallback_mode="no_fallback", parsing_timeout=None)
    return found


def warm_up() -> None:
    """Import math-verify and parse the usual forms, since its parser is slow the first time it meets a form."""
    for latex in WARM_UP_FORMS:
        parse_latex(latex)


@functools.lru_cache(maxsize=64)
def parse_gold(latex: str) -> list[Any]:
    """
    Return what [`parse_latex`] does, with a cache, since the completions of a group share their gold answer.

    If only math-verify cannot read the gold answer, the result is [`UNREAD`], so that every answer to it is judged.
    """
    return parse_latex(latex) or (UNREAD if read(latex) is not None else [])


UNREAD = [None]
"""A gold answer that math-verify cannot read, but the reader can."""


def to_floats(one: Any, other: Any) -> tuple[float, float] | None:
    """Return two parsed expressions as real numbers, or None if one of them is not a number."""
    try:
        return float(one), float(other)
    except Exception:  # sympy raises many kinds of errors for what is not a number, RecursionError among them
        return None


def is_different(one: Any, other: Any) -> bool:
    """
    Return whether two expressions have different values at some point, and so are not equal.

    This takes a millisecond, while a proof takes math-verify hundreds. It also compares tiny numbers relatively.
    """
    from sympy import Derivative, Expr, Integral, Limit, Product, Sum

    if not all(isinstance(e, Expr) and not e.has(Integral, Sum, Product, Limit, Derivative) for e in (one, other)):
        return False
    symbols = sorted(one.free_symbols | other.free_symbols, key=str)
    if any(str(symbol) in ("i", "j") for symbol in symbols):  # math-verify may take it for the imaginary unit
        return False
    point = {symbol: 0.7310585 + 0.2689414 * place for place, symbol in enumerate(symbols)}
    numbers = to_floats(one.subs(point), other.subs(point))
    return numbers is not None and all(map(math.isfinite, numbers)) and not math.isclose(*numbers, rel_tol=TOLERANCE)


def is_false_equation(expression: Any) -> bool:
    """Return whether the expression is an equation between two different numbers."""
    from sympy import Eq

    sides = to_floats(expression.lhs, expression.rhs) if isinstance(expression, Eq) else None
    return sides is not None and not math.isclose(*sides, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
