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
from .latex import GROUPED, WORD_COMMAND, plain, same, tidy, undelimited
from .numerals import number


INTEGER = re.compile(r"[+-]?\d{1,4300}")  # Python reads no longer ones
DECIMAL_COMMA = re.compile(r"([+-]?\d+),(\d+)")
BASED = re.compile(r"(\d+)_(?:\{\d+\}|\d)")
NAME = re.compile(r"(?:\\?[A-Za-z]\w*|[A-Za-z]\([A-Za-z]\))(?:_\{\w+\})? ?(?:=|\\in(?![A-Za-z]) ?)")
JOINED = re.compile(
    r" ?,? ?(?:\\(?:text|mbox|mathrm) ?\{ ?,? ?(?:and|or) ?\}|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])) ?"
)
WORDS = re.compile(r"[^\W\d_]{4,}|[A-Z]{3}|[nN]o|[yY]es|(?=.*[^\W\d_]{3})[^\W\d_]+(?:[ -][^\W\d_]+)+")
WORD = re.compile(r"(?<![A-Za-z\\])[A-Za-z][a-z]{2,}(?![A-Za-z])|(?:(?<=[\s{])|^)[A-Za-z][a-z](?=[\s},]|$)")
DASHED = re.compile(r"\d+(?:-\d+)+")
RELATION = re.compile(r"[<>]|\\(?:[lg]eq?|[lg]t|leqslant|geqslant|neq?)(?![A-Za-z])")
MARKS = re.compile(r"'|\\prime|\^(?:T|\\top)|\\[lcd]?dots|\.\.\.")
CARRIED_OUT = ("binom", "choose", "\\div", "÷", ":", "gcd", "lcm")
OPERATION = re.compile(r"\w[-+*/^!\\(]|\\[a-z]")
COMMANDS = re.compile(r"\\[A-Za-z]+")
GREEK = ["{\\rho}", "{\\kappa}", "{\\xi}", "{\\nu}", "{\\mu}", "{\\lambda}", "{\\eta}", "{\\zeta}"]
ENVIRONMENT = re.compile(r"\\(?:begin|end) ?\{\w*\*?\}")
PROSE = re.compile(r"(?:[^\W\d_]{2,}[:,]?[ ]){2}.*[\d$]", re.DOTALL)  # a sentence with mathematics in it

LONGEST_LIST = 300  # so that none is nested too deep
JOINERS = (re.compile(r"(?<![A-Za-z])and(?![A-Za-z])"), re.compile(r"(?<![A-Za-z])or(?![A-Za-z])"))
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
    if terms.evaluated and any(name in answer and name not in gold for name in CARRIED_OUT):
        return False  # which math-verify carries out while it reads
    verdicts = [compared(plain(one), plain(other), terms) for one, other in readings(gold, answer, terms)]
    return True if True in verdicts else None if None in verdicts else False


def readings(gold: str, answer: str, terms: Terms) -> list[tuple[str, str]]:
    """The pairs of values, without units, of which one must be equal; none where the units are against it."""
    strict = terms.units == "must_match"
    (gold, unit), (answer, its_unit) = units.split(tidy(gold), strict), units.split(tidy(answer), letters=True)
    if its_unit is not None and len(its_unit) == 1 and its_unit.isalpha() and number(plain(gold)) is None:
        answer, its_unit = f"{answer} {its_unit}", None  # a letter after a number is a variable where others are
    gold, answer = both_signs(gold), both_signs(answer)
    if unit == its_unit:
        return [(gold, answer)]
    if {unit, its_unit} == {"%", None}:
        scaled = (hundredth(gold), answer) if unit else (gold, hundredth(answer))
        return [scaled] if strict else [(gold, answer), scaled]
    return [] if strict and unit is not None else [(gold, answer)]


def both_signs(text: str) -> str:
    r"""The two values of a text with one `\pm`, of which math-verify does not read every place."""
    if text.count("\\pm") != 1 or "," in text or "\\{" in text:
        return text
    return ", ".join(text.replace("\\pm", sign) for sign in "+-")


def hundredth(value: str) -> str:
    return f"\\frac{{{value}}}{{100}}"


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


def compared(gold: str, answer: str, terms: Terms) -> bool | None:
    """The verdict on two plain values."""
    if same(gold, answer):
        return True
    if len(MARKS.findall(gold)) != len(MARKS.findall(answer)):  # math-verify leaves them out
        return False
    for form in (BASED, DASHED):
        if form.fullmatch(gold) and form.fullmatch(answer):
            return False
    one, other = number(gold), number(answer)
    if one is not None and other is not None:
        return close(one, other, terms) and not (terms.evaluated and divides(answer) and not divides(gold))
    if (one is None) != (other is None):
        known, text = (one, answer) if other is None else (other, gold)
        if comma := DECIMAL_COMMA.fullmatch(text):
            return True if number(f"{comma[1]}.{comma[2]}") == known else None
        if based := BASED.fullmatch(text):  # an answer may name its base where the gold does not
            return other is None and number(based[1]) == known
    if WORDS.fullmatch(gold) and WORDS.fullmatch(answer):
        return gold.casefold().rstrip("s") == answer.casefold().rstrip("s")
    if JOINERS[0].search(gold) and JOINERS[1].search(answer) or JOINERS[1].search(gold) and JOINERS[0].search(answer):
        if RELATION.search(gold) and RELATION.search(answer):
            return False
    several, others = collection(gold), collection(answer)
    if several and others:
        return alike(*several, *others, terms)
    if (several and not several[0] and RELATION.search(answer)) or (
        others and not others[0] and RELATION.search(gold)
    ):
        return False if not (RELATION.search(gold) and RELATION.search(answer)) else None
    if (one if others else other if several else None) is not None and is_pair(*(several or others)):
        return False
    name, its_name = NAME.match(gold), NAME.match(answer)
    if (name and its_name and name[0] != its_name[0]) or not (name or its_name):
        return None
    gold, answer = gold[name.end() if name else 0 :], answer[its_name.end() if its_name else 0 :]
    return None if "=" in gold + answer or "\\in" in gold + answer else compared(gold, answer, terms)


def close(one: Fraction, other: Fraction, terms: Terms) -> bool:
    return abs(one - other) <= Fraction(str(terms.tolerance or 0)) * max(1, abs(one), abs(other))


def divides(text: str) -> bool:
    """Whether the text is a fraction that is a whole number."""
    return ("/" in text or "\\frac" in text) and number(text).denominator == 1


def is_pair(opening: str, items: list[str], closing: str) -> bool:
    """Whether a list is in brackets and has two different items, and so is no number."""
    return opening != "" and len({item if number(item) is None else number(item) for item in items}) > 1


def alike(opening: str, items: list, closing: str, its_opening: str, others: list, its_closing: str, terms: Terms):
    """The verdict on two lists in brackets, or in none: sets have no order, pairs and intervals have."""
    ordered, also = opening not in SETS, its_opening not in SETS
    values, its_values = ([number(item) for item in some] for some in (items, others))
    known = None not in values and None not in its_values
    if ordered != also:
        if opening and its_opening:
            return False
        return False if known and not pairwise(values, its_values, terms) else None
    if (opening, closing) != (its_opening, its_closing) and ordered:
        return False if opening == its_opening else None
    if ordered:
        verdicts = [compared(one, other, terms) for one, other in zip(items, others, strict=False)]
        return False if len(items) != len(others) or False in verdicts else None if None in verdicts else True
    if sorted(items) == sorted(others):
        return True
    if not known:
        return None
    if terms.evaluated and any(map(divides, others)) and not any(map(divides, items)):
        return False
    if "" in (opening, its_opening):  # without braces, what is there twice counts twice
        return pairwise(sorted(values), sorted(its_values), terms)
    return pairwise(sorted({*values}), sorted({*its_values}), terms)


def pairwise(values: list[Fraction], others: list[Fraction], terms: Terms) -> bool:
    return len(values) == len(others) and all(map(close, values, others, [terms] * len(values)))


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
    words = WORD.findall(WORD_COMMAND.sub(r" \1 ", ENVIRONMENT.sub(" ", JOINED.sub(",", value))))
    return PROSE.match(value) is not None or not units.MEANING.isdisjoint(map(str.casefold, words))


def restated(answer: str, question: str) -> bool:
    """Whether an answer with operations in it stands in the question."""
    answer = plain(tidy(answer))
    if number(answer) is not None or not OPERATION.search(answer):
        return False
    return re.search(rf"{boundary(answer[0])}{re.escape(answer)}(?!\w)", plain(tidy(question))) is not None


def boundary(letter: str) -> str:
    return r"(?<!\w)" if letter.isalnum() else ""
