"""Plain data crosses without loss, and what no honest process writes is refused."""

import datetime
import json
import math
from collections import Counter, OrderedDict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.sandbox.programs.inside.dialogue import Peer
from trl_grpo_rewards.sandbox.programs.inside.plain_data import (
    MAX_SHARED_OBJECTS,
    DataReader,
    SharedObjects,
    Violation,
    Writer,
)


Point = namedtuple("Point", "x y")

ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
KEYS = st.recursive(ATOMS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)
PLAIN = st.recursive(
    ATOMS | st.fractions() | st.decimals(allow_nan=False) | st.dates() | st.datetimes() | st.times() | st.timedeltas(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.sets(KEYS, max_size=4)
    ),
    max_leaves=15,
)


class Plain(Peer):
    """A side without objects of its own."""

    def refer(self, value, is_plain):
        return None

    def resolve(self, kind, *contents):
        return None


def cross(value):
    writer = Writer(Plain(0))
    form = writer.write(value)
    form, table = json.loads(json.dumps([form, writer.table]))
    return DataReader(table, Plain(1)).read(form)


@given(PLAIN)
def test_what_is_read_equals_what_was_written(value):
    found = cross(value)
    assert found == value and name_types(found) == name_types(value)


def name_types(value):
    """Return the types of a value and of what it contains."""
    parts = [*value.items()] if isinstance(value, dict) else value if isinstance(value, list | tuple) else []
    return [type(value).__name__, *map(name_types, parts)]


@pytest.mark.parametrize(
    "value",
    [
        Point(1, [2]), Counter("aab"), OrderedDict([(2, 1), (1, 2)]), deque([1, [2]]), bytearray(b"ab"),
        range(1, 9, 2), slice(1, None), 2j, math.inf, 10**10_000, "\ud800\0", {1: 2}.keys(), {1: 2}.items(), ...,
        NotImplemented, Decimal("1.10"), Fraction(1, 3), PurePosixPath("a/b"),
        datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_kinds(value):
    found = cross([value])[0]
    assert found == value and type(found).__name__ == type(value).__name__


def test_what_is_shared_stays_shared_and_circles_stay_circles():
    inner = [1]
    value = [inner, (inner,), {"a": inner}]
    value.append(value)
    found = cross(value)
    assert found[0] is found[1][0] is found[2]["a"] and found[3] is found


FORMS = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["int", "float", "x"]), inner),
    max_leaves=5,
)
KINDS = st.sampled_from(["list", "tuple", "dict", "set", "range", "namedtuple", "Decimal", "timedelta", "error", "?"])


CONTENTS = st.lists(FORMS | st.integers(0, 5).map(lambda n: [n]), max_size=4)


@given(FORMS, st.lists(st.tuples(KINDS, CONTENTS, st.lists(st.integers(-2, 5), max_size=1))))
def test_any_message_is_read_or_refused(form, table):
    """Whatever is refused raises an Exception, which the dialogue turns into the end of the tests."""
    try:
        entries = [[kind, items, *number] for kind, items, number in table]
        DataReader(entries, Plain(0)).read(form)
    except Exception:
        pass


def test_both_sides_forget_the_same_objects():
    one, other = SharedObjects(0), SharedObjects(1)
    kept = [[n] for n in range(3 * MAX_SHARED_OBJECTS)]
    for place, value in enumerate(kept):
        number = (one if place % 2 else other).add(value, "list")
        (other if place % 2 else one).add([*value], "list", number)
    one.forget_oldest()
    other.forget_oldest()
    assert [*one.entries] == [*other.entries] and len(one.entries) == MAX_SHARED_OBJECTS
    assert id(kept[0]) not in one.numbers and id(kept[-1]) in one.numbers


def test_a_number_that_is_taken_is_refused():
    shared = SharedObjects(0)
    for taken in (shared.add([1], "list"), "x", None.__class__):
        with pytest.raises(Violation):
            shared.add([], "list", taken)
