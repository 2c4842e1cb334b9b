"""Times of day, such as `7:30 pm` and `19:30`, and dates."""

import re
from dataclasses import dataclass

from ..matching import Kind, Same, Verdict
from ..reader import Reader
from ..values import Number, Value
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
