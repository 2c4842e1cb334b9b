"""What a program gave back against what is expected: words, plain data with types, and hostile output."""

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.programs.comparison import is_right_output, is_right_value
from trl_grpo_rewards.programs.inside import encode_value


def is_right(value, *accepted, **options):
    return is_right_value(json.dumps(encode_value(value)), accepted, **options)


@pytest.mark.parametrize(
    "output, expected",
    [
        ("3\n", "3"),
        ("1 2\n3", "1\n2 3\n"),
        ("", "\n"),
        ("Yes", "Yes"),
        ("0.3333333", "0.33333333333"),
        ("0.5", ".5"),
        ("5.0", "5"),
        ("4.9999999999", "5"),
        ("1e6", "1000000"),
        ("2", "2.0"),
        ("1000000.5", "1000000.9"),
        ("1e-9", "0.0"),
        ("9" * 5000, "9" * 5000),
        ("nan", "nan"),
        ("0.1 x 2", "0.1000000001 x 2.0"),
    ],
)
def test_words_are_right(output, expected):
    assert is_right_output(output, expected)


@pytest.mark.parametrize(
    "output, expected",
    [
        ("", "3"),
        ("3 3", "3"),
        ("3", "3 3"),
        ("yes", "YES"),
        ("0.333", "0.33333333333"),
        ("5.1", "5"),
        ("007", "7"),
        ("+7", "7"),
        ("10", "0010"),
        ("50000000000000001", "50000000000000000"),
        ("50000000000000001.0", "50000000000000000"),
        ("50000000000000000.0", "50000000000000001"),
        ("5e400", "5e401"),
        ("inf", "1e999"),
        ("1e999", "1e400"),
        ("nan", "1.0"),
        ("inf", "1.5"),
        ("1_000.0", "1000.0"),
        ("0x10", "16"),
        ("١.0", "1.0"),
        ("9" * 5000, "9" * 5001),
        ("1e999999999", "1"),
        ("0." + "3" * 5000, "0.3333"),
        ("True", "1"),
    ],
)
def test_words_are_wrong(output, expected):
    assert not is_right_output(output, expected)


@pytest.mark.parametrize(
    "value, expected",
    [
        (1, 1),
        (2.0, 2),
        (2, 2.0),
        (0.1 + 0.2, 0.3),
        (float("nan"), float("nan")),
        (float("-inf"), float("-inf")),
        ("é\ud800\0", "é\ud800\0"),
        (b"a", b"a"),
        (None, None),
        ([1, (2, {3: {4, 5}})], [1, (2, {3: {5, 4}})]),
        ({1: 0.3}, {1.0: 0.1 + 0.2}),
        ({1, 2.0}, {1.0, 2}),
        ({frozenset({1, 2})}, {frozenset({2, 1})}),
        (frozenset({1}), {1}),
        ({(1, "a"): None}, {(1.0, "a"): None}),
        ([], []),
        ({}, {}),
        (set(), set()),
        (2 + 1e-9j, 2 + 0j),
    ],
)
def test_values_are_right(value, expected):
    assert is_right(value, expected)


@pytest.mark.parametrize(
    "value, expected",
    [
        (True, 1),
        (1, True),
        (0, False),
        (None, False),
        (0, None),
        ("1", 1),
        ("a", b"a"),
        ([1, 2], (1, 2)),
        ((1, 2), [1, 2]),
        ([True], [1]),
        ({True}, {1}),
        ({1: 2}, {True: 2}),
        ({}, set()),
        ([], ()),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ({1: 2}, {1: 2, 3: 4}),
        ({1: 2}, {1: 3}),
        (0.31, 0.3),
        (2j, 2 + 2j),
        ((1.0, 2.0), 1 + 2j),
        (3, 3.1),
        (2**53 + 1.0, 2**53 + 1),
        (10**400, 1.5),
        (1.5, 10**400),
        (float("inf"), 10**400),
        (float("inf"), 1.5),
        (float("nan"), 1.5),
        (1.5, float("nan")),
        ({0.1 + 0.2}, {0.3}),
        ("int", ["int", "1"]),
        (["int", "1"], 1),
    ],
)
def test_values_are_wrong(value, expected):
    assert not is_right(value, expected)


def test_integers_have_any_length():
    assert is_right(10**5000, 10**5000)
    assert not is_right(10**5000, 10**5000 + 1) and not is_right(10**5000, 1.5, tolerance=9)


def test_any_accepted_value_will_do():
    assert is_right(2, 1, 2) and not is_right(3, 1, 2) and not is_right(3)


def test_a_test_may_say_its_own_tolerance():
    assert is_right(0.34, 0.33, tolerance=0.02) and is_right(3, 2, tolerance=1)
    assert not is_right(0.36, 0.33, tolerance=0.02) and not is_right("a", "b", tolerance=9)
    assert not is_right(0.3300001, 0.33, tolerance=1e-9) and not is_right(float("nan"), 0.0, tolerance=1)


def test_json_has_no_tuples_and_only_texts_as_keys():
    assert is_right((1, [(2,)]), [1, [[2]]], as_json=True) and is_right({1: (2,)}, {"1": [2]}, as_json=True)
    assert not is_right({1}, [1], as_json=True) and not is_right({1: 2}, {"2": 2}, as_json=True)
    assert not is_right({True: 2}, {"1": 2}, as_json=True) and not is_right(True, 1, as_json=True)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_every_plain_value_equals_itself_and_nothing_around_it(value):
    assert is_right(value, value)
    assert not is_right([value], value) and not is_right(value, (value,))


@given(PLAIN, PLAIN)
def test_comparing_agrees_with_python_where_types_agree(one, other):
    if is_right(one, other) and repr(one) != repr(other):
        assert any(isinstance(part, float) for part in flatten(one)) or any(
            isinstance(part, float) for part in flatten(other)
        )


def flatten(value):
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    return [leaf for part in value for leaf in flatten(part)] if isinstance(value, list | tuple) else [value]


HOSTILE = [
    "",
    "[",
    "3",
    "3.0",
    '["int"]',
    '["int", 3]',
    '["int", "3", "3"]',
    '["int", "zz"]',
    '["int", ["3"]]',
    '["float", "zz"]',
    '["float", "0x1p99999999999"]',
    '["float", 3.0]',
    '["complex", 3]',
    '["complex", [["int", "3"]]]',
    '["list", "3"]',
    '["list", {"3": 3}]',
    '["dict", [["a"]]]',
    '["dict", ["ab"]]',
    '["dict", [["a", 1], ["a", 2]]]',
    '["set", [["int", "3"], ["int", "3"]]]',
    '["set", [{"a": 1}, null, [], ["set", 3]]]',
    '{"int": "3"}',
    '{"a": 1, "a": 2}',
    "NaN",
    "[" * 100_000,
    '["list", [' * 100_000,
    '["int", "3"]["int", "3"]',
    '["int", "3"]\n["int", "4"]',
    "\ufffd",
    "\0",
]


@pytest.mark.parametrize("output", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("as_json", [False, True])
def test_forged_output_is_wrong_and_never_an_error(output, as_json):
    for expected in (3, 3.0, 3 + 0j, True, None, "3", [3], (3,), {3}, {"a": 2}, {1: 2}, [], {}, b"3", math.nan):
        for tolerance in (None, 0.5):
            assert not is_right_value(output, (expected,), tolerance, as_json)


@given(
    st.recursive(st.none() | st.integers() | st.sampled_from(["int", "float", "list", "set", "dict", "3"]), st.lists)
)
def test_no_json_is_an_error(found):
    for expected in (3, 3.5, [3], {3}, {3: 3}):
        is_right_value(json.dumps(found), (expected,), None, True)
        is_right_value(json.dumps(found), (expected,), 0.5)


COLLIDING = ",".join(f'["int", "{number * (2**61 - 1):x}"]' for number in range(20_000))
NESTED = '["set", [' * 240 + '"' + "a" * 900_000 + '"' + "]]" * 240


@pytest.mark.slow
@pytest.mark.parametrize(
    "output",
    [
        f'["set", [{COLLIDING}]]',
        f'["dict", [{COLLIDING.replace("],[", "], null],[[").join(("[", ", null]"))}]]',
        NESTED,
        f'["int", "{"9" * 900_000}"]',
        f'["float", "{"9" * 900_000}"]',
        '["list", [' + ",".join(['["float", "0x1p0"]'] * 45_000) + "]]",
    ],
    ids=["colliding set", "colliding dict", "nested sets", "long integer", "long float", "long list"],
)
def test_a_hostile_megabyte_of_values_costs_no_more_than_its_length(output):
    start = time.thread_time()
    for expected in ({*range(20_000)}, dict.fromkeys(range(20_000)), 1.5, [1.0] * 45_000, {"a"}):
        is_right_value(output, (expected,))
    assert time.thread_time() - start < 8.0


@pytest.mark.slow
@pytest.mark.parametrize("word", ["1e999", "0." + "3" * 390, "9" * 400, "-", "1."])
def test_a_hostile_megabyte_of_words_costs_no_more_than_its_length(word):
    start = time.thread_time()
    for expected in ("1.5 ", "1 ", word + " "):
        is_right_output((word + " ") * (1_000_000 // (len(word) + 1)), expected * (1_000_000 // (len(word) + 1)))
    assert time.thread_time() - start < 6.0
