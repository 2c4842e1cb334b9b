"""Sets of real numbers: intervals, unions, inequalities and set builders as sorted, disjoint intervals."""

from typing import Any, NamedTuple

from .evaluation import CONTEXT, INFINITE, NEGATIVE, Undefined, are_close, evaluate, evaluate_constant, is_real
from .values import Builder, Collection, Family, Operation, Relation, Symbol, Text, Value, find_symbols, is_expression
from .words import normalize_words


class Segment(NamedTuple):
    """An interval. Its ends are numbers of mpmath or infinite."""

    low: Any
    has_low: bool
    high: Any
    has_high: bool


Segments = list[Segment]

INFINITY = CONTEXT.inf
EVERYTHING = [Segment(-INFINITY, False, INFINITY, False)]
FLIPPED = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "=": "=", "\\ne": "\\ne"}
INEQUALITIES = {"<", ">", "\\le", "\\ge", "\\ne"}
REAL_NUMBERS = {
    "\\mathbb{R}": EVERYTHING,
    **dict.fromkeys(
        ("\\mathbb{R}^+", "\\mathbb{R}_{>0}", "\\mathbb{R}_>0", "\\mathbb{R}_+^*", "\\mathbb{R}_{+}^{*}"),
        [Segment(CONTEXT.mpf(0), False, INFINITY, False)],
    ),
    **dict.fromkeys(
        ("\\mathbb{R}_\\ge0", "\\mathbb{R}_ge0", "\\mathbb{R}^+_0"), [Segment(CONTEXT.mpf(0), True, INFINITY, False)]
    ),
    **dict.fromkeys(("\\mathbb{R}^-", "\\mathbb{R}_<0"), [Segment(-INFINITY, False, CONTEXT.mpf(0), False)]),
    **dict.fromkeys(
        ("\\mathbb{R}^*", "\\mathbb{R}^\\times"),
        [Segment(-INFINITY, False, CONTEXT.mpf(0), False), Segment(CONTEXT.mpf(0), False, INFINITY, False)],
    ),
}
"""Usual names of sets of real numbers."""

SET_OPERATIONS = {"\\cup", "\\cap", "\\setminus", "\\lor", "\\land"}
ALL_NUMBERS = {("all", "real", "numbers"), ("all", "reals"), ("real", "numbers"), ("any", "real", "number")}
NO_SOLUTION = ("no", "solution")
MAX_INTEGERS = 100
"""Largest number of integers of a set that are listed."""

PROBES = (-11.3, -3.3, 1.7, 5.9)
"""Numbers at which an inequality is evaluated to see whether it is linear."""


def is_set(value: Value) -> bool:
    """Whether a value can only be a set of numbers or a condition, and not a point or a list."""
    if isinstance(value, Relation):
        return bool(INEQUALITIES & {*value.signs}) or value.signs == ("\\in",)
    if isinstance(value, Collection):
        if value.brackets in ("(]", "[)"):
            return True
        infinite = any(item in (INFINITE, NEGATIVE) for item in value.items)
        return infinite or (value.brackets == "" and any(is_set(item) for item in value.items))
    if isinstance(value, Text):
        return value.words in ALL_NUMBERS or normalize_words(value.words) == NO_SOLUTION
    if isinstance(value, Operation):
        return value.name in SET_OPERATIONS
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
    if value == Symbol("\\emptyset"):
        return []
    if isinstance(value, Symbol):
        return REAL_NUMBERS.get(value.name)
    if not isinstance(value, Operation) or value.name not in SET_OPERATIONS:
        return None
    parts = [find_segments(operand) for operand in value.operands]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    result = found[0]
    for part in found[1:]:
        if value.name in ("\\cup", "\\lor"):
            result = unite([*result, *part])
        elif value.name in ("\\cap", "\\land"):
            result = intersect(result, part)
        else:
            result = intersect(result, complement(part))
    return result


def find_builder(value: Builder) -> Segments | None:
    """Return the numbers that a set builder describes. Integers are listed if there are few."""
    condition = value.condition.value if isinstance(value.condition, Family) else value.condition
    if not isinstance(value.head, Symbol) or value.head not in find_conditions(condition):
        return None
    if value.domain not in ("", "R", "Z", "N"):
        return None
    segments = find_segments(condition)
    if segments is None or value.domain in ("", "R"):
        return segments
    low, high = (segments[0].low, segments[-1].high) if segments else (CONTEXT.mpf(0), CONTEXT.mpf(0))
    low = max(low, CONTEXT.mpf(0)) if value.domain == "N" else low
    if abs(low) == INFINITY or abs(high) == INFINITY or high - low > MAX_INTEGERS:
        return None
    points = [CONTEXT.mpf(number) for number in range(int(CONTEXT.ceil(low)), int(CONTEXT.floor(high)) + 1)]
    return intersect(segments, [Segment(point, True, point, True) for point in points])


def find_conditions(value: Value) -> set[Value]:
    """Return the symbols of the conditions of a set."""
    if isinstance(value, Relation):
        return {Symbol(name) for side in value.sides if is_expression(side) for name in find_symbols(side)}
    if isinstance(value, Collection):
        return set().union(*map(find_conditions, value.items))
    operands = value.operands if isinstance(value, Operation) else ()
    return set().union(*map(find_conditions, operands))


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
        if value.word in ("and", "or"):
            return common if value.word == "and" and common else union
        return common or union  # "x < 1, x > 3" cannot mean both
    if value.brackets == "{}":
        points = [to_number(item) for item in value.items]
        found_points = [point for point in points if point is not None]
        if len(found_points) < len(points):
            return None
        return unite([Segment(point, True, point, True) for point in found_points])
    if len(value.items) != 2 or value.brackets not in ("()", "[]", "(]", "[)"):
        return None
    low, high = map(to_number, value.items)
    if low is None or high is None or low > high:
        return None
    return unite([Segment(low, value.brackets[0] == "[", high, value.brackets[1] == "]")])


def to_number(value: Value) -> Any:
    """Return a real constant, or None."""
    found = evaluate_constant(value)
    return found.real if found is not None and is_real(found) else None


def solve(relation: Relation) -> Segments | None:
    """Return the numbers that meet a chain of linear inequalities in one variable."""
    if relation.signs == ("\\in",):
        return find_segments(relation.sides[1])
    result = EVERYTHING
    sides = [
        Symbol("f") if isinstance(side, Operation) and side.name.startswith("call ") else side
        for side in relation.sides
    ]
    for left, sign, right in zip(sides, relation.signs, sides[1:], strict=False):
        part = solve_pair(left, sign, right)
        if part is None:
            return None
        result = intersect(result, part)
    return result


def solve_pair(left: Value, sign: str, right: Value) -> Segments | None:
    if sign not in FLIPPED:
        return None
    symbols = find_symbols(left) | find_symbols(right)
    if len(symbols) != 1:
        return None
    bound = to_number(right) if isinstance(left, Symbol) else None
    if bound is not None:
        return compare_with(sign, bound)
    bound = to_number(left) if isinstance(right, Symbol) else None
    if bound is not None:
        return compare_with(FLIPPED[sign], bound)
    if isinstance(right, Operation) and right.name == "abs":
        left, sign, right = right, FLIPPED[sign], left
    if isinstance(left, Operation) and left.name == "abs" and to_number(right) is not None:
        inside, outside = left.operands[0], Operation("-", (right,))
        parts = solve_pair(inside, sign, right), solve_pair(inside, FLIPPED[sign], outside)
        if parts[0] is None or parts[1] is None:
            return None
        within = sign in ("<", "\\le", "\\ne")
        return intersect(parts[0], parts[1]) if within else unite([*parts[0], *parts[1]])
    name = symbols.pop()
    try:
        points = [CONTEXT.mpf(probe) for probe in PROBES]
        values = [evaluate(left, {name: point}) - evaluate(right, {name: point}) for point in points]
    except Undefined:
        return None
    if not all(map(is_real, values)):
        return None
    slope = (values[1] - values[0]) / (points[1] - points[0])
    linear = all(
        are_close(values[0] + slope * (point - points[0]), value) for point, value in zip(points, values, strict=True)
    )
    if slope == 0 or not linear:
        return None
    return compare_with(sign if slope > 0 else FLIPPED[sign], points[0] - values[0] / slope)


def compare_with(sign: str, bound: Any) -> Segments:
    """Return the numbers that are below, above, equal to or different from a bound."""
    below, above = Segment(-INFINITY, False, bound, sign == "\\le"), Segment(bound, sign == "\\ge", INFINITY, False)
    if sign in ("<", "\\le"):
        return [below]
    if sign in (">", "\\ge"):
        return [above]
    return [below, above] if sign == "\\ne" else [Segment(bound, True, bound, True)]


def unite(segments: Segments) -> Segments:
    """Return the same numbers as sorted, disjoint segments."""
    filled = [one for one in segments if one.low < one.high or (one.has_low and one.has_high)]
    result: Segments = []
    for one in sorted(filled, key=lambda segment: (segment.low, not segment.has_low)):
        if result and (
            one.low < result[-1].high or (is_same(one.low, result[-1].high) and (one.has_low or result[-1].has_high))
        ):
            last = result[-1]
            if is_same(one.high, last.high):
                result[-1] = last._replace(has_high=last.has_high or one.has_high)
            elif one.high > last.high:
                result[-1] = last._replace(high=one.high, has_high=one.has_high)
        else:
            result.append(one)
    return result


def intersect(one: Segments, other: Segments) -> Segments:
    return complement(unite([*complement(one), *complement(other)]))


def complement(segments: Segments) -> Segments:
    result, low, has_low = [], -INFINITY, False
    for one in unite(segments):
        result.append(Segment(low, has_low, one.low, not one.has_low))
        low, has_low = one.high, not one.has_high
    result.append(Segment(low, has_low, INFINITY, False))
    return [one for one in result if one.low < one.high or (one.has_low and one.has_high and abs(one.low) != INFINITY)]


def are_same_sets(one: Segments, other: Segments) -> bool:
    return len(one) == len(other) and all(
        is_same(mine.low, its.low)
        and is_same(mine.high, its.high)
        and (mine.has_low, mine.has_high) == (its.has_low, its.has_high)
        for mine, its in zip(one, other, strict=True)
    )


def is_same(one: Any, other: Any) -> bool:
    return bool(one == other) or (abs(one) != INFINITY and abs(other) != INFINITY and are_close(one, other))
