r"""Families of values: an expression for all integers, such as `k\pi, k \in \mathbb{Z}`, and classes such as `1 \pmod 4`."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import repeat

from ..evaluation import are_close, evaluate
from ..functions import CONTEXT, Numeric, Undefined
from ..matching import Kind, Same, Verdict
from ..reader import Reader
from ..tokens import Token
from ..values import (
    Operation,
    Symbol,
    Value,
    find_symbols,
    is_expression,
    is_operation,
    list_parts,
    make_number,
    substitute,
)
from .lists import Collection, is_list, items_of


LOWEST = {"N": 0, "N+": 1}
DOMAINS = {  # the domain that each name of a set of numbers is, without its font, its braces and `^` or `_`
    **{name: name for name in "ZR"},
    **dict.fromkeys(r"N N0 Z\ge0".split(), "N"),
    **dict.fromkeys("N+ N* Z+ Z>0".split(), "N+"),
}

IN_WORDS = {
    *"for all any every each some where is an a are be integer integers number numbers positive natural nonnegative with".split()
}
AROUND = {*"(){}^_$.,", "\\mathbb"}  # signs of a condition that mean nothing
MAX_CONDITION = 24
MAX_SHIFT = 10**6
MAX_FAMILIES = 24  # largest number of families into which families with different steps are split, to have one step


@dataclass(frozen=True, slots=True)
class Family(Value):
    """The values that a value with an index takes for all numbers of a domain."""

    value: Value
    index: str
    domain: str  # `"Z"`, `"N"` (from 0) or `"N+"` (from 1) for integers, or the name of another set


@dataclass(frozen=True, slots=True)
class Residue(Value):
    r"""A class of integers such as `1 \pmod 4`."""

    value: Value
    modulus: Value


# --- reading
def find_condition(tokens: list[Token]) -> tuple[str, str] | None:
    r"""Return the index and the domain that `k \in \mathbb{Z}` or `for all integers k` states, or None for other tokens."""
    if not any(token.kind == "letter" for token in tokens):  # as in most lists
        return None
    tokens = [token for token in tokens if token.text not in AROUND]
    texts = [token.text for token in tokens[:3]]
    if "\\in" in texts[1:]:  # k in Z, for k in Z
        return find_membership(tokens[texts.index("\\in", 1) - 1 :])
    return find_condition_in_words(tokens)


def find_membership(tokens: list[Token]) -> tuple[str, str] | None:
    domain = DOMAINS.get("".join(token.text for token in tokens[2:]))
    if domain is None or tokens[0].kind != "letter":
        return None
    return tokens[0].text, domain


def find_condition_in_words(tokens: list[Token]) -> tuple[str, str] | None:
    letters = [token.text for token in tokens if token.kind == "letter"]
    names = [letter for letter in letters if letter != "a"] or letters
    words = {token.text.casefold() for token in tokens}
    words.difference_update(map(str.casefold, names))
    if len(names) != 1 or not words <= IN_WORDS:
        return None
    domain = find_domain_in_words(words)
    if domain is None:
        return None
    return (names[0], domain)


def find_domain_in_words(words: set[str]) -> str | None:
    if words.isdisjoint(("integer", "integers", "natural")):
        return None
    if "positive" in words:
        return "N+"
    if words.isdisjoint(("natural", "nonnegative")):
        return "Z"
    return "N"


def states_condition(reader: Reader, place: int) -> bool:
    """Whether a comma, brackets or a word after a value state what an index is."""
    return find_condition(list_condition(reader, place)) is not None


def list_condition(reader: Reader, place: int) -> list[Token]:
    """Return the tokens of the condition that a comma, brackets or a word begin, or none if they are too many for one."""
    token = reader.tokens[place]
    end = reader.match[place] if token.text == "(" else reader.end
    if end - place >= MAX_CONDITION:
        return []
    if token.kind != "word":
        place += 1
    return reader.tokens[place:end]


def attach_condition(reader: Reader, value: Value) -> Value:
    place = reader.place
    condition = find_condition(list_condition(reader, place))
    assert condition is not None
    reader.place = reader.end
    if reader.tokens[place].text == "(":
        reader.place = reader.match[place] + 1
    return make_family(value, *condition)


def make_family(value: Value, index: str, domain: str) -> Value:
    """Return a family, or the value itself if it does not depend on the index."""
    if index in find_all_symbols(value):
        return Family(value, index, domain)
    return value


def find_all_symbols(value: Value) -> set[str]:
    if is_expression(value):
        return find_symbols(value)
    return set().union(*map(find_all_symbols, list_parts(value)))


# --- classes of integers
def read_modulus(reader: Reader, value: Value) -> Value:
    place = reader.place
    if reader.tokens[place].text == "(":
        modulus = reader.statement(place + 2, reader.match[place])
        reader.place = reader.match[place] + 1
    else:
        reader.place += 1
        modulus = reader.argument(whole_numbers=True)
    return Residue(value, modulus)


# --- comparison
def as_family(value: Value, other: Value) -> Value:
    """Return a class of integers as a family, and also an expression that may be one without its condition."""
    if is_operation(value, "mod") and isinstance(other, Residue):
        value = Residue(*value.operands)
    if isinstance(value, Residue):
        multiple = Operation("*", (value.modulus, Symbol("k")))
        return Family(Operation("+", (value.value, multiple)), "k", "Z")
    if isinstance(other, Family | Residue) and (is_expression(value) or isinstance(value, Collection)):
        return add_condition(value, other)
    return value


def add_condition(value: Value, other: Family | Residue) -> Value:
    """Return a value with the condition of a family if it has one name more than the family, of one letter."""
    names = find_all_symbols(other.value)
    domain = "Z"
    if isinstance(other, Family):
        names.discard(other.index)
        domain = other.domain
    free = find_all_symbols(value) - names
    if len(free) != 1 or len(index := free.pop()) != 1:
        return value
    return Family(value, index, domain)


def match_families(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare families by their values: the index may have another name, another start and the other direction."""
    one = as_family(gold, answer)
    other = as_family(answer, gold)
    families = list_families(one, other)
    its_families = list_families(other, one)
    if not families or not its_families:
        return same(*(value.value if isinstance(value, Family) else value for value in (one, other)))
    if {family.domain for family in families + its_families} == {"Z"}:
        widened = widen_steps(families, its_families)
        families, its_families = (drop_equal(parts, same) for parts in widened)
    if len(families) > 1 or len(its_families) > 1:
        return same.in_any_order(families, its_families)
    return match_one_family(families[0], its_families[0], same)


def list_families(value: Value, other: Value) -> list[Family]:
    """Return the families that a value consists of, or an empty list if a part of it is none."""
    if isinstance(value, Family):
        return [replace(value, value=item) for item in items_of(value.value)]
    if not is_list(value):
        return []
    parts = [as_family(item, other) for item in value.items]
    families = [part for part in parts if isinstance(part, Family)]
    if len(families) == len(parts):
        return families
    return []


def widen_steps(families: list[Family], its_families: list[Family]) -> tuple[list[Family], list[Family]]:
    """Return families of all integers with one step: `k` is `2k` and `2k + 1` if the step on the other side is 2."""
    steps = [*map(find_step, families + its_families)]
    if not all(steps):
        return families, its_families
    ratios = [Fraction(str(abs(step / steps[0]))).limit_denominator(MAX_FAMILIES) for step in steps]
    if not all(map(is_multiple, steps, ratios, repeat(steps[0]))):
        return families, its_families
    widest = math.lcm(*(ratio.numerator for ratio in ratios))
    counts = [int(widest / ratio) for ratio in ratios]
    if sum(counts) > MAX_FAMILIES:
        return families, its_families
    place = len(families)
    return split_steps(families, counts[:place]), split_steps(its_families, counts[place:])


def find_step(family: Family) -> Numeric:
    expression = next(iter(list_expressions(family)), family.value)
    return find_line(expression, family.index)[1]


def is_multiple(step: Numeric, ratio: Fraction, other: Numeric) -> bool:
    if ratio == 0:
        return False
    return are_close(abs(step), abs(other) * ratio)


def split_steps(families: list[Family], counts: list[int]) -> list[Family]:
    parts: list[Family] = []
    for family, count in zip(families, counts, strict=True):
        if count == 1:
            parts.append(family)
            continue
        wide = Operation("*", (make_number(count), Symbol(family.index)))
        for first in range(count):
            moved = Operation("+", (wide, make_number(first)))
            parts.append(replace(family, value=substitute(family.value, {family.index: moved})))
    return parts


def drop_equal(families: list[Family], same: Same) -> list[Family]:
    different: list[Family] = []
    for family in families:
        if len(different) > MAX_FAMILIES or not any(match_one_family(before, family, same) for before in different):
            different.append(family)
    return different


def match_one_family(one: Family, other: Family, same: Same) -> bool | None:
    start = LOWEST.get(one.domain)
    its_start = LOWEST.get(other.domain)
    if one.domain != other.domain and None in (start, its_start):
        return False
    for sign, shift in ((1, 0), *find_moves(one, other)):
        if start is not None and its_start is not None and (sign, shift) != (1, its_start - start):
            continue
        moved = move_index(one.index, sign, shift)
        verdict = same(one.value, substitute(other.value, {other.index: moved}))
        if verdict is not False:
            return verdict
    return False


def move_index(index: str, sign: int, shift: int) -> Value:
    moved: Value = Symbol(index)
    if sign < 0:
        moved = Operation("-", (moved,))
    if shift:
        moved = Operation("+", (moved, make_number(shift)))
    return moved


def find_moves(one: Family, other: Family) -> Iterator[tuple[int, int]]:
    """Yield the sign and the shift of the index by which the first linear expressions of two families are the same."""
    for expression, its_expression in zip(list_expressions(one), list_expressions(other), strict=False):
        first, step = find_line(expression, one.index)
        its_first, its_step = find_line(its_expression, other.index)
        if None in (first, step, its_first, its_step) or its_step == 0:
            continue
        sign = CONTEXT.nint(step / its_step)
        shift = CONTEXT.nint((first - its_first) / its_step)
        if sign in (1, -1) and abs(shift) < MAX_SHIFT:
            yield int(sign), int(shift)
            return


def list_expressions(family: Family) -> list[Value]:
    """Return the largest expressions in a family that contain its index."""
    values: list[Value] = [family.value]
    while any(not is_expression(value) for value in values):
        values = [part for value in values for part in ([value] if is_expression(value) else list_parts(value))]
    return [value for value in values if family.index in find_symbols(value)]


def find_line(value: Value, index: str) -> tuple[Numeric, Numeric]:
    point = {name: CONTEXT.mpf(2 + place) / 7 for place, name in enumerate(sorted(find_symbols(value)))}
    try:
        numbers = [evaluate(value, {**point, index: CONTEXT.mpf(number)}, only_real=True) for number in (0, 1)]
    except Undefined:
        return None, None
    return numbers[0], numbers[1] - numbers[0]


FAMILIES = Kind(lambda value: isinstance(value, Family | Residue), match_families)
