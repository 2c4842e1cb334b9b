"""Values of options: frozen, compared with their types, checked against annotations, and searched for rewards."""

import pickle
from decimal import Decimal
from typing import Annotated, Any, Literal

import numpy
import pytest
from annotated_types import Ge, Gt, Lt

from trl_grpo_rewards import boxed, reward
from trl_grpo_rewards.options import Column, column, fill_options, find_inside, freeze, has_type, thaw


def test_lists_become_tuples_and_numbers_those_of_python():
    lists = ([1, [2.5, "x"], None], (1, (2.5, "x"), None))
    for value, frozen in [lists, (numpy.int64(3), 3), (numpy.float32(0.5), 0.5), (True, True), ((), ())]:
        assert freeze(value, "it") == frozen and type(freeze(value, "it")) is type(frozen)


def test_what_is_infinite_or_cannot_be_printed_is_refused():
    for value in (float("inf"), float("nan"), [1.0, {"a": float("-inf")}]):
        with pytest.raises(ValueError, match="Option 'x'"):
            freeze(value, "Option 'x'")
    for value in ({1, 2}, b"text", object(), [len], Decimal("0.5")):
        with pytest.raises(TypeError, match="Option 'x'"):
            freeze(value, "Option 'x'")


def test_a_frozen_dict_hashes_pickles_prints_and_thaws():
    frozen = freeze({"a": [1, {"b": [2]}], 3: None}, "it")
    assert hash(frozen) == hash(freeze({3: None, "a": (1, {"b": (2,)})}, "it"))
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert repr(frozen) == "{'a': (1, {'b': (2,)}), 3: None}"
    assert thaw(frozen) == {"a": [1, {"b": [2]}], 3: None}


@pytest.mark.parametrize("one, other", [(1, True), (1, 1.0), (0, False)])
def test_options_of_different_types_differ(one, other):
    for left, right in [({"k": one}, {"k": other}), ({one: "v"}, {other: "v"}), ({"k": [one]}, {"k": [other]})]:
        assert freeze(left, "it") != freeze(right, "it")
        assert freeze(left, "it") == freeze(dict(left), "it")


def test_a_column_is_a_value_that_the_row_fills_in():
    by_row = column("it's")
    assert by_row == Column("it's") != column("its") and repr(by_row) == """column("it's")""" and {by_row: 1}[by_row]
    assert pickle.loads(pickle.dumps(freeze([by_row], "it"))) == (by_row,)
    assert find_inside(freeze([1, {"a": by_row, "b": by_row}], "it"), Column) == [by_row]
    assert fill_options(freeze({"a": by_row, "b": 2}, "it"), {by_row: [7]}) == {"a": [7], "b": 2}
    with pytest.raises(Exception, match="cannot assign"):
        by_row.name = "other"


FITTING = [
    (1, int), (1, float), ("a", str | None), (None, str | None), ("words", Literal["tokens", "words"]),
    ((1, 2), list[int]), ((1, 2), tuple[int, ...]), ((1, "x"), tuple[int, str]), ([1, "x"], list), ([1, "x"], tuple),
    (boxed(), Any), ({"a": 1}, dict[str, float]), ({"a": 1}, dict), (column("a"), str | Column),
]  # fmt: skip
UNFIT = [
    (True, int), (True, float), (1.0, int), (1, str | None), ("lines", Literal["tokens", "words"]),
    ((1, "2"), list[int]), ((1, 2, 3), tuple[int, int]), ("ab", list),
    ({1: 1}, dict[str, float]), ({"a": "b"}, dict[str, float]), (["a"], dict), (column("a"), str | int),
]  # fmt: skip


def test_a_value_fits_its_annotation_or_not():
    for expected, pairs in ((True, FITTING), (False, UNFIT)):
        for value, annotation in pairs:
            found = has_type(value, annotation), has_type(freeze(value, "it"), annotation)
            assert found == (expected, expected), (value, annotation)


@reward
def bounded(completion: str, *, size: Annotated[int, Ge(1)] = 1, share: Annotated[float, Gt(0), Lt(1)] | None = None):
    return 1.0


def test_a_number_outside_the_bounds_of_its_annotation_is_refused():
    assert bounded(size=3, share=0.5) == bounded(3, 0.5) and bounded(share=None) == bounded()
    with pytest.raises(ValueError, match="'size' of 'bounded' must be at least 1; got 0. Choose such a"):
        bounded(0)
    for share in (0, 1):
        with pytest.raises(ValueError, match=f"must be more than 0 and less than 1; got {share}"):
            bounded(share=share)
