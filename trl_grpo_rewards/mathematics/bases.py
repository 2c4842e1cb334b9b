"""Numbers in other bases than 10: `2102_3`, `(2102)_3`, `2102 base 3`, `3F_{16}`."""

import re
from collections.abc import Sequence
from fractions import Fraction

from .operations import MINUS_ONE, make_number
from .rationals import evaluate_exactly
from .tokens import MAX_DIGITS, Token, Unreadable
from .values import Number, Operation, Value, walk


BASES = {
    **{"binary": 2, "octal": 8, "decimal": 10, "hexadecimal": 16, "hex": 16},
    **dict(zip("two three four five six seven eight nine ten eleven twelve".split(), range(2, 13), strict=True)),
    **{"sixteen": 16, "twenty": 20},
}
DIGITS = re.compile(r"\d[\da-zA-Z]*[a-zA-Z][\da-zA-Z]*|[A-Z]{2,}|[A-Z]+\d[\dA-Z]*")
"""Digits with letters among them: capitals, or small letters after a digit."""

LARGEST = 36
TEN = Number(Fraction(10))
IN_BASES = {"base", "digits"}
"""Digits with their base, and a number that is known together with the base it is written in."""


def find_base(texts: Sequence[str]) -> int | None:
    """Return the base that `3`, `three` or `base 3` names."""
    words = [text.casefold() for text in texts if text not in "{}()"]
    words = words[1:] if words[:1] == ["base"] else words
    if len(words) != 1:
        return None
    base = int(words[0]) if words[0].isdecimal() and len(words[0]) < 3 else BASES.get(words[0], 0)
    return base if 2 <= base <= LARGEST else None


def make_based(digits: Number, texts: Sequence[str], in_words: bool = False) -> Operation:
    """Return the number whose digits are given in a base. Raises [`Unreadable`] if there is no base."""
    base = find_base(texts)
    if base is None or digits.value.denominator != 1:
        raise Unreadable("no base")
    operation = Operation("base", (digits, make_number(str(base))))
    value = evaluate_exactly(operation) if in_words else None
    return operation if value is None else Operation("digits", (Number(value), *operation.operands))


def names_base(value: Value) -> bool:
    """Whether an expression contains digits with their base."""
    return any(isinstance(node, Operation) and node.name in IN_BASES for node in walk(value))


def gives_base(value: Value) -> bool:
    """Whether the base that an expression contains is another one than 10."""
    return any(
        isinstance(node, Operation) and node.name in IN_BASES and node.operands[-1] != TEN for node in walk(value)
    )


def repeats_digits(gold: Value, answer: Value) -> bool | None:
    """Return whether digits of the gold answer, which gives no base, are repeated with a base, and None if they are not."""
    if not isinstance(answer, Operation) or answer.name not in IN_BASES or answer.operands[-2] != gold:
        return None
    return answer.name == "base"  # `664_7` answers 664, but `8 base 9` changes what 8 means


def read_lettered(tokens: Sequence[Token]) -> Operation | None:
    """Return the number that digits with letters and a base are, such as `3F_{16}`, or None for other tokens."""
    texts = [token.text for token in tokens]
    if "_" not in texts[:-1] or any(one.spaced and not one.upright for one in tokens[1 : texts.index("_")]):
        return None
    place = texts.index("_")
    digits, after = "".join(texts[:place]).strip("()"), texts[place + 1 :]
    base = find_base(after) if len(after) == 1 or (after[0], after[-1]) == ("{", "}") else None
    if base is None or base <= 10 or not DIGITS.fullmatch(digits) or len(digits) > MAX_DIGITS:
        return None
    if any(letter.islower() for letter in digits) and base != 16:
        return None  # 2a_{12} is a multiple of a_{12}
    try:
        value = Number(Fraction(int(digits, base)))
        return Operation("digits", (value, MINUS_ONE, Number(Fraction(base))))  # its digits are no number
    except ValueError:
        return None
