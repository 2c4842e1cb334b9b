"""Several values: lists, tuples, vectors and finite sets."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, TypeGuard

from ..matching import Kind, Same, Verdict, conjoin
from ..reader import LIST, NEGATION, UNIT, Reader, parse_number
from ..tokens import NUMBERS, Token, Unreadable
from ..units import SMALLER_UNITS, find_unit
from ..values import (
    EMPTY_SET,
    INFINITY,
    MINUS_INFINITY,
    ONE,
    ZERO,
    Number,
    Operation,
    Symbol,
    Value,
    change_parts,
    find_names,
    is_expression,
    is_operation,
    list_parts,
    make_number,
    operands_of,
    substitute,
)
from .quantities import Quantity


JOINERS: dict[str, Literal["and", "or"]] = {"and": "and", "or": "or", "\\land": "and", "\\lor": "or"}
AFTER_JOINERS = {"", "more", "less", "fewer", "greater", "so"}
MAX_DOTS = 100
DECIMAL = re.compile(r"\d+,\d+")
INDIAN = re.compile(r"\d{1,2}(?:,\d\d)+,\d{3}")
NUMBERINGS = ("i ii iii iv v".split(), [*"12345"], [*"abcde"])
CHOICE_LETTERS = "ABCDEFGHIJ"
VECTORS = [names.split() for names in (r"\mathbf{i} \mathbf{j} \mathbf{k}", "i j k", r"\hat{x} \hat{y} \hat{z}")]


@dataclass(frozen=True, slots=True)
class Collection(Value):
    """Several values in the order of the text."""

    brackets: str  # "{}" for a set, "" for a list without brackets, others for a tuple, a vector or an interval
    items: tuple[Value, ...]
    word: Literal["", "and", "or", "pm", "row"] = ""  # "pm" for a sign such as ±, "row" for numbers side by side
    decimal: Fraction | None = None  # the number that the text is with a decimal comma, or Indian groups of digits


def is_list(value: Value) -> TypeGuard[Collection]:
    return isinstance(value, Collection) and value.brackets == ""


def is_finite_set(value: Value) -> TypeGuard[Collection]:
    return isinstance(value, Collection) and value.brackets == "{}"


def items_of(value: Value) -> tuple[Value, ...]:
    """Return the items of a list without brackets, or the value itself."""
    if is_list(value):
        return value.items
    return (value,)


def is_tuple(value: Value) -> TypeGuard[Collection]:
    """Whether a value is a tuple that can be multiplied or added, and not a list, a set or an unbounded interval."""
    if not isinstance(value, Collection) or value.brackets not in ("()", "[]", "<>"):
        return False
    are_expressions = all(isinstance(item, Number | Symbol | Operation) for item in value.items)
    return are_expressions and {INFINITY, MINUS_INFINITY}.isdisjoint(value.items)


# --- reading
def text_at(reader: Reader, place: int) -> str:
    if place < reader.end:
        return reader.tokens[place].text
    return ""


def take_text(reader: Reader) -> str:
    """Return the text of the token that starts here, and go on behind it."""
    reader.place += 1
    return reader.tokens[reader.place - 1].text


def find_places(reader: Reader, start: int, end: int, *signs: str) -> list[int]:
    """Return the places outside of brackets that have one of these signs."""
    return [place for place in reader.outermost(start, end) if reader.tokens[place].text in signs]


def is_separator(reader: Reader, place: int) -> bool:
    """Whether a comma, a semicolon, `and` or `or` separates two items."""
    token = reader.tokens[place]
    word = JOINERS.get(token.text.casefold())
    if word is None:
        return True
    if token.kind != "word" and not reader.has_relation():
        return False
    return not (word == "and" and (joins_nouns(reader, place) or joins_parts(reader, place)))


def joins_nouns(reader: Reader, place: int) -> bool:
    """Whether an `and` is between two nouns after a number, as in `5 boys and girls`."""
    tokens = reader.tokens
    if place + 1 >= reader.end or not tokens[place - 1].kind == tokens[place + 1].kind == "word":
        return False
    numbers = [here for here in range(reader.start, reader.end) if tokens[here].kind in NUMBERS]
    if not numbers or numbers[-1] > place:
        return False
    return {",", ";", "or"}.isdisjoint(reader.texts(reader.start, reader.end))


def joins_parts(reader: Reader, place: int) -> bool:
    """Whether an `and` is between the parts of one quantity, as in `5 feet and 6 inches`."""
    if place + 2 >= reader.end or reader.tokens[place + 1].kind != "number":
        return False
    units = [find_unit(reader.tokens[here].text) or (("", 1),) for here in (place - 1, place + 2)]
    return (units[0][0][0], units[1][0][0]) in SMALLER_UNITS


def read_list(reader: Reader, first: Value) -> Value:
    items = [*items_of(first)]
    word: Literal["", "and", "or"] = ""
    while is_at_separator(reader):
        joiner = JOINERS.get(take_text(reader).casefold())
        word = joiner or word
        if joiner and reader.ahead(1)[0] in AFTER_JOINERS:
            raise Unreadable("a word that changes the value")
        if reader.place < reader.end and reader.find_end(LIST) > reader.place:
            items.extend(items_of(reader.grammar.item(reader)))
    if len(items) == 1:
        return items[0]
    return Collection("", tuple(fill_dots(items)), word, find_decimal_comma(reader))


def is_at_separator(reader: Reader) -> bool:
    if reader.place == reader.end:
        return False
    infix = next(reader.find_infixes(reader.place), None)
    return infix is not None and infix.build is read_list


def starts_row(reader: Reader, place: int) -> bool:
    """Whether a number follows a number or an angle without a sign. A mixed number or an angle in minutes is one value."""
    tokens = reader.tokens
    if tokens[place].text == "-":
        if place != reader.start + 2:
            return False
        return is_row_of_signed(tokens[reader.start : reader.end])
    if tokens[place].kind not in NUMBERS or place == reader.start:
        return False
    after = text_at(reader, place + 1)
    if after == "'":
        return False
    if tokens[place - 1].text == "\\circ":
        return True
    if place > 1 and tokens[place - 2].text in ("_", "^", "\\frac", "\\binom"):
        return False  # the last number is an argument
    if after == "/" and tokens[place].text.isdecimal():
        return False
    return tokens[place - 1].kind in NUMBERS


def is_row_of_signed(tokens: list[Token]) -> bool:
    """Whether tokens are numbers with signs of their own, such as `-3 -4`, where `3 - 4` is a difference."""
    signs = tokens[::2]
    numbers = tokens[1::2]
    if len(signs) != len(numbers) or not all(sign.text == "-" for sign in signs):
        return False
    if not all(sign.spaced for sign in signs[1:]):
        return False
    return all(number.kind == "number" and not number.spaced for number in numbers)


def read_row(reader: Reader, first: Value) -> Value:
    lowest = NEGATION if reader.ahead(1) == ["-"] else UNIT + 1
    items = [first]
    while reader.place < reader.end and (lowest == NEGATION or starts_row(reader, reader.place)):
        items.append(reader.read(lowest))
    return Collection("", tuple(items), "row")


def find_decimal_comma(reader: Reader) -> Fraction | None:
    """Return the number that a list such as `3,14` is with a decimal comma, or `12,34,567` with Indian groups of digits."""
    texts = reader.texts(reader.start, reader.place)
    digits = texts[1:] if texts[0] in ("+", "-") else texts
    written = "".join(digits)
    is_grouped = INDIAN.fullmatch(written) is not None
    if not is_grouped and not DECIMAL.fullmatch(written):
        return None
    if any(token.spaced for token in reader.tokens[reader.start + 1 : reader.place]):
        return None
    number = parse_number(written.replace(",", "" if is_grouped else ".")).value
    if texts[0] == "-":
        return -number
    return number


def is_integer(value: Value) -> TypeGuard[Number]:
    return isinstance(value, Number) and value.value.denominator == 1


def fill_dots(values: list[Value]) -> list[Value]:
    r"""Return the integers that `1, 2, \ldots, 5` stands for."""
    if len(values) < 4 or values[-2] != Symbol("\\ldots"):
        return values
    integers = [value.value for value in values if is_integer(value)]
    if len(integers) < len(values) - 1:
        return values
    *_, before, start, last = integers
    step = start - before
    if step == 0 or (last - start) % step or not 0 < (last - start) / step <= MAX_DOTS:
        return values
    count = int((last - start) / step)
    filled = [make_number(start + step * number) for number in range(1, count + 1)]
    return [*values[:-2], *filled]


def read_parts(reader: Reader) -> Value | None:
    """Return the answers to the parts of a question in their order: `(i) 3 (ii) 5` or `(1) 3; (2) 5`."""
    numbers = find_part_numbers(reader)
    ranges = [(start + 3, end) for start, end in pairwise([*numbers, reader.end])]
    if len(ranges) < 2 or any(start == end for start, end in ranges):
        return None
    items = tuple(reader.statement(*part) for part in ranges)
    reader.place = reader.end
    return Collection("()", items)


def find_part_numbers(reader: Reader) -> list[int]:
    """Return the places of the numbers in brackets, such as `(i)`, that begin the parts of an answer."""
    numbers = next((numbers for numbers in NUMBERINGS if reader.ahead(3) == ["(", numbers[0], ")"]), [])
    places: list[int] = []
    place = reader.place
    while place < reader.end and len(places) < len(numbers):
        if reader.texts(place, place + 3) == ["(", numbers[len(places)], ")"]:
            if reader.tokens[place].spaced or not places:
                places.append(place)
        place = max(place, reader.match[place]) + 1
    return places


def read_set(reader: Reader) -> Value:
    start = reader.place + 1
    end = reader.match[reader.place]
    if start == end:
        return EMPTY_SET
    items = read_grouped(reader, start, end)
    if items is None:
        items = items_of(expand_signs(reader.statement(start, end)))
    return Collection("{}", items)


def read_tuple(reader: Reader) -> Value:
    start = reader.place + 1
    end = reader.match[reader.place]
    brackets = reader.tokens[reader.place].text + reader.tokens[end].text
    if brackets == "\\langle\\rangle":
        brackets = "<>"
    items = read_grouped(reader, start, end)
    if items is not None:
        return Collection(brackets, items)
    value = reader.statement(start, end)
    if not is_list(value) or value.word in ("and", "or"):
        return value
    return Collection(brackets, value.items, "row" if value.word == "row" else "")


def read_grouped(reader: Reader, start: int, end: int) -> tuple[Value, ...] | None:
    """Return the numbers in brackets whose commas look like those of thousands, such as `(1,200)`."""
    negative = reader.tokens[start].text == "-"
    if end != start + 1 + negative or reader.tokens[end - 1].kind != "grouped":
        return None
    first, *rest = map(parse_number, reader.tokens[end - 1].text.split(","))
    return (make_number(-first.value) if negative else first, *rest)


def expand_signs(value: Value) -> Value:
    r"""Return the two values that a value with `\pm` stands for as a list."""
    if is_list(value):
        items: list[Value] = []
        for item in map(expand_signs, value.items):
            items.extend(item.items if isinstance(item, Collection) and item.word == "pm" else [item])
        return Collection("", tuple(items), value.word, value.decimal)
    if not has_signs(value):
        return value
    return Collection("", tuple(choose_signs(value, sign) for sign in (1, -1)), "pm")


def has_signs(value: Value) -> bool:
    return is_operation(value, "pm", "mp") or any(map(has_signs, list_parts(value)))


def choose_signs(value: Value, sign: int) -> Value:
    value = change_parts(value, lambda part: choose_signs(part, sign))
    if not is_operation(value, "pm", "mp"):
        return value
    *first, last = value.operands
    if (value.name == "pm") != (sign == 1):
        last = Operation("-", (last,))
    if first:
        return Operation("+", (*first, last))
    return last


# --- comparison
def find_components(value: Value, size: int) -> Value:
    """Return the vector of this size that a sum of unit vectors is, or the value itself."""
    if size in (2, 3) and is_expression(value):
        names = find_names(value)
    else:
        names = set()
    for units in VECTORS:
        if names & {*units[:size]} and not names & {*units[size:]}:
            axes = [{unit: ONE if unit == name else ZERO for unit in units} for name in units[:size]]
            return Collection("<>", tuple(substitute(value, axis) for axis in axes))
    return value


def find_letters(value: Value) -> tuple[Value, ...]:
    """Return the letters of a product of different capital letters, such as the choices `BD`."""
    letters = operands_of(value, "*")
    if not all(map(is_letter, letters)) or len({*letters}) < len(letters):
        return ()
    return letters


def is_letter(value: Value) -> bool:
    if not isinstance(value, Symbol):
        return False
    if len(value.name) != 1:
        return False
    return value.name in CHOICE_LETTERS


def as_collection(value: Value, other: Value) -> Value:
    """Return a sum of unit vectors as a vector, and a product of letters as a list, if the other value is one."""
    if isinstance(value, Collection) or not isinstance(other, Collection):
        return value
    letters = find_letters(value)
    if letters and all(map(is_letter, other.items)):
        return Collection("", letters)
    return find_components(value, len(other.items))


def match_collections(gold: Value, answer: Value, same: Same) -> Verdict:
    one = as_collection(gold, answer)
    other = as_collection(answer, gold)
    if not isinstance(one, Collection) or not isinstance(other, Collection):
        return match_single(gold, answer, same)
    if has_order(one) or has_order(other):
        return may_have_order(one) and may_have_order(other) and same.in_order(one.items, other.items)
    if not is_finite_set(one) or not is_finite_set(other):
        return same.in_any_order(one.items, other.items)
    if sum(map(is_finite_set, one.items)) != sum(map(is_finite_set, other.items)):
        return False  # {3} is an element that is not 3
    items = [*dict.fromkeys(one.items)]
    return same.in_any_order(items, [*dict.fromkeys(other.items)])


def has_order(value: Collection) -> bool:
    return value.brackets not in ("", "{}") or value.word == "row"


def may_have_order(value: Collection) -> bool:
    return value.brackets != "{}" and value.word != "or"


def match_single(gold: Value, answer: Value, same: Same) -> bool | None:
    """Compare a collection with one value, which a set or a list of equal values may be, and `3,14` a decimal."""
    if is_list(answer) and answer.word != "row" and equals_each(gold, answer.items, same):
        return True
    one = find_single(gold)
    other = find_single(answer)
    if one is None or other is None:
        return False
    return same(one, other)


def equals_each(gold: Value, answers: Sequence[Value], same: Same) -> bool:
    are_values = all(is_expression(answer) or isinstance(answer, Quantity) for answer in answers)
    if not are_values:
        return False
    return conjoin([same(gold, answer) for answer in answers]) is True


def find_single(value: Value) -> Value | None:
    r"""Return the only value of a set that holds no set, as `\{\emptyset\}` does, or the decimal that a list may be."""
    if not isinstance(value, Collection):
        return value
    item = value.items[0]
    if is_finite_set(value) and len(value.items) == 1 and item != EMPTY_SET and not is_finite_set(item):
        return item
    if value.decimal is None:
        return None
    return Number(value.decimal)


COLLECTIONS = Kind(lambda value: isinstance(value, Collection), match_collections)
