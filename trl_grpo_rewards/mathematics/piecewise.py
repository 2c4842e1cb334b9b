"""Comparison of functions by cases: the same pairs of a value and a condition, in any order."""

from collections.abc import Callable

from .cases import OTHERWISE
from .sets import are_same_sets, complement, find_segments, unite
from .values import Cases, Value


def compare_cases(gold: Cases, answer: Cases, compare: Callable[[Value, Value], bool | None]) -> bool | None:
    """Return whether each row of one function equals a row of the other, or None if that cannot be computed."""
    if len(gold.rows) != len(answer.rows):
        return False
    left = list(range(len(answer.rows)))
    unknown = False
    for place, (value, _) in enumerate(gold.rows):
        partner = next((other for other in left if are_same_conditions(gold, place, answer, other, compare)), None)
        if partner is None:
            return False
        verdict = compare(value, answer.rows[partner][0])
        if verdict is False:
            return False
        unknown = unknown or verdict is None
        left.remove(partner)
    return None if unknown else True


def are_same_conditions(
    gold: Cases, place: int, answer: Cases, other: int, compare: Callable[[Value, Value], bool | None]
) -> bool:
    one, its = gold.rows[place][1], answer.rows[other][1]
    if OTHERWISE not in (one, its) or one == its:
        return bool(compare(one, its))
    words, condition = (gold, its) if one == OTHERWISE else (answer, one)
    parts = [find_segments(row[1]) for row in words.rows if row[1] != OTHERWISE]
    found = [part for part in parts if part is not None]
    rest = find_segments(condition)
    if rest is None or len(found) < len(parts):
        return False
    return are_same_sets(rest, complement(unite([segment for part in found for segment in part])))
