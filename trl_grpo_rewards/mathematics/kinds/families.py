r"""Families of values: an expression for all integers, such as `k\pi, k \in \mathbb{Z}`, and classes such as `1 \pmod 4`."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from ..evaluation import are_close, evaluate
from ..functions import CONTEXT, Numeric, Undefined
from ..matching import Kind, Same, Verdict
from ..reader import Reader
from ..tokens import Token
from ..values import Operation, Symbol, Value, find_symbols, is_expression, list_parts, make_number, substitute
from .lists import Collection, is_list, list_items


LOWEST = {"N": 0, "N+": 1}
DOMAINS = {  # the domain that each name of a set of numbers is, without its font, its braces and `^` or `_`
    **{"Z": "Z", "R": "R"},
    **dict.fromkeys(("N", "N0", "Z\\ge0"), "N"),
    **dict.fromkeys(("N+", "N*", "Z+", "Z>0"), "N+"),
}

IN_WORDS = {
    *"for all any every each some where is an a are be integer integers number numbers positive natural nonnegative with".split()
}
AROUND = {*"(){}^_$.,", "\\mathbb"}  # signs of a condition that mean nothing
MAX_CONDITION = 24
MAX_SHIFT = 10**6
MAX_PARTS = 24  # largest number of families into which families with different steps are split, to have one step


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
    texts = [token.text for token in tokens]
    if texts[1:2] == ["\\in"] or texts[2:3] == ["\\in"]:
        texts = texts[-len(texts) + (texts[1] != "\\in") :]  # for k in Z
        domain = DOMAINS.get("".join(texts[2:]))
        return (texts[0], domain) if domain and tokens[-len(texts)].kind == "letter" else None
    letters = [token.text for token in tokens if token.kind == "letter"]
    letters = [letter for letter in letters if letter != "a"] or letters
    words = {text.casefold() for text in texts} - {text.casefold() for text in letters}
    if len(letters) != 1 or not words <= IN_WORDS or not words & {"integer", "integers", "natural"}:
        return None
    return letters[0], "N+" if "positive" in words else "N" if words & {"natural", "nonnegative"} else "Z"


def states_condition(reader: Reader, place: int) -> bool:
    """Whether a comma, brackets or a word after a value state what an index is."""
    return find_condition(list_condition(reader, place)) is not None


def list_condition(reader: Reader, place: int) -> list[Token]:
    """Return the tokens of the condition that a comma, brackets or a word begin, or none if they are too many for one."""
    token = reader.tokens[place]
    end = reader.match[place] if token.text == "(" else reader.end
    return reader.tokens[place + (token.kind != "word") : end] if end - place < MAX_CONDITION else []


def attach_condition(reader: Reader, value: Value) -> Value:
    place = reader.place
    found = find_condition(list_condition(reader, place))
    assert found is not None
    reader.place = reader.match[place] + 1 if reader.tokens[place].text == "(" else reader.end
    return make_family(value, *found)


def make_family(value: Value, index: str, domain: str) -> Value:
    """Return a family, or the value itself if it does not depend on the index."""
    return Family(value, index, domain) if index in find_all_symbols(value) else value


def find_all_symbols(value: Value) -> set[str]:
    if is_expression(value):
        return find_symbols(value)
    return set().union(*map(find_all_symbols, list_parts(value)))


# --- classes of integers
def read_modulus(reader: Reader, value: Value) -> Value:
    place, closing = reader.place, reader.match[reader.place]
    if reader.tokens[place].text == "(":
        modulus = reader.statement(place + 2, closing)
        reader.place = closing + 1
    else:
        reader.place += 1
        modulus = reader.argument(whole_numbers=True)
    return Residue(value, modulus)


# --- comparison
def as_family(value: Value, other: Value) -> Value:
    """Return a class of integers as a family, and also an expression that may be one without its condition."""
    if isinstance(value, Operation) and value.name == "mod" and isinstance(other, Residue):
        value = Residue(*value.operands)
    if isinstance(value, Residue):
        return Family(Operation("+", (value.value, Operation("*", (value.modulus, Symbol("k"))))), "k", "Z")
    if not isinstance(other, Family | Residue) or not (is_expression(value) or isinstance(value, Collection)):
        return value
    own = find_all_symbols(other.value) - ({other.index} if isinstance(other, Family) else set())
    free = find_all_symbols(value) - own
    if len(free) != 1 or len(index := free.pop()) != 1:
        return value
    return Family(value, index, other.domain if isinstance(other, Family) else "Z")


def match_families(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare families by their values: the index may have another name, another start and the other direction."""
    one, other = as_family(gold, answer), as_family(answer, gold)
    mine, its = list_families(one, other), list_families(other, one)
    if not mine or not its:
        return same(*(value.value if isinstance(value, Family) else value for value in (one, other)))
    if {family.domain for family in mine + its} == {"Z"}:
        mine, its = (drop_equal(families, same) for families in widen_steps(mine, its))
    if len(mine) > 1 or len(its) > 1:
        return same.in_any_order(mine, its)
    return match_one_family(mine[0], its[0], same)


def list_families(value: Value, other: Value) -> list[Family]:
    """Return the families that a value consists of, or an empty list if a part of it is none."""
    if isinstance(value, Family):
        return [replace(value, value=item) for item in list_items(value.value)]
    parts = [as_family(item, other) for item in list_items(value)] if is_list(value) else []
    families = [part for part in parts if isinstance(part, Family)]
    return families if len(families) == len(parts) else []


def widen_steps(mine: list[Family], its: list[Family]) -> tuple[list[Family], list[Family]]:
    """Return families of all integers with one step: `k` is `2k` and `2k + 1` if the step on the other side is 2."""
    firsts = [next(iter(list_expressions(family)), family.value) for family in mine + its]
    steps = [find_line(first, family.index)[1] for first, family in zip(firsts, mine + its, strict=True)]
    if not all(steps):
        return mine, its
    ratios = [Fraction(str(abs(step / steps[0]))).limit_denominator(MAX_PARTS) for step in steps]
    if not all(
        ratio and are_close(abs(step), abs(steps[0]) * ratio) for step, ratio in zip(steps, ratios, strict=True)
    ):
        return mine, its
    widest = math.lcm(*(ratio.numerator for ratio in ratios))
    counts = [int(widest / ratio) for ratio in ratios]
    if sum(counts) > MAX_PARTS:
        return mine, its
    return split_steps(mine, counts[: len(mine)]), split_steps(its, counts[len(mine) :])


def split_steps(families: list[Family], counts: list[int]) -> list[Family]:
    parts: list[Family] = []
    for family, count in zip(families, counts, strict=True):
        wide = Operation("*", (make_number(count), Symbol(family.index)))
        moved = [Operation("+", (wide, make_number(first))) for first in range(count)] if count > 1 else []
        parts += [replace(family, value=substitute(family.value, {family.index: one})) for one in moved] or [family]
    return parts


def drop_equal(families: list[Family], same: Same) -> list[Family]:
    different: list[Family] = []
    for family in families:
        if len(different) > MAX_PARTS or not any(match_one_family(one, family, same) for one in different):
            different.append(family)
    return different


def match_one_family(one: Family, other: Family, same: Same) -> Verdict:
    lowest = LOWEST.get(one.domain), LOWEST.get(other.domain)
    if one.domain != other.domain and None in lowest:
        return False
    for sign, shift in ((1, 0), *find_moves(one, other)):
        if lowest[0] is not None and lowest[1] is not None and (sign, shift) != (1, lowest[1] - lowest[0]):
            continue
        index = Symbol(one.index) if sign == 1 else Operation("-", (Symbol(one.index),))
        moved = Operation("+", (index, make_number(shift))) if shift else index
        verdict = same(one.value, substitute(other.value, {other.index: moved}))
        if verdict is not False:
            return verdict
    return False


def find_moves(one: Family, other: Family) -> Iterator[tuple[int, int]]:
    """Yield the sign and the shift of the index by which the first linear expressions of two families are the same."""
    for mine, its in zip(list_expressions(one), list_expressions(other), strict=False):
        first, step = find_line(mine, one.index)
        its_first, its_step = find_line(its, other.index)
        if None in (first, step, its_first, its_step) or its_step == 0:
            continue
        sign, shift = CONTEXT.nint(step / its_step), CONTEXT.nint((first - its_first) / its_step)
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
