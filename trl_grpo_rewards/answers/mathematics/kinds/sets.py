"""Sets of numbers: intervals, unions, inequalities and set builders. Functions by cases, whose conditions are such sets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import eq, gt, lt, ne
from typing import Any, NamedTuple

from ..evaluation import are_close, evaluate, evaluate_constant, is_real
from ..functions import CONTEXT, Undefined
from ..matching import UNDECIDED, Kind, Same, Verdict, conjoin
from ..reader import Reader
from ..tokens import Unreadable
from ..values import INFINITY, MINUS_INFINITY, Call, Operation, Symbol, Value, is_expression, is_operation
from ..words import normalize_words
from .arrays import SET_OPERATIONS, make_matrix, split_rows
from .families import Family, find_all_symbols, find_condition, make_family
from .lists import Collection, find_places, is_list, items_of
from .quantities import Quantity
from .relations import FLIPS, RELATION_SIGNS, Relation, is_relation
from .texts import Text


FLIPPED = {**FLIPS, "\\ne": "\\ne"}
INEQUALITIES = {*FLIPPED} - {"="}
ALL_NUMBERS = {"all real numbers", "all reals", "real numbers", "any real number"}
ABOUT_NUMBERS = {*"real numbers reals x values of the".split()}
# The brackets of an interval for the signs around its variable.
BRACKETS_OF = {("<", "<"): "()", ("\\le", "<"): "[)", ("<", "\\le"): "(]", ("\\le", "\\le"): "[]"}
NO_SOLUTION = ("no", "solution")
PROBES = (-11.3, 1.7, 5.9)  # numbers at which an inequality is evaluated to see whether it is linear
OTHER_CASES = Symbol("otherwise")
CONDITION_WORDS = {*"if for when as where on whenever provided".split()}
CONDITION_SIGNS = {*FLIPPED, "\\in"}
LAST_WORDS = {"otherwise", "else", "elsewhere", "other"}


@dataclass(frozen=True, slots=True)
class Builder(Value):
    """The set of the values that meet a condition."""

    condition: Value
    head: Value  # what the set contains: a symbol for `{x | x > 1}`, or an expression for `{2k | k > 1}`
    domain: str = ""  # the kind of numbers that it says it contains, such as `"Z"`, or an empty string


@dataclass(frozen=True, slots=True)
class Cases(Value):
    """A function by cases: pairs of a value and the condition under which the function has it."""

    rows: tuple[tuple[Value, Value], ...]


# --- reading
def read_builder(reader: Reader) -> Value | None:
    r"""Return the set that a condition after a bar or a colon describes: `\{x \mid x > 1\}`, `\{x \in \mathbb{Z} : x < 3\}`."""
    start = reader.place + 1
    end = reader.match[reader.place]
    bar = next(iter(find_places(reader, start, end, "|", ":")), start)
    if bar == start or not find_places(reader, bar + 1, end, *RELATION_SIGNS):
        return None
    head = reader.statement(start, bar)
    if is_relation(head, "\\in"):
        head = head.sides[0]
    index = find_condition(reader.tokens[bar + 1 : end])
    if index is not None and head != Symbol(index[0]):
        return make_family(head, *index)
    domain = find_domain(reader, start, end)
    condition = reader.statement(bar + 1, end)
    if not isinstance(condition, Family):
        return Builder(condition, head, domain)
    if head != Symbol(condition.index):
        return condition
    return Builder(condition.value, head, domain or condition.domain)


def find_domain(reader: Reader, start: int, end: int) -> str:
    r"""Return the letter in the first `\mathbb{Z}` of a range, or an empty string."""
    texts = [text for text in reader.texts(start, end) if text != "{"]
    return next((letter for command, letter in pairwise(texts) if command == "\\mathbb"), "")


def read_exception(reader: Reader) -> Value | None:
    """Return the set that `all real numbers except 2` describes."""
    words = [text.casefold() for text in reader.texts(reader.place, reader.end)]
    if words[:1] not in (["all"], ["any"]) or "except" not in words:
        return None
    place = words.index("except") + 1
    if not {*words[1 : place - 1]} <= ABOUT_NUMBERS:
        return None
    if words[place : place + 1] == ["for"]:
        place += 1
    excluded = reader.statement(reader.place + place, reader.end)
    reader.place = reader.end
    return Operation("\\setminus", (Symbol("\\mathbb{R}"), Collection("{}", items_of(excluded))))


def read_system(reader: Reader) -> Value:
    """Return a function by cases, a list of equations, or a column of values."""
    rows = split_rows(reader, skips_empty=True)
    cases = [split_condition(reader, row) for row in rows]
    if all(len(parts) == 2 for parts in cases):
        pairs = [(reader.statement(*value), read_condition(reader, *condition)) for value, condition in cases]
        return Cases(tuple(pairs))
    values = [reader.statement(*row[0]) for row in rows if len(row) == 1]
    if len(values) < len(rows):
        raise Unreadable("rows of different kinds")
    if all(isinstance(value, Relation) for value in values):
        return Collection("", tuple(values), "and")
    return make_matrix([[value] for value in values])


def split_condition(reader: Reader, cells: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges of a value and of its condition, or of the whole row if it has no condition."""
    if len(cells) > 1:
        return cells
    start, end = cells[0]
    for here in reader.outermost(start, end):
        token = reader.tokens[here]
        if token.kind == "word" and token.text.casefold() in CONDITION_WORDS | LAST_WORDS:
            return [(start, here), (here, end)]
        if token.text == "," and is_before_condition(reader, start, here, end):
            return [(start, here), (here + 1, end)]
    return cells


def is_before_condition(reader: Reader, start: int, comma: int, end: int) -> bool:
    """Whether the part after a comma is an equation or inequality, and the part before it is none."""
    if find_places(reader, start, comma, *CONDITION_SIGNS):
        return False
    return find_places(reader, comma + 1, end, *CONDITION_SIGNS) != []


def read_condition(reader: Reader, start: int, end: int) -> Value:
    while start < end and reader.tokens[start].text.casefold() in CONDITION_WORDS | {",", "\\quad"}:
        start += 1
    words = tuple(text.casefold() for text in reader.texts(start, end) if text not in (".", ","))
    if words and words[0] in LAST_WORDS:
        return OTHER_CASES
    return reader.attempt(lambda reader: reader.statement(start, end)) or Text(words)


# --- sets of real numbers
ENDLESS = CONTEXT.inf
MAX_ENDS = 250
MAX_INTEGERS = 100


class RealSet(NamedTuple):
    """A set of real numbers: the finite ends of its parts, and whether it contains a number."""

    ends: list[Any]
    contains: Callable[[Any], bool]


ALL_REALS = RealSet([], lambda number: True)
NO_REALS = RealSet([], lambda number: False)
FROM_ZERO = RealSet([CONTEXT.mpf(0)], lambda number: number >= 0)
COMPARE = {"<": lt, ">": gt, "\\le": lt, "\\ge": gt, "\\ne": ne, "=": eq}


def compare_with(sign: str, bound: Any) -> RealSet | None:
    """Return the numbers that are below, above, equal to or different from a bound, or None for an end at infinity."""
    with_bound = sign in ("\\le", "\\ge", "=")
    if abs(bound) == ENDLESS:
        if with_bound:
            return None
        return RealSet([], lambda number: COMPARE[sign](number, bound))
    return RealSet([bound], lambda number: with_bound if are_close(number, bound) else COMPARE[sign](number, bound))


def unite(*sets: RealSet) -> RealSet:
    ends = [end for part in sets for end in part.ends]
    return RealSet(ends, lambda number: any(part.contains(number) for part in sets))


def intersect(*sets: RealSet) -> RealSet:
    return complement(unite(*map(complement, sets)))


def complement(one: RealSet) -> RealSet:
    return RealSet(one.ends, lambda number: not one.contains(number))


def make_points(numbers: list[Any]) -> RealSet:
    return RealSet(numbers, lambda number: any(are_close(number, point) for point in numbers))


def list_probes(*sets: RealSet) -> list[Any]:
    """Return the ends of sets with a number in each part between, below and above them."""
    ends: list[Any] = []
    for end in sorted(end for part in sets for end in part.ends):
        if not ends or not are_close(ends[-1], end):
            ends.append(end)
    if not ends:
        return [CONTEXT.mpf(0)]
    between = [(low + high) / 2 for low, high in pairwise(ends)]
    return [*ends, *between, ends[0] - 1, ends[-1] + 1]


def are_same_sets(one: RealSet, other: RealSet) -> bool:
    return all(one.contains(number) == other.contains(number) for number in list_probes(one, other))


NAMED_SETS = {"\\mathbb{R}": ALL_REALS, "\\emptyset": NO_REALS} | {
    f"\\mathbb{{R}}{mark}": compare_with(sign, CONTEXT.mpf(0))
    for sign, marks in {">": "^+ _>0 _+ _+^*", "\\ge": "_ge0 ^+_0", "<": "^- _<0", "\\ne": "^* ^\\times"}.items()
    for mark in marks.split()
}


def is_set(value: Value) -> bool:
    """Whether a value can only be a set of numbers or a condition, and not a point or a list."""
    if isinstance(value, Relation):
        return is_relation(value, "\\in") or not INEQUALITIES.isdisjoint(value.signs)
    if not isinstance(value, Collection):
        return isinstance(value, Builder) or is_operation(value, *SET_OPERATIONS) or find_named(value) is not None
    if value.brackets in ("(]", "[)") or any(item in (INFINITY, MINUS_INFINITY) for item in value.items):
        return True
    if not is_list(value):
        return False
    return any(map(is_set, value.items))


def find_named(value: Value) -> RealSet | None:
    if isinstance(value, Symbol):
        return NAMED_SETS.get(value.name)
    if not isinstance(value, Text):
        return None
    if " ".join(value.words) in ALL_NUMBERS:
        return ALL_REALS
    return NO_REALS if normalize_words(value.words) == NO_SOLUTION else None


def find_set(value: Value) -> RealSet | None:
    """Return a set of real numbers, or None for what is not a set whose ends are numbers."""
    found = find_parts(value)
    if found is None or len(found.ends) > MAX_ENDS:
        return None
    return found


def find_parts(value: Value) -> RealSet | None:
    if isinstance(value, Builder):
        return find_builder(value)
    if isinstance(value, Relation):
        return solve(value)
    if is_list(value):
        return find_list(value)
    if isinstance(value, Collection):
        return find_numbers(value)
    if not is_operation(value, *SET_OPERATIONS):
        return find_named(value)
    parts = find_all_sets(value.operands)
    if parts is None:
        return None
    if value.name == "\\setminus":
        parts[1:] = map(complement, parts[1:])
    return (unite if value.name == "\\cup" else intersect)(*parts)


def find_all_sets(values: Sequence[Value]) -> list[RealSet] | None:
    """Return the sets that values are, or None if one is no set."""
    parts = [*map(find_set, values)]
    found = [part for part in parts if part is not None]
    if len(found) == len(parts):
        return found
    return None


def find_builder(value: Builder) -> RealSet | None:
    """Return the numbers that a set builder describes. Integers are listed if there are few."""
    if not isinstance(value.head, Symbol) or value.head.name not in find_all_symbols(value.condition):
        return None
    found = find_set(value.condition)
    if found is None or value.domain in ("", "R"):
        return found
    if value.domain == "N":
        found = intersect(found, FROM_ZERO)
    if value.domain in ("Z", "N"):
        return find_integers(found)
    return None


def find_integers(numbers: RealSet) -> RealSet | None:
    """Return the integers in a set, or None if there may be too many to list them."""
    probes = list_probes(numbers)
    low = min(probes)
    high = max(probes)
    if high - low > MAX_INTEGERS or numbers.contains(low) or numbers.contains(high):
        return None
    integers = map(CONTEXT.mpf, range(int(CONTEXT.ceil(low)), int(high)))
    return make_points([integer for integer in integers if numbers.contains(integer)])


def find_list(value: Collection) -> RealSet | None:
    """Return what the items of a list have in common or together: `x < 1, x > 3` cannot mean both."""
    parts = find_all_sets(value.items)
    if parts is None:
        return None
    common = intersect(*parts)
    if len(common.ends) > MAX_ENDS:
        return None
    if value.word == "or" or are_same_sets(common, NO_REALS):
        return unite(*parts)
    return common if are_relations_of_same_names(value.items) else None


def are_relations_of_same_names(items: Sequence[Value]) -> bool:
    names = [{name for name in find_all_symbols(item) if not name.startswith("\\")} for item in items]
    return all(isinstance(item, Relation) for item in items) and names[1:] == names[:-1]


def find_numbers(value: Collection) -> RealSet | None:
    """Return the numbers in braces, or in an interval."""
    numbers = [to_real(item) for item in value.items]
    if None in numbers:
        return None
    if value.brackets == "{}":
        if ENDLESS in map(abs, numbers):
            return None
        return make_points(numbers)
    if len(numbers) != 2 or value.brackets not in BRACKETS_OF.values():
        return None
    return find_between(value.brackets, *numbers)


def find_between(brackets: str, low: Any, high: Any) -> RealSet | None:
    if low > high:
        return None
    above = compare_with("\\ge" if brackets[0] == "[" else ">", low)
    below = compare_with("\\le" if brackets[1] == "]" else "<", high)
    return above and below and intersect(above, below)


def to_real(value: Value) -> Any:
    found = evaluate_constant(value)
    if found is None or not is_real(found):
        return None
    return found.real


def solve(relation: Relation) -> RealSet | None:
    if is_relation(relation, "\\in"):
        return find_set(relation.sides[1])
    result = ALL_REALS
    sides = [Symbol("f") if isinstance(side, Call) else side for side in relation.sides]
    for left, sign, right in zip(sides, relation.signs, sides[1:], strict=False):
        part = solve_pair(left, sign, right)
        if part is None:
            return None
        result = intersect(result, part)
    return result


def solve_pair(left: Value, sign: str, right: Value) -> RealSet | None:
    """Return the numbers for which a relation with one variable holds, or None if it is not linear in it or its modulus."""
    symbols = find_all_symbols(left) | find_all_symbols(right)
    if sign not in FLIPPED or len(symbols) != 1:
        return None
    if isinstance(left, Symbol) and (bound := to_real(right)) is not None:
        return compare_with(sign, bound)
    if isinstance(right, Symbol) and (bound := to_real(left)) is not None:
        return compare_with(FLIPPED[sign], bound)
    if is_operation(right, "abs"):
        return solve_modulus(right, FLIPPED[sign], left, symbols.pop())
    return solve_modulus(left, sign, right, symbols.pop())


def solve_modulus(left: Value, sign: str, right: Value, name: str) -> RealSet | None:
    r"""Return the solutions of a relation, where `|x| < a` is both `x < a` and `x > -a`, and `|x| > a` one of them."""
    if not is_operation(left, "abs") or to_real(right) is None:
        return solve_linear(left, sign, right, name)
    inside = left.operands[0]
    above = solve_pair(inside, sign, right)
    below = solve_pair(inside, FLIPPED[sign], Operation("-", (right,)))
    if above is None or below is None:
        return None
    return (intersect if sign in ("<", "\\le", "\\ne") else unite)(above, below)


def solve_linear(left: Value, sign: str, right: Value, name: str) -> RealSet | None:
    points = [CONTEXT.mpf(probe) for probe in PROBES]
    try:
        values = [evaluate(left, {name: point}) - evaluate(right, {name: point}) for point in points]
    except Undefined:
        return None
    slope = (values[1] - values[0]) / (points[1] - points[0])
    line = [values[0] + slope * (point - points[0]) for point in points]
    if slope == 0 or not all(map(are_close, line, values)) or not all(map(is_real, values)):
        return None
    return compare_with(sign if slope > 0 else FLIPPED[sign], points[0] - values[0] / slope)


# --- comparison
def find_whole_set(value: Value) -> RealSet | None:
    """Return the set that an answer is. A list of numbers, and a named set, count as sets."""
    if isinstance(value, Quantity):
        value = value.value
    if is_list(value) and all(map(is_expression, value.items)):
        value = Collection("{}", value.items)
    return find_set(value)


def find_subjects(value: Value) -> set[str]:
    """Return the names that a condition is about."""
    if is_list(value):
        return set().union(*map(find_subjects, value.items))
    if not isinstance(value, Relation):
        return set()
    sides = value.sides[:1] if is_relation(value, "\\in") else value.sides
    return set().union(*map(find_all_symbols, filter(is_expression, sides)))


def match_sets(gold: Value, answer: Value, same: Same) -> Verdict:
    numbers = find_whole_set(gold)
    its_numbers = find_whole_set(answer)
    if numbers is None or its_numbers is None:
        return UNDECIDED
    names = find_subjects(gold)
    its_names = find_subjects(answer)
    if names and its_names and names != its_names and "" not in names | its_names:
        return False
    return are_same_sets(numbers, its_numbers)


def find_interval(value: Value) -> tuple[str, tuple[Value, ...]] | None:
    """Return the brackets and the ends of an interval such as `(a, b)` or `a < x < b`, or None for other values."""
    if isinstance(value, Relation):
        turned = tuple(FLIPS.get(sign, "") for sign in value.signs[::-1])
        return find_range(value.sides, value.signs) or find_range(value.sides[::-1], turned)
    if not isinstance(value, Collection) or len(value.items) != 2 or value.brackets not in BRACKETS_OF.values():
        return None
    if any(isinstance(item, Relation) for item in value.items):
        return None  # (x, y) = (1, 2)
    return value.brackets, value.items


def find_range(sides: tuple[Value, ...], signs: tuple[str, ...]) -> tuple[str, tuple[Value, ...]] | None:
    if signs not in BRACKETS_OF or not isinstance(sides[1], Symbol):
        return None
    return BRACKETS_OF[signs], sides[::2]


def match_intervals(gold: Value, answer: Value, same: Same) -> Verdict:
    one = find_interval(gold)
    other = find_interval(answer)
    if one is None or other is None or (isinstance(gold, Relation) and isinstance(answer, Relation)):
        return UNDECIDED
    return one[0] == other[0] and same.in_order(one[1], other[1])


def match_builders(gold: Value, answer: Value, same: Same) -> Verdict:
    if not isinstance(gold, Builder) or not isinstance(answer, Builder):
        return UNDECIDED
    if (gold.head, gold.domain) != (answer.head, answer.domain):
        return False
    return same(gold.condition, answer.condition)


def match_cases(gold: Value, answer: Value, same: Same) -> Verdict:
    """Return whether each row of one function equals a row of the other, or None if that cannot be computed."""
    if not isinstance(gold, Cases) or not isinstance(answer, Cases):
        return False
    if len(gold.rows) != len(answer.rows):
        return False
    left = [*answer.rows]
    verdicts = []
    for value, condition in gold.rows:
        partner = next((row for row in left if are_same_conditions(condition, gold, row[1], answer, same)), None)
        if partner is None:
            return False
        verdicts.append(same(value, partner[0]))
        left.remove(partner)
    return conjoin(verdicts)


def are_same_conditions(condition: Value, gold: Cases, its_condition: Value, answer: Cases, same: Same) -> bool:
    if condition != its_condition and OTHER_CASES in (condition, its_condition):
        if condition == OTHER_CASES:
            return is_rest(its_condition, gold)
        return is_rest(condition, answer)
    return bool(same(condition, its_condition))


def is_rest(condition: Value, cases: Cases) -> bool:
    """Whether a condition is met exactly where those of a function, which ends with "otherwise", are not."""
    rest = find_set(condition)
    parts = find_all_sets([its_condition for _, its_condition in cases.rows if its_condition != OTHER_CASES])
    if rest is None:
        return False
    if parts is None:
        return False
    return are_same_sets(rest, complement(unite(*parts)))


SETS = Kind(is_set, match_sets)
INTERVALS = Kind(lambda value: find_interval(value) is not None, match_intervals)
BUILDERS = Kind(lambda value: isinstance(value, Builder), match_builders)
CASES = Kind(lambda value: isinstance(value, Cases), match_cases)
