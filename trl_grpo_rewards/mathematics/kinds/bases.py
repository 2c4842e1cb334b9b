"""Numbers in other bases than 10: `2102_3`, `(2102)_3`, `2102 base 3`, `3F_{16}`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..matching import Kind, Same, Verdict
from ..reader import Reader
from ..tokens import Unreadable
from ..values import Number, Value, make_number
from ..words import NUMBERS


BASES = {**{"binary": 2, "octal": 8, "decimal": 10, "hexadecimal": 16, "hex": 16}, **NUMBERS}
DIGITS = re.compile(r"\d+|\d[\da-zA-Z]*[a-zA-Z][\da-zA-Z]*|[A-Z]{2,}|[A-Z]+\d[\dA-Z]*")
"""Digits, also with letters among them: capitals, or small letters after a digit."""

LARGEST = 36


@dataclass(frozen=True, slots=True)
class Based(Value):
    """Digits with their base, which is not 10, and whether words name the base."""

    digits: str
    base: int
    in_words: bool = field(default=False, compare=False)

    @property
    def number(self) -> Number:
        return make_number(int(self.digits, self.base))


def find_base(texts: Sequence[str]) -> int | None:
    """Return the base that `3`, `three` or `base 3` names."""
    words = [text.casefold() for text in texts if text not in "{}()"]
    word = " ".join(words[1:] if words[:1] == ["base"] else words)
    base = int(word) if word.isdecimal() and len(word) < 3 else BASES.get(word, 0)
    return base if 2 <= base <= LARGEST else None


def make_based(digits: str, texts: Sequence[str], in_words: bool = False) -> Value:
    """Return digits with the base that texts name. Raises [`Unreadable`] if they name none, or if a digit is too large."""
    base = find_base(texts)
    if base is None or not DIGITS.fullmatch(digits) or any(int(digit, 36) >= base for digit in digits):
        raise Unreadable("no base")
    digits = digits.upper().lstrip("0") or "0"
    return make_number(int(digits)) if base == 10 and not in_words else Based(digits, base, in_words)


def read_digits_with_letters(reader: Reader) -> Value | None:
    """Return digits with letters among them and their base, such as `3F_{16}`."""
    tokens = reader.tokens[reader.place : reader.end]
    texts = [token.text for token in tokens]
    place = texts.index("_") if "_" in texts[:-1] else 0
    pairs = zip(tokens[:place], tokens[1:place], strict=False)
    if not place or any(one.spaced and not (one.upright or before.upright) for before, one in pairs):
        return None
    digits, after = "".join(texts[:place]).strip("()"), texts[place + 1 :]
    base = find_base(after) if len(after) == 1 or (after[0], after[-1]) == ("{", "}") else None
    if base is None or base <= 10 or not DIGITS.fullmatch(digits):
        return None
    if any(letter.islower() for letter in digits) and base != 16:
        return None  # 2a_{12} is a multiple of a_{12}
    reader.place = reader.end
    return make_based(digits, after)


def read_base(reader: Reader, value: Value) -> Value | None:
    """Return a number in the base that follows: `2102_3`, `(2102)_3`, `2102 base 3` or `2102 (base 3)`."""
    place, token = reader.place, reader.tokens[reader.place]
    before = reader.tokens[place - 1]
    if not isinstance(value, Number) or value.value.denominator != 1:
        return None
    digits = str(value.value) if before.text == ")" else before.text
    if token.text == "(":
        reader.place = reader.match[place] + 1
        return make_based(digits, reader.texts(place + 1, reader.place - 1), in_words=True)
    reader.place += 1
    return make_based(digits, reader.spelling(), in_words=token.text == "base")


def names_base(reader: Reader, place: int) -> bool:
    return reader.tokens[place].text != "(" or reader.texts(place + 1, place + 2) == ["base"]


def match_based(gold: Value, answer: Value, same: Same) -> Verdict:
    """
    Compare digits with their base. A gold answer with a base wants the same base.

    Digits with a base repeat the digits of a gold answer that names none: `664_7` answers 664, since the question says
    which base is meant. They do not answer the number that they are: that would be the question itself.
    """
    if isinstance(answer, Based) and not isinstance(gold, Based):
        return answer.digits.isdecimal() and not answer.in_words and gold == make_number(int(answer.digits))
    return False


BASED = Kind(lambda value: isinstance(value, Based), match_based, lambda value, is_part_open: True)
