"""Several values: lists, tuples, vectors and finite sets."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeGuard

from ..matching import Kind, Same, Verdict, conjoin
from ..reader import LIST, NEGATION, UNIT, Reader, parse_number
from ..tokens import NUMBERS, Unreadable
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
    substitute,
)
from .quantities import Quantity


JOINERS: dict[str, Literal["and", "or"]] = {"and": "and", "or": "or", "\\land": "and", "\\lor": "or"}
AFTER_JOINERS = {"more", "less", "fewer", "greater", "so"}
MAX_DOTS = 100
SIGNED = re.compile(r" ?-number(?: -number)+")  # numbers with signs of their own, where `3 -4` is a difference
INDIAN = re.compile(r"\d{1,2}(?:,\d\d)+,\d{3}")
NUMBERINGS = (("i", "ii", "iii", "iv", "v"), ("1", "2", "3", "4", "5"), ("a", "b", "c", "d", "e"))
LETTERS = "ABCDEFGHIJ"
VECTORS = (("\\mathbf{i}", "\\mathbf{j}", "\\mathbf{k}"), ("i", "j", "k"), ("\\hat{x}", "\\hat{y}", "\\hat{z}"))


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


def list_items(value: Value) -> tuple[Value, ...]:
    """Return the items of a list without brackets, or the value itself."""
    return value.items if is_list(value) else (value,)


def is_tuple(value: Value) -> TypeGuard[Collection]:
    """Whether a value is a tuple that can be multiplied or added, and not a list, a set or an unbounded interval."""
    if not isinstance(value, Collection) or value.brackets not in ("()", "[]", "<>"):
        return False
    are_expressions = all(isinstance(item, Number | Symbol | Operation) for item in value.items)
    return are_expressions and {INFINITY, MINUS_INFINITY}.isdisjoint(value.items)


# --- reading
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
    tokens, start, end = reader.tokens, reader.start, reader.end
    if place + 1 >= end or not tokens[place - 1].kind == tokens[place + 1].kind == "word":
        return False
    numbers = [here for here in range(start, end) if tokens[here].kind in NUMBERS]
    return bool(numbers) and numbers[-1] < place and not {",", ";", "or"} & {*reader.texts(start, end)}


def joins_parts(reader: Reader, place: int) -> bool:
    """Whether an `and` is between the parts of one quantity, as in `5 feet and 6 inches`."""
    if place + 2 >= reader.end or reader.tokens[place + 1].kind != "number":
        return False
    units = [find_unit(reader.tokens[here].text) or (("", 1),) for here in (place - 1, place + 2)]
    return (units[0][0][0], units[1][0][0]) in SMALLER_UNITS


def read_list(reader: Reader, first: Value) -> Value:
    items = [*list_items(first)]
    word: Literal["", "and", "or"] = ""
    while reader.place < reader.end:
        infix = next(reader.find_infixes(reader.place), None)
        if infix is None or infix.build is not read_list:
            break
        joiner = JOINERS.get(reader.tokens[reader.place].text.casefold())
        word = joiner or word
        reader.place += 1
        after = reader.peek()
        if joiner and (after is None or after.text in AFTER_JOINERS):
            raise Unreadable("a word that changes the value")
        if after is not None and reader.find_end(LIST) > reader.place:
            items.extend(list_items(reader.grammar.item(reader)))
    return items[0] if len(items) == 1 else Collection("", tuple(fill_dots(items)), word, find_decimal_comma(reader))


def starts_row(reader: Reader, place: int) -> bool:
    """Whether a number follows a number or an angle without a sign. A mixed number or an angle in minutes is one value."""
    tokens, after = reader.tokens, reader.tokens[place + 1].text if place + 1 < reader.end else ""
    if tokens[place].text == "-":
        own = tokens[reader.start : reader.end] if place == reader.start + 2 else []
        kinds = ["-" if one.text == "-" else one.kind for one in own]
        return bool(SIGNED.fullmatch("".join(" " * one.spaced + kind for one, kind in zip(own, kinds, strict=True))))
    if place == reader.start or tokens[place].kind not in NUMBERS or after == "'":
        return False
    if tokens[place - 1].text == "\\circ":
        return True
    is_argument = place > 1 and tokens[place - 2].text in ("_", "^", "\\frac", "\\binom")
    is_fraction = after == "/" and tokens[place].text.isdecimal()
    return tokens[place - 1].kind in NUMBERS and not is_argument and not is_fraction


def read_row(reader: Reader, first: Value) -> Value:
    items, lowest = [first], NEGATION if reader.ahead(1) == ["-"] else UNIT + 1
    while reader.place < reader.end and (lowest == NEGATION or starts_row(reader, reader.place)):
        items.append(reader.read(lowest))
    return Collection("", tuple(items), "row")


def find_decimal_comma(reader: Reader) -> Fraction | None:
    """Return the number that a list such as `3,14` is with a decimal comma, or `12,34,567` with Indian groups of digits."""
    texts = reader.texts(reader.start, reader.place)
    digits = texts[texts[0] in ("+", "-") :]
    is_number = len(digits) == 3 and digits[1] == "," and digits[0].isdecimal() and digits[2].isdecimal()
    is_grouped = INDIAN.fullmatch("".join(digits)) is not None
    if not (is_number or is_grouped) or any(token.spaced for token in reader.tokens[reader.start + 1 : reader.place]):
        return None
    number = parse_number("".join(digits).replace(",", "" if is_grouped else ".")).value
    return -number if texts[0] == "-" else number


def fill_dots(values: list[Value]) -> list[Value]:
    r"""Return the integers that `1, 2, \ldots, 5` stands for."""
    dots = Symbol("\\ldots")
    place = values.index(dots) if dots in values else 0
    integers = [value.value for value in values if isinstance(value, Number) and value.value.denominator == 1]
    if place < 2 or place != len(values) - 2 or len(integers) != len(values) - 1:
        return values
    step, last = integers[-2] - integers[-3], integers[-1]
    if step == 0 or (last - integers[-2]) % step or not 0 < (last - integers[-2]) / step <= MAX_DOTS:
        return values
    start = integers[-2]
    return [*values[:place], *(make_number(start + step * k) for k in range(1, int((last - start) / step) + 1))]


def read_parts(reader: Reader) -> Value | None:
    """Return the answers to the parts of a question in their order: `(i) 3 (ii) 5` or `(1) 3; (2) 5`."""
    numbers = next((numbers for numbers in NUMBERINGS if reader.ahead(3) == ["(", numbers[0], ")"]), ())
    starts, place = [reader.place], reader.place + 3
    while numbers and place < reader.end and len(starts) < len(numbers):
        if reader.texts(place, place + 3) == ["(", numbers[len(starts)], ")"] and reader.tokens[place].spaced:
            starts.append(place)
        place = max(place, reader.match[place]) + 1
    ends = [*starts[1:], reader.end]
    if len(starts) == 1 or any(end == start + 3 for start, end in zip(starts, ends, strict=True)):
        return None
    items = tuple(reader.statement(start + 3, end) for start, end in zip(starts, ends, strict=True))
    reader.place = reader.end
    return Collection("()", items)


def read_set(reader: Reader) -> Value:
    start, end = reader.place + 1, reader.match[reader.place]
    if start == end:
        return EMPTY_SET
    items = read_grouped(reader, start, end)
    return Collection("{}", list_items(expand_signs(reader.statement(start, end))) if items is None else items)


def read_tuple(reader: Reader) -> Value:
    start, end = reader.place + 1, reader.match[reader.place]
    opening, closing = reader.tokens[start - 1].text, reader.tokens[end].text
    brackets = "<>" if opening == "\\langle" else opening + closing
    if (items := read_grouped(reader, start, end)) is not None:
        return Collection(brackets, items)
    value = reader.statement(start, end)
    if is_list(value) and value.word in ("", "pm", "row"):
        return Collection(brackets, value.items, "row" if value.word == "row" else "")
    return value


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
    last = last if (value.name == "pm") == (sign == 1) else Operation("-", (last,))
    return Operation("+", (*first, last)) if first else last


# --- comparison
def find_components(value: Value, size: int) -> Value:
    """Return the vector of this size that a sum of unit vectors is, or the value itself."""
    names = find_names(value) if size in (2, 3) and is_expression(value) else set()
    for units in VECTORS:
        if names & {*units[:size]} and not names & {*units[size:]}:
            ones = [{other: ONE if other == name else ZERO for other in units} for name in units[:size]]
            return Collection("<>", tuple(substitute(value, one) for one in ones))
    return value


def find_letters(value: Value) -> tuple[Value, ...]:
    """Return the letters of a product of different capital letters, such as the choices `BD`."""
    letters = value.operands if is_operation(value, "*") else ()
    return letters if all(map(is_letter, letters)) and len({*letters}) == len(letters) else ()


def is_letter(value: Value) -> bool:
    return isinstance(value, Symbol) and len(value.name) == 1 and value.name in LETTERS


def as_collection(value: Value, other: Value) -> Value:
    """Return a sum of unit vectors as a vector, and a product of letters as a list, if the other value is one."""
    if isinstance(value, Collection) or not isinstance(other, Collection):
        return value
    letters = find_letters(value)
    if letters and all(map(is_letter, other.items)):
        return Collection("", letters)
    return find_components(value, len(other.items))


def match_collections(gold: Value, answer: Value, same: Same) -> Verdict:
    one, other = as_collection(gold, answer), as_collection(answer, gold)
    if not isinstance(one, Collection) or not isinstance(other, Collection):
        return match_single(gold, answer, same)
    ordered = [value.brackets not in ("", "{}") or value.word == "row" for value in (one, other)]
    if any(ordered):
        plain = other if ordered[0] else one
        if plain.brackets == "{}" or plain.word == "or":
            return False
        return same.in_order(one.items, other.items)
    if one.brackets == other.brackets == "{}":
        if sum(map(is_finite_set, one.items)) != sum(map(is_finite_set, other.items)):
            return False  # {3} is an element that is not 3
        return same.in_any_order([*dict.fromkeys(one.items)], [*dict.fromkeys(other.items)])
    return same.in_any_order(one.items, other.items)


def match_single(gold: Value, answer: Value, same: Same) -> bool | None:
    """Compare a collection with one value, which a set or a list of equal values may be, and `3,14` a decimal."""
    if is_list(answer) and answer.word != "row":
        are_values = all(is_expression(item) or isinstance(item, Quantity) for item in answer.items)
        if are_values and conjoin([same(gold, item) for item in answer.items]):
            return True
    one, other = (find_single(value) if isinstance(value, Collection) else value for value in (gold, answer))
    return False if one is None or other is None else same(one, other)


def find_single(value: Collection) -> Value | None:
    r"""Return the only value of a set that holds no set, as `\{\emptyset\}` does, or the decimal that a list may be."""
    item = value.items[0]
    if is_finite_set(value) and len(value.items) == 1 and item != EMPTY_SET and not is_finite_set(item):
        return item
    return None if value.decimal is None else Number(value.decimal)


COLLECTIONS = Kind(lambda value: isinstance(value, Collection), match_collections)
