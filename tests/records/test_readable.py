"""Values as JSON can hold them: whatever Python can make becomes JSON that reads the same, in limited time."""

import datetime
import enum
import json
import math
import time

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from trl_grpo_rewards.records.fields import MAX_LEVELS, copy_as_json, make_readable


NAN = float("nan")


class Hostile:
    """An object that no method can be asked about."""

    def __getattribute__(self, name):
        raise RuntimeError(name)

    __repr__ = __str__ = __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __getattribute__


def make_hostile(kind: type) -> type:
    names = (
        "__getattribute__", "__repr__", "__str__", "__eq__", "__len__", "__iter__", "items", "__int__", "__float__",
    )  # fmt: skip
    return type(f"Hostile{kind.__name__}", (kind,), dict.fromkeys(names, Hostile.__getattribute__))


class Colour(enum.IntEnum):
    RED = 1


def nest(levels: int, wrap=lambda value: [value]):
    value = 1
    for _ in range(levels):
        value = wrap(value)
    return value


def make_cycle() -> list:
    cycle = [1, {}]
    cycle[1]["self"] = (cycle, cycle)
    return cycle


def make_doubled(levels: int) -> list:
    value: list = []
    for _ in range(levels):
        value = [value, value]
    return value


ODD = {
    "cycle": make_cycle(), "doubled": make_doubled(90), "doubled deep": make_doubled(5_000), "lists": nest(100_000),
    "dicts": nest(5_000, lambda value: {"a": value}), "large texts": [["x" * 9_999_999] * 999], "huge": 10**400,
    "deep key": {nest(5_000, lambda value: (value,)): 1}, "negative": -(10**5_000), "larger": 10**100_000, "NaN": NAN,
    "infinity": math.inf, "bytes": b"\xff", "array of bytes": bytearray(b"a"), "date": datetime.date(2026, 1, 1),
    "keys": {(1, 2): 1, None: 2, True: 3, 1.5: 4, b"a": 5, frozenset(): 6}, "set": {1, 2}, "range": range(3),
    "iterator": iter([]), "class": object, "hostile": Hostile(), "hostile text": make_hostile(str)("a"),
    "hostile int": make_hostile(int)(1), "hostile float": make_hostile(float)(1), "hostile list": make_hostile(list)([1]),
    "hostile dict": make_hostile(dict)(a=1), "hostile tuple": make_hostile(tuple)([1]), "surrogate": "\ud800",
    "pair": "\ud83d\ude00", "in a key": {"\udfff": "\ud800\udfff"}, "enum": Colour.RED, "float64": np.float64(0.5),
    "float32": np.float32(0.5), "array": np.arange(3), "str_": np.str_("a"), "complex": 1j, "ellipsis": ...,
    "method": [].append,
}  # fmt: skip
LARGE = {"cycle", "doubled", "doubled deep", "large texts"}  # they take seconds
DRAWN = [name for name in ODD if name not in LARGE and not name.startswith("hostile")]  # hypothesis looks into them
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.binary(), st.dates(), st.complex_numbers(),
    st.text(st.characters(exclude_categories=())),
    st.sampled_from(DRAWN).map(lambda name: ODD[name]),
)  # fmt: skip
KEYS = st.one_of(
    st.none(), st.integers(), st.floats(), st.binary(), st.tuples(st.integers(), st.text()),
    st.text(st.characters(exclude_categories=())),
)  # fmt: skip


def nest_any(inner):
    return st.lists(inner) | st.dictionaries(KEYS, inner) | st.tuples(inner, inner)


ANYTHING = st.recursive(LEAVES, nest_any, max_leaves=20)


def is_readable(value) -> bool:
    start = time.process_time()
    readable = make_readable(value)
    seconds = time.process_time() - start  # the largest value takes less than one, on an idle machine
    again = json.loads(json.dumps(readable, allow_nan=False))
    is_valid_text = bool(json.dumps(readable, ensure_ascii=False).encode())  # without halves of surrogate pairs
    return (
        seconds < 10 and is_valid_text and again == readable == make_readable(readable) and copy_as_json(readable)[1]
    )


@pytest.mark.parametrize("name", ODD)
def test_odd_values_become_json_that_reads_the_same(name):
    assert is_readable(ODD[name]) is True


def test_many_odd_values_together_do():
    assert is_readable([{"a": (value,)} for name, value in ODD.items() if name not in LARGE]) is True


@given(ANYTHING)
def test_anything_becomes_json_that_reads_the_same(value):
    assert is_readable(value) is True


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), nest_any, max_leaves=20))
def test_what_is_the_same_is_known(value):
    """The value is compared by its texts, which tell 1 from True and 1.0, and NaN is not the same."""
    try:
        is_same = repr(json.loads(json.dumps(value, allow_nan=False))) == repr(value)
    except (TypeError, ValueError):
        is_same = False
    assert copy_as_json(value)[1] is is_same and (not is_same or make_readable(value) == value)


@pytest.mark.parametrize(
    "value, expected",
    [
        ({"a": [1, 2.5, None, True, "x"]}, True), ([], True), (10**30, True), ((1, 2), False), ({1: "a"}, False),
        ([{"a": NAN}], False), (-math.inf, False), ({1, 2}, False), (b"a", False), (10**5000, False),
        (nest(MAX_LEVELS), True), (nest(MAX_LEVELS + 1), False), (nest(420, lambda value: {"a": value}), False),
    ],
    ids=range(13),
)  # fmt: skip
def test_what_json_can_hold_is_known(value, expected):
    assert copy_as_json(value)[1] is expected
    assert (make_readable(value) == value) is expected


def test_what_cannot_be_held_is_replaced_where_it_stands():
    assert make_readable({"a": [NAN, (1, b"x")], "b": 1}) == {"a": ["NaN", [1, "<bytes>"]], "b": 1}
    assert make_readable({(1, "a"): Hostile(), 2: "\ud800!", None: 10**999}) == {
        '[1, "a"]': "<Hostile>", "2": "\\ud800!", "null": "<int>",
    }  # fmt: skip
    assert make_readable(nest(MAX_LEVELS + 5)) == nest(MAX_LEVELS, lambda value: [value if value != 1 else "<list>"])
