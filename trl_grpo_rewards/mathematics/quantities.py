"""Reading of a value with what belongs to it: a currency, a unit, a scale, a half of the day or a second quantity."""

import re

from .commands import CommandReader
from .tokens import Token, Unreadable
from .units import Unit, is_known, read_unit
from .values import Collection, Number, Operation, Quantity, Ratio, Symbol, Time, Value, walk
from .words import NEGATIVE_WORDS, ORDINALS, find_scale


CURRENCIES = {"$", "€", "£", "¥", "₹"}
CURRENCY_WORDS = {"USD", "Rs", "US"}
CLOCK = re.compile(r"(?:[01]?\d|2[0-4]):[0-5]\d")
HALVES = {"am": "am", "a.m.": "am", "a.m": "am", "pm": "pm", "p.m.": "pm", "p.m": "pm"}
LETTER_UNITS = {*"mgshlL"}
"""Letters that are units after a number and a space. The value may also be the product."""

IN_LETTER_UNITS = LETTER_UNITS | {*"NJWV/^{}23-"}
IN_NUMERALS = {"\\times", "\\cdot", "^", "{", "}", "-", "+", "x"}
MAX_PARTS = 4
"""Largest number of parts of a quantity, such as degrees, minutes and seconds."""


class QuantityReader(CommandReader):
    """Reads values with units."""

    parts = 0
    """Number of quantities in other units that come before, as in 5 feet 6 inches."""

    def read_words(self, start: int, end: int) -> Value | None:
        raise NotImplementedError

    def read_quantity(self, start: int, end: int) -> Value:
        """Return a value with the unit before or after it."""
        start, prefix = self.read_currency(start, end)
        if start >= end:
            raise Unreadable("a unit only")
        first = self.tokens[start]
        if first.text.casefold() in NEGATIVE_WORDS and start + 1 < end and self.tokens[start + 1].kind == "number":
            self.tokens[start] = Token("sign", "-")
        elif first.kind == "word" and first.text not in ("and", "or"):
            if (text := self.read_words(start, end)) is not None:
                return text
        value, place = self.read_expression(start, end)
        while (
            place < end and isinstance(value, Number) and (factor := find_scale(self.tokens[place].text)) is not None
        ):
            value, place = Number(value.value * factor), place + 1
        return self.attach_unit(value, start, place, end, prefix)

    def read_currency(self, start: int, end: int) -> tuple[int, Unit]:
        """Return where the value after a currency such as `\\$`, `-\\$` or `Rs.` starts, and the currency as a unit."""
        place = start + (self.tokens[start].text == "-")
        currency = None
        while place < end and (text := self.tokens[place].text) in CURRENCIES | CURRENCY_WORDS | {"."}:
            if text == "." and currency is None:
                break
            currency = text if text in CURRENCIES else currency or text
            place += 1
        if currency is None:
            return start, ()
        if self.tokens[start].text == "-":
            place -= 1
            self.tokens[place] = Token("sign", "-")
        return place, read_unit([Token("word" if currency.isalpha() else "sign", currency)]) or ()

    def attach_unit(self, value: Value, start: int, place: int, end: int, unit: Unit) -> Value:
        """Return the value with what follows it, which must be a unit, a time of day or another quantity."""
        if isinstance(value, Operation) and value.name == ":":
            return self.read_ratio(value, start, place, end)
        if (angle := strip_degrees(value)) is not None:
            value, unit = angle, (*unit, ("°", 1))
        rest = self.tokens[place:end]
        if not rest:
            return Quantity(value, unit) if unit else self.find_letter_unit(value, start, end)
        texts = [token.text for token in rest]
        half = HALVES.get("".join(texts).lower())
        if half and isinstance(value, Number) and value.value in range(1, 13):
            return Time(int(value.value), 0, half)
        suffix = "".join(texts).lower().lstrip("^{").rstrip("}")
        if not suffix or (suffix in ORDINALS and isinstance(value, Number)):
            return value
        second = next((here for here in range(place, end) if self.starts_number(here)), None)
        if second is not None:
            return self.attach_quantity(value, unit or read_unit(self.tokens[place:second]), place, second, end, unit)
        found = read_unit(rest)
        if found is None:
            raise Unreadable("words that are no unit")
        counted = any(isinstance(node, Number) for node in walk(value)) or not isinstance(value, Symbol | Operation)
        if not counted and not any(is_known(name) for name, _ in found):
            raise Unreadable("words after a name")
        return Quantity(value, tuple(sorted({**dict(found), **dict(unit)}.items())))

    def starts_number(self, place: int) -> bool:
        """Whether a token after a value is a second number, and not the exponent of a unit."""
        return self.tokens[place].kind == "number" and self.tokens[place - 1].text not in ("^", "{", "-", "/")

    def attach_quantity(
        self, value: Value, first: Unit | None, place: int, second: int, end: int, unit: Unit
    ) -> Collection:
        """Return a quantity in several units, such as 5 feet 6 inches."""
        if first is None or (unit and place != second):
            raise Unreadable("a number after the value")
        self.parts += 1
        if self.parts == MAX_PARTS:
            raise Unreadable("too many units")
        other = self.read_quantity(second, end)
        if isinstance(other, Collection) and other.brackets == "+":
            return Collection("+", (Quantity(value, first), *other.items))
        if not isinstance(other, Quantity):
            raise Unreadable("a number after the value")
        return Collection("+", (Quantity(value, first), other))

    def find_letter_unit(self, value: Value, start: int, end: int) -> Value:
        """Return a product of a number and letters such as `5 m` as a quantity that may also be the product."""
        places = [here for here in range(start + 1, end) if self.tokens[here].text in LETTER_UNITS]
        if not places or not all(self.is_numeral(place) for place in range(start, places[0])):
            return value
        rest = self.tokens[places[0] : end]
        if not rest[0].spaced or not {token.text for token in rest} <= IN_LETTER_UNITS:
            return value
        try:
            number, place = self.read_expression(start, places[0])
        except Unreadable:
            return value
        unit = read_unit(rest, bare_letters=True)
        if unit is None or place < places[0]:
            return value
        return Quantity(number, unit, value if isinstance(number, Number) else None)

    def is_numeral(self, place: int) -> bool:
        """Whether a token may be part of a number in scientific notation."""
        token = self.tokens[place]
        return token.kind in ("number", "grouped") or token.text in IN_NUMERALS

    def read_ratio(self, value: Operation, start: int, place: int, end: int) -> Value:
        """Return a ratio, or a time of day if two digits of minutes follow the only colon."""
        rest = "".join(self.texts(place, end)).lower()
        text = "".join(self.texts(start, place))
        if CLOCK.fullmatch(text) and (not rest or rest in HALVES):
            hour, minute = map(int, text.split(":"))
            return Time(hour, minute, HALVES.get(rest, ""))
        if place < end and read_unit(self.tokens[place:end]) is None:
            raise Unreadable("words after a ratio")
        return Ratio(value.operands)


def strip_degrees(value: Value) -> Value | None:
    """Return the number of an angle in degrees, or None for other values."""
    if not isinstance(value, Operation):
        return None
    if value.name == "degree":
        return value.operands[0]
    inside = strip_degrees(value.operands[0]) if value.name == "-" else None
    return None if inside is None else Operation("-", (inside,))
