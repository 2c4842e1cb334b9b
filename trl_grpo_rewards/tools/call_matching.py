"""Comparison of the calls of a completion with the expected ones."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from .call_reading import Call, Choices, ExpectedCall, Untyped


Comparison: TypeAlias = Literal["exact", "number", "text", "set", "ignore"]
"""How the values of an argument are compared."""

EVERY = "*"
"""Stands for all arguments that are not named, in a mapping from arguments to comparisons."""

MAX_SIMILAR = 100
"""Largest number of calls that are paired with expected ones. Others count as excess."""

MAX_LEVELS = 100
"""Maximum nesting depth of values that are compared. No tool needs more, and Python has a limit of its own."""

MARKS = re.compile(r"[ ,./\-_*^]")


def is_equal(made: Any, expected: Any, how: Comparison = "exact", levels: int = MAX_LEVELS) -> bool:
    """
    Return whether two JSON values are equal. Numbers are equal by value, and True and False are no numbers.

    `"number"` reads texts as numbers. `"text"` ignores case, spaces and the marks `,./-_*^` in texts, and the kind of
    quotes, as [BFCL](https://github.com/ShishirPatil/gorilla) does. `"set"` ignores the order of lists. Values that
    are nested in more than `levels` lists and objects are not equal to anything.
    """
    if levels < 0:
        return False
    if isinstance(expected, Choices):
        return any(is_equal(made, value, how, levels) for value in expected.values)
    if isinstance(made, Untyped):
        return any(is_equal(reading, expected, how, levels) for reading in made.list_readings())
    if how == "number" and (numbers := (as_number(made), as_number(expected))) and None not in numbers:
        return numbers[0] == numbers[1]
    if isinstance(made, Mapping) and isinstance(expected, Mapping):
        return all(is_named_equal(made, expected, name, how, levels - 1) for name in {*made, *expected})
    if isinstance(made, (list, tuple)) and isinstance(expected, (list, tuple)):
        if len(made) != len(expected):
            return False
        if how == "set":
            return is_same_set(made, expected, levels - 1)
        return all(is_equal(one, other, how, levels - 1) for one, other in zip(made, expected, strict=True))
    if isinstance(made, str) and isinstance(expected, str):
        return made == expected or (how == "text" and strip_marks(made) == strip_marks(expected))
    is_number = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in (made, expected)]
    return made == expected if all(is_number) else type(made) is type(expected) and bool(made == expected)


def is_named_equal(
    made: Mapping[str, Any], expected: Mapping[str, Any], name: str, how: Comparison, levels: int = MAX_LEVELS
) -> bool:
    """Return whether an argument or a field is as expected: equal, or left out if it may be."""
    if name in made:
        return name in expected and is_equal(made[name], expected[name], how, levels)
    wanted = expected[name]
    return isinstance(wanted, Choices) and wanted.is_optional


def is_same_set(made: Sequence[Any], expected: Sequence[Any], levels: int) -> bool:
    left = list(expected)
    for value in made:
        place = next((place for place, other in enumerate(left) if is_equal(value, other, levels=levels)), None)
        if place is None:
            return False
        del left[place]
    return True


def as_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or len(str(value)) > 100:
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def strip_marks(text: str) -> str:
    return MARKS.sub("", text).lower().replace("'", '"')


def measure_similarity(made: Call, expected: ExpectedCall, compare: Mapping[str, Comparison]) -> float:
    """Return the share of arguments that are right, among all that either call has; 0 if the names differ."""
    if made.arguments is None or made.name != expected.name:
        return 0.0
    names = {*made.arguments, *expected.arguments}
    default = compare.get(EVERY, "exact")
    ways = {name: compare.get(f"{made.name}.{name}", compare.get(name, default)) for name in names}
    left_out = {name for name, one in expected.arguments.items() if one.is_optional} - {*made.arguments}
    compared = [name for name in names - left_out if ways[name] != "ignore"]
    right = sum(is_named_equal(made.arguments, expected.arguments, name, ways[name]) for name in compared)
    return right / len(compared) if compared else 1.0


def match_calls(
    made: Sequence[Call],
    expected: Sequence[ExpectedCall],
    compare: Mapping[str, Comparison],
    is_ordered: bool,
    is_whole: bool,
) -> float:
    """
    Return the sum of similarities under the best matching of calls with expected ones.

    With `is_whole`, a call only counts if all of its arguments are right.
    """
    rows = [[measure_similarity(call, one, compare) for one in expected] for call in made]
    if is_whole:
        rows = [[float(value == 1.0) for value in row] for row in rows]
    rows = [row for row in rows if any(row)][:MAX_SIMILAR]
    return align(rows, len(expected)) if is_ordered else assign(rows, len(expected))


def align(rows: Sequence[Sequence[float]], width: int) -> float:
    """Return the largest sum of values in different rows and columns that goes down and to the right."""
    best = [0.0] * (width + 1)
    for row in rows:
        previous, best = best, [0.0]
        for column, value in enumerate(row):
            best.append(max(best[-1], previous[column + 1], previous[column] + value))
    return best[-1]


def assign(rows: Sequence[Sequence[float]], width: int) -> float:
    """Return the largest sum of values in different rows and columns, by the Hungarian algorithm."""
    if not rows or not width:
        return 0.0
    values = rows if len(rows) <= width else [*zip(*rows, strict=True)]
    height, width = len(values), len(values[0])
    by_row, by_column = [0.0] * (height + 1), [0.0] * (width + 1)  # potentials
    row_of = [0] * (width + 1)  # 0 means none, and the rows are counted from 1
    for new in range(1, height + 1):
        row_of[0], column = new, 0
        least, came_from, is_done = [float("inf")] * (width + 1), [0] * (width + 1), [False] * (width + 1)
        while row_of[column]:
            is_done[column] = True
            row, delta, nearest = row_of[column], float("inf"), 0
            for other in range(1, width + 1):
                if is_done[other]:
                    continue
                cost = -values[row - 1][other - 1] - by_row[row] - by_column[other]
                if cost < least[other]:
                    least[other], came_from[other] = cost, column
                if least[other] < delta:
                    delta, nearest = least[other], other
            for other in range(width + 1):
                if is_done[other]:
                    by_row[row_of[other]] += delta
                    by_column[other] -= delta
                else:
                    least[other] -= delta
            column = nearest
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    return sum(values[row - 1][column - 1] for column, row in enumerate(row_of) if column and row)
