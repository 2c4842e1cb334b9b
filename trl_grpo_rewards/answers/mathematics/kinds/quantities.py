"""Values with units: `5 km/h`, `\\$20`, `30^\\circ`, `5 feet 6 inches`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..matching import AnswerRules, Kind, Same, Verdict
from ..reader import RELATION, UNIT, Reader
from ..tokens import BRACKETS, CLOSING_BRACKETS, IN_NUMERALS, NUMBERS, Token, Unreadable
from ..units import (
    COUNTERS,
    FEET_AND_INCHES,
    LETTER_UNITS,
    SHORT_SYMBOLS,
    UNIT_NAMES,
    UNIT_OF,
    UNIT_PREFIXES,
    Unit,
    find_unit,
    match_units,
)
from ..values import (
    Number,
    Operation,
    Symbol,
    Value,
    find_names,
    find_symbols,
    is_expression,
    is_operation,
    make_number,
    walk,
)
from ..words import FOREIGN_PARTS, changes, find_scale, has_role, singularize


CURRENCIES = {*"$€£¥₹"}
UNIT_SIGNS = CURRENCIES | {"%", "¢", "'", "''"}
JOINING = {*r"\cdot . * \times - of and".split()}
POWERS_BEFORE = {"square": 2, "sq": 2, "平方": 2, "cubic": 3, "cu": 3, "立方": 3}
POWERS_AFTER = {"squared": 2, "cubed": 3}
MAX_AMOUNTS = 4  # in one quantity, such as degrees, minutes and seconds; more would take long
TEMPERATURES = {"C": "celsius", "F": "fahrenheit"}  # letters after a degree sign
PERCENT: Unit = (("%", 1),)
DEGREES: Unit = (("°", 1),)
DEGREE_TOKENS = (Token("sign", "^"), Token("command", "\\circ"))
AMBIGUOUS: set[Unit] = {((name, 1),) for name in ("kelvin", "'", "''")}  # may mean something else in an answer


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
        self.tokens = tokens
        self.bare_letters = bare_letters
        self.powers: dict[str, int] = {}
        self.place = 0
        self.last = ""
        self.sign = 1  # of the powers: -1 after `per`
        self.next_power = 1  # 2 after `square`
        self.signs_in_fraction: list[int] = []

    def read(self) -> Unit | None:
        while self.place < len(self.tokens):
            unit = self.read_token(self.tokens[self.place])
            if unit is None:
                return None
            if unit:
                self.add(unit)
            self.place += 1
        if all(len(name) > 4 and name.endswith("ed") for name in self.powers):
            return None  # doubled, rejected
        if not self.powers.keys().isdisjoint(TEMPERATURES.values()):
            self.powers.pop("°", None)
        return tuple(sorted(self.powers.items()))

    def add(self, unit: Unit) -> None:
        for name, power in unit:
            self.powers[name] = self.powers.get(name, 0) + power * self.next_power * self.sign
            self.last = name
        self.next_power = 1

    def read_token(self, token: Token) -> Unit | None:
        """Return the units that a token names, none for a sign between units, or None if it belongs to no unit."""
        text = token.text
        if text == "^":
            return self.read_exponent()
        if self.ends_in_variable(text):
            self.place += 1
            return ()
        if self.read_sign(text):
            return ()
        if self.starts_prefixed(text):
            self.place += 1
            return find_unit(text + self.tokens[self.place].text)
        if token.kind == "letter":
            return self.read_letter(token)
        if text in CLOSING_BRACKETS or text in JOINING:
            return ()
        if token.kind == "word" or text in UNIT_SIGNS:
            return self.read_word(text)
        return None

    def ends_in_variable(self, text: str) -> bool:
        """Whether only the name of what is counted follows, as in `possible values of x`."""
        if text != "of" or not self.powers:
            return False
        return [token.kind for token in self.tokens[self.place + 1 :]] == ["letter"]

    def read_sign(self, text: str) -> bool:
        """Return whether a token changes the powers of units: `per`, `squared`, or a fraction."""
        if text in ("/", "per"):
            self.sign = -1
        elif text == "\\frac":
            self.signs_in_fraction = [-1, 1]
        elif text in BRACKETS:
            if self.signs_in_fraction:
                self.sign = self.signs_in_fraction.pop()
        elif text in POWERS_BEFORE:
            self.next_power = POWERS_BEFORE[text]
        elif text in POWERS_AFTER and self.last in UNIT_NAMES:
            self.powers[self.last] *= POWERS_AFTER[text]
        else:
            return False
        return True

    def starts_prefixed(self, text: str) -> bool:
        r"""Whether a letter and the next token are one unit, such as `k\Omega` and `\mu m`."""
        if text not in UNIT_PREFIXES or self.place + 1 == len(self.tokens):
            return False
        after = self.tokens[self.place + 1].text
        return after == "\\Omega" or (text == "\\mu" and text + after in UNIT_OF)

    def read_exponent(self) -> Unit | None:
        """Return the unit that the exponent of a number is, or multiply the power of the last unit."""
        self.place += 1
        exponent = self.read_group()
        if exponent == "\\circ":
            return DEGREES
        if exponent in FEET_AND_INCHES:
            return ((exponent, 1),)
        if not self.last or exponent.removeprefix("-") not in ("1", "2", "3"):
            return None
        self.powers[self.last] *= int(exponent)
        return ()

    def read_group(self) -> str:
        """Return the token that starts here, or the content of braces, at whose end the place is then."""
        texts = [token.text for token in self.tokens[self.place :]]
        if texts[:1] != ["{"] or "}" not in texts:
            return "".join(texts[:1])
        end = texts.index("}")
        self.place += end
        return "".join(texts[1:end])

    def read_letter(self, token: Token) -> Unit | None:
        if token.text in TEMPERATURES and self.powers.pop("°", 0):
            return ((TEMPERATURES[token.text], 1),)
        if token.upright or self.bare_letters or self.powers or token.text.startswith("\\"):
            return find_unit(token.text)
        return None

    def read_word(self, text: str) -> Unit | None:
        """Return a unit, or a noun without its plural. A word that changes the value is no noun."""
        word = "min" if text == "\\min" else text
        unit = find_unit(word)
        if unit is not None:
            return unit
        if len(word) <= 2 and word.isascii():
            return None
        if changes(word) or FOREIGN_PARTS.search(word):
            return None
        noun = singularize(word) if word[0] <= "\u2e7f" else word.lstrip(COUNTERS) or "个"
        if find_scale(noun) or noun.endswith("illion"):
            return None
        return ((noun, 1),)


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
    return Quantity(value.value, tuple(sorted(dict(value.unit + unit).items())))


def attach_unit(reader: Reader, value: Value) -> Value | None:
    """Return the value with the rest of its side, which must be a unit, an ordinal or another quantity."""
    start = reader.place
    end = reader.find_end(RELATION)
    rest = reader.tokens[start:end]
    if isinstance(value, Number) and is_ordinal(rest):
        reader.place = end
        return value
    angle = strip_degrees(value)
    amount = angle or value
    degrees = DEGREE_TOKENS if angle else ()
    numbers = [here for here in range(start, end) if starts_number(reader, here)]
    if numbers:
        unit = read_unit([*degrees, *reader.tokens[start : numbers[0]]])
        return attach_quantity(reader, amount, unit, numbers)
    unit = read_unit([*degrees, *rest])
    if unit is None:
        raise Unreadable("words that are no unit")
    check_unit(value, unit, rest)
    reader.place = end
    return Quantity(amount, unit)


def check_unit(value: Value, unit: Unit, tokens: Sequence[Token]) -> None:
    """Raise if the tokens after a value may be something other than its unit."""
    if is_operation(value, "+") and not tokens[0].upright and tokens[0].text in SHORT_SYMBOLS:
        raise Unreadable("letters after a sum, which may be factors")
    if is_bare_name(value) and not any(name in UNIT_NAMES for name, _ in unit):
        raise Unreadable("words after a name")


def is_ordinal(tokens: Sequence[Token]) -> bool:
    suffix = "".join(token.text for token in tokens).lower()
    return has_role(suffix.lstrip("^{").rstrip("}"), "ordinal")


def is_bare_name(value: Value) -> bool:
    """Whether an expression has no number, so that a noun after it is not what it counts."""
    if not isinstance(value, Symbol | Operation):
        return False
    return not any(isinstance(node, Number) for node in walk(value))


def starts_number(reader: Reader, place: int) -> bool:
    if reader.tokens[place].kind != "number":
        return False
    return reader.tokens[place - 1].text not in ("^", "{", "-", "/")


def attach_quantity(reader: Reader, value: Value, unit: Unit | None, places: list[int]) -> Value:
    """Return a quantity in several units, such as 5 feet 6 inches: a value with its unit, and numbers at these places."""
    if unit is None or len(places) >= MAX_AMOUNTS:
        raise Unreadable("a number after the value")
    reader.place = places[0]
    rest = reader.read(UNIT)
    if unit == (("'", 1),):
        unit = FEET_AND_INCHES["'"]
        rest = read_inches(rest)
    quantities = rest.quantities if isinstance(rest, Parts) else (finish_quantity(rest),)
    if not all(isinstance(quantity, Quantity) for quantity in quantities):
        raise Unreadable("a number after the value")
    return Parts((Quantity(value, unit), *quantities))


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
    """Return the number of degrees that an angle is, also a negative one, or None for other values."""
    if not isinstance(value, Operation):
        return None
    if value.name == "degree":
        return value.operands[0]
    if value.name != "-" or len(value.operands) > 1:
        return None
    inside = strip_degrees(value.operands[0])
    return inside and Operation("-", (inside,))


def finish_quantity(value: Value) -> Value:
    angle = strip_degrees(value)
    return value if angle is None else Quantity(angle, DEGREES)


def find_unit_after_numeral(reader: Reader, start: int) -> int | None:
    """Return the place of the letters of a unit, if only a numeral and a space are before them."""
    places = range(start + 1, reader.place)
    place = next((here for here in places if reader.tokens[here].text in LETTER_UNITS), None)
    if place is None or not reader.tokens[place].spaced:
        return None
    return place if are_numeral_tokens(reader, start, place) else None


def find_letter_unit(reader: Reader, value: Value, start: int) -> Value:
    """Return a number and letters after a space, such as `5 m` or `10 N/m`, as a quantity that may also be a product."""
    if isinstance(value, Quantity) and isinstance(value.value, Number):
        return value
    end = reader.place
    place = find_unit_after_numeral(reader, start)
    if place is None:
        return value
    unit = read_unit(reader.tokens[place:end], bare_letters=True)
    if unit is None:
        return value
    number = reader.attempt(lambda reader: reader.within(start, place, lambda reader: reader.read(UNIT)))
    reader.place = end
    if number is None:
        return value
    return Quantity(number, unit, None if isinstance(value, Quantity) else value)


def are_numeral_tokens(reader: Reader, start: int, end: int) -> bool:
    """Whether tokens are a number, also in scientific notation or as a fraction, and not a sum."""
    tokens = reader.tokens[start:end]
    has_minus = any(one.text == "-" and before.text not in ("^", "{") for before, one in pairwise(tokens))
    if has_minus:
        return False
    return all(token.kind in NUMBERS or token.text in IN_NUMERALS for token in tokens)


# --- comparison
def match_quantities(gold: Value, answer: Value, same: Same) -> Verdict:
    product = as_product(gold, answer)
    if product is not gold:
        return same(product, answer)
    its_product = as_product(answer, gold)
    if its_product is not answer:
        return same(gold, its_product)
    value, unit = split_unit(gold)
    its_value, its_unit = split_unit(answer)
    if not unit or not its_unit:
        return match_without_unit(gold, answer, same)
    return have_same_unit(unit, its_unit, same.rules) and same(value, its_value)


def as_product(value: Value, other: Value) -> Value:
    """Return the product that a quantity is next to a value with variables, or the value itself."""
    if isinstance(value, Quantity) and value.product is not None and has_variables(other):
        return value.product
    return value


def split_unit(value: Value) -> tuple[Value, Unit]:
    if isinstance(value, Quantity):
        return (value.value, value.unit)
    return (value, ())


def have_same_unit(unit: Unit, its_unit: Unit, rules: AnswerRules) -> bool:
    if rules.units == "must_match":
        return unit == its_unit
    return rules.units == "ignore" or match_units(unit, its_unit)


def match_without_unit(gold: Value, answer: Value, same: Same) -> bool | None:
    """Compare a quantity with a value without a unit, which may be a percentage as a fraction or an angle in radians."""
    value, unit = split_unit(gold)
    its_value, its_unit = split_unit(answer)
    if not unit and is_ambiguous(answer):
        return False
    if PERCENT in (unit, its_unit):
        verdict = same(as_plain_number(gold), as_plain_number(answer))
        if verdict or same.rules.units == "must_match":
            return verdict
    if DEGREES in (unit, its_unit):
        verdict = match_radians(gold, answer, same)
        if verdict is not None:
            return verdict
    if unit and same.rules.units == "must_match":
        return False
    return same(value, its_value)


def match_radians(gold: Value, answer: Value, same: Same) -> bool | None:
    """Return whether an angle in degrees is a number in radians, or None if the number may be in degrees, too."""
    value, unit = split_unit(gold)
    its_value, _ = split_unit(answer)
    if is_expression(value) and is_expression(its_value) and same(as_plain_number(gold), as_plain_number(answer)):
        return True
    if "\\pi" in find_names(value if unit else its_value):
        return False
    return None


def is_ambiguous(answer: Value) -> bool:
    """Whether a unit may be something else if the gold answer has none: 5 N may be five times N."""
    if not isinstance(answer, Quantity):
        return False
    if answer.unit in AMBIGUOUS:
        return True
    if answer.product is None:
        return False
    return answer.unit[0][0] not in "mgslh"


def as_plain_number(value: Value) -> Value:
    """Return the number that a percentage or an angle in degrees is without its unit: `p / 100`, or the radians."""
    number, unit = split_unit(value)
    if not is_expression(number):
        return number
    if unit == PERCENT:
        return Operation("/", (number, make_number(100)))
    if unit == DEGREES:
        return Operation("radians", (number,))
    return number


def has_variables(value: Value) -> bool:
    if isinstance(value, Quantity) and value.product is not None:
        value = value.product
    return is_expression(value) and bool(find_symbols(value))


def match_parts(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare quantities in several units part by part. Each needs its unit."""
    if not isinstance(gold, Parts) or not isinstance(answer, Parts):
        return False
    return same.with_units().in_order(gold.quantities, answer.quantities)


QUANTITIES = Kind(lambda value: isinstance(value, Quantity), match_quantities)
QUANTITIES_IN_PARTS = Kind(lambda value: isinstance(value, Parts), match_parts)
