"""Numbers that are joined by colons or hyphens: ratios, scores, ranges, dates, and times of day such as `7:30 pm`."""

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from ..equivalence import are_equal_expressions
from ..matching import Kind, Same, Verdict, conjoin
from ..reader import LEADING, RATIO, TRAILING, Reader
from ..values import Number, Operation, Value, is_expression, make_number
from .texts import Text


CLOCK = re.compile(r"(?:[01]?\d|2[0-4]):[0-5]\d")
HALVES = {"am": "am", "a.m": "am", "pm": "pm", "p.m": "pm"}


MONTHS = "january february march april may june july august september october november december".split()
MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in [*MONTHS, "sept"])
DAY = r"(\d\d?)(?: st| nd| rd| th)?"
DATE = re.compile(rf"(?i)(?:({MONTH})(?: \.)? {DAY}|(?:the )?{DAY}(?: of)? ({MONTH}))(?:(?: ,)? (\d{{4}}))?")


@dataclass(frozen=True, slots=True)
class Time(Value):
    """A time of day, with an empty string for the half of the day if the text names none."""

    hour: int
    minute: int
    half: str


def read_time(reader: Reader, value: Value) -> Value | None:
    """Return an hour such as `7 pm`."""
    half = HALVES.get("".join(reader.texts(reader.place, reader.end)).lower())
    if half is None or not isinstance(value, Number) or value.value not in range(1, 13):
        return None
    reader.place = reader.end
    return Time(int(value.value), 0, half)


def read_clock(reader: Reader) -> Value | None:
    """Return a time whose hour has just been read, if two digits of minutes follow the only colon."""
    clock = "".join(reader.texts(reader.place - 1, reader.place + 2))
    rest = "".join(reader.texts(reader.place + 2, reader.end)).lower()
    if not reader.is_literal() or not CLOCK.fullmatch(clock) or (rest and rest not in HALVES):
        return None
    reader.place = reader.end
    hour, minute = map(int, clock.split(":"))
    return Time(hour, minute, HALVES.get(rest, ""))


def read_date(reader: Reader) -> Value | None:
    """Return a date such as `June 9, 2031` or `9th of June` as words in one order."""
    date = DATE.fullmatch(" ".join(reader.ahead(9)).rstrip())
    if date is None:
        return None
    reader.place = reader.end
    return Text(((date[1] or date[4])[:3].casefold(), date[2] or date[3], date[5] or ""))


def match_times(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare times of day. Without a half of the day, an hour is one of 24."""
    if not isinstance(gold, Time) or not isinstance(answer, Time) or "" not in (gold.half, answer.half):
        return False
    hours = [time.hour % 12 + 12 * (time.half == "pm") if time.half else time.hour for time in (gold, answer)]
    return hours[0] == hours[1] > 12 and gold.minute == answer.minute


TIMES = Kind(lambda value: isinstance(value, Time), match_times)


@dataclass(frozen=True, slots=True)
class Ratio(Value):
    """A ratio such as `1:2:3`."""

    terms: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Dashed(Value):
    """Numbers joined by hyphens without space or by `to`: a date, a score or a range, or else a difference or a ratio."""

    numbers: tuple[Fraction, ...]
    word: str = ""


# --- reading


def read_dashes(reader: Reader) -> Value | None:
    """Return numbers that are joined by hyphens without space, such as `2020-01-02`, or by `to`."""
    tokens, around = (
        reader.tokens[reader.place : reader.end],
        reader.tokens[: reader.place] + reader.tokens[reader.end :],
    )
    if any(token.text not in LEADING | TRAILING | {"{", "}"} for token in around):
        return None  # it is an operand
    numbers, signs = tokens[::2], tokens[1::2]
    if not signs or len(numbers) != len(signs) + 1 or not all(token.text.isdecimal() for token in numbers):
        return None
    joined = {token.text for token in signs}
    is_apart = any(token.spaced for token in tokens[1:])
    in_text = all(token.upright for token in signs)
    if joined != {"to"} and (joined != {"-"} or (is_apart and not in_text)):
        return None
    reader.place = reader.end
    return Dashed(tuple(Fraction(token.text) for token in numbers), "to" if joined == {"to"} else "")


def read_ratio(reader: Reader, value: Value) -> Value:
    """Return a ratio, or a time of day if two digits of minutes follow the only colon."""
    if (time := read_clock(reader)) is not None:
        return time
    terms = [value]
    while reader.ahead(1) == [":"]:
        reader.place += 1
        terms.append(reader.read(RATIO + 1))
    return Ratio(tuple(terms))


# --- comparison


def match_dashed(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare numbers joined by hyphens or `to`: a range or a date, in an answer also a difference or a ratio."""
    if isinstance(gold, Dashed) and isinstance(answer, Dashed):
        return gold.numbers == answer.numbers
    if isinstance(gold, Dashed):
        first, *rest = gold.numbers
        terms = [Number(first), *(Number(-number) for number in rest)]  # 5 - 6 with spaces
        return isinstance(answer, Operation) and answer.name == "+" and Counter(answer.operands) == Counter(terms)
    assert isinstance(answer, Dashed)
    if answer.word:
        return isinstance(gold, Ratio) and same(gold, Ratio(tuple(map(Number, answer.numbers))))
    return same(gold, make_number(2 * answer.numbers[0] - sum(answer.numbers)))


def match_ratios(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare ratios term by term, up to a common factor. A ratio of two terms also equals their quotient."""
    if not isinstance(gold, Ratio) or not isinstance(answer, Ratio):
        ratio, other = (gold, answer) if isinstance(gold, Ratio) else (answer, gold)
        assert isinstance(ratio, Ratio)
        is_quotient = len(ratio.terms) == 2 and all(map(is_expression, (other, *ratio.terms)))
        return is_quotient and same(other, Operation("/", ratio.terms))
    terms, its_terms = gold.terms, answer.terms
    if len(terms) != len(its_terms) or not all(map(is_expression, (*terms, *its_terms))):
        return False
    return conjoin(
        [
            are_equal_expressions(Operation("*", (one, its_terms[0])), Operation("*", (other, terms[0])))
            for one, other in zip(terms[1:], its_terms[1:], strict=True)
        ]
    )


RATIOS = Kind(lambda value: isinstance(value, Ratio), match_ratios)


DASHES = Kind(lambda value: isinstance(value, Dashed), match_dashed, lambda value, is_part_open: True)
