"""Compares what a program gave back with what is expected, as plain data. Nothing of the program is evaluated.

The output of a program is hostile text. Comparing takes time linear in its length: it is never hashed as numbers, whose
hashes can be made to collide.
"""

import json
import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from ..text.json_schemas import read_json
from .inside import encode_value


INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")

TOLERANCE = 1e-6
"""Maximum difference of two numbers with a decimal point, absolute or relative. Most contests print six digits."""

MAX_NUMBER_CHARS = 400
"""Maximum length of a number that is compared by its value, in characters. The largest float has 309 digits."""


def is_right_output(output: str, expected: str) -> bool:
    """
    Return whether the output of a program consists of the expected words, whatever whitespace separates them.

    Two words are equal if they are the same text. If one of them has a decimal point or an exponent, they may also be
    numbers that are close: within 1e-6, or within 1e-6 of the expected number if that has a decimal point, too. Two
    integers must be the same text.
    """
    words, expected_words = output.split(), expected.split()
    return len(words) == len(expected_words) and all(map(is_right_word, words, expected_words))


def is_right_word(word: str, expected: str) -> bool:
    if word == expected:
        return True
    if not all(len(one) <= MAX_NUMBER_CHARS and NUMBER.fullmatch(one) for one in (word, expected)):
        return False
    if INTEGER.fullmatch(expected):
        return not INTEGER.fullmatch(word) and abs(Fraction(word) - int(expected)) <= TOLERANCE
    return math.isfinite(float(expected)) and is_close(float(word), float(expected))


def is_close(number: float, expected: float) -> bool:
    """Return whether a number is within the tolerance of the expected one. NaN equals NaN."""
    if math.isnan(expected) or math.isinf(expected):
        return number == expected or (math.isnan(number) and math.isnan(expected))
    return abs(number - expected) <= TOLERANCE * max(1.0, abs(expected))


def is_right_value(
    output: str, accepted: Iterable[Any], tolerance: float | None = None, as_json: bool = False
) -> bool:
    """
    Return whether the output of a call is one of the accepted values.

    Types must agree: True is not 1, and a list is not a tuple. An integer equals a float of the same value, and numbers
    are close as in [`is_right_output`]. The elements of a set and the keys of a dict must be equal, not only close.

    Args:
        output (`str`):
            What the process wrote: the JSON text of one encoded value and nothing else.
        accepted (`Iterable`):
            Plain data.
        tolerance (`float`, *optional*):
            Maximum absolute difference of two numbers, instead of the usual one.
        as_json (`bool`, *optional*, defaults to `False`):
            Whether the accepted values are from JSON. If so, a tuple counts as a list, and integer keys as their text.
    """
    try:
        found = read_json(output)
    except (ValueError, RecursionError):
        return False
    if as_json:
        found = convert_to_json(found)
    return any(is_equal_data(found, encode_value(one), tolerance) for one in accepted)


def is_equal_data(found: Any, expected: Any, tolerance: float | None) -> bool:
    """Return whether two encoded values are equal. The first one may be any JSON data."""
    match expected, found:
        case [["int" | "float", str()], ["int" | "float", str()]]:
            return is_equal_number(found, expected, tolerance)
        case [["list" | "tuple" | "complex" as kind, list() as items], [str() as other, list() as found_items]] if (
            kind == other
        ):
            return len(items) == len(found_items) and all(
                is_equal_data(one, item, tolerance) for one, item in zip(found_items, items, strict=True)
            )
        case [["set" | "frozenset", list() as items], ["set" | "frozenset", list() as found_items]]:
            return sorted(map(write_key, items)) == sorted(map(write_key, found_items))
        case [["dict", list() as pairs], ["dict", list() as found_pairs]]:
            values = {write_key(key): value for key, value in pairs}
            found_values = {write_key(pair[0]): pair[1] for pair in found_pairs if is_pair(pair)}
            return (
                len(values) == len(found_pairs)
                and values.keys() == found_values.keys()
                and all(is_equal_data(found_values[key], value, tolerance) for key, value in values.items())
            )
    return type(found) is type(expected) and bool(found == expected)


def is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2


def is_equal_number(found: list[str], expected: list[str], tolerance: float | None) -> bool:
    if found == expected:
        return True
    if found[0] == expected[0] == "int" and tolerance is None:
        return False
    try:
        number, right = read_number(found), read_number(expected)
        if tolerance is not None:
            return abs(number - right) <= tolerance
        if isinstance(right, int):
            return math.isfinite(number) and abs(Fraction(number) - right) <= TOLERANCE
        return is_close(number, right)
    except (ValueError, OverflowError):
        return False


def read_number(encoded: list[str]) -> float:
    """Return the number, an int or a float, unless its text is too long."""
    kind, text = encoded
    if len(text) > MAX_NUMBER_CHARS:
        raise OverflowError
    return int(text, 16) if kind == "int" else float.fromhex(text)


def write_key(encoded: Any) -> str:
    """Return a text that is the same for equal encoded values: integers and floats of one value, and sets in any order."""
    return json.dumps(normalize_key(encoded))


def normalize_key(encoded: Any) -> Any:
    match encoded:
        case ["float", str() as text] if len(text) <= MAX_NUMBER_CHARS:
            try:
                number = float.fromhex(text)
            except (ValueError, OverflowError):
                return encoded
            return ["int", format(int(number), "x")] if number.is_integer() else ["float", number.hex()]
        case ["set" | "frozenset", list() as items]:
            return ["set", sorted(map(normalize_key, items), key=json.dumps)]
        case ["tuple", list() as items]:
            return ["tuple", [normalize_key(item) for item in items]]
    return encoded


def convert_to_json(found: Any) -> Any:
    """Return the encoded value as JSON would hold it: with lists for tuples, and texts for integer keys."""
    match found:
        case ["list" | "tuple", list() as items]:
            return ["list", [convert_to_json(item) for item in items]]
        case ["dict", list() as pairs] if all(map(is_pair, pairs)):
            return ["dict", [[convert_json_key(key), convert_to_json(value)] for key, value in pairs]]
    return found


def convert_json_key(key: Any) -> Any:
    if isinstance(key, list) and key[:1] == ["int"] and len(key) == 2 and isinstance(key[1], str):
        try:
            return str(read_number(key))
        except (ValueError, OverflowError):
            return key
    return key
