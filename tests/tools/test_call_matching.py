"""Equality of arguments, and the matching of calls against a search through all matchings."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.tools.call_matching import MAX_SIMILAR, align, assign, is_equal, match_calls
from trl_grpo_rewards.tools.call_reading import Call, Choices, ExpectedCall


@pytest.mark.parametrize(
    "made, expected, how, equal",
    [
        (2, 2.0, "exact", True), (True, 1, "exact", False), ("2", 2, "exact", False), (None, None, "exact", True),
        ("2", 2, "number", True), ("2.0", "2", "number", True), ("two", 2, "number", False), (True, 1, "number", False),
        ([1, 2], [2, 1], "exact", False), ([1, 2], [2, 1], "set", True), ([1, 1, 2], [1, 2, 2], "set", False),
        ([{"a": [1]}], [{"a": [1.0]}], "set", True), ({"a": 1}, {"a": 1, "b": 2}, "exact", False),
        ("New York, N.Y.", "new york ny", "text", True), ("it's", 'it"s', "text", True), ("a!", "a", "text", False),
        (["A-b"], ["ab"], "text", True), ({"x": "A"}, {"x": "a"}, "text", True), ("9" * 200, int("9" * 200), "number", False),
        ('{"id": 1}', {"id": 1}, "exact", False), (None, 0, "exact", False), ([], {}, "exact", False), ({}, [], "set", False),
    ],
)  # fmt: skip
def test_equality(made, expected, how, equal):
    assert is_equal(made, expected, how) is equal
    assert is_equal(made, Choices((object(), expected)), how) is equal


TABLES = st.integers(0, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=width, max_size=width), max_size=5
    ).map(lambda rows: (rows, width))
)


def search(rows, width, ordered):
    """Every way to give each column a different row or none."""
    places = [*range(len(rows)), *[None] * width]
    best = 0.0
    for chosen in permutations(places, width):
        used = [place for place in chosen if place is not None]
        if not ordered or used == sorted(used):
            best = max(best, sum(rows[place][column] for column, place in enumerate(chosen) if place is not None))
    return best


@given(TABLES)
def test_matchings_are_the_best(table):
    rows, width = table
    assert assign(rows, width) == pytest.approx(search(rows, width, ordered=False))
    assert align(rows, width) == pytest.approx(search(rows, width, ordered=True))


def test_many_calls_are_matched_in_a_moment():
    expected = [ExpectedCall("f", {"a": Choices((n,)), "b": Choices((n,))}) for n in range(20)]
    made = [Call("f", {"a": n % 20, "b": 21}) for n in range(2000)]
    assert match_calls(made, expected, {}, is_ordered=False, is_whole=False) == 20 * 0.5
    assert len(made) > MAX_SIMILAR


@pytest.mark.parametrize("how", ["exact", "number", "text", "set"])
@pytest.mark.parametrize("wrap", [lambda value: {"a": value}, lambda value: [value]], ids=["objects", "lists"])
def test_what_is_nested_more_deeply_than_any_call_equals_nothing(how, wrap):
    def nest(levels):
        value = 1
        for _ in range(levels):
            value = wrap(value)
        return value

    assert is_equal(nest(100), nest(100), how) and not is_equal(nest(5_000), nest(5_000), how)
    assert not is_equal(nest(100), wrap(nest(100)), how)
