"""Expressions: numbers, symbols and operations, which are compared by their values if they are on numbers."""

import re
from collections.abc import Callable
from fractions import Fraction

from ..equivalence import are_equal_expressions, are_same_up_to_constants
from ..evaluation import SAME, evaluate_constant, evaluate_exactly, is_real
from ..functions import CONTEXT, Numeric
from ..matching import Kind, Same
from ..reader import ARROW, NEGATION, UNION, Reader, parse_digits, parse_number
from ..tokens import NUMBERS, Token, Unreadable
from ..units import LETTER_UNITS, UNIT_OF
from ..values import (
    INFINITY,
    MINUS_INFINITY,
    MINUS_ONE,
    ONE,
    TEN,
    WITH_INDEX,
    Number,
    Operation,
    Symbol,
    Value,
    find_symbols,
    is_expression,
    is_operation,
    make_number,
    operands_of,
    walk,
)
from .arrays import TRANSPOSES, Matrix, combine_values, find_determinant, negate, transpose
from .lists import Collection, items_of, take_text, text_at
from .names import is_constant
from .relations import name_point


REPETITION_SIGNS = {"\\overline", "\\bar", "\\dot"}
GOING_ON = {*REPETITION_SIGNS, "\\ldots", "."}
REPEATING = re.compile(r"(\d*\.)(\d{0,20}?)(\d{1,12}?)\3+")
ORDINAL = re.compile(r"(?:st|nd|rd|th)|['*]+")
COMMUTES = {  # operations that are not on numbers, and whether the order of their operands means nothing
    **dict.fromkeys(r"\cup \cap \lor \land \oplus \leftrightarrow \iff cycles".split(), True),
    **dict.fromkeys(r"\setminus \to \neg \otimes".split(), False),
}

MAX_WORKED_OUT = 10**9  # largest value of a function that may count as a number which could be worked out


# --- reading at the start
def read_number(reader: Reader) -> Value:
    r"""Return a number, also with repeated digits such as `0.\overline{3}`."""
    text = take_text(reader)
    token = reader.peek()
    if token is None or token.text not in GOING_ON:
        return parse_number(text)
    return read_repeating(reader, text) or parse_number(text)


def read_repeating(reader: Reader, digits: str) -> Value | None:
    r"""Return a number with repeated digits after its first ones, or None: `0.333\ldots`, `0.\overline{3}`, `0.\dot{3}`."""
    after, last = reader.ahead(2)
    if after == "\\ldots":
        continued = REPEATING.fullmatch(digits)
        if continued is None:
            return None
        reader.place += 1
        return make_repeating(continued[1] + continued[2], continued[3])
    if after in REPETITION_SIGNS and "." in digits:
        reader.place += 1
    elif after == "." and last in REPETITION_SIGNS:
        reader.place += 2
    else:
        return None
    repeated = "".join(reader.spelling()) + read_last_dot(reader)
    if not repeated.isdecimal():
        raise Unreadable("no repeated digits")
    return make_repeating(digits, repeated)


def read_last_dot(reader: Reader) -> str:
    r"""Return the digits up to the second dot of `0.\dot{1}42\dot{3}`, or none if there is only one."""
    digits, dot = reader.ahead(2)
    if digits == "\\dot":
        digits = ""
    elif not digits.isdecimal() or dot != "\\dot":
        return ""
    reader.place += 1 + bool(digits)
    return digits + "".join(reader.spelling())


def make_repeating(digits: str, repeated: str) -> Number:
    whole, _, fixed = digits.partition(".")
    difference = parse_digits(f"{whole}{fixed}{repeated}") - parse_digits(f"{whole}{fixed}" or "0")
    return make_number(Fraction(difference, 10 ** len(fixed) * (10 ** len(repeated) - 1)))


def read_sign(reader: Reader) -> Value:
    sign = take_text(reader)
    value = reader.read(NEGATION)
    if sign == "+":
        return value
    if sign == "-":
        return negate(value)
    return Operation({"\\pm": "pm", "\\mp": "mp"}.get(sign, sign), (value,))


def read_minus(reader: Reader) -> Value:
    reader.place += 1
    return negate(reader.read(NEGATION))


def read_bars(reader: Reader) -> Value:
    bar = take_text(reader)
    reader.bars += 1
    value = reader.read(ARROW)
    reader.bars -= 1
    if reader.ahead(1) != [bar]:
        raise Unreadable("an open bar")
    reader.place += 1
    if isinstance(value, Matrix) and len(value.rows) == len(value.rows[0]) > 1:
        return find_determinant(value.rows)
    return Operation("abs" if bar == "|" else "norm", (value,))


def read_rounding(reader: Reader) -> Value:
    opening = reader.tokens[reader.place].text
    inside = reader.statement(reader.place + 1, reader.match[reader.place])
    return Operation("floor" if opening == "\\lfloor" else "ceil", (inside,))


# --- reading after a value
def read_infix(name: str, power: int) -> Callable[[Reader, Value], Value]:
    """Return what builds an operation of two values."""

    def build(reader: Reader, left: Value) -> Value:
        reader.place += 1
        return combine_values(name, left, reader.read(power + 1))

    return build


def divides(reader: Reader, place: int) -> bool:
    """Whether a slash is a division, and not the `per` of a unit."""
    return place + 1 == reader.end or reader.tokens[place + 1].kind != "word"


def read_factorial(reader: Reader, value: Value) -> Value:
    return Operation("factorial" if take_text(reader) == "!" else "double factorial", (value,))


def is_times(reader: Reader, place: int) -> bool:
    """Whether a letter is the sign of a number in scientific notation: `3 x 10^8`."""
    if reader.tokens[place - 1].kind not in NUMBERS:
        return False
    return text_at(reader, place + 1) == "10"


def read_union(reader: Reader, value: Value) -> Value | None:
    """Return a union with a letter as its sign: `(0, 1) U (2, 3)`."""
    if not isinstance(value, Collection) or not reader.opens(1):
        return None
    reader.place += 1
    return combine_values("\\cup", value, reader.read(UNION + 1))


def read_power(reader: Reader, base: Value) -> Value | None:
    """Return a power or an angle in degrees, or None for what is no exponent, such as `^{th}` or `^\\circ C`."""
    after = reader.peek(1)
    if after is None:
        raise Unreadable("an exponent is missing")
    inside = [after.text]
    if after.text == "{":
        inside = reader.texts(reader.place + 2, reader.match[reader.place + 1])
    if inside == ["\\circ"]:
        return read_degrees(reader, base, width=4 if after.text == "{" else 2)
    if ORDINAL.fullmatch("".join(inside)):
        return None
    reader.place += 1
    if isinstance(base, Matrix | Collection) and len(inside) == 1 and inside[0] in TRANSPOSES:
        reader.spelling()
        return transpose(base)
    return combine_values("^", base, reader.argument(whole_numbers=True))


def read_degrees(reader: Reader, value: Value, width: int) -> Value | None:
    """Return an angle, whose sign has this many tokens, or None for a temperature."""
    if reader.ahead(width + 1)[width] in ("C", "F"):
        return None
    reader.place += width
    return Operation("degree", (value,))


def read_factor(reader: Reader, left: Value) -> Value | None:
    """Return the product with a factor that follows without a sign, or the point that a letter names."""
    token = reader.tokens[reader.place]
    is_code = token.text.isdecimal() and token.text[0] == "0"  # the zeros of #ff00aa make no product
    if token.kind in NUMBERS and (reader.is_literal() or is_operation(left, "degree") or is_code):
        return None
    right = reader.read(NEGATION)
    if not isinstance(right, Collection):
        return combine_values("*", left, right)
    point = name_point(left, right) if isinstance(left, Symbol) else join_brackets(left, right)
    return point or combine_values("*", left, right)


def join_brackets(left: Value, right: Collection) -> Value | None:
    """Return points side by side, or disjoint cycles such as `(1 2)(3 4)`, or None."""
    items = left.operands if is_operation(left, "cycles") else items_of(left)
    tuples = [item for item in (*items, right) if isinstance(item, Collection) and item.brackets == "()"]
    if len(tuples) <= len(items) or not all(map(has_numbers, tuples)):
        return None
    if not any(item.word for item in tuples):
        return Collection("", tuple(tuples))
    numbers = [number for item in tuples for number in item.items]
    if len({*numbers}) < len(numbers):
        return None
    return Operation("cycles", tuple(map(make_cycle, tuples)))


def has_numbers(value: Collection) -> bool:
    return all(isinstance(item, Number) for item in value.items)


def make_cycle(value: Collection) -> Collection:
    return Collection("()", begin_with_first(value.items), "row")


def begin_with_first(cycle: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return a cycle from the number that comes first in a fixed order, so that equal cycles are equal."""
    start = cycle.index(min(cycle, key=repr))
    return cycle[start:] + cycle[:start]


def starts_factor(reader: Reader, place: int) -> bool:
    """Whether a token after a factor starts another factor."""
    token = reader.tokens[place]
    if token.text == "|":
        return reader.bars == 0
    if token.text in ("\\Omega", "\\mu") and starts_greek_unit(reader, place):
        return False
    if token.kind == "letter":
        return not token.upright or token.text in "eid" or text_at(reader, place + 1) == "_"
    if token.text == "\\frac":
        return not starts_unit_fraction(reader, place)
    if token.kind == "command":
        return token.text != "\\circ" and token.text not in reader.grammar.infixes  # no operator such as `\\cdot`
    if token.text == "(" and token.spaced and place + 1 < reader.end:
        return reader.tokens[place + 1].kind != "word"  # as in a remark such as (apples)
    return token.kind == "open" or token.kind in NUMBERS


def starts_unit_fraction(reader: Reader, place: int) -> bool:
    r"""Whether a fraction is a unit such as `\frac{\text{km}}{\text{h}}`."""
    after = reader.tokens[place + 1 : min(place + 3, reader.end)]
    if len(after) != 2:
        return False
    if after[0].kind != "open":
        return False
    return is_upright(after[1])


def is_upright(token: Token) -> bool:
    """Whether a token is a word or an upright letter, as units are."""
    return token.kind == "word" or (token.kind == "letter" and token.upright)


def starts_greek_unit(reader: Reader, place: int) -> bool:
    r"""Whether a Greek letter after a factor is a unit or the prefix of one: `5\ \Omega`, `5\ \mu\text{m}`."""
    text = reader.tokens[place].text
    is_after_number = reader.tokens[place - 1].kind in NUMBERS
    after = None
    if place + 1 < reader.end:
        after = reader.tokens[place + 1]
    if text == "\\Omega":
        return is_after_number or after is None
    if text != "\\mu" or after is None:
        return False
    return is_upright(after) or (is_after_number and after.text in LETTER_UNITS and f"\\mu{after.text}" in UNIT_OF)


def read_mixed(reader: Reader, whole: Value) -> Value | None:
    r"""Return a mixed number such as `1\frac12` or `1 1/2`, or None for a product such as `2\frac32`."""
    if not reader.is_literal() or not isinstance(whole, Number) or whole.value.denominator != 1:
        return None
    token = reader.tokens[reader.place]
    if token.text == "\\frac":
        return reader.attempt(lambda reader: make_mixed(whole, reader.read(NEGATION)))
    _, sign, below = reader.ahead(3)
    if not token.spaced or not token.text.isdecimal() or sign != "/" or not below.isdecimal():
        return None
    mixed = make_mixed(whole, Operation("/", (parse_number(token.text), parse_number(below))))
    if mixed is not None:
        reader.place += 3
    return mixed


def make_mixed(whole: Number, part: Value) -> Value | None:
    """Return the sum of a number and a fraction below 1, also in degrees, or None if the second value is no such one."""
    if is_operation(part, "degree"):
        mixed = make_mixed(whole, part.operands[0])
        return mixed and Operation("degree", (mixed,))
    values = [term.value for term in operands_of(part, "/") if isinstance(term, Number)]
    if len(values) < 2 or not 0 < values[0] < values[1]:
        return None
    return Operation("mixed", (whole, part))


# --- comparison
def match_operands(gold: Value, answer: Value, same: Same) -> bool | None:
    if not isinstance(gold, Operation) or not is_operation(answer, gold.name):
        return False
    if COMMUTES.get(gold.name):
        return same.in_any_order(gold.operands, answer.operands)
    return same.in_order(gold.operands, answer.operands)


def match_expressions(gold: Value, answer: Value, same: Same) -> bool | None:
    if not is_expression(gold) or not is_expression(answer):
        return match_operands(gold, answer, same)
    if same.rules.tolerance is not None:
        are_near = are_within(gold, answer, same.rules.tolerance)
        if are_near is not None:
            return are_near
    if isinstance(gold, Symbol) and isinstance(answer, Symbol):
        return False
    if is_infinite(gold) or is_infinite(answer):
        return match_infinity(gold, answer)
    verdict = are_equal_expressions(gold, answer)
    if not verdict and not same.is_part and are_same_up_to_constants([gold], [answer]):
        return True
    return verdict


def is_infinite(value: Value) -> bool:
    return value in (INFINITY, MINUS_INFINITY)


def match_infinity(gold: Value, answer: Value) -> bool | None:
    """Return that infinity is no other constant. What an expression with variables is remains unknown."""
    other = answer if is_infinite(gold) else gold
    return False if is_constant(other) else None


def are_within(gold: Value, answer: Value, tolerance: float) -> bool | None:
    """Return whether two constants differ by at most the tolerance, or None if they are not real numbers."""
    number = evaluate_constant(gold)
    other = evaluate_constant(answer)
    if number is None or other is None or not (is_finite(number) and is_finite(other)):
        return None
    largest = CONTEXT.mpf(str(tolerance)) + SAME  # the numbers are rounded
    return bool(abs(number - other) <= largest * max(1, abs(number), abs(other)))


def is_finite(number: Numeric) -> bool:
    if not is_real(number):
        return False
    return abs(number) < CONTEXT.inf


# --- what is left to work out
def is_expression_open(value: Value, is_part_open: Callable[[Value], bool]) -> bool:
    """Whether an expression contains an operation on numbers that could be worked out, such as `12 \\times 6`."""
    return any(isinstance(node, Operation) and is_computable(node) for node in walk(value))


def is_computable(node: Operation) -> bool:
    return COMPUTABLE.get(node.name, is_computable_function)(node)


def adds_numerals(node: Operation) -> bool:
    return sum(map(is_numeral, node.operands)) > 1


def multiplies_numerals(node: Operation) -> bool:
    r"""Whether a product has several numbers. One power of ten belongs to a number: `3 \times 10^8`."""
    numbers = [operand for operand in node.operands if is_numeral(operand) and operand != MINUS_ONE]
    powers = sum(map(is_power_of_ten, numbers))
    return powers > 1 or len(numbers) - powers > 1


def divides_evenly(node: Operation) -> bool:
    quotient = evaluate_exactly(node)
    if quotient is None:
        return False
    if quotient.denominator != 1:
        return False
    return all(map(is_numeral, node.operands))


def is_rational(node: Operation) -> bool:
    return evaluate_exactly(node) is not None


def is_computable_function(node: Operation) -> bool:
    """Whether a function has a value that may be asked for: an exact one, or a small multiple of a half, third or quarter."""
    if evaluate_exactly(node) is not None:
        return True
    if find_symbols(node):
        return False
    number = evaluate_constant(node)
    if number is None or not is_real(number) or not abs(number) < MAX_WORKED_OUT:
        return False
    multiples = [number * factor for factor in (1, 2, 3, 4, 6)]
    return any(abs(multiple - round(multiple.real)) < 1e-30 for multiple in multiples)


# Whether an operation could be worked out, for those that are not functions.
COMPUTABLE: dict[str, Callable[[Operation], bool]] = {
    "+": adds_numerals,
    "*": multiplies_numerals,
    "/": divides_evenly,
    "^": lambda node: is_rational(node) and not is_power_of_ten(node),
    **dict.fromkeys(("sqrt", "root"), is_rational),
    **dict.fromkeys(("-", "mixed", "degree"), lambda node: False),
    **dict.fromkeys((*WITH_INDEX, "derivative"), lambda node: True),
}


def is_numeral(value: Value) -> bool:
    if isinstance(value, Number) or is_power_of_ten(value):
        return True
    if not is_operation(value, "-", "/", "mixed", "*"):
        return False
    return all(map(is_numeral, value.operands))


def is_power_of_ten(value: Value) -> bool:
    base, exponent = operands_of(value, "^") or (ONE, ONE)
    return base == TEN and evaluate_exactly(exponent) is not None


FORMAL_OPERATIONS = Kind(lambda value: is_operation(value, *COMMUTES), match_operands)
EXPRESSIONS = Kind(lambda value: isinstance(value, Number | Symbol | Operation), match_expressions, is_expression_open)
