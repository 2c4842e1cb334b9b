"""Compares what a program gave back with what is expected. Nothing of the program is evaluated.

The output of a program is hostile text. Values are bounded before they are read, and comparing them takes time linear in
the size of what is expected.
"""

import json
import math
import re
import sys
from fractions import Fraction
from itertools import accumulate
from typing import Any

from ..texts import read_json
from .cases import CallCase
from .inside.calls import convert


INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")

TOLERANCE = 1e-6  # of two numbers with a decimal point, absolute or relative: most contests print six digits
MAX_NUMBER_CHARS = 400  # of a number that is compared by its value: the largest float has 309 digits

BRACKETS = re.compile(r" ?([][(){},]) ?")

STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?')
"""Strings in JSON. The last quote may be missing, which keeps the time linear."""

DEPTHS = {"[": 1, "{": 1, "]": -1, "}": -1}

SPARE_CHARS, CHARS_RATIO = 1000, 10
"""Largest length of an answer, in characters and as a multiple of what is expected. Equal numbers may have texts of
different lengths: `0` has three characters with its separator, and `-1.2345678901234567e-07` has 25."""

SPARE_LEVELS = 10  # number of levels by which an answer may be nested more deeply than what is expected


def is_right_output(output: str, expected: str) -> bool:
    """Return whether an output has the expected words. Numbers with a point or an exponent may differ by 1e-6."""
    words, expected_words = output.split(), expected.split()
    if len(words) == len(expected_words) and all(map(is_right_word, words, expected_words)):
        return True
    # only whitespace may differ, which is cheap to see before it is looked at
    may_differ = any(one in expected for one in "[({") and "".join(words) == "".join(expected_words)
    return may_differ and squeeze(words) == squeeze(expected_words)


def squeeze(words: list[str]) -> str:
    """Return the words with one space between them, and none next to brackets and commas."""
    return BRACKETS.sub(r"\1", " ".join(words))


def is_right_word(word: str, expected: str) -> bool:
    if word == expected:
        return True
    if not all(len(one) <= MAX_NUMBER_CHARS and NUMBER.fullmatch(one) for one in (word, expected)):
        return False
    if INTEGER.fullmatch(expected):
        return not INTEGER.fullmatch(word) and abs(Fraction(word) - int(expected)) <= TOLERANCE
    return math.isfinite(float(expected)) and is_close(float(word), float(expected))


def is_close(number: float, expected: float) -> bool:
    return abs(number - expected) <= TOLERANCE * max(1.0, abs(expected))


def is_right_value(output: str, case: CallCase) -> bool:
    """Return whether an answer is an accepted value by Python's `==`, as JSON holds both. Floats may be close."""
    accepted = [convert(one) for one in case.accepted]
    # a function that returns None also answers with its first argument
    longest = [case.arguments, *map(json.dumps, accepted)]
    is_short = len(output) <= SPARE_CHARS + CHARS_RATIO * max(map(len, longest))
    if not is_short or measure_depth(output) > SPARE_LEVELS + max(map(measure_depth, longest)):
        return False
    try:
        answer = read_json(output)
    except (ValueError, RecursionError):
        return False
    match answer:
        case {"value": found}:
            found = answer.get("first") if case.in_place and found is None else found
            return any(is_same_data(found, one) for one in accepted)
    return False


def measure_depth(text: str) -> int:
    """Return how deeply the brackets of a JSON text are nested. Brackets in strings do not count."""
    levels = (DEPTHS[one] for one in STRINGS.sub("", text) if one in DEPTHS)
    return max(accumulate(levels), default=0)


def is_equal_data(one: Any, other: Any) -> bool:
    return is_same_data(convert(one), convert(other))


def is_same_data(found: Any, expected: Any) -> bool:
    """Return whether a converted value equals the expected one, which decides what is looked at."""
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(is_same_data, found, expected))
    if isinstance(expected, dict):
        is_same = isinstance(found, dict) and found.keys() == expected.keys()
        return is_same and all(is_same_data(found[key], one) for key, one in expected.items())
    if isinstance(expected, (int, float)):
        return isinstance(found, (int, float)) and is_equal_number(found, expected)
    return type(found) is type(expected) and bool(found == expected)


def is_equal_number(found: float, expected: float) -> bool:
    if found == expected or (isinstance(found, int) and isinstance(expected, int)):
        return found == expected
    if isinstance(expected, float):
        return abs(found) <= sys.float_info.max and is_close(found, expected)
    return abs(Fraction(found) - expected) <= TOLERANCE
