"""Comparison of an answer with the gold answer by text and numbers alone, as far as that gives a certain result."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from . import units
from .latex import GROUPED_DIGITS, WORD_COMMAND, is_same_text, normalize_latex, strip_formatting
from .numerals import parse_number


INTEGER = re.compile(r"[+-]?\d{1,4300}")  # Python does not read longer ones
DECIMAL_COMMA = re.compile(r"([+-]?\d+),(\d+)")
BASED_NUMBER = re.compile(r"(\d+)_(?:\{\d+\}|\d)")
ASSIGNMENT = re.compile(r"(?:\\?[A-Za-z]\w*|[A-Za-z]\([A-Za-z]\))(?:_\{\w+\})? ?(?:=|\\in(?![A-Za-z]) ?)")
CONJUNCTION = re.compile(
    r" ?,? ?(?:\\(?:text|mbox|mathrm) ?\{ ?,? ?(?:and|or) ?\}|(?<![A-Za-z\\])(?:and|or)(?![A-Za-z])) ?"
)
WORD_ANSWER = re.compile(r"[^\W\d_]{4,}|[A-Z]{3}|[nN]o|[yY]es|(?=.*[^\W\d_]{3})[^\W\d_]+(?:[ -][^\W\d_]+)+")
BARE_WORD = re.compile(r"(?<![A-Za-z\\])[A-Za-z][a-z]{2,}(?![A-Za-z])|(?:(?<=[\s{])|^)[A-Za-z][a-z](?=[\s},]|$)")
DASHED_NUMBERS = re.compile(r"\d+(?:-\d+)+")
INEQUALITY = re.compile(r"[<>]|\\(?:[lg]eq?|[lg]t|leqslant|geqslant|neq?)(?![A-Za-z])")
MARKS = re.compile(r"'|\\prime|\^(?:T|\\top)|\\[lcd]?dots|\.\.\.")
EVALUATED_BY_PARSER = ("binom", "choose", "\\div", "÷", ":", "gcd", "lcm")
OPERATION = re.compile(r"\w[-+*/^!\\(]|\\[a-z]")
ENVIRONMENT = re.compile(r"\\(?:begin|end) ?\{\w*\*?\}")
SENTENCE = re.compile(r"(?:[^\W\d_]{2,}[:,]?[ ]){2}.*[\d$]", re.DOTALL)  # a sentence with mathematics in it
AND_OR = re.compile(r"(?<![A-Za-z])(and|or)(?![A-Za-z])")
UNORDERED = ("", "\\{")
CLOSING_BRACKETS = {"(": (")", "]"), "[": (")", "]"), "\\{": ("\\}",)}

MAX_LIST_CHARS = 300
"""Maximum length of a list, in characters, so that lists are not nested too deeply for recursion."""


@dataclass(frozen=True)
class AnswerRules:
    r"""
    The conditions under which an answer equals the gold answer.

    Args:
        tolerance (`float`, *optional*):
            Maximum difference of two equal numbers, absolute or relative to the larger one. The default is 0.
        units (`str`, *optional*, defaults to `"ignore"`):
            With `"ignore"`, only the values count, and `50\%` equals both `50` and `0.5`. With `"must_match"`, a gold
            answer with a unit requires the same unit.
        evaluated (`bool`, *optional*, defaults to `False`):
            Whether the answer must be worked out, unless the gold answer itself is not.
    """

    tolerance: float | None = None
    units: Literal["ignore", "must_match"] = "ignore"
    evaluated: bool = False


def settle(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Return whether the answer equals the gold answer, or None if text and numbers alone do not settle it."""
    if rules.tolerance is None and INTEGER.fullmatch(gold) and INTEGER.fullmatch(answer):
        return int(gold) == int(answer)
    if is_same_text(strip_formatting(normalize_latex(gold)), strip_formatting(normalize_latex(answer))):
        return True
    if rules.evaluated and any(name in answer and name not in gold for name in EVALUATED_BY_PARSER):
        return False  # math-verify evaluates these operations while it parses
    pairs = pair_values(gold, answer, rules)
    verdicts = [compare_values(strip_formatting(one), strip_formatting(other), rules) for one, other in pairs]
    return True if True in verdicts else None if None in verdicts else False


def pair_values(gold: str, answer: str, rules: AnswerRules) -> list[tuple[str, str]]:
    """Return pairs of values without units. One pair must be equal. If the units rule that out, there are no pairs."""
    strict = rules.units == "must_match"
    gold, unit = units.split_unit(normalize_latex(gold), strict)
    answer, its_unit = units.split_unit(normalize_latex(answer), letters=True)
    is_letter = its_unit is not None and len(its_unit) == 1 and its_unit.isalpha()
    if is_letter and parse_number(strip_formatting(gold)) is None:
        answer, its_unit = f"{answer} {its_unit}", None  # a variable, if the gold answer may have variables too
    gold, answer = expand_plus_minus(gold), expand_plus_minus(answer)
    if unit == its_unit:
        return [(gold, answer)]
    if {unit, its_unit} == {"%", None}:
        scaled = (divide_by_hundred(gold), answer) if unit else (gold, divide_by_hundred(answer))
        return [scaled] if strict else [(gold, answer), scaled]
    return [] if strict and unit is not None else [(gold, answer)]


def expand_plus_minus(text: str) -> str:
    r"""Replace a single `\pm` by a list of both values, since math-verify does not read it in every place."""
    if text.count("\\pm") != 1 or "," in text or "\\{" in text:
        return text
    return ", ".join(text.replace("\\pm", sign) for sign in "+-")


def divide_by_hundred(value: str) -> str:
    return f"\\frac{{{value}}}{{100}}"


def compare_values(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Return the result of the first comparison that decides, or None if no comparison does."""
    if is_same_text(gold, answer):
        return True
    verdicts = (compare(gold, answer, rules) for compare in COMPARISONS)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def compare_marks(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Compare the number of primes, transposes and dots, which change a value but are ignored by math-verify."""
    return None if len(MARKS.findall(gold)) == len(MARKS.findall(answer)) else False


def compare_numbers(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Compare two numbers."""
    one, other = parse_number(gold), parse_number(answer)
    if one is None or other is None:
        return None
    is_open = rules.evaluated and is_whole_fraction(answer) and not is_whole_fraction(gold)
    return is_close(one, other, rules) and not is_open


def compare_notation(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Compare numbers with a base, dates, ranges and decimal commas, which math-verify misreads."""
    if any(form.fullmatch(gold) and form.fullmatch(answer) for form in (BASED_NUMBER, DASHED_NUMBERS)):
        return False
    one, other = parse_number(gold), parse_number(answer)
    if (one is None) == (other is None):
        return None
    known, text = (one, answer) if other is None else (other, gold)
    if based := BASED_NUMBER.fullmatch(text):  # an answer may give its base even if the gold answer does not
        return other is None and parse_number(based[1]) == known
    comma = DECIMAL_COMMA.fullmatch(text)
    return True if comma and parse_number(f"{comma[1]}.{comma[2]}") == known else None


def compare_words(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Compare words, without case and plural."""
    if not (WORD_ANSWER.fullmatch(gold) and WORD_ANSWER.fullmatch(answer)):
        return None
    return gold.casefold().rstrip("s") == answer.casefold().rstrip("s")


def compare_inequalities(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Tell inequalities joined by "and" from those joined by "or", and an inequality from a list of numbers."""
    related = [INEQUALITY.search(text) is not None for text in (gold, answer)]
    if all(related):
        joined = [{match[1] for match in AND_OR.finditer(text)} for text in (gold, answer)]
        return False if joined in ([{"and"}, {"or"}], [{"or"}, {"and"}]) else None
    if any(related):
        collection = read_collection(answer if related[0] else gold)
        return False if collection and collection.opening == "" else None
    return None


def compare_lists(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Compare two lists, or a list in brackets with a number."""
    one, other = read_collection(gold), read_collection(answer)
    if one and other:
        return compare_collections(one, other, rules)
    collection, alone = (one, answer) if one else (other, gold)
    if collection is None or parse_number(alone) is None:
        return None
    different = {item if parse_number(item) is None else parse_number(item) for item in collection.items}
    return False if collection.opening and len(different) > 1 else None


def compare_without_names(gold: str, answer: str, rules: AnswerRules) -> bool | None:
    """Compare the values of assignments: `x = 5` equals `5`, in either order."""
    name, its_name = ASSIGNMENT.match(gold), ASSIGNMENT.match(answer)
    if (name is None and its_name is None) or (name and its_name and name[0] != its_name[0]):
        return None
    gold, answer = gold[name.end() if name else 0 :], answer[its_name.end() if its_name else 0 :]
    return None if "=" in gold + answer or "\\in" in gold + answer else compare_values(gold, answer, rules)


COMPARISONS = (
    compare_marks,
    compare_numbers,
    compare_notation,
    compare_words,
    compare_inequalities,
    compare_lists,
    compare_without_names,
)


def is_close(one: Fraction, other: Fraction, rules: AnswerRules) -> bool:
    return abs(one - other) <= Fraction(str(rules.tolerance or 0)) * max(Fraction(1), abs(one), abs(other))


def is_whole_fraction(text: str) -> bool:
    """Return whether the text is a fraction with an integer value, such as `6/2`."""
    value = parse_number(text)
    return value is not None and value.denominator == 1 and ("/" in text or "\\frac" in text)


class Collection(NamedTuple):
    """A list of two or more items, with its brackets or with empty strings in their place."""

    opening: str
    items: list[str]
    closing: str


def compare_collections(gold: Collection, answer: Collection, rules: AnswerRules) -> bool | None:
    """Compare two lists. Sets and lists without brackets have no order; pairs and intervals do."""
    is_ordered = gold.opening not in UNORDERED
    values, its_values = parse_numbers(gold.items), parse_numbers(answer.items)
    if is_ordered != (answer.opening not in UNORDERED):
        if gold.opening and answer.opening:
            return False
        return None if values is None or its_values is None or has_close_values(values, its_values, rules) else False
    if is_ordered and (gold.opening, gold.closing) != (answer.opening, answer.closing):
        return False if gold.opening == answer.opening else None
    if is_ordered:
        verdicts = [compare_values(one, other, rules) for one, other in zip(gold.items, answer.items, strict=False)]
        if len(gold.items) != len(answer.items) or False in verdicts:
            return False
        return None if None in verdicts else True
    if sorted(gold.items) == sorted(answer.items):
        return True
    if values is None or its_values is None:
        return None
    if rules.evaluated and any(map(is_whole_fraction, answer.items)) and not any(map(is_whole_fraction, gold.items)):
        return False
    if "" in (gold.opening, answer.opening):  # without braces, repeated items count repeatedly
        return has_close_values(sorted(values), sorted(its_values), rules)
    return has_close_values(sorted({*values}), sorted({*its_values}), rules)


def parse_numbers(items: list[str]) -> list[Fraction] | None:
    """Return the items as numbers, or None if one of them is not a number."""
    values = [value for item in items if (value := parse_number(item)) is not None]
    return values if len(values) == len(items) else None


def has_close_values(values: list[Fraction], others: list[Fraction], rules: AnswerRules) -> bool:
    return len(values) == len(others) and all(map(is_close, values, others, [rules] * len(values)))


def read_collection(text: str) -> Collection | None:
    """Read a text as a list. Return None if it is not a list of two or more items."""
    if len(text) > MAX_LIST_CHARS:
        return None
    for opening, closings in CLOSING_BRACKETS.items():
        for closing in closings:
            if text.startswith(opening) and text.endswith(closing):
                items = split_items(text[len(opening) : -len(closing)])
                if items and len(items) > 1:
                    return Collection(opening, items, closing)
    items = split_items(CONJUNCTION.sub(",", text))
    return Collection("", items, "") if items and len(items) > 1 else None


def split_items(text: str) -> list[str] | None:
    """Split at commas and semicolons outside brackets. Return None if a comma may be part of a number."""
    items, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return None
        if letter in ",;" and depth == 0:
            items.append(text[start:position].strip())
            start = position + 1
    items.append(text[start:].strip())
    return None if GROUPED_DIGITS.search(text) or depth or "" in items else items


def is_prose(text: str) -> bool:
    """Return whether the text has words other than a unit. math-verify would drop them and read only part of the text."""
    value, _ = units.split_unit(normalize_latex(text))
    if WORD_ANSWER.fullmatch(strip_formatting(value)):
        return False
    words = BARE_WORD.findall(WORD_COMMAND.sub(r" \1 ", ENVIRONMENT.sub(" ", CONJUNCTION.sub(",", value))))
    return SENTENCE.match(value) is not None or not units.WORDS_CHANGING_VALUE.isdisjoint(map(str.casefold, words))


def is_restated(answer: str, question: str) -> bool:
    """Return whether an answer that contains operations is copied from the question."""
    answer = strip_formatting(normalize_latex(answer))
    if parse_number(answer) is not None or not OPERATION.search(answer):
        return False
    start = r"(?<!\w)" if answer[0].isalnum() else ""
    question = strip_formatting(normalize_latex(question))
    return re.search(rf"{start}{re.escape(answer)}(?!\w)", question) is not None
