"""Compare an answer with the right one, where that is certain from text and numbers alone."""

import functools
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Literal

from . import units
from .boxes import boxed_answer
from .latex import GROUPED, plain, same, tidy, undelimited
from .numerals import number


INTEGER = re.compile(r"[+-]?\d{1,4300}")  # Python reads no longer ones
DECIMAL_COMMA = re.compile(r"([+-]?\d+),(\d+)")
BASED = re.compile(r"(\d+)_(?:\{\d+\}|\d)")
NAME = re.compile(r"(?:\\?[A-Za-z]\w*|[A-Za-z]\([A-Za-z]\))(?:_\{\w+\})? ?(?:=|\\in(?![A-Za-z]) ?)")
JOINED = re.compile(
    r" ?,? ?(?:\\(?:text|mbox|mathrm) ?\{ ?,? ?(?:and|or) ?\}|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])) ?"
)
WORDS = re.compile(r"[^\W\d_]{3,}|[nN]o|(?=.*[^\W\d_]{3})[^\W\d_]+(?:[ -][^\W\d_]+)+")
WORD = re.compile(r"(?<![A-Za-z\\])[A-Za-z][a-z]+(?![A-Za-z])")  # not `NO`, which are two points
OPERATION = re.compile(r"\w[-+*/^!\\(]|\\[a-z]")
ENVIRONMENT = re.compile(r"\\(?:begin|end) ?\{\w*\*?\}")
PROSE = re.compile(r"(?:[^\W\d_]{2,}[:,]?[ ]){2}.*[\d$]", re.DOTALL)  # a sentence with mathematics in it

LONGEST_LIST = 300  # so that none is nested too deep
SETS = ("", "\\{")
CLOSING = {"(": (")", "]"), "[": (")", "]"), "\\{": ("\\}",)}


@dataclass(frozen=True)
class Terms:
    """
    What makes two answers equal.

    Args:
        tolerance (`float`, *optional*):
            Two numbers are equal where they differ by no more than this, or by no more than this times the larger.
        units (`str`):
            `"ignore"`: only the values count, and a percentage is equal to its number and to its value. `"must_match"`:
            a right answer with a unit needs the same one.
        evaluated (`bool`):
            The answer must be worked out, unless the right one is not.
    """

    tolerance: float | None = None
    units: Literal["ignore", "must_match"] = "ignore"
    evaluated: bool = False


def read_gold(gold: Any) -> str | None:
    r"""
    The right answer as LaTeX, from what a dataset's column holds; None where it holds none.

    Reads numbers, truth values, bare LaTeX, `$...$`, `\(...\)`, `\[...\]`, a text that ends in a box, and GSM8K's
    `... #### 72`.
    """
    if isinstance(gold, str):
        return read_text(gold)
    try:
        if type(gold).__name__ in ("bool", "bool_"):  # numpy has its own
            return str(bool(gold))
        if isinstance(gold, Rational):  # integers are
            return str(gold)
        if isinstance(gold, (Decimal, Real)):
            return f"{Decimal(str(gold)):f}" if math.isfinite(gold) else None
    except ValueError:  # Python prints no integer of more than 4300 digits
        pass
    return None


@functools.lru_cache(maxsize=1024)
def read_text(gold: str) -> str | None:
    if "####" in gold:
        gold = gold.rpartition("####")[2]
    boxed = boxed_answer(gold)
    return undelimited(gold if boxed is None else boxed) or None


def settled(gold: str, answer: str, terms: Terms) -> bool | None:
    """Whether the answer is the right one, where text or numbers tell for certain; None where they do not."""
    if terms.tolerance is None and INTEGER.fullmatch(gold) and INTEGER.fullmatch(answer):
        return int(gold) == int(answer)
    if same(plain(tidy(gold)), plain(tidy(answer))):
        return True
    if terms.evaluated and "binom" in answer and "binom" not in gold:
        return False  # math-verify works it out while it reads
    verdicts = [compared(plain(one), plain(other), terms) for one, other in readings(gold, answer, terms)]
    return True if True in verdicts else None if None in verdicts else False


def readings(gold: str, answer: str, terms: Terms) -> list[tuple[str, str]]:
    """The pairs of values, without units, of which one must be equal; none where the units are against it."""
    (gold, unit), (answer, its_unit) = units.split(tidy(gold)), units.split(tidy(answer), letters=True)
    if unit == its_unit:
        return [(gold, answer)]
    if {unit, its_unit} == {"%", None}:
        scaled = (hundredth(gold), answer) if unit else (gold, hundredth(answer))
        return [scaled] if terms.units == "must_match" else [(gold, answer), scaled]
    return [] if terms.units == "must_match" and unit is not None else [(gold, answer)]


def hundredth(value: str) -> str:
    return f"\\frac{{{value}}}{{100}}"


def compared(gold: str, answer: str, terms: Terms) -> bool | None:
    """The verdict on two plain values."""
    if same(gold, answer):
        return True
    if BASED.fullmatch(gold) and BASED.fullmatch(answer):
        return False
    one, other = number(gold), number(answer)
    if one is not None and other is not None:
        if terms.evaluated and other.denominator == 1 and "/" in answer.replace("\\frac", "/") and "/" not in gold:
            return False  # a division to be carried out
        return abs(one - other) <= Fraction(terms.tolerance or 0) * max(1, abs(one), abs(other))
    if (one is None) != (other is None):
        known, text = (one, answer) if other is None else (other, gold)
        if comma := DECIMAL_COMMA.fullmatch(text):
            return True if number(f"{comma[1]}.{comma[2]}") == known else None
        if based := BASED.fullmatch(text):  # an answer may name its base where the gold does not
            return other is None and number(based[1]) == known
    if WORDS.fullmatch(gold) and WORDS.fullmatch(answer):
        return gold.casefold() == answer.casefold()
    several, others = collection(gold), collection(answer)
    if several and others:
        return alike(*several, *others, terms)
    if (one if others else other if several else None) is not None and is_pair(*(several or others)):
        return False
    name, its_name = NAME.match(gold), NAME.match(answer)
    if (name and its_name and name[0] != its_name[0]) or not (name or its_name):
        return None
    gold, answer = gold[name.end() if name else 0 :], answer[its_name.end() if its_name else 0 :]
    return None if "=" in gold + answer else compared(gold, answer, terms)


def is_pair(opening: str, items: list[str], closing: str) -> bool:
    """Whether a list is in brackets and has two different items, and so is no number."""
    return opening != "" and len({item if number(item) is None else number(item) for item in items}) > 1


def alike(opening: str, items: list, closing: str, its_opening: str, others: list, its_closing: str, terms: Terms):
    """The verdict on two lists in brackets, or in none: sets have no order, pairs and intervals have."""
    ordered, also = opening not in SETS, its_opening not in SETS
    if ordered != also:
        return False if opening and its_opening else None
    if (opening, closing) != (its_opening, its_closing) and ordered:
        return False if opening == its_opening else None
    if ordered:
        verdicts = [compared(one, other, terms) for one, other in zip(items, others, strict=False)]
        return False if len(items) != len(others) or False in verdicts else None if None in verdicts else True
    values, its_values = ([number(item) for item in some] for some in (items, others))
    if {*items} == {*others}:
        return True
    if terms.tolerance is None and None not in values and None not in its_values:
        return {*values} == {*its_values}
    return None


def collection(text: str) -> tuple[str, list[str], str] | None:
    """The opening bracket, items and closing bracket of a plain text that is a list of two or more; else None."""
    if len(text) > LONGEST_LIST:
        return None
    for opening, closings in CLOSING.items():
        for closing in closings:
            if text.startswith(opening) and text.endswith(closing):
                items = separated(text[len(opening) : -len(closing)])
                if items and len(items) > 1:
                    return opening, items, closing
    items = separated(JOINED.sub(",", text))
    return ("", items, "") if items and len(items) > 1 else None


def separated(text: str) -> list[str] | None:
    """What commas and semicolons separate outside of brackets; None where a comma may be one inside a number."""
    items, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return None
        if letter in ",;" and depth == 0:
            items.append(text[start:position].strip())
            start = position + 1
    items.append(text[start:].strip())
    return None if GROUPED.search(text) or depth or "" in items else items


def is_prose(text: str) -> bool:
    """Whether words say more than a unit does: math-verify would leave them out and read some piece."""
    value, _ = units.split(tidy(text))
    if WORDS.fullmatch(plain(value)):
        return False
    words = WORD.findall(plain(ENVIRONMENT.sub(" ", JOINED.sub(",", value))))
    return PROSE.match(value) is not None or not units.MEANING.isdisjoint(map(str.casefold, words))


def restated(answer: str, question: str) -> bool:
    """Whether an answer with operations in it stands in the question."""
    answer = plain(tidy(answer))
    if number(answer) is not None or not OPERATION.search(answer):
        return False
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", plain(tidy(question))) is not None
