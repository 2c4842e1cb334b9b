"""Compare an answer with the right one, where that is certain from text and numbers alone."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from . import units
from .latex import GROUPED, WORD_COMMAND, plain, same, tidy
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
ENVIRONMENT = re.compile(r"\\(?:begin|end) ?\{\w*\*?\}")
PROSE = re.compile(r"(?:[^\W\d_]{2,}[:,]?[ ]){2}.*[\d$]", re.DOTALL)  # a sentence with mathematics in it

LONGEST_LIST = 300  # so that none is nested too deep
JOINER = re.compile(r"(?<![A-Za-z])(and|or)(?![A-Za-z])")
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


def compared(gold: str, answer: str, terms: Terms) -> bool | None:
    """The verdict on two plain values: that of the first rule which has one."""
    if same(gold, answer):
        return True
    verdicts = (rule(gold, answer, terms) for rule in RULES)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def by_marks(gold: str, answer: str, terms: Terms) -> bool | None:
    """Primes, transposes and dots make another value, and math-verify leaves them out."""
    return None if len(MARKS.findall(gold)) == len(MARKS.findall(answer)) else False


def by_numbers(gold: str, answer: str, terms: Terms) -> bool | None:
    one, other = number(gold), number(answer)
    if one is None or other is None:
        return None
    return close(one, other, terms) and not (terms.evaluated and divides(answer) and not divides(gold))


def by_notation(gold: str, answer: str, terms: Terms) -> bool | None:
    """Numbers to a base, dates and ranges, and decimals with a comma, of which math-verify makes something else."""
    if any(form.fullmatch(gold) and form.fullmatch(answer) for form in (BASED, DASHED)):
        return False
    one, other = number(gold), number(answer)
    if (one is None) == (other is None):
        return None
    known, text = (one, answer) if other is None else (other, gold)
    if based := BASED.fullmatch(text):  # an answer may name its base where the gold does not
        return other is None and number(based[1]) == known
    comma = DECIMAL_COMMA.fullmatch(text)
    return True if comma and number(f"{comma[1]}.{comma[2]}") == known else None


def by_words(gold: str, answer: str, terms: Terms) -> bool | None:
    if not (WORDS.fullmatch(gold) and WORDS.fullmatch(answer)):
        return None
    return gold.casefold().rstrip("s") == answer.casefold().rstrip("s")


def by_relations(gold: str, answer: str, terms: Terms) -> bool | None:
    """Inequalities that both must hold are not those of which one must; and no list of numbers is an inequality."""
    related = [RELATION.search(text) is not None for text in (gold, answer)]
    if all(related):
        joined = [{match[1] for match in JOINER.finditer(text)} for text in (gold, answer)]
        return False if joined in ([{"and"}, {"or"}], [{"or"}, {"and"}]) else None
    if any(related):
        listed = collection(answer if related[0] else gold)
        return False if listed and listed[0] == "" else None
    return None


def by_lists(gold: str, answer: str, terms: Terms) -> bool | None:
    several, others = collection(gold), collection(answer)
    if several and others:
        return alike(*several, *others, terms)
    listed, alone = (several, answer) if several else (others, gold)
    if listed is None or number(alone) is None:
        return None
    opening, items, _ = listed
    different = {item if number(item) is None else number(item) for item in items}
    return False if opening and len(different) > 1 else None


def by_names(gold: str, answer: str, terms: Terms) -> bool | None:
    """`x = 5` is 5, whichever of the two names it."""
    names = [NAME.match(text) for text in (gold, answer)]
    if not any(names) or (all(names) and names[0][0] != names[1][0]):
        return None
    gold, answer = (text[name.end() if name else 0 :] for name, text in zip(names, (gold, answer), strict=True))
    return None if "=" in gold + answer or "\\in" in gold + answer else compared(gold, answer, terms)


RULES = (by_marks, by_numbers, by_notation, by_words, by_relations, by_lists, by_names)


def close(one: Fraction, other: Fraction, terms: Terms) -> bool:
    return abs(one - other) <= Fraction(str(terms.tolerance or 0)) * max(1, abs(one), abs(other))


def divides(text: str) -> bool:
    """Whether the text is a fraction that is a whole number."""
    value = number(text)
    return value is not None and value.denominator == 1 and ("/" in text or "\\frac" in text)


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
