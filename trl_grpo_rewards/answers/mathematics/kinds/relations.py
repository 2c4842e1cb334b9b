"""Equations and inequalities, and the values that they give to names."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from string import ascii_letters
from typing import TypeGuard

from ..equivalence import ENOUGH, are_equal_expressions, are_same_up_to_constants, draw_points
from ..evaluation import are_close, evaluate, evaluate_constant, evaluate_exactly, is_real, to_decimal
from ..functions import Numeric, Undefined
from ..matching import UNDECIDED, Kind, Same, Verdict
from ..reader import RELATION, Reader
from ..tokens import MAX_DIGITS, Token, Unreadable
from ..values import (
    Call,
    Name,
    Number,
    Operation,
    Symbol,
    Value,
    find_symbols,
    is_expression,
    is_operation,
    make_name,
    substitute,
    walk,
)
from .families import Residue, find_all_symbols
from .lists import Collection, as_collection, find_places, items_of
from .names import FUNCTION_LETTERS, find_function, have_same_name, is_constant, is_matrix_name, is_name, is_set_name
from .notations import Based, Ratio
from .quantities import PERCENT, Quantity, as_plain_number, find_letter_unit, finish_quantity
from .texts import Text, find_label, list_letters, read_words


RELATION_SIGNS = {
    *r"""= < > @ \le \ge \ne \approx \in \notin \subset \subseteq \supset \supseteq \equiv \sim \cong \perp \parallel
    \propto \ll \gg \mapsto \doteq""".split()
}
EQUALS = {"=", "\\approx"}
FLIPS = {"=": "=", "<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le"}
SYMMETRIC = {*r"\ne \approx \perp \parallel \equiv \cong \sim".split()}
NAMING_COMMANDS = {*r"\lim \sum \int \prod \max \min".split()}
NAMING_SUBSCRIPTS = {"=", "\\max", "\\min"}
FUNCTION_ALGEBRA = {*"fgh+-*/", "\\cdot"}
IN_CALLS = {*r", \ell \cap \cup \setminus \bar \overline { }".split()}


@dataclass(frozen=True, slots=True)
class Relation(Value):
    """A chain of equations or inequalities: `1 < x <= 3` has three sides and two signs. A colon gives a label."""

    sides: tuple[Value, ...]
    signs: tuple[str, ...]


def is_relation(value: Value, *signs: str) -> TypeGuard[Relation]:
    """Whether a value is a relation of two sides, with one of these signs."""
    return isinstance(value, Relation) and len(value.signs) == 1 and value.signs[0] in signs


def equate(name: Value, value: Value) -> Relation:
    return Relation((name, value), ("=",))


# --- reading
def read_item(reader: Reader) -> Value:
    """Return one item of a list: a relation, or a value with or without a label."""
    end = reader.find_end(RELATION - 1)
    while reader.place < end and reader.tokens[reader.place].text == "\\quad":
        reader.place += 1
    saved = reader.end
    reader.end = end
    start = find_label(reader)
    label = reader.texts(reader.place, start)
    reader.place = start
    value = reader.extend(read_side(reader, is_left=True), RELATION)
    reader.end = saved
    if len(label) > 1 and label[-1] == ":":
        return Relation((make_name(label[:-1]), value), (":",))
    return value


def read_side(reader: Reader, is_left: bool = False) -> Value:
    end = reader.find_end(RELATION)
    if is_left and end < reader.end:
        return read_left_side(reader, end)
    if reader.place == end:
        raise Unreadable("a side is missing")
    return reader.within(reader.place, end, read_side_value)


def read_left_side(reader: Reader, end: int) -> Value:
    """Return the left side of a relation, which is a name if it is no expression."""
    start = reader.place
    if start == end:
        return Symbol("")
    if is_left_name(reader, start, end):
        reader.place = end
        return make_left_name(reader, start, end)
    if not starts_phrase(reader):
        return reader.within(start, end, read_side_value)
    value = reader.attempt(lambda reader: reader.within(start, end, read_side_value))
    if value is not None and (isinstance(value, Symbol) or is_constant(value)):
        return value
    reader.place = end
    return make_name(reader.texts(start, end))


def make_left_name(reader: Reader, start: int, end: int) -> Symbol | Call:
    name, *rest = reader.texts(start, end)
    if len(rest) == 3 and reader.tokens[start].kind == reader.tokens[start + 2].kind == "letter":  # f(x)
        return Call(name, (Symbol(rest[1]),))
    return Symbol(" ".join((name, *rest)))


def starts_phrase(reader: Reader) -> bool:
    """Whether a side starts with a word, or an operator such as `\\lim`, and may name a value as a whole."""
    first = reader.tokens[reader.place]
    return first.kind == "word" or (first.text in NAMING_COMMANDS and reader.ahead(2) != ["\\int", "_"])


def read_side_value(reader: Reader) -> Value:
    start = reader.place
    if reader.tokens[start].kind == "word":
        words = read_words(reader)
        if words is not None:
            return words
    value = reader.read(RELATION + 1)
    if isinstance(value, Call) and len(value.operands) > 1 and not find_symbols(value):
        value = name_point(Symbol(value.name), Collection("()", value.operands)) or value
    return find_letter_unit(reader, finish_quantity(value), start)


def read_relation(reader: Reader, first: Value) -> Value:
    """Return the chain of relations whose first side is read."""
    sides = [first]
    signs: list[str] = []
    while (token := reader.peek()) is not None and token.text in RELATION_SIGNS:
        signs.append(token.text)
        reader.place += 1
        sides.append(read_side(reader, is_left=reader.ahead(1) == ["\\lim"]))
    if len(sides) > 2 and {*signs} == {"="} and all(map(is_variable, sides[:-1])):  # x = y = 2
        return Collection("", tuple(equate(side, sides[-1]) for side in sides[:-1]))
    return name_items(name_function(Relation(tuple(sides), tuple(signs))))


def is_variable(value: Value) -> bool:
    if not isinstance(value, Symbol):
        return False
    if len(value.name) != 1:
        return False
    return value.name.islower()


def is_left_name(reader: Reader, start: int, end: int) -> bool:
    r"""Whether a left side is only a name: `f \circ g`, a call such as `n(A \cap B)`, or one that ends in a subscript."""
    texts = reader.texts(start, end)
    if "\\circ" in texts and is_composition(texts):
        return True
    subscripts = find_places(reader, start, end, "_")
    if subscripts and subscripts[-1] + 1 < end:
        return names_by_subscript(reader, subscripts[-1] + 1, end)
    if len(texts) < 4:
        return False
    if texts[0] == "(":
        return calls_functions(reader, start, end)
    if reader.match[start + 1] != end - 1:
        return False
    return is_call(reader.tokens[start:end])


def is_composition(texts: list[str]) -> bool:
    return any(sign == "\\circ" and before != "^" for before, sign in pairwise(texts))


def names_by_subscript(reader: Reader, start: int, end: int) -> bool:
    """Whether a side ends in a subscript that no variable has, as `f_{\\max}` and `S_{n=5}` do."""
    closing = max(start, reader.match[start])
    if closing != end - 1:
        return False
    return not NAMING_SUBSCRIPTS.isdisjoint(reader.texts(start, end))


def calls_functions(reader: Reader, start: int, end: int) -> bool:
    """Whether a side is a call of a combination of functions, such as `(f + g)(x)`."""
    place = reader.match[start] + 1
    if reader.texts(place, place + 1) != ["("] or reader.match[place] != end - 1:
        return False
    return FUNCTION_ALGEBRA.issuperset(reader.texts(start + 1, place - 1))


def is_call(tokens: list[Token]) -> bool:
    """Whether tokens call what is no function of a formula, such as `n(A)` and `Area(ABC)`."""
    name, opening, *arguments, _ = tokens
    if name.kind not in ("letter", "word") or opening.text not in ("(", "["):
        return False
    if name.text in FUNCTION_LETTERS:
        return False
    if name.text in ("x", "y") and [token.kind for token in arguments] != ["letter"]:
        return False
    return all(token.kind in ("letter", "number", "word") or token.text in IN_CALLS for token in arguments)


def name_function(relation: Relation) -> Relation:
    r"""Return `x \mapsto x^2` and `f \equiv 0` as equations of a function."""
    left = relation.sides[0]
    right = relation.sides[-1]
    if is_relation(relation, "\\mapsto"):
        call = make_mapped_call(left)
        if call is None:
            return relation
        return equate(call, right)
    if not is_relation(relation, "\\equiv"):
        return relation
    if is_operation(right, "mod"):
        return Relation((left, Residue(*right.operands)), relation.signs)
    if find_function(left) is None:
        return relation
    return equate(left, right)


def make_mapped_call(value: Value) -> Call | None:
    r"""Return the call that is on the left of `\mapsto`: `f : x` is `f(x)`, and `x` alone is `y(x)`."""
    name, variable = value.terms if isinstance(value, Ratio) and len(value.terms) == 2 else (Symbol("y"), value)
    if isinstance(name, Symbol) and isinstance(variable, Symbol):
        return Call(name.name, (variable,))
    return None


def name_items(relation: Relation) -> Value:
    """Return `(p, q) = (2, 3)` as a tuple of values with names."""
    sides = [side.items for side in relation.sides if isinstance(side, Collection) and side.brackets != "{}"]
    if not is_relation(relation, "=") or len(sides) < 2:
        return relation
    names, values = sides
    if not len(names) == len(values) == len({*names}) or not all(map(is_name, names)):
        return relation
    return Collection("()", tuple(map(equate, names, values)))


def name_point(name: Symbol, point: Collection) -> Value | None:
    """Return the point that `A(1, 2)` names, or the condition that `t(0, 4]` states without its sign."""
    if point.brackets in ("(]", "[)"):
        return Relation((name, point), ("\\in",))
    is_capital = name.name[:1].isupper()
    is_point = is_capital and (len(name.name) == 1 or name.name[1] in "_'")
    return equate(name, point) if is_point else None


def finish_statement(value: Value) -> Value:
    """Return a statement with a name for each item of `x = 1, 2`, and with labels only where they differ."""
    if not isinstance(value, Collection | Relation):
        return value
    items = [*items_of(value)]
    for change in (label_ratios, join_letters, use_labels, spread_modulus, drop_restrictions, spread_name):
        items = change(items)
    if len(items) > 1 and isinstance(value, Collection):
        return Collection("", tuple(items), value.word, value.decimal)
    return items[0]


def label_ratios(items: list[Value]) -> list[Value]:
    """Return `A: 3, B: 5` as values with labels."""
    pairs = [item.terms for item in items if isinstance(item, Ratio) and list_letters(item.terms[0])]
    if len(items) == len(pairs) > 1 and {*map(len, pairs)} == {2}:
        return [Relation(pair, (":",)) for pair in pairs]
    return items


def join_letters(items: list[Value]) -> list[Value]:
    """Return `Tom = 12, Ann = 20` with names of people in place of products of letters."""
    relations = [item for item in items if isinstance(item, Relation)]
    words = ["".join(list_letters(relation.sides[0])) for relation in relations]
    if len(items) == len(words) > 1 and all(len(word) > 2 and word.istitle() for word in words):
        pairs = zip(relations, words, strict=True)
        return [replace(relation, sides=(Name(word), *relation.sides[1:])) for relation, word in pairs]
    return items


def use_labels(items: list[Value]) -> list[Value]:
    """Return items with their labels as names if they have different ones, and otherwise without labels."""
    labelled = [item for item in items if is_relation(item, ":")]
    if len(items) == len(labelled) == len({item.sides[0] for item in labelled}) > 1:
        return [replace(item, signs=("=",)) for item in labelled]
    return [item.sides[-1] if is_relation(item, ":") else item for item in items]


def drop_restrictions(items: list[Value]) -> list[Value]:
    first, *others = items
    return [first, *(item for item in others if not restricts(item, first))]


def spread_name(items: list[Value]) -> list[Value]:
    """Return `x = 1, 2` as `x = 1, x = 2`."""
    first, *others = items
    if not is_relation(first, "=", "\\ne"):
        return items
    name = first.sides[0]
    if not isinstance(name, Symbol) or any(isinstance(item, Relation | Text) for item in others):
        return items
    return [first, *(Relation((name, item), first.signs) for item in others)]


def restricts(value: Value, first: Value) -> bool:
    r"""Whether an item only says where the first one is defined, as `x \ne 1` does after `\frac{1}{x-1}`."""
    if not is_relation(value, "\\ne") or isinstance(first, Symbol):
        return False
    if not is_expression(first):
        return False
    return value.sides[0] in walk(first)


def spread_modulus(items: list[Value]) -> list[Value]:
    r"""Return the classes that `n \equiv 1, 5 \pmod 6` is: the modulus at the end belongs to all numbers."""
    first = items[0]
    last = items[-1]
    if not isinstance(last, Residue):
        return items
    if is_relation(first, "\\equiv"):
        first = first.sides[-1]
    numbers = [first, *items[1:-1]]
    if not all(isinstance(number, Number) for number in numbers):
        return items
    return [*(Residue(number, last.modulus) for number in numbers), last]


# --- the value of a name
def find_labelled_value(relation: Relation) -> Value | None:
    """Return the value that a relation gives a name, or None for an equation or inequality such as `2x = 10`."""
    first, *values = relation.sides
    if is_relation(relation, "\\in"):
        return values[0] if is_name(first) else None
    if is_relation(relation, "\\equiv") and isinstance(first, Symbol) and isinstance(values[0], Residue):
        return values[0]
    if not {*relation.signs} <= EQUALS:
        return None
    if len(values) == 1 and is_name_of(values[0], first):
        return first
    if is_constant(first):
        values = [first, *values]
        if not all(map(is_constant, values)):
            return None
    elif not can_be_named(first, values):
        return None
    return find_last_value(relation.signs, values)


def is_name_of(right: Value, left: Value) -> bool:
    r"""Whether an equation has its name on the right: `5 = x`, `\{1\} = A \cap B`."""
    if is_set_name(right):
        return not is_set_name(left)
    if not is_constant(left):
        return False
    return is_name(right) and not is_name(left)


def can_be_named(name: Value, values: list[Value]) -> bool:
    if is_name(name) or is_matrix_name(name, values):
        return True
    if len(values) == 1 or not is_operation(name, "+"):
        return False
    if not all(map(is_name, name.operands)):
        return False
    return all(map(is_constant, values))


def find_last_value(signs: tuple[str, ...], values: list[Value]) -> Value | None:
    """Return the value at the end of a chain, before it is rounded, or None if numbers in the chain differ."""
    constants = [value for value in values if is_constant(value)]
    are_same = are_rounded if "\\approx" in signs else are_equal_constants
    if not all(map(are_same, constants, constants[1:])):
        return None
    if signs[-1] == "\\approx":
        return values[0]
    return values[-1]


def are_rounded(one: Value, other: Value) -> bool:
    """Whether the second of two numbers may be the first one, rounded: 5.4 is about 5, and 5 is not about 6."""
    if isinstance(one, Quantity) and isinstance(other, Quantity) and one.unit == other.unit:
        one = one.value
        other = other.value
    number = evaluate_constant(one)
    rounded = evaluate_constant(other)
    exact = [fraction for fraction in map(evaluate_exactly, (other, one)) if fraction is not None]
    place = next(filter(None, map(find_last_place, exact)), None)
    if place is None or number is None or rounded is None:
        return True
    return bool(abs(number - rounded) < to_decimal(place))


def find_last_place(number: Fraction) -> Fraction | None:
    """Return the place value of the last digit that is not 0: 10 for 120, 1/100 for 1.25. None if the digits do not end."""
    left = number.denominator  # without the twos and fives that decimals have used up
    places = 0
    while left > 1 and places < MAX_DIGITS:
        left //= math.gcd(left, 10)
        places += 1
        if left > 1 and math.gcd(left, 10) == 1:
            return None
    digits = int(number * 10**places)
    while digits and digits % 10 == 0:
        digits //= 10
        places -= 1
    return Fraction(10) ** -places


def are_equal_constants(one: Value, other: Value) -> bool:
    """Whether two numbers are equal, where one alone may have a unit: `3 + 4 = 7 cm`. A percentage is a hundredth."""
    one, other = (value.number if isinstance(value, Based) else value for value in (one, other))
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        if one.unit != other.unit:
            return False
        return are_equal_constants(one.value, other.value)
    if isinstance(one, Quantity):
        return are_equal_constants(other, one)
    if not isinstance(other, Quantity):
        return are_equal_expressions(one, other) is True
    values = [other.value]
    if other.unit == PERCENT:
        values.append(as_plain_number(other))
    return any(are_equal_expressions(one, value) is True for value in values)


def name_of(relation: Relation) -> Value:
    value = find_labelled_value(relation)
    if value == relation.sides[0]:
        return relation.sides[-1]
    return relation.sides[0]


def find_item_names(value: Value) -> list[str]:
    """Return the name of each item of a collection, or an empty list if an item has none. `s(t)` may be named `s`."""
    items = value.items if isinstance(value, Collection) else ()
    names = [name_of(item) for item in items if isinstance(item, Relation) and find_labelled_value(item) is not None]
    if len(names) < len(items):
        return []
    short = [name.name if isinstance(name, Call | Symbol) else str(name) for name in names]
    if are_distinct(short):
        return short
    return [*map(str, names)]


def are_distinct(names: list[str]) -> bool:
    return len({*names}) == len(names)


# --- comparison
def match_relations(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare the values of one name, or else two relations as such."""
    if isinstance(gold, Relation) and isinstance(answer, Relation):
        answer = rename_argument(gold, answer)
    value = find_value(gold)
    its_value = find_value(answer)
    names = [name_of(side) for side in (gold, answer) if isinstance(side, Relation)]
    if value is not None and its_value is not None and have_same_name(names[0], names[-1]):
        verdict = same(value, its_value)
        return verdict or are_same_solutions(gold, value, its_value, same) or verdict
    if isinstance(gold, Relation) and isinstance(answer, Relation):
        return match_chains(gold, answer, same)
    return False


def find_value(side: Value) -> Value | None:
    """Return the value that a relation gives a name, or a value that is not a relation."""
    if isinstance(side, Relation):
        return find_labelled_value(side)
    return side


def match_chains(gold: Relation, answer: Relation, same: Same) -> bool | None:
    """Compare relations side by side, from either end. An equation or inequality may be multiplied or rearranged."""
    if is_relation(gold, *FLIPS) and is_relation(answer, *FLIPS):
        return are_proportional(gold, answer)
    if gold.signs == answer.signs:
        verdict = same.in_order(gold.sides, answer.sides)
        if verdict is not False or not SYMMETRIC.issuperset(gold.signs):
            return verdict
    elif [FLIPS.get(sign) for sign in gold.signs] != [*answer.signs[::-1]]:
        return False
    return same.in_order(gold.sides, answer.sides[::-1])


def rename_argument(gold: Relation, answer: Relation) -> Relation:
    """Return `P(t) = t` as `P(x) = x` if the gold answer has this name for the argument."""
    call = name_of(gold)
    its_call = name_of(answer)
    if not isinstance(call, Call) or not isinstance(its_call, Call):
        return answer
    variables = find_symbols(call)
    its_variables = find_symbols(its_call)
    symbols = find_all_symbols(answer.sides[-1])
    if not len(variables) == len(its_variables) == 1 or variables <= symbols or not its_variables <= symbols:
        return answer
    renaming = {its_variables.pop(): Symbol(variables.pop())}
    return replace(answer, sides=tuple(substitute(side, renaming) for side in answer.sides))


def are_same_solutions(gold: Value, value: Value, answer: Value, same: Same) -> bool:
    """Return whether `y = Ce^x` and `y = Ae^x` are the same, as they are as solutions of a differential equation."""
    if same.is_part or not isinstance(gold, Relation) or find_function(name_of(gold)) is None:
        return False
    return are_same_up_to_constants([value], [answer], is_solution=True)


def are_proportional(gold: Relation, answer: Relation) -> bool:
    """Return whether two relations say the same: the differences of their sides are proportional."""
    differences = (Operation("+", (left, Operation("-", (right,)))) for left, right in (gold.sides, answer.sides))
    factor = find_factor(*differences)
    if factor is None or factor == 0:
        return False
    sign = gold.signs[0]
    if factor < 0:
        sign = FLIPS[sign]
    return answer.signs[0] == sign


def find_factor(one: Value, other: Value) -> Numeric | None:
    factors = [*itertools.islice(list_quotients(one, other), ENOUGH)]
    if len(factors) < 2 or not all(are_close(factors[0], factor) for factor in factors):
        return None
    return factors[0]


def list_quotients(one: Value, other: Value) -> Iterator[Numeric]:
    symbols = sorted(find_symbols(one) | find_symbols(other))
    for point in draw_points(one, other, symbols) if symbols else ():
        try:
            values = evaluate(one, point), evaluate(other, point)
        except Undefined:
            continue
        if values[0] != 0 and is_real(values[0]) and is_real(values[1]):
            yield (values[1] / values[0]).real


def match_named_items(gold: Value, answer: Value, same: Same) -> Verdict:
    """Compare lists whose items have names: items of the same name, or else the values in the order of the names."""
    if not isinstance(as_collection(gold, answer), Collection) or not isinstance(
        as_collection(answer, gold), Collection
    ):
        return UNDECIDED
    names = find_item_names(gold)
    its_names = find_item_names(answer)
    values = drop_names(gold, names)
    its_values = drop_names(answer, its_names)
    if not isinstance(values, Collection) or not isinstance(its_values, Collection):
        return same(values, its_values)
    if 1 in (len({*names}), len({*its_names})) and not {values.brackets, its_values.brackets} <= {"", "{}"}:
        return False  # x = 1 or x = 3 is no point and no interval
    if not its_names:
        return same(arrange(values, names, its_values, is_gold=True), its_values)
    if not names:
        return same(values, arrange(its_values, its_names, values))
    return match_by_name(values, names, its_values, its_names, same)


def match_by_name(gold: Collection, names: list[str], answer: Collection, its_names: list[str], same: Same) -> Verdict:
    if len(names) == 1 or not are_distinct(names):
        return same(gold, answer)
    return sorted(names) == sorted(its_names) and same.in_order(gold.items, pick(answer, its_names, names))


def drop_names(value: Value, names: list[str]) -> Value:
    """Return a collection with the values of its names in place of its items, or another value unchanged."""
    if not names or not isinstance(value, Collection):
        return value
    values = [find_labelled_value(item) for item in value.items if isinstance(item, Relation)]
    return Collection(value.brackets, group_solutions(names, tuple(filter(None, values))), value.word)


def pick(values: Collection, names: list[str], order: list[str]) -> tuple[Value, ...]:
    return tuple(values.items[names.index(name)] for name in order)


def arrange(values: Collection, names: list[str], plain: Collection, is_gold: bool = False) -> Collection:
    """
    Return values of names as a collection without names is compared with them.

    In a tuple, values are in the order of their names: `y = 2, x = 1` is `(1, 2)`. A plain list has the order of the
    gold answer, except if this says "or". The values of `x_1` and `x_2` have no order.
    """
    if not are_distinct([name.partition("_")[0] for name in names]):
        return values
    if plain.brackets and "".join(sorted(names)) in ascii_letters:
        return replace(values, items=pick(values, names, sorted(names)))
    if is_gold and not plain.brackets and values.word != "or":
        return replace(values, word="row")
    return values


def group_solutions(names: list[str], values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the points that values are if their names repeat: `x = 1, y = 2 or x = 3, y = 4` is `(1, 2), (3, 4)`."""
    size = len({*names})
    if not 1 < size < len(names) or names != names[:size] * (len(names) // size):
        return values
    order = sorted(range(size), key=names.__getitem__)
    solutions = (values[start : start + size] for start in range(0, len(values), size))
    return tuple(Collection("()", tuple(solution[place] for place in order)) for solution in solutions)


def is_relation_open(value: Value, is_part_open: Callable[[Value], bool]) -> bool:
    if not isinstance(value, Relation):
        return False
    return is_part_open(value.sides[-1])


RELATIONS = Kind(lambda value: isinstance(value, Relation), match_relations, is_relation_open)
NAMED_ITEMS = Kind(lambda value: bool(find_item_names(value)), match_named_items)
