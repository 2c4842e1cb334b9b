"""Numbers in notations of their own: in other bases, and as ratios, scores, ranges, dates and times of day."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from ..equivalence import are_equal_expressions
from ..matching import Kind, Same, Verdict, conjoin
from ..reader import LEADING, RATIO, TRAILING, Reader, parse_digits, parse_number, write_digits
from ..tokens import Token, Unreadable
from ..values import Number, Operation, Value, is_expression, is_operation, make_number
from ..words import NUMBERS
from .texts import Text


# --- numbers in bases
NAMED_BASES = {"binary": 2, "octal": 8, "decimal": 10, "hexadecimal": 16, "hex": 16, **NUMBERS}
# Digits, also with letters among them: capitals, or small letters after a digit.
DIGITS = re.compile(r"\d+|\d[\da-zA-Z]*[a-zA-Z][\da-zA-Z]*|[A-Z]{2,}|[A-Z]+\d[\dA-Z]*")
LARGEST = 36


@dataclass(frozen=True, slots=True)
class Based(Value):
    """Digits with their base, which is not 10, and whether words name the base."""

    digits: str
    base: int
    in_words: bool = field(default=False, compare=False)

    @property
    def number(self) -> Number:
        return make_number(parse_digits(self.digits, self.base))


def parse_base(texts: Sequence[str]) -> int | None:
    words = [text.casefold() for text in texts if text not in "{}()"]
    word = " ".join(words[1:] if words[:1] == ["base"] else words)
    if word.isdecimal() and len(word) < 3:
        base = int(word)
    else:
        base = NAMED_BASES.get(word, 0)
    return base if 2 <= base <= LARGEST else None


def make_based(digits: str, texts: Sequence[str], in_words: bool = False) -> Value:
    """Return digits with the base that texts name. Raises [`Unreadable`] if they name none, or if a digit is too large."""
    base = parse_base(texts)
    if base is None or not DIGITS.fullmatch(digits):
        raise Unreadable("no base")
    if any(int(digit, 36) >= base for digit in digits):
        raise Unreadable("no base")
    digits = digits.upper().lstrip("0") or "0"
    number = make_number(parse_digits(digits, base))
    if base == 10 and not in_words:
        return number
    return Based(digits, base, in_words)


def read_digits_with_letters(reader: Reader) -> Value | None:
    """Return digits with letters among them and their base, such as `3F_{16}`."""
    tokens = reader.tokens[reader.place : reader.end]
    texts = [token.text for token in tokens]
    if "_" not in texts[1:-1]:
        return None
    place = texts.index("_")
    if any(is_apart(*pair) for pair in pairwise(tokens[:place])):
        return None
    digits = "".join(texts[:place]).strip("()")
    after = texts[place + 1 :]
    base = None
    if len(after) == 1 or after[0] + after[-1] == "{}":
        base = parse_base(after)
    if base is None or not may_have_letters(digits, base):
        return None
    reader.place = reader.end
    return make_based(digits, after)


def may_have_letters(digits: str, base: int) -> bool:
    """Whether digits and letters are a number in a base. Small letters are digits in base 16 only: `2a_{12}` is a product."""
    if base <= 10 or not DIGITS.fullmatch(digits):
        return False
    return base == 16 or digits == digits.upper()


def is_apart(before: Token, token: Token) -> bool:
    """Whether a space is before a token that is not in a text, so that the two are not one number."""
    if not token.spaced:
        return False
    return not (token.upright or before.upright)


def read_base(reader: Reader, value: Value) -> Value | None:
    """Return a number in the base that follows: `2102_3`, `(2102)_3`, `2102 base 3` or `2102 (base 3)`."""
    if not isinstance(value, Number) or value.value.denominator != 1:
        return None
    place = reader.place
    digits = reader.tokens[place - 1].text
    if digits == ")":
        digits = write_digits(value.value)
    sign = reader.tokens[place].text
    if sign == "(":
        reader.place = reader.match[place] + 1
        return make_based(digits, reader.texts(place + 1, reader.place - 1), in_words=True)
    reader.place += 1
    return make_based(digits, reader.spelling(), in_words=sign == "base")


def match_based(gold: Value, answer: Value, same: Same) -> Verdict:
    if not isinstance(answer, Based) or isinstance(gold, Based) or answer.in_words:
        return False  # the number that the digits are would be the question itself
    return answer.digits.isdecimal() and gold == make_number(parse_digits(answer.digits))


BASED = Kind(lambda value: isinstance(value, Based), match_based, lambda value, is_part_open: True)


# --- times of day and dates
CLOCK = re.compile(r"(?:[01]?\d|2[0-4]):[0-5]\d")
HALVES = {"am": "am", "a.m": "am", "pm": "pm", "p.m": "pm"}
MONTHS = "january february march april may june july august september october november december".split()
MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in [*MONTHS, "sept"])
DAY = r"(\d\d?)(?: st| nd| rd| th)?"
DATE = re.compile(rf"(?i)(?:({MONTH})(?: \.)? {DAY}|(?:the )?{DAY}(?: of)? ({MONTH}))(?:(?: ,)? (\d{{4}}))?")


@dataclass(frozen=True, slots=True)
class Time(Value):
    """A time of day, with the half of the day only if its hour is not one of 24: 7 pm is 19:00."""

    hour: int
    minute: int
    half: str = ""


def make_time(hour: int, minute: int, half: str) -> Time:
    if half == "pm" and hour % 12 > 0:
        return Time(hour % 12 + 12, minute)
    return Time(hour, minute, half)


def read_time(reader: Reader, value: Value) -> Value | None:
    half = HALVES.get("".join(reader.texts(reader.place, reader.end)).lower())
    if half is None or not isinstance(value, Number) or value.value not in range(1, 13):
        return None
    reader.place = reader.end
    return make_time(int(value.value), 0, half)


def read_clock(reader: Reader) -> Value | None:
    """Return a time whose hour has just been read, if two digits of minutes follow the only colon."""
    clock = "".join(reader.texts(reader.place - 1, reader.place + 2))
    rest = "".join(reader.texts(reader.place + 2, reader.end)).lower()
    if not reader.is_literal() or not CLOCK.fullmatch(clock) or (rest and rest not in HALVES):
        return None
    hour, minute = map(int, clock.split(":"))
    if rest and hour not in range(1, 13):
        return None
    reader.place = reader.end
    return make_time(hour, minute, HALVES.get(rest, ""))


def read_date(reader: Reader) -> Value | None:
    """Return a date such as `June 9, 2031` or `9th of June` as words in one order."""
    date = DATE.fullmatch(" ".join(reader.ahead(9)).rstrip())
    if date is None:
        return None
    reader.place = reader.end
    month = date[1] or date[4]
    day = date[2] or date[3]
    return Text((month[:3].casefold(), day, date[5] or ""))


# --- ratios, scores and ranges
@dataclass(frozen=True, slots=True)
class Ratio(Value):
    """A ratio such as `1:2:3`."""

    terms: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Dashed(Value):
    """Numbers joined by hyphens without space or by `to`: a date, a score or a range, or else a difference or a ratio."""

    numbers: tuple[Fraction, ...]
    word: str = ""


def are_decimal(tokens: Sequence[Token]) -> bool:
    return all(token.text.isdecimal() for token in tokens)


def read_dashes(reader: Reader) -> Value | None:
    """Return numbers that are joined by hyphens without space, such as `2020-01-02`, or by `to`."""
    if is_operand(reader):
        return None
    tokens = reader.tokens[reader.place : reader.end]
    numbers = tokens[::2]
    joined = {token.text for token in tokens[1::2]}
    if len(tokens) < 3 or len(tokens) % 2 == 0:
        return None
    if not are_decimal(numbers):
        return None
    if joined != {"to"} and (joined != {"-"} or is_difference(tokens)):
        return None
    reader.place = reader.end
    values = [parse_number(number.text).value for number in numbers]
    return Dashed(tuple(values), "to" if joined == {"to"} else "")


def is_operand(reader: Reader) -> bool:
    """Whether more than delimiters is around what is read."""
    around = reader.tokens[: reader.place] + reader.tokens[reader.end :]
    return any(token.text not in LEADING | TRAILING | {"{", "}"} for token in around)


def is_difference(tokens: list[Token]) -> bool:
    """Whether spaces are around hyphens that are not in a text."""
    if not any(token.spaced for token in tokens[1:]):
        return False
    return not all(sign.upright for sign in tokens[1::2])


def read_ratio(reader: Reader, value: Value) -> Value:
    """Return a ratio, or a time of day if two digits of minutes follow the only colon."""
    if (time := read_clock(reader)) is not None:
        return time
    terms = [value]
    while reader.ahead(1) == [":"]:
        reader.place += 1
        terms.append(reader.read(RATIO + 1))
    return Ratio(tuple(terms))


def match_dashed(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare numbers joined by hyphens or `to`: a range or a date, in an answer also a difference or a ratio."""
    if isinstance(gold, Dashed) and isinstance(answer, Dashed):
        return gold.numbers == answer.numbers
    if isinstance(gold, Dashed):
        first, *rest = gold.numbers
        terms = [Number(first), *(Number(-number) for number in rest)]  # 5 - 6 with spaces
        return is_operation(answer, "+") and Counter(answer.operands) == Counter(terms)
    assert isinstance(answer, Dashed)
    if answer.word:
        return isinstance(gold, Ratio) and same(gold, Ratio(tuple(map(Number, answer.numbers))))
    return same(gold, make_number(2 * answer.numbers[0] - sum(answer.numbers)))


def match_ratios(gold: Value, answer: Value, same: Same) -> bool | None:
    """Compare ratios term by term, up to a common factor. A ratio of two terms also equals their quotient."""
    if not isinstance(gold, Ratio):
        return match_quotient(answer, gold, same)
    if not isinstance(answer, Ratio):
        return match_quotient(gold, answer, same)
    terms = gold.terms
    its_terms = answer.terms
    if len(terms) != len(its_terms) or not all(map(is_expression, (*terms, *its_terms))):
        return False
    products = [Operation("*", (term, its_terms[0])) for term in terms[1:]]
    its_products = [Operation("*", (term, terms[0])) for term in its_terms[1:]]
    return conjoin([*map(are_equal_expressions, products, its_products)])


def match_quotient(ratio: Value, other: Value, same: Same) -> bool | None:
    assert isinstance(ratio, Ratio)
    if len(ratio.terms) != 2 or not all(map(is_expression, (other, *ratio.terms))):
        return False
    return same(other, Operation("/", ratio.terms))


RATIOS = Kind(lambda value: isinstance(value, Ratio), match_ratios)
DASHES = Kind(lambda value: isinstance(value, Dashed), match_dashed, lambda value, is_part_open: True)
