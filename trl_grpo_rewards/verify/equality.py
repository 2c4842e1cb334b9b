"""Compare an answer with the right one: as text, as numbers, and at last by math-verify."""

import functools
import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from .boxes import last_box


NOTHING = re.compile(r"(?<!\\)\\[,;!: ]|\\quad|\\left(?![a-zA-Z])|\\right(?![a-zA-Z])|\\\$")  # is only looks
WORD_COMMAND = re.compile(r"\\(?:text|textbf|textit|mathrm|mbox)\{([^{}]*)\}")
SPACE_AT_SYMBOL = re.compile(r" ?([^\w\s\\]) ?")
NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?")
FRACTION = re.compile(r"([+-]?)\\frac(?:\{(\d+)\}\{(\d+)\}|(\d)(\d))|([+-]?)(\d+)/(\d+)")
PROSE = re.compile(r"(?:[^\W\d_]{2,}[:,]?[ ]){2}.*[\d$]", re.DOTALL)  # a sentence with mathematics in it
WORDS = re.compile(r"[^\W\d_]{3,}(?:[ -][^\W\d_]+)*|[nN]o")


def read_gold(gold: Any) -> str | None:
    r"""
    The right answer as LaTeX, from what a dataset's column holds; None where it holds none.

    Reads numbers, truth values, bare LaTeX, `$...$`, `\(...\)`, `\[...\]`, a text that ends in a box, and GSM8K's
    `... #### 72`.
    """
    try:
        if type(gold).__name__ in ("bool", "bool_"):  # numpy has its own
            return str(bool(gold))
        if isinstance(gold, Rational):  # integers are
            return str(gold)
        if isinstance(gold, (Decimal, Real)):
            return f"{Decimal(str(gold)):f}" if math.isfinite(gold) else None
    except ValueError:  # Python prints no integer of more than 4300 digits
        return None
    if not isinstance(gold, str):
        return None
    if "####" in gold:
        gold = gold.rpartition("####")[2]
    boxed = last_box(gold)
    return undelimited(gold if boxed is None else boxed) or None


def undelimited(text: str) -> str:
    """The text without the dollars or brackets around the whole of it."""
    text = text.strip()
    for opening, closing in (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")):
        inside = text[len(opening) : -len(closing)]
        if text.startswith(opening) and text.endswith(closing) and inside and closing not in inside.replace("\\$", ""):
            return inside.strip()
    return text


def settled(gold: str, answer: str, tolerance: float | None = None) -> bool | None:
    """
    Whether the answer is the right one, where text or numbers tell for certain; None where they do not.

    Args:
        gold (`str`):
            The right answer, as [`read_gold`] gives it.
        answer (`str`):
            The answer, as it stands in the box.
        tolerance (`float`, *optional*):
            Two numbers are equal where they differ by no more than this, or by no more than this times the larger.
    """
    gold, answer = plain(gold), plain(answer)
    if gold == answer:
        return True
    one, other = number(gold), number(answer)
    if one is not None and other is not None:
        return abs(one - other) <= Fraction(tolerance or 0) * max(1, abs(one), abs(other))
    if WORDS.fullmatch(gold) and WORDS.fullmatch(answer):
        return gold.casefold() == answer.casefold()
    return None


def is_prose(gold: str) -> bool:
    """Whether it is a sentence with mathematics in it, of which math-verify would read some piece."""
    return PROSE.match(tidy(gold)) is not None


def tidy(text: str) -> str:
    """The text without delimiters and bold print around it, a full stop at its end, and gaps in its numbers."""
    text = undelimited(text.strip().strip("*").rstrip(".").replace("{,}", ",").replace("°", "^{\\circ}"))
    return re.sub(r"(?<!\\)\\!|[€£¥]", "", text)


def plain(text: str) -> str:
    """The text without what only changes its looks: also spacing, sizes and fonts."""
    text = NOTHING.sub("", tidy(text)).replace("~", " ").replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = " ".join(WORD_COMMAND.sub(r"\1", text).split())
    return SPACE_AT_SYMBOL.sub(r"\1", text).strip()


def number(text: str) -> Fraction | None:
    """The integer, decimal or fraction that the whole text is, exactly; Python reads no more than 4300 digits."""
    if len(text) > 4300:
        return None
    if text and text not in "+-" and NUMBER.fullmatch(text):
        return Fraction(text.replace(",", ""))
    match = FRACTION.fullmatch(text)
    if match is None:
        return None
    sign, numerator, denominator = (part for part in match.groups() if part is not None)
    return Fraction(int(f"{sign}{numerator}"), int(denominator)) if int(denominator) else None


def verified(right: list, answer: str, tolerance: float | None) -> bool:
    """The verdict of math-verify on a parsed gold and a tidy answer. It may take for ever: call it where it can end."""
    from math_verify import verify

    given = parsed(answer)
    if tolerance is not None and given:
        one, other = value(right[0]), value(given[0])
        if one is not None and other is not None:
            return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    return verify(right, given, timeout_seconds=None)


def parsed(latex: str) -> list:
    """What math-verify reads, from a box so that it is the whole and no fragment; empty where it reads nothing."""
    from latex2sympy2_extended import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse

    config = LatexExtractionConfig(
        boxed_match_priority=0,
        try_extract_without_anchor=False,
        normalization_config=NormalizationConfig(units=True, malformed_operators=True),
    )
    return parse(f"\\boxed{{{latex}}}", [config], fallback_mode="no_fallback", parsing_timeout=None)


parsed_gold = functools.lru_cache(maxsize=64)(parsed)
"""The same, remembered: the completions of a group share their gold."""


def value(expression: Any) -> float | None:
    """The real number that a parsed expression is; None where it is none."""
    try:
        return float(expression)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
