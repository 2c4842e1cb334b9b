"""Expressions: numbers, symbols and operations, which are compared by their values if they are on numbers."""

import re
from collections.abc import Callable
from fractions import Fraction

from ..equivalence import are_equal_expressions, are_same_up_to_constants
from ..evaluation import SAME, evaluate_constant, evaluate_exactly, is_real
from ..functions import CONTEXT, Numeric
from ..matching import Kind, Same, Verdict
from ..reader import ARROW, NEGATION, UNION, Reader, parse_digits, parse_number
from ..tokens import NUMBERS, Token, Unreadable
from ..units import LETTER_UNITS, SPELLINGS
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
    list_parts,
    make_number,
    operands_of,
    walk,
)
from .arrays import TRANSPOSES, Matrix, combine, find_determinant, negate, transpose
from .lists import Collection, list_items
from .names import is_constant
from .relations import name_point


REPETITION_SIGNS = {"\\overline", "\\bar", "\\dot"}
GOING_ON = {*REPETITION_SIGNS, "\\ldots", "."}
REPEATING = re.compile(r"(\d*\.)(\d{0,20}?)(\d{1,12}?)\3+")
ORDINAL = re.compile(r"(?:st|nd|rd|th)|['*]+")
FORMAL = {  # operations that are not on numbers, and whether their operands have no order
    **dict.fromkeys(("\\cup", "\\cap", "\\lor", "\\land", "\\oplus", "\\leftrightarrow", "\\iff", "cycles"), True),
    **dict.fromkeys(("\\setminus", "\\to", "\\neg", "\\otimes"), False),
}

MAX_WORKED_OUT = 10**9  # largest value of a function that may count as a number which could be worked out


# --- reading at the start
def read_number(reader: Reader) -> Value:
    r"""Return a number, also with repeated digits such as `0.\overline{3}`."""
    text = reader.tokens[reader.place].text
    reader.place += 1
    if (token := reader.peek()) is None or token.text not in GOING_ON:
        return parse_number(text)
    after, last = reader.ahead(2)
    if after == "\\ldots" and (continued := REPEATING.fullmatch(text)) is not None:
        reader.place += 1
        return make_repeating(continued[1] + continued[2], continued[3])
    has_own_point = "." in text and after in REPETITION_SIGNS
    if not has_own_point and not (after == "." and last in REPETITION_SIGNS):
        return parse_number(text)
    reader.place += 1 if has_own_point else 2
    repeated = "".join(reader.spelling())
    digits, dot = reader.ahead(2)
    if digits == "\\dot" or (digits.isdecimal() and dot == "\\dot"):  # 0.\dot{1}42\dot{3}
        digits = "" if digits == "\\dot" else digits
        reader.place += 1 + bool(digits)
        repeated += digits + "".join(reader.spelling())
    if not repeated.isdecimal():
        raise Unreadable("no repeated digits")
    return make_repeating(text, repeated)


def make_repeating(digits: str, repeated: str) -> Number:
    whole, _, fixed = digits.partition(".")
    difference = parse_digits(f"{whole}{fixed}{repeated}") - parse_digits(f"{whole}{fixed}" or "0")
    return make_number(Fraction(difference, 10 ** len(fixed) * (10 ** len(repeated) - 1)))


def read_sign(reader: Reader) -> Value:
    sign = reader.tokens[reader.place].text
    reader.place += 1
    value = reader.read(NEGATION)
    if sign == "+":
        return value
    return negate(value) if sign == "-" else Operation({"\\pm": "pm", "\\mp": "mp"}.get(sign, sign), (value,))


def read_minus(reader: Reader) -> Value:
    reader.place += 1
    return negate(reader.read(NEGATION))


def read_bars(reader: Reader) -> Value:
    bar = reader.tokens[reader.place].text
    reader.place += 1
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
        return combine(name, left, reader.read(power + 1))

    return build


def divides(reader: Reader, place: int) -> bool:
    """Whether a slash is a division, and not the `per` of a unit."""
    return place + 1 == reader.end or reader.tokens[place + 1].kind != "word"


def read_factorial(reader: Reader, value: Value) -> Value:
    name = "factorial" if reader.tokens[reader.place].text == "!" else "double factorial"
    reader.place += 1
    return Operation(name, (value,))


def is_times(reader: Reader, place: int) -> bool:
    """Whether a letter is the sign of a number in scientific notation: `3 x 10^8`."""
    return reader.tokens[place - 1].kind in NUMBERS and reader.texts(place, min(place + 2, reader.end)) == ["x", "10"]


def read_union(reader: Reader, value: Value) -> Value | None:
    """Return a union with a letter as its sign: `(0, 1) U (2, 3)`."""
    if not isinstance(value, Collection) or not reader.opens(1):
        return None
    reader.place += 1
    return combine("\\cup", value, reader.read(UNION + 1))


def read_power(reader: Reader, base: Value) -> Value | None:
    """Return a power or an angle in degrees, or None for what is no exponent, such as `^{th}` or `^\\circ C`."""
    after = reader.peek(1)
    if after is None:
        raise Unreadable("an exponent is missing")
    group = after.text == "{"
    inside = reader.texts(reader.place + 2, reader.match[reader.place + 1]) if group else [after.text]
    if inside == ["\\circ"]:
        width = 4 if group else 2
        if (unit := reader.peek(width)) is not None and unit.text in ("C", "F"):
            return None
        reader.place += width
        return Operation("degree", (base,))
    if isinstance(base, Matrix | Collection) and len(inside) == 1 and inside[0] in TRANSPOSES:
        reader.place += 1
        reader.spelling()
        return transpose(base)
    if ORDINAL.fullmatch("".join(inside)):
        return None
    reader.place += 1
    return combine("^", base, reader.argument(whole_numbers=True))


def read_factor(reader: Reader, left: Value) -> Value | None:
    """Return the product with a factor that follows without a sign, or the point that a letter names."""
    token = reader.tokens[reader.place]
    is_code = token.text.isdecimal() and token.text[0] == "0"  # the zeros of #ff00aa make no product
    if token.kind in NUMBERS and (reader.is_literal() or is_operation(left, "degree") or is_code):
        return None
    right = reader.read(NEGATION)
    if (joined := join_brackets(left, right)) is not None:
        return joined
    if isinstance(left, Symbol) and isinstance(right, Collection) and (point := name_point(left, right)) is not None:
        return point
    return combine("*", left, right)


def join_brackets(left: Value, right: Value) -> Value | None:
    """Return points side by side, or disjoint cycles such as `(1 2)(3 4)`, each from its first number, or None."""
    items = left.operands if is_operation(left, "cycles") else list_items(left)
    tuples = [one for one in (*items, right) if isinstance(one, Collection) and one.brackets == "()"]
    numbers = [number for one in tuples for number in one.items]
    if len(tuples) <= len(items) or not all(isinstance(number, Number) for number in numbers):
        return None
    if not any(one.word for one in tuples):
        return Collection("", tuple(tuples))
    turns = [(one.items, one.items.index(min(one.items, key=repr))) for one in tuples]
    cycles = [Collection("()", cycle[start:] + cycle[:start], "row") for cycle, start in turns]
    return Operation("cycles", tuple(cycles)) if len({*numbers}) == len(numbers) else None


def starts_factor(reader: Reader, place: int) -> bool:
    """Whether a token after a factor starts another factor."""
    token, after = reader.tokens[place], reader.tokens[place + 1 : min(place + 3, reader.end)]
    if token.text == "|":
        return reader.bars == 0
    if starts_greek_unit(reader, place):
        return False
    if token.kind == "letter":
        return not token.upright or token.text in "eid" or [one.text for one in after[:1]] == ["_"]
    if token.text == "\\frac" and len(after) == 2 and after[0].kind == "open" and is_upright(after[1]):
        return False  # a unit such as km/h
    if token.text == "(" and token.spaced and after and after[0].kind == "word":
        return False  # a remark such as (apples)
    is_value = token.text != "\\circ" and token.text not in reader.grammar.infixes  # and no operator such as `\\cdot`
    return token.kind in (*NUMBERS, "open") or (token.kind == "command" and is_value)


def is_upright(token: Token) -> bool:
    """Whether a token is a word or an upright letter, as units are."""
    return token.kind == "word" or (token.kind == "letter" and token.upright)


def starts_greek_unit(reader: Reader, place: int) -> bool:
    r"""Whether a Greek letter after a factor is a unit or the prefix of one: `5\ \Omega`, `5\ \mu\text{m}`."""
    text, is_after_number = reader.tokens[place].text, reader.tokens[place - 1].kind in NUMBERS
    after = reader.tokens[place + 1] if place + 1 < reader.end else None
    if text == "\\Omega":
        return is_after_number or after is None
    if text != "\\mu" or after is None:
        return False
    return is_upright(after) or (is_after_number and after.text in LETTER_UNITS and f"\\mu{after.text}" in SPELLINGS)


def read_mixed(reader: Reader, whole: Value) -> Value | None:
    r"""Return a mixed number such as `1\frac12` or `1 1/2`, or None for a product such as `2\frac32`."""
    if not reader.is_literal() or not isinstance(whole, Number) or whole.value.denominator != 1:
        return None
    token, (_, sign, below) = reader.tokens[reader.place], reader.ahead(3)
    if token.text == "\\frac":
        return reader.attempt(lambda reader: make_mixed(whole, reader.read(NEGATION)))
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
        return None if mixed is None else Operation("degree", (mixed,))
    values = [one.value for one in operands_of(part, "/") if isinstance(one, Number)]
    return Operation("mixed", (whole, part)) if len(values) == 2 and 0 < values[0] < values[1] else None


# --- comparison
def match_formal(gold: Value, answer: Value, same: Same) -> Verdict:
    if not isinstance(gold, Operation) or not is_operation(answer, gold.name):
        return False
    return (same.in_any_order if FORMAL[gold.name] else same.in_order)(gold.operands, answer.operands)


def match_expressions(gold: Value, answer: Value, same: Same) -> Verdict:
    if not is_expression(gold) or not is_expression(answer):
        is_same = isinstance(gold, Operation) and is_operation(answer, gold.name)
        return is_same and same.in_order(list_parts(gold), list_parts(answer))
    tolerance = same.rules.tolerance
    if tolerance is not None and (close := are_within(gold, answer, tolerance)) is not None:
        return close
    if isinstance(gold, Symbol) and isinstance(answer, Symbol):
        return False
    infinite = [value in (INFINITY, MINUS_INFINITY) for value in (gold, answer)]
    if any(infinite):
        return False if all(infinite) or is_constant(answer if infinite[0] else gold) else None
    verdict = are_equal_expressions(gold, answer)
    return verdict or (not same.is_part and are_same_up_to_constants([gold], [answer])) or verdict


def are_within(gold: Value, answer: Value, tolerance: float) -> bool | None:
    """Return whether two constants differ by at most the tolerance, or None if they are not real numbers."""
    numbers = evaluate_constant(gold), evaluate_constant(answer)
    if numbers[0] is None or numbers[1] is None or not (is_finite(numbers[0]) and is_finite(numbers[1])):
        return None
    largest = CONTEXT.mpf(str(tolerance)) + SAME  # the numbers are rounded
    return bool(abs(numbers[0] - numbers[1]) <= largest * max(1, abs(numbers[0]), abs(numbers[1])))


def is_finite(number: Numeric) -> bool:
    return is_real(number) and abs(number) < CONTEXT.inf


# --- what is left to work out
def is_open(value: Value, is_part_open: Callable[[Value], bool]) -> bool:
    """Whether an expression contains an operation on numbers that could be worked out, such as `12 \\times 6`."""
    return any(isinstance(node, Operation) and is_computable(node) for node in walk(value))


def is_computable(node: Operation) -> bool:
    name, operands = node.name, node.operands
    if name == "+":
        return sum(map(is_numeral, operands)) > 1
    if name == "*":
        numbers = [operand for operand in operands if is_numeral(operand) and operand != MINUS_ONE]
        powers = sum(map(is_power_of_ten, numbers))
        return len(numbers) - (powers == 1) > 1 or powers > 1
    if name in ("-", "mixed", "degree"):
        return False
    if name == "/":
        value = evaluate_exactly(node)
        return value is not None and value.denominator == 1 and all(map(is_numeral, operands))
    if name == "^" and is_power_of_ten(node):
        return False
    if evaluate_exactly(node) is not None or name in WITH_INDEX or name == "derivative":
        return True
    if find_symbols(node) or name in ("sqrt", "root", "^"):
        return False
    number = evaluate_constant(node)
    if number is None or not is_real(number) or not abs(number) < MAX_WORKED_OUT:
        return False
    return any(abs(number * k - round(number.real * k)) < 1e-30 for k in (1, 2, 3, 4, 6))


def is_numeral(value: Value) -> bool:
    if isinstance(value, Number) or is_power_of_ten(value):
        return True
    return is_operation(value, "-", "/", "mixed", "*") and all(map(is_numeral, value.operands))


def is_power_of_ten(value: Value) -> bool:
    base, exponent = operands_of(value, "^") or (ONE, ONE)
    return base == TEN and evaluate_exactly(exponent) is not None


FORMAL_OPERATIONS = Kind(lambda value: is_operation(value, *FORMAL), match_formal)
EXPRESSIONS = Kind(lambda value: isinstance(value, Number | Symbol | Operation), match_expressions, is_open)
