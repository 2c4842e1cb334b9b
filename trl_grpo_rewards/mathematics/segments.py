"""Sets of real numbers as sorted, disjoint intervals whose ends are numbers."""

from typing import Any, NamedTuple

from .evaluation import are_close
from .functions import CONTEXT


class Segment(NamedTuple):
    """An interval. Its ends are numbers of mpmath or infinite."""

    low: Any
    has_low: bool
    high: Any
    has_high: bool


Segments = list[Segment]

ENDLESS = CONTEXT.inf
EVERYTHING = [Segment(-ENDLESS, False, ENDLESS, False)]


def make_points(numbers: list[Any]) -> Segments:
    return unite([Segment(number, True, number, True) for number in numbers])


def compare_with(sign: str, bound: Any) -> Segments:
    """Return the numbers that are below, above, equal to or different from a bound."""
    below, above = Segment(-ENDLESS, False, bound, sign == "\\le"), Segment(bound, sign == "\\ge", ENDLESS, False)
    if sign in ("<", "\\le"):
        return [below]
    if sign in (">", "\\ge"):
        return [above]
    return [below, above] if sign == "\\ne" else make_points([bound])


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
    result, low, has_low = [], -ENDLESS, False
    for one in unite(segments):
        result.append(Segment(low, has_low, one.low, not one.has_low))
        low, has_low = one.high, not one.has_high
    result.append(Segment(low, has_low, ENDLESS, False))
    return [one for one in result if one.low < one.high or (one.has_low and one.has_high and abs(one.low) != ENDLESS)]


def are_same_segments(one: Segments, other: Segments) -> bool:
    return len(one) == len(other) and all(
        is_same(mine.low, its.low)
        and is_same(mine.high, its.high)
        and (mine.has_low, mine.has_high) == (its.has_low, its.has_high)
        for mine, its in zip(one, other, strict=True)
    )


def is_same(one: Any, other: Any) -> bool:
    return bool(one == other) or (abs(one) != ENDLESS and abs(other) != ENDLESS and are_close(one, other))
