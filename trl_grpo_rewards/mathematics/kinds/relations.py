"""Equations and inequalities, and the values that they give to names."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from string import ascii_letters

from ..equivalence import ENOUGH, are_equal_expressions, are_same_up_to_constants, draw_points
from ..evaluation import are_close, evaluate, evaluate_constant, evaluate_exactly, is_real, to_decimal
from ..functions import Numeric, Undefined
from ..matching import UNDECIDED, Kind, Same, Verdict
from ..reader import RELATION, Reader
from ..tokens import MAX_DIGITS, Unreadable
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
    make_number,
    substitute,
    walk,
)
from .families import Residue, find_all_symbols
from .lists import Collection, as_collection, list_items
from .names import CALLED, find_function, have_same_name, is_constant, is_matrix_name, is_name, is_set_name
from .notations import Based, Ratio
from .quantities import PERCENT, Quantity, find_letter_unit, finish_quantity
from .texts import Text, find_label, list_letters, read_words


SIGNS = {
    *r"""= < > @ \le \ge \ne \approx \in \notin \subset \subseteq \supset \supseteq \equiv \sim \cong \perp \parallel
    \propto \ll \gg \mapsto \doteq""".split()
}
EQUALS = {"=", "\\approx"}
FLIPS = {"=": "=", "<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le"}
SYMMETRIC = {"\\ne", "\\approx", "\\perp", "\\parallel", "\\equiv", "\\cong", "\\sim"}
NAMING_COMMANDS = {*r"\lim \sum \int \prod \max \min".split()}
FUNCTION_ALGEBRA = {*"fgh+-*/", "\\cdot"}
IN_CALLS = {",", "\\ell", "\\cap", "\\cup", "\\setminus", "\\bar", "\\overline", "{", "}"}


@dataclass(frozen=True, slots=True)
class Relation(Value):
    """A chain of equations or inequalities: `1 < x <= 3` has three sides and two signs. A colon gives a label."""

    sides: tuple[Value, ...]
    signs: tuple[str, ...]


# --- reading
def read_item(reader: Reader) -> Value:
    """Return one item of a list: a relation, or a value with or without a label."""
    end = reader.find_end(RELATION - 1)
    while reader.place < end and reader.tokens[reader.place].text == "\\quad":
        reader.place += 1
    saved, reader.end = reader.end, end
    label = reader.texts(reader.place, start := find_label(reader))
    reader.place = start
    value = reader.extend(read_side(reader, is_left=True), RELATION)
    reader.end = saved
    if label[-1:] == [":"] and len(label) > 1:
        return Relation((make_name(label[:-1]), value), (":",))
    return value


def read_side(reader: Reader, is_left: bool = False) -> Value:
    """Return a side of a relation. A left side that is no expression is a name."""
    end = reader.find_end(RELATION)
    is_left = is_left and end < reader.end
    if reader.place == end:
        if is_left:
            return Symbol("")
        raise Unreadable("a side is missing")
    start, first = reader.place, reader.tokens[reader.place]
    if is_left and is_left_name(reader, start, end):
        reader.place = end
        name, *rest = reader.texts(start, end)
        of_a_letter = len(rest) == 3 and {first.kind, reader.tokens[start + 2].kind} == {"letter"}
        return Call(name, (Symbol(rest[1]),)) if of_a_letter else Symbol(" ".join((name, *rest)))
    can_name = first.kind == "word" or (first.text in NAMING_COMMANDS and reader.ahead(2) != ["\\int", "_"])
    if not is_left or not can_name:
        return reader.within(start, end, read_value)
    value = reader.attempt(lambda reader: reader.within(start, end, read_value))
    if value is not None and (isinstance(value, Symbol) or is_constant(value)):
        return value
    reader.place = end
    return make_name(reader.texts(start, end))


def read_value(reader: Reader) -> Value:
    start = reader.place
    if reader.tokens[start].kind == "word" and (words := read_words(reader)) is not None:
        return words
    value = reader.read(RELATION + 1)
    if isinstance(value, Call) and len(value.operands) > 1 and not find_symbols(value):
        value = name_point(Symbol(value.name), Collection("()", value.operands)) or value
    return find_letter_unit(reader, finish_quantity(value), start)


def read_relation(reader: Reader, first: Value) -> Value:
    """Return the chain of relations whose first side is read."""
    sides, signs = [first], list[str]()
    while (token := reader.peek()) is not None and token.text in SIGNS:
        signs.append(token.text)
        reader.place += 1
        after = reader.peek()
        sides.append(read_side(reader, is_left=after is not None and after.text == "\\lim"))
    if len(sides) > 2 and {*signs} == {"="} and all(map(is_variable, sides[:-1])):  # x = y = 2
        return Collection("", tuple(Relation((side, sides[-1]), ("=",)) for side in sides[:-1]))
    return name_items(name_function(Relation(tuple(sides), tuple(signs))))


def is_variable(value: Value) -> bool:
    return isinstance(value, Symbol) and len(value.name) == 1 and value.name.islower()


def is_left_name(reader: Reader, start: int, end: int) -> bool:
    r"""Whether a left side is only a name: a call such as `n(A \cap B)`, or one that ends in a subscript."""
    texts, tokens, match = reader.texts(start, end), reader.tokens, reader.match
    if any(one == "\\circ" and before != "^" for before, one in zip(texts, texts[1:], strict=False)):
        return True
    subscripts = [here for here in reader.outermost(start, end) if tokens[here].text == "_"]
    if subscripts and subscripts[-1] + 1 < end:
        last = subscripts[-1] + 1
        inside = reader.texts(last, match[last] if tokens[last].kind == "open" else last + 1)
        return (match[last] == end - 1 or last == end - 1) and not {"=", "\\max", "\\min"}.isdisjoint(inside)
    name, *rest = tokens[start:end]
    if len(rest) < 3:
        return False
    if name.text == "(" and match[start] < end - 2:
        place = match[start] + 1
        functions = {*reader.texts(start + 1, place - 1)}
        return functions <= FUNCTION_ALGEBRA and tokens[place].text == "(" and match[place] == end - 1
    if name.kind not in ("letter", "word") or rest[0].text not in ("(", "[") or match[start + 1] != end - 1:
        return False
    arguments = rest[1:-1]
    of_a_letter = len(arguments) == 1 and arguments[0].kind == "letter"
    if name.text in CALLED or (name.text in ("x", "y") and not of_a_letter):
        return False
    return all(token.kind in ("letter", "number", "word") or token.text in IN_CALLS for token in arguments)


def name_function(relation: Relation) -> Relation:
    r"""Return `x \mapsto x^2` and `f \equiv 0` as equations of a function."""
    left, right = relation.sides[0], relation.sides[-1]
    if relation.signs == ("\\mapsto",):
        name, variable = left.terms if isinstance(left, Ratio) and len(left.terms) == 2 else (Symbol("y"), left)
        if isinstance(name, Symbol) and isinstance(variable, Symbol):
            return Relation((Call(name.name, (variable,)), right), ("=",))
    if relation.signs == ("\\equiv",) and is_operation(right, "mod"):
        return Relation((left, Residue(*right.operands)), relation.signs)
    if relation.signs == ("\\equiv",) and find_function(left) is not None:
        return Relation(relation.sides, ("=",))
    return relation


def name_items(relation: Relation) -> Value:
    """Return `(p, q) = (2, 3)` as a tuple of values with names."""
    sides = [side.items for side in relation.sides if isinstance(side, Collection) and side.brackets != "{}"]
    if relation.signs != ("=",) or len(sides) < 2 or not len(sides[0]) == len(sides[1]) == len({*sides[0]}):
        return relation
    items = tuple(Relation(pair, ("=",)) for pair in zip(*sides, strict=True))
    return Collection("()", items) if all(map(is_name, sides[0])) else relation


def name_point(name: Symbol, point: Collection) -> Value | None:
    """Return the point that `A(1, 2)` names, or the condition that `t(0, 4]` states without its sign."""
    if point.brackets in ("(]", "[)"):
        return Relation((name, point), ("\\in",))
    is_point = name.name[:1].isupper() and (len(name.name) == 1 or name.name[1] in "_'")
    return Relation((name, point), ("=",)) if is_point else None


def finish_statement(value: Value) -> Value:
    """Return a statement with a name for each item of `x = 1, 2`, and with labels only where they differ."""
    if not isinstance(value, Collection | Relation):
        return value
    items = [*list_items(value)]
    pairs = [one.terms for one in items if isinstance(one, Ratio) and list_letters(one.terms[0])]
    if len(items) == len(pairs) > 1 and {*map(len, pairs)} == {2}:  # A: 3, B: 5
        items = [Relation(pair, (":",)) for pair in pairs]
    words = ["".join(list_letters(item.sides[0])) for item in items if isinstance(item, Relation)]
    if len(items) == len(words) > 1 and all(len(word) > 2 and word.istitle() for word in words):  # Tom = 12, Ann = 20
        items = [
            replace(item, sides=(Name(word), *item.sides[1:]))
            for item, word in zip(items, words, strict=True)
            if isinstance(item, Relation)
        ]
    labels = [item.sides[0] for item in items if isinstance(item, Relation) and item.signs == (":",)]
    are_names = len(items) == len(labels) == len({*labels}) > 1
    for place, item in enumerate(items):
        if isinstance(item, Relation) and item.signs == (":",):
            items[place] = replace(item, signs=("=",)) if are_names else item.sides[-1]
    items = spread_modulus(items)
    first = items[0]
    items[1:] = [item for item in items[1:] if not restricts(item, first)]
    if isinstance(first, Relation) and first.signs in (("=",), ("\\ne",)) and isinstance(first.sides[0], Symbol):
        if not any(isinstance(one, Relation | Text) for one in items[1:]):
            items[1:] = [Relation((first.sides[0], one), first.signs) for one in items[1:]]
    if len(items) > 1 and isinstance(value, Collection):
        return Collection("", tuple(items), value.word, value.decimal)
    return items[0]


def restricts(value: Value, first: Value) -> bool:
    r"""Whether an item only says where the first one is defined, as `x \ne 1` does after `\frac{1}{x-1}`."""
    if not isinstance(value, Relation) or value.signs != ("\\ne",) or isinstance(first, Symbol):
        return False
    return is_expression(first) and value.sides[0] in walk(first)


def spread_modulus(items: list[Value]) -> list[Value]:
    r"""Return the classes that `n \equiv 1, 5 \pmod 6` is: the modulus at the end belongs to all numbers."""
    last = items[-1]
    first = items[0].sides[-1] if isinstance(items[0], Relation) and items[0].signs == ("\\equiv",) else items[0]
    if not isinstance(last, Residue) or not all(isinstance(one, Number) for one in (first, *items[1:-1])):
        return items
    return [*(Residue(one, last.modulus) for one in (first, *items[1:-1])), last]


# --- the value of a name
def find_labelled_value(relation: Relation) -> Value | None:
    """Return the value that a relation gives a name, or None for an equation or inequality such as `2x = 10`."""
    if relation.signs == ("\\in",):
        return relation.sides[1] if is_name(relation.sides[0]) else None
    first, *values = relation.sides
    if relation.signs == ("\\equiv",) and isinstance(first, Symbol) and isinstance(values[0], Residue):
        return values[0]
    if not {*relation.signs} <= EQUALS:
        return None
    if len(values) == 1 and is_set_name(values[0]) and not is_set_name(first):
        return first  # {1} = A \\cap B
    if is_constant(first):
        if len(values) == 1 and is_name(values[0]) and not is_name(first):
            return first  # 5 = x
        values = list(relation.sides)
    elif not is_name(first) and not is_matrix_name(first, values):
        is_sum_of_names = is_operation(first, "+") and all(map(is_name, first.operands))
        if len(values) == 1 or not is_sum_of_names or not all(map(is_constant, values)):
            return None
    constants = [value for value in values if is_constant(value)]
    are_same = are_rounded if "\\approx" in relation.signs else are_equal_constants
    if not all(map(are_same, constants, constants[1:])):
        return None
    if len(values) == len(relation.sides) and len(values) > len(constants):
        return None
    return values[0] if relation.signs[-1] == "\\approx" and len(values) > 1 else values[-1]


def are_rounded(one: Value, other: Value) -> bool:
    """Whether the second of two numbers may be the first one, rounded: 5.4 is about 5, and 5 is not about 6."""
    if isinstance(one, Quantity) and isinstance(other, Quantity) and one.unit == other.unit:
        one, other = one.value, other.value
    numbers = evaluate_constant(one), evaluate_constant(other)
    places = [
        find_last_place(exact) for exact in (evaluate_exactly(other), evaluate_exactly(one)) if exact is not None
    ]
    place = next(filter(None, places), None)
    if place is None or numbers[0] is None or numbers[1] is None:
        return True
    return bool(abs(numbers[0] - numbers[1]) < to_decimal(place))


def find_last_place(number: Fraction) -> Fraction | None:
    """Return the place value of the last digit that is not 0: 10 for 120, 1/100 for 1.25. None if the digits do not end."""
    digits, places = number.denominator, 0
    while digits > 1 and places < MAX_DIGITS:
        digits, places = digits // math.gcd(digits, 10), places + 1
        if digits > 1 and math.gcd(digits, 10) == 1:
            return None
    whole = int(number * 10**places)
    while whole and whole % 10 == 0:
        whole, places = whole // 10, places - 1
    return Fraction(10) ** -places


def are_equal_constants(one: Value, other: Value) -> bool:
    """Whether two numbers are equal, where one alone may have a unit: `3 + 4 = 7 cm`. A percentage is a hundredth."""
    one, other = (value.number if isinstance(value, Based) else value for value in (one, other))
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return one.unit == other.unit and are_equal_constants(one.value, other.value)
    if isinstance(one, Quantity):
        one, other = other, one
    if isinstance(other, Quantity):
        values = [other.value]
        if other.unit == PERCENT:
            values.append(Operation("/", (other.value, make_number(100))))
        return any(are_equal_expressions(one, value) is True for value in values)
    return are_equal_expressions(one, other) is True


def name_of(relation: Relation) -> Value:
    value = find_labelled_value(relation)
    return relation.sides[-1] if value == relation.sides[0] else relation.sides[0]


def find_item_names(value: Value) -> list[str]:
    """Return the name of each item of a collection, or an empty list if an item has none. `s(t)` may be named `s`."""
    items = value.items if isinstance(value, Collection) else ()
    names = [name_of(item) for item in items if isinstance(item, Relation) and find_labelled_value(item) is not None]
    short = [name.name if isinstance(name, Call | Symbol) else str(name) for name in names]
    if len(names) < len(items):
        return []
    return short if len({*short}) == len(short) else [*map(str, names)]


# --- comparison
def match_relations(gold: Value, answer: Value, same: Same) -> Verdict:
    if isinstance(gold, Relation) and isinstance(answer, Relation):
        answer = rename_argument(gold, answer)
    one, other = (find_labelled_value(value) if isinstance(value, Relation) else value for value in (gold, answer))
    names = [name_of(value) for value in (gold, answer) if isinstance(value, Relation)]
    if one is not None and other is not None and have_same_name(names[0], names[-1]):
        verdict = same(one, other)
        return verdict or are_same_solutions(gold, one, other, same) or verdict
    if not isinstance(gold, Relation) or not isinstance(answer, Relation):
        return False
    if len(gold.sides) == len(answer.sides) == 2 and gold.signs[0] in FLIPS and answer.signs[0] in FLIPS:
        return are_proportional(gold, answer)
    if gold.signs == answer.signs:
        verdict = same.in_order(gold.sides, answer.sides)
        if verdict is not False or not {*gold.signs} <= SYMMETRIC:
            return verdict
        return same.in_order(gold.sides, answer.sides[::-1])
    if tuple(FLIPS.get(sign, "") for sign in gold.signs) == answer.signs[::-1]:
        return same.in_order(gold.sides, answer.sides[::-1])
    return False


def rename_argument(gold: Relation, answer: Relation) -> Relation:
    """Return `P(t) = t` as `P(x) = x` if the gold answer has this name for the argument."""
    calls, symbols = (name_of(gold), name_of(answer)), find_all_symbols(answer.sides[-1])
    mine, its = (find_symbols(call) if isinstance(call, Call) else set[str]() for call in calls)
    if len(mine) == len(its) == 1 and its <= symbols and not mine <= symbols:
        renaming = {its.pop(): Symbol(mine.pop())}
        return replace(answer, sides=tuple(substitute(side, renaming) for side in answer.sides))
    return answer


def are_same_solutions(gold: Value, value: Value, answer: Value, same: Same) -> bool:
    """Return whether `y = Ce^x` and `y = Ae^x` are the same, as they are as solutions of a differential equation."""
    if same.is_part or not isinstance(gold, Relation) or find_function(name_of(gold)) is None:
        return False
    return are_same_up_to_constants([value], [answer], is_solution=True)


def are_proportional(gold: Relation, answer: Relation) -> bool:
    """Return whether two relations say the same: the differences of their sides are proportional."""
    sign, its_sign = gold.signs[0], answer.signs[0]
    one, other = (Operation("+", (left, Operation("-", (right,)))) for left, right in (gold.sides, answer.sides))
    factor = find_factor(one, other)
    if factor is None or factor == 0:
        return False
    return its_sign == (sign if factor > 0 else FLIPS[sign])


def find_factor(one: Value, other: Value) -> Numeric | None:
    factors = [*itertools.islice(list_quotients(one, other), ENOUGH)]
    return factors[0] if len(factors) > 1 and all(are_close(factors[0], factor) for factor in factors) else None


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
    values = [gold, answer]
    names = [find_item_names(value) for value in values]
    if not any(names) or not all(isinstance(as_collection(*pair), Collection) for pair in (values, values[::-1])):
        return UNDECIDED
    bare: list[Value] = []
    for value, own in zip(values, names, strict=True):
        if own and isinstance(value, Collection):
            items = tuple(find_labelled_value(item) or item for item in value.items if isinstance(item, Relation))
            value = Collection(value.brackets, group_solutions(own, items), value.word)
        bare.append(value)
    one, other = bare
    if isinstance(one, Collection) and isinstance(other, Collection):
        own = names[0] or names[1]
        if not all(names) and len({name.partition("_")[0] for name in own}) == len(own):
            named, plain = (one, other) if names[0] else (other, one)
            if plain.brackets and "".join(sorted(own)) in ascii_letters:  # y = 2, x = 1 is (1, 2)
                named = replace(named, items=tuple(named.items[own.index(name)] for name in sorted(own)))
            elif names[0] and not plain.brackets and named.word != "or":
                named = replace(named, word="row")
            one, other = (named, plain) if names[0] else (plain, named)
        elif all(names) and len({*names[0]}) == len(names[0]) > 1:
            if sorted(names[0]) != sorted(names[1]):
                return False
            return same.in_order(one.items, [other.items[names[1].index(name)] for name in names[0]])
        are_alternatives = any(own and len({*own}) == 1 for own in names)
        if are_alternatives and any(value.brackets not in ("", "{}") for value in (one, other)):
            return False  # x = 1 or x = 3 is no point and no interval
    return same(one, other)


def group_solutions(names: list[str], values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the points that values are if their names repeat: `x = 1, y = 2 or x = 3, y = 4` is `(1, 2), (3, 4)`."""
    size = len({*names})
    if not 1 < size < len(names) or names != names[:size] * (len(names) // size):
        return values
    order = sorted(range(size), key=names.__getitem__)
    solutions = (values[start : start + size] for start in range(0, len(values), size))
    return tuple(Collection("()", tuple(solution[place] for place in order)) for solution in solutions)


def is_open(value: Value, is_part_open: Callable[[Value], bool]) -> bool:
    return isinstance(value, Relation) and is_part_open(value.sides[-1])


RELATIONS = Kind(lambda value: isinstance(value, Relation), match_relations, is_open)
NAMED_ITEMS = Kind(lambda value: bool(find_item_names(value)), match_named_items)
