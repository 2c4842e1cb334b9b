"""Values with units: `5 km/h`, `\\$20`, `30^\\circ`, `5 feet 6 inches`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..matching import Kind, Same, Verdict
from ..reader import RELATION, UNIT, Reader
from ..tokens import BRACKETS, CLOSING_BRACKETS, IN_NUMERALS, NUMBERS, Token, Unreadable
from ..units import (
    COUNTERS,
    FEET_AND_INCHES,
    LETTER_UNITS,
    SHORT_SYMBOLS,
    SPELLINGS,
    UNIT_NAMES,
    UNIT_PREFIXES,
    Unit,
    find_unit,
    match_units,
)
from ..values import Number, Operation, Symbol, Value, find_names, find_symbols, is_expression, make_number, walk
from ..words import FOREIGN_PARTS, changes, find_scale, has_role, singularize


CURRENCIES = {*"$€£¥₹"}
UNIT_SIGNS = CURRENCIES | {"%", "¢", "'", "''"}
JOINING = {"\\cdot", ".", "*", "\\times", "-", "of", "and"}
POWERS_BEFORE = {"square": 2, "sq": 2, "平方": 2, "cubic": 3, "cu": 3, "立方": 3}
POWERS_AFTER = {"squared": 2, "cubed": 3}
MAX_PARTS = 4  # parts of a quantity, such as degrees, minutes and seconds; more would take long
PERCENT: Unit = (("%", 1),)
DEGREES: Unit = (("°", 1),)
AMBIGUOUS: set[Unit] = {(("kelvin", 1),), (("'", 1),), (("''", 1),)}  # may mean something else in an answer


@dataclass(frozen=True, slots=True)
class Quantity(Value):
    """A value with a unit, and the product that the text is if the letters of the unit are variables."""

    value: Value
    unit: Unit
    product: Value | None = None


@dataclass(frozen=True, slots=True)
class Parts(Value):
    """A quantity in several units, such as 5 feet 6 inches."""

    quantities: tuple[Value, ...]


# --- reading
class UnitReader:
    """Reads the tokens after a value as a unit, which consists of known units and of nouns that are counted."""

    def __init__(self, tokens: Sequence[Token], bare_letters: bool) -> None:
        self.tokens, self.bare_letters = tokens, bare_letters
        self.powers: dict[str, int] = {}
        self.place, self.sign, self.waiting, self.last = 0, 1, 1, ""
        self.signs_in_fraction: list[int] = []

    def read(self) -> Unit | None:
        while self.place < len(self.tokens):
            found = self.read_token(self.tokens[self.place])
            if found is None:
                return None
            for name, power in found:
                self.powers[name] = self.powers.get(name, 0) + power * self.waiting * self.sign
                self.last = name
            self.waiting = 1 if found else self.waiting
            self.place += 1
        if all(len(name) > 4 and name.endswith("ed") for name in self.powers):
            return None  # doubled, rejected
        if {"celsius", "fahrenheit"} & {*self.powers}:
            self.powers.pop("°", None)
        return tuple(sorted(self.powers.items()))

    def read_token(self, token: Token) -> Unit | None:
        """Return the units that a token names, none for a sign between units, or None if it belongs to no unit."""
        text = token.text
        after = self.tokens[self.place + 1].text if self.place + 1 < len(self.tokens) else ""
        if text == "^":
            return self.read_exponent()
        if text == "of" and self.powers and [one.kind for one in self.tokens[self.place + 1 :]] == ["letter"]:
            self.place += 1  # possible values of x
        elif text in ("/", "per"):
            self.sign = -1
        elif text == "\\frac":
            self.signs_in_fraction = [-1, 1]
        elif text in BRACKETS:
            self.sign = self.signs_in_fraction.pop() if self.signs_in_fraction else self.sign
        elif text in POWERS_BEFORE:
            self.waiting = POWERS_BEFORE[text]
        elif text in POWERS_AFTER and self.last in UNIT_NAMES:
            self.powers[self.last] *= POWERS_AFTER[text]
        elif "\\Omega" == after and text in UNIT_PREFIXES or text == "\\mu" and text + after in SPELLINGS:
            self.place += 1
            return find_unit(text + after)
        elif token.kind == "letter":
            return self.read_letter(token)
        elif text not in CLOSING_BRACKETS and text not in JOINING:
            return self.read_word(text) if token.kind == "word" or text in UNIT_SIGNS else None
        return ()

    def read_exponent(self) -> Unit | None:
        """Return the unit that the exponent of a number is, or multiply the power of the last unit."""
        self.place += 1
        texts = [one.text for one in self.tokens[self.place :]]
        inside = texts[1 : texts.index("}")] if texts[:1] == ["{"] and "}" in texts else texts[:1]
        self.place += len(inside) + 1 if texts[:1] == ["{"] else 0
        exponent = "".join(inside)
        if exponent in ("\\circ", "'", "''"):
            return DEGREES if exponent == "\\circ" else ((exponent, 1),)
        if not self.last or exponent.removeprefix("-") not in ("1", "2", "3"):
            return None
        self.powers[self.last] *= int(exponent)
        return ()

    def read_letter(self, token: Token) -> Unit | None:
        if token.text in ("C", "F") and self.powers.pop("°", 0):
            return (("celsius" if token.text == "C" else "fahrenheit", 1),)
        is_unit = token.upright or self.bare_letters or self.powers or token.text.startswith("\\")
        return find_unit(token.text) if is_unit else None

    def read_word(self, text: str) -> Unit | None:
        """Return a unit, or a noun without its plural. A word that changes the value is no noun."""
        word = text.lstrip("\\") if text == "\\min" else text
        if (unit := find_unit(word)) is not None:
            return unit
        noun = word.lstrip(COUNTERS) or "个" if word[0] > "\u2e7f" else singularize(word)
        if changes(word) or FOREIGN_PARTS.search(word) or find_scale(noun) or noun.endswith("illion"):
            return None
        return ((noun, 1),) if len(word) > 2 or not word.isascii() else None


def read_unit(tokens: Sequence[Token], bare_letters: bool = False) -> Unit | None:
    """Return the unit that tokens are, or None if they are none. With `bare_letters`, letters need not be upright."""
    return UnitReader(tokens, bare_letters).read() or None


def read_currency(reader: Reader) -> Value:
    """Return an amount after a currency such as `\\$` or `Rs.`, also with a sign between them."""
    unit = find_unit(reader.tokens[reader.place].text) or ()
    reader.place += 1
    while (token := reader.peek()) is not None and (token.text == "." or token.text in CURRENCIES):
        unit = find_unit(token.text) or unit
        reader.place += 1
    value = reader.read(UNIT)
    if not isinstance(value, Quantity):
        return Quantity(value, unit)
    return Quantity(value.value, tuple(sorted({**dict(value.unit), **dict(unit)}.items())))


def attach_unit(reader: Reader, value: Value) -> Value | None:
    """Return the value with the rest of its side, which must be a unit, an ordinal or another quantity."""
    start, end = reader.place, reader.find_end(RELATION)
    rest = reader.tokens[start:end]
    suffix = "".join(token.text for token in rest).lower().lstrip("^{").rstrip("}")
    if has_role(suffix, "ordinal") and isinstance(value, Number):
        reader.place = end
        return value
    angle = strip_degrees(value)
    before = [] if angle is None else [Token("sign", "^"), Token("command", "\\circ")]
    amount = value if angle is None else angle
    second = next((here for here in range(start, end) if starts_number(reader, here)), None)
    if second is not None:
        return attach_quantity(reader, amount, read_unit([*before, *reader.tokens[start:second]]), second)
    unit = read_unit([*before, *rest])
    if unit is None:
        raise Unreadable("words that are no unit")
    if isinstance(value, Operation) and value.name == "+" and not rest[0].upright and rest[0].text in SHORT_SYMBOLS:
        raise Unreadable("letters after a sum, which may be factors")
    counted = any(isinstance(node, Number) for node in walk(value)) or not isinstance(value, Symbol | Operation)
    if not counted and not any(name in UNIT_NAMES for name, _ in unit):
        raise Unreadable("words after a name")
    reader.place = end
    return Quantity(amount, unit)


def starts_number(reader: Reader, place: int) -> bool:
    return reader.tokens[place].kind == "number" and reader.tokens[place - 1].text not in ("^", "{", "-", "/")


def attach_quantity(reader: Reader, value: Value, first: Unit | None, second: int) -> Value:
    """Return a quantity in several units, such as 5 feet 6 inches, of which the first value and its unit are read."""
    too_many = sum(starts_number(reader, here) for here in range(second, reader.find_end(RELATION))) >= MAX_PARTS
    if too_many or first is None:
        raise Unreadable("a number after the value")
    reader.place = second
    other = reader.read(UNIT)
    if first == (("'", 1),):
        first, other = FEET_AND_INCHES["'"], read_inches(other)
    rest = other.quantities if isinstance(other, Parts) else (finish_quantity(other),)
    if not all(isinstance(one, Quantity) for one in rest):
        raise Unreadable("a number after the value")
    return Parts((Quantity(value, first), *rest))


def read_inches(value: Value) -> Value:
    if not isinstance(value, Quantity) or value.unit != (("''", 1),):
        return value
    return Quantity(value.value, FEET_AND_INCHES["''"])


def read_scale(reader: Reader, value: Value) -> Value | None:
    factor = find_scale(reader.tokens[reader.place].text)
    if factor is None or not isinstance(value, Number):
        return None
    reader.place += 1
    return make_number(value.value * factor)


def strip_degrees(value: Value) -> Value | None:
    if not isinstance(value, Operation):
        return None
    if value.name == "degree":
        return value.operands[0]
    inside = strip_degrees(value.operands[0]) if value.name == "-" and len(value.operands) == 1 else None
    return None if inside is None else Operation("-", (inside,))


def finish_quantity(value: Value) -> Value:
    angle = strip_degrees(value)
    return value if angle is None else Quantity(angle, DEGREES)


def find_letter_unit(reader: Reader, value: Value, start: int) -> Value:
    """Return a number and letters after a space, such as `5 m` or `10 N/m`, as a quantity that may also be a product."""
    end = reader.place
    if isinstance(value, Quantity) and isinstance(value.value, Number):
        return value
    place = next((here for here in range(start + 1, end) if reader.tokens[here].text in LETTER_UNITS), start)
    if place == start or not reader.tokens[place].spaced or not are_numeral_tokens(reader, start, place):
        return value
    rest = reader.tokens[place:end]
    unit = read_unit(rest, bare_letters=True)
    if unit is None:
        return value
    number = reader.attempt(lambda reader: reader.within(start, place, lambda reader: reader.read(UNIT)))
    reader.place = end
    return value if number is None else Quantity(number, unit, None if isinstance(value, Quantity) else value)


def are_numeral_tokens(reader: Reader, start: int, end: int) -> bool:
    """Whether tokens are a number, also in scientific notation or as a fraction, and not a sum."""
    tokens = reader.tokens[start:end]
    has_minus = any(one.text == "-" and before.text not in ("^", "{") for before, one in pairwise(tokens))
    return not has_minus and all(token.kind in NUMBERS or token.text in IN_NUMERALS for token in tokens)


# --- comparison
def match_quantities(gold: Value, answer: Value, same: Same) -> Verdict:
    for one, other in ((gold, answer), (answer, gold)):
        if isinstance(one, Quantity) and one.product is not None and has_variables(other):
            return same(one.product, other) if one is gold else same(other, one.product)
    value, unit = (gold.value, gold.unit) if isinstance(gold, Quantity) else (gold, ())
    given, its_unit = (answer.value, answer.unit) if isinstance(answer, Quantity) else (answer, ())
    may_be_product = isinstance(answer, Quantity) and answer.product is not None
    if not unit and (its_unit in AMBIGUOUS or (may_be_product and its_unit[0][0] not in "mgslh")):
        return False  # 5 N may be five times N
    is_strict = same.rules.units == "must_match"
    if PERCENT in (unit, its_unit) and () in (unit, its_unit):
        verdict = same(divide(value), given) if unit else same(value, divide(given))
        return verdict if is_strict or verdict else same(value, given)
    if DEGREES in (unit, its_unit) and () in (unit, its_unit):
        in_radians = [Operation("radians", (one,)) for one in (value, given) if is_expression(one)]
        if len(in_radians) == 2 and (same(in_radians[0], given) if unit else same(value, in_radians[1])):
            return True
        if {"\\pi"} & find_names(given if its_unit else value):
            return False  # a multiple of pi is in radians
    if is_strict and unit and unit != its_unit:
        return False
    if same.rules.units == "may_omit" and unit and its_unit and not match_units(unit, its_unit):
        return False
    return same(value, given)


def has_variables(value: Value) -> bool:
    value = value.product if isinstance(value, Quantity) and value.product is not None else value
    return is_expression(value) and bool(find_symbols(value))


def divide(value: Value) -> Value:
    return Operation("/", (value, make_number(100))) if is_expression(value) else value


def match_parts(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare quantities in several units part by part. Each needs its unit."""
    if not isinstance(gold, Parts) or not isinstance(answer, Parts):
        return False
    return same.with_units().in_order(gold.quantities, answer.quantities)


QUANTITIES = Kind(lambda value: isinstance(value, Quantity), match_quantities)
QUANTITIES_IN_PARTS = Kind(lambda value: isinstance(value, Parts), match_parts)
