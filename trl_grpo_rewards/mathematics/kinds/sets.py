"""Sets of numbers: intervals, unions, inequalities and set builders."""

from dataclasses import dataclass
from typing import Any

from ..evaluation import are_close, evaluate, evaluate_constant, is_real
from ..functions import CONTEXT, Undefined
from ..matching import UNDECIDED, Kind, Same, Verdict
from ..reader import Reader
from ..segments import (
    ENDLESS,
    EVERYTHING,
    Segment,
    Segments,
    are_same_segments,
    compare_with,
    complement,
    intersect,
    make_points,
    unite,
)
from ..values import INFINITY, MINUS_INFINITY, Call, Operation, Symbol, Value, find_symbols, is_expression
from ..words import normalize_words
from .families import Family, find_all_symbols, find_condition, make_family
from .lists import Collection, list_items
from .quantities import Quantity
from .relations import FLIPS, SIGNS, Relation
from .texts import Text


FLIPPED = {**FLIPS, "\\ne": "\\ne"}
INEQUALITIES = {*FLIPPED} - {"="}
POSITIVE, NEGATIVE = Segment(CONTEXT.mpf(0), False, ENDLESS, False), Segment(-ENDLESS, False, CONTEXT.mpf(0), False)
REAL_NUMBERS = {
    "\\mathbb{R}": EVERYTHING,
    **dict.fromkeys(("^+", "_>0", "_+", "_+^*"), [POSITIVE]),
    **dict.fromkeys(("_ge0", "^+_0"), [POSITIVE._replace(has_low=True)]),
    **dict.fromkeys(("^-", "_<0"), [NEGATIVE]),
    **dict.fromkeys(("^*", "^\\times"), [NEGATIVE, POSITIVE]),
}
REAL_NUMBERS = {name if name[0] == "\\" else f"\\mathbb{{R}}{name}": value for name, value in REAL_NUMBERS.items()}
"""Usual names of sets of real numbers."""

OPERATIONS = {"\\cup", "\\cap", "\\setminus"}
ALL_NUMBERS = {("all", "real", "numbers"), ("all", "reals"), ("real", "numbers"), ("any", "real", "number")}
ABOUT_NUMBERS = {*"real numbers reals x values of the".split()}
NO_SOLUTION = ("no", "solution")
MAX_INTEGERS = 100
"""Largest number of integers of a set that are listed."""

PROBES = (-11.3, 1.7, 5.9)
"""Numbers at which an inequality is evaluated to see whether it is linear."""


@dataclass(frozen=True, slots=True)
class Builder(Value):
    """The set of the values that meet a condition."""

    condition: Value
    head: Value
    """What the set contains: a symbol for `{x | x > 1}`, or an expression for `{2k | k > 1}`."""
    domain: str = ""
    """The kind of numbers that it says it contains, such as `"Z"`, or an empty string."""


# --- reading


def read_builder(reader: Reader) -> Value | None:
    r"""Return the set that a condition after a bar or a colon describes: `\{x \mid x > 1\}`, `\{x \in \mathbb{Z} : x < 3\}`."""
    start, end = reader.place + 1, reader.match[reader.place]
    bars = [place for place in reader.outermost(start, end) if reader.tokens[place].text in ("|", ":")]
    if not bars or bars[0] == start:
        return None
    if not any(reader.tokens[place].text in SIGNS for place in reader.outermost(bars[0] + 1, end)):
        return None
    texts = [text for text in reader.texts(start, end) if text != "{"]
    domain = next((after for text, after in zip(texts, texts[1:], strict=False) if text == "\\mathbb"), "")
    head = reader.statement(start, bars[0])
    if isinstance(head, Relation) and head.signs == ("\\in",):
        head = head.sides[0]
    if (index := find_condition(reader.tokens[bars[0] + 1 : end])) is not None and head != Symbol(index[0]):
        return make_family(head, *index)
    condition = reader.statement(bars[0] + 1, end)
    if isinstance(condition, Family) and head == Symbol(condition.index):
        return Builder(condition.value, head, domain or condition.domain)
    return condition if isinstance(condition, Family) else Builder(condition, head, domain)


def read_exception(reader: Reader) -> Value | None:
    """Return the set that `all real numbers except 2` describes."""
    words = [text.casefold() for text in reader.texts(reader.place, reader.end)]
    if words[:1] not in (["all"], ["any"]) or "except" not in words:
        return None
    place = words.index("except") + 1
    if not {*words[1 : place - 1]} <= ABOUT_NUMBERS:
        return None
    excluded = reader.statement(reader.place + place + (words[place : place + 1] == ["for"]), reader.end)
    reader.place = reader.end
    return Operation("\\setminus", (Symbol("\\mathbb{R}"), Collection("{}", list_items(excluded))))


# --- as intervals


def is_set(value: Value) -> bool:
    """Whether a value can only be a set of numbers or a condition, and not a point or a list."""
    if isinstance(value, Relation):
        return bool(INEQUALITIES & {*value.signs}) or value.signs == ("\\in",)
    if isinstance(value, Collection):
        if value.brackets in ("(]", "[)"):
            return True
        infinite = any(item in (INFINITY, MINUS_INFINITY) for item in value.items)
        return infinite or (value.brackets == "" and any(map(is_set, value.items)))
    if isinstance(value, Text):
        return value.words in ALL_NUMBERS or normalize_words(value.words) == NO_SOLUTION
    if isinstance(value, Operation):
        return value.name in OPERATIONS
    return isinstance(value, Builder) or (isinstance(value, Symbol) and value.name in ("\\emptyset", *REAL_NUMBERS))


def find_segments(value: Value) -> Segments | None:
    """Return a set of real numbers as intervals, or None if it is not a set whose ends are numbers."""
    if isinstance(value, Builder):
        return find_builder(value)
    if isinstance(value, Relation):
        return solve(value)
    if isinstance(value, Collection):
        return find_collection(value)
    if isinstance(value, Text):
        return (
            EVERYTHING if value.words in ALL_NUMBERS else [] if normalize_words(value.words) == NO_SOLUTION else None
        )
    if isinstance(value, Symbol):
        return [] if value.name == "\\emptyset" else REAL_NUMBERS.get(value.name)
    if not isinstance(value, Operation) or value.name not in OPERATIONS:
        return None
    result, *rest = map(find_segments, value.operands)
    for part in rest:
        if result is None or part is None:
            return None
        if value.name in ("\\cup", "\\lor"):
            result = unite([*result, *part])
        else:
            result = intersect(result, part if value.name in ("\\cap", "\\land") else complement(part))
    return result


def find_builder(value: Builder) -> Segments | None:
    """Return the numbers that a set builder describes. Integers are listed if there are few."""
    condition = value.condition
    if not isinstance(value.head, Symbol) or value.head.name not in find_all_symbols(condition):
        return None
    segments = find_segments(condition)
    if segments is None or value.domain in ("", "R"):
        return segments
    low, high = (segments[0].low, segments[-1].high) if segments else (CONTEXT.mpf(0), CONTEXT.mpf(0))
    low = max(low, CONTEXT.mpf(0)) if value.domain == "N" else low
    if value.domain not in ("Z", "N") or abs(low) == ENDLESS or abs(high) == ENDLESS or high - low > MAX_INTEGERS:
        return None
    numbers = range(int(CONTEXT.ceil(low)), int(CONTEXT.floor(high)) + 1)
    return intersect(segments, make_points([CONTEXT.mpf(number) for number in numbers]))


def find_collection(value: Collection) -> Segments | None:
    if value.brackets == "":
        parts = [find_segments(item) for item in value.items]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            return None
        common = found[0]
        for part in found[1:]:
            common = intersect(common, part)
        union = unite([segment for part in found for segment in part])
        if value.word == "or" or not common:
            return union  # "x < 1, x > 3" cannot mean both
        names = [{one for one in find_all_symbols(item) if one[0] != "\\"} for item in value.items]
        return common if all(isinstance(item, Relation) for item in value.items) and names[1:] == names[:-1] else None
    numbers = [to_real(item) for item in value.items]
    if None in numbers:
        return None
    if value.brackets == "{}":
        return make_points(numbers)
    if len(numbers) != 2 or value.brackets == "<>" or numbers[0] > numbers[1]:
        return None
    return unite([Segment(numbers[0], value.brackets[0] == "[", numbers[1], value.brackets[1] == "]")])


def to_real(value: Value) -> Any:
    """Return a real constant, or None."""
    found = evaluate_constant(value)
    return found.real if found is not None and is_real(found) else None


def solve(relation: Relation) -> Segments | None:
    """Return the numbers that meet a chain of linear inequalities in one variable."""
    if relation.signs == ("\\in",):
        return find_segments(relation.sides[1])
    result = EVERYTHING
    sides = [Symbol("f") if isinstance(side, Call) else side for side in relation.sides]
    for left, sign, right in zip(sides, relation.signs, sides[1:], strict=False):
        part = solve_pair(left, sign, right)
        if part is None:
            return None
        result = intersect(result, part)
    return result


def solve_pair(left: Value, sign: str, right: Value) -> Segments | None:
    symbols = find_symbols(left) | find_symbols(right)
    if sign not in FLIPPED or len(symbols) != 1:
        return None
    if isinstance(left, Symbol) and (bound := to_real(right)) is not None:
        return compare_with(sign, bound)
    if isinstance(right, Symbol) and (bound := to_real(left)) is not None:
        return compare_with(FLIPPED[sign], bound)
    if isinstance(right, Operation) and right.name == "abs":
        left, sign, right = right, FLIPPED[sign], left
    if isinstance(left, Operation) and left.name == "abs" and to_real(right) is not None:
        inside, outside = left.operands[0], Operation("-", (right,))
        parts = solve_pair(inside, sign, right), solve_pair(inside, FLIPPED[sign], outside)
        if parts[0] is None or parts[1] is None:
            return None
        within = sign in ("<", "\\le", "\\ne")
        return intersect(parts[0], parts[1]) if within else unite([*parts[0], *parts[1]])
    return solve_linear(left, sign, right, symbols.pop())


def solve_linear(left: Value, sign: str, right: Value, name: str) -> Segments | None:
    points = [CONTEXT.mpf(probe) for probe in PROBES]
    try:
        values = [evaluate(left, {name: point}) - evaluate(right, {name: point}) for point in points]
    except Undefined:
        return None
    slope = (values[1] - values[0]) / (points[1] - points[0])
    linear = all(
        are_close(values[0] + slope * (point - points[0]), value) for point, value in zip(points, values, strict=True)
    )
    if slope == 0 or not linear or not all(map(is_real, values)):
        return None
    return compare_with(sign if slope > 0 else FLIPPED[sign], points[0] - values[0] / slope)


# --- comparison


def find_set(value: Value) -> Segments | None:
    """Return the set that an answer is. A list of numbers, and a named set, count as sets."""
    if isinstance(value, Quantity):
        value = value.value
    if isinstance(value, Collection) and value.brackets == "" and all(map(is_expression, value.items)):
        return find_segments(Collection("{}", value.items))
    return find_segments(value)


def find_subjects(value: Value) -> set[str]:
    """Return the names that a condition is about."""
    if isinstance(value, Relation):
        sides = value.sides[:1] if value.signs == ("\\in",) else value.sides
        return set().union(*(find_symbols(side) for side in sides if is_expression(side)))
    if isinstance(value, Collection) and value.brackets == "":
        return set().union(*map(find_subjects, value.items))
    return set()


def match_sets(gold: Value, answer: Value, same: Same) -> Verdict:
    segments, its_segments = find_set(gold), find_set(answer)
    if segments is None or its_segments is None:
        return UNDECIDED
    names, its_names = find_subjects(gold), find_subjects(answer)
    if names and its_names and names != its_names and "" not in names | its_names:
        return False
    return are_same_segments(segments, its_segments)


def find_interval(value: Value) -> tuple[str, tuple[Value, ...]] | None:
    """Return the brackets and the ends of an interval such as `(a, b)` or `a < x < b`, or None for other values."""
    if isinstance(value, Collection) and len(value.items) == 2 and value.brackets in ("()", "[]", "(]", "[)"):
        if any(isinstance(item, Relation) for item in value.items):
            return None  # (x, y) = (1, 2)
        return value.brackets, value.items
    if not isinstance(value, Relation) or len(value.sides) != 3 or not isinstance(value.sides[1], Symbol):
        return None
    flipped = [FLIPS.get(sign, "") for sign in value.signs[::-1]]
    for sides, signs in ((value.sides, value.signs), (value.sides[::-1], flipped)):
        if {*signs} <= {"<", "\\le"}:
            return ("[" if signs[0] == "\\le" else "(") + ("]" if signs[1] == "\\le" else ")"), (sides[0], sides[2])
    return None


def match_intervals(gold: Value, answer: Value, same: Same) -> Verdict:
    one, other = find_interval(gold), find_interval(answer)
    if one is None or other is None or (isinstance(gold, Relation) and isinstance(answer, Relation)):
        return UNDECIDED
    return one[0] == other[0] and same.in_order(one[1], other[1])


def match_builders(gold: Value, answer: Value, same: Same) -> Verdict:
    if not isinstance(gold, Builder) or not isinstance(answer, Builder):
        return UNDECIDED
    return (gold.head, gold.domain) == (answer.head, answer.domain) and same(gold.condition, answer.condition)


SETS = Kind(is_set, match_sets)
INTERVALS = Kind(lambda value: find_interval(value) is not None, match_intervals)
BUILDERS = Kind(lambda value: isinstance(value, Builder), match_builders)
