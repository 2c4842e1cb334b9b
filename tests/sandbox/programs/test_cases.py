"""What a program gave back against what is expected: words, plain JSON values, and hostile output."""

import itertools
import json
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.sandbox.programs.cases import CallCase, OutputCase, measure_depth
from trl_grpo_rewards.sandbox.programs.inside.program import convert


def is_right(value, *accepted, arguments="[]", **answer):
    answer = json.dumps({"value": convert(value), **answer})
    return CallCase("f", arguments, accepted).is_right(answer)


RIGHT_WORDS = [
    ("3\n", "3"), ("1 2\n3", "1\n2 3\n"), ("", "\n"), ("Yes", "Yes"), ("0.3333333", "0.33333333333"), ("0.5", ".5"),
    ("5.0", "5"), ("4.9999999999", "5"), ("1e6", "1000000"), ("2", "2.0"), ("1000000.5", "1000000.9"), ("1e-9", "0.0"),
    ("9" * 5000, "9" * 5000), ("nan", "nan"), ("0.1 x 2", "0.1000000001 x 2.0"), ("[1, 2]", "[1,2]"),
    ("[1,2]\n", "[ 1 , 2 ]"), ("[[1, 2], ['a']]\nYes", "[[1,2],['a']] Yes"), ("(1, 2) {3 :4}", "(1,2) { 3 :4}"),
]  # fmt: skip
WRONG_WORDS = [
    ("", "3"), ("3 3", "3"), ("3", "3 3"), ("yes", "YES"), ("0.333", "0.33333333333"), ("5.1", "5"), ("007", "7"),
    ("+7", "7"), ("10", "0010"), ("50000000000000001", "50000000000000000"),
    ("50000000000000001.0", "50000000000000000"), ("50000000000000000.0", "50000000000000001"), ("5e400", "5e401"),
    ("inf", "1e999"), ("1e999", "1e400"), ("nan", "1.0"), ("inf", "1.5"), ("1_000.0", "1000.0"), ("0x10", "16"),
    ("١.0", "1.0"), ("9" * 5000, "9" * 5001), ("1e999999999", "1"), ("0." + "3" * 5000, "0.3333"), ("True", "1"),
    ("[12]", "[1 2]"), ("[1, 2]", "[1,2"), ("[1, 2]", "(1,2)"), ("[1, 2]", "[1 2]"), ("['a b']", "['ab']"),
    ("1, 2", "1,2"), ("[1, 2]", "1,2"),
]  # fmt: skip


def test_words():
    assert [pair for pair in RIGHT_WORDS if not OutputCase("", pair[1]).is_right(pair[0])] == []
    assert [pair for pair in WRONG_WORDS if OutputCase("", pair[1]).is_right(pair[0])] == []


@given(
    st.lists(st.sampled_from([*"[](){},ab1", "0.5", " ", "\n"])), st.lists(st.sampled_from([*"[](){},ab1", " ", "\n"]))
)
def test_only_whitespace_next_to_brackets_and_commas_makes_no_difference(parts, others):
    one, other = "".join(parts), "".join(others)
    if OutputCase("", other).is_right(one):
        assert "".join(one.split()) == "".join(other.split())
    spaced = "".join(f" {part}\n " if part in "[](){}," else part for part in parts)
    assert OutputCase("", one).is_right(spaced) == (
        spaced.split() == one.split() or any(part in "[({" for part in parts)
    )


RIGHT_VALUES = [
    (1, 1), (True, 1), (0, False), (2.0, 2), (2, 2.0), (0.1 + 0.2, 0.3), (0.3, 0.1 + 0.2),
    (float("nan"), float("nan")), (float("-inf"), float("-inf")), ("é\ud800\0", "é\ud800\0"), (None, None),
    ((1, [(2.0,)]), [1, [[2]]]), ({1: (0.3,), "a": None}, {"1": [0.1 + 0.2], "a": None}),
    ({True: 1, None: 2, 0.5: 3}, {"true": 1, "null": 2, "0.5": 3}), ({"int": "ff"}, {"int": "ff"}),
    ({"dict": {}}, {"dict": {}}), ([], []), ({}, {}), (Fraction(4, 2), 2), (Fraction(1, 3), 0.3333333333),
    (Decimal("1.50"), 1.5), (Decimal("NaN"), float("nan")), (10**300, 1e300),
    ([-1.2345678901234567e-07] * 1000, [0] * 1000), (["\ud800" * 1000], ["\ud800" * 1000]),
]  # fmt: skip
WRONG_VALUES = [
    (None, False), (0, None), ("1", 1), (1, "1"), (True, "true"), ("", None), ("", []), ([], {}), ({}, []), ([], None),
    ([1, 2], [2, 1]), ([1], [1, 1]), ([], [1]), ({"1": 2}, {"1": 2, "3": 4}), ({"1": 2, "3": 4}, {"1": 2}),
    ({"1": 2}, {"1": 3}), ({1: 2, "1": 2}, {"1": 2}), ({(1, 2): 3}, {"1": 3}), ({1}, [1]), (b"a", "a"),
    (range(2), [0, 1]), (iter([1]), [1]), ({}.keys(), []), (object(), {}), (2j, 2), (0.31, 0.3), (3, 3.1),
    (2**53 + 1.0, 2**53 + 1), (10**400, 1.5), (1.5, 10**400), (float("inf"), 10**400), (float("inf"), 1.5),
    (float("inf"), sys.float_info.max), (float("nan"), 1.5), (1.5, float("nan")), (1.5, float("inf")),
    ({"int": "ff"}, 255), ({"float": "nan"}, float("nan")),
]  # fmt: skip


def test_values():
    assert [pair for pair in RIGHT_VALUES if not is_right(*pair)] == []
    assert [pair for pair in WRONG_VALUES if is_right(*pair)] == []
    assert is_right(2, 1, 2) and is_right(2, 1.5, 10**400, 2)  # any accepted value will do
    assert not is_right(3, 1, 2) and not is_right(3)


@pytest.mark.parametrize("number", [10**3900, 10**4000, 10**4299, 10**5000, -(10**5000)], ids=range(5))
def test_integers_have_any_length(number):
    assert is_right(number, number) and is_right([{"a": number}], [{"a": number}])
    assert not is_right(number, number + 1) and not is_right(-number, number) and not is_right(number, 1.5)


def test_the_first_argument_counts_only_in_place_and_after_none():
    in_place, plain = CallCase("f", "[[2, 1]]", ([1, 2],), True), CallCase("f", "[[2, 1]]", ([1, 2],))
    answer = json.dumps({"value": None, "first": [1, 2]})
    assert in_place.is_right(answer) and not plain.is_right(answer)
    assert not in_place.is_right(json.dumps({"value": None}))
    assert not in_place.is_right(json.dumps({"value": False, "first": [1, 2]}))
    assert is_right(None, None, arguments=json.dumps([[1] * 9999]), first=[1] * 9999)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_every_plain_value_equals_itself_and_nothing_around_it(value):
    assert is_right(value, value)
    assert not is_right([value], value) and not is_right({"dict": value}, value)


def perturb(value, choose):
    """Return a value that differs from a plain one in one place."""
    if isinstance(value, list) and value and choose(st.booleans()):
        place = choose(st.integers(0, len(value) - 1))
        return [*value[:place], perturb(value[place], choose), *value[place + 1 :]]
    if isinstance(value, dict) and value and choose(st.booleans()):
        key = choose(st.sampled_from([*value]))
        return {**value, key: perturb(value[key], choose)}
    match value:
        case str() | list():
            return value + value[:1] if value else None
        case dict():
            return {**value, "".join(value) + "x": None}
        case None:
            return []
        case float() if abs(value) >= 1e9 or value != value:
            return value / 2 if abs(value) <= sys.float_info.max else 0.0
    return value + 1


@given(PLAIN, st.data())
def test_a_perturbed_value_is_wrong(value, data):
    assert not is_right(perturb(value, data.draw), value)


@given(PLAIN, PLAIN)
def test_comparing_agrees_with_python_except_for_close_floats(one, other):
    if "." not in repr((one, other)) and "n" not in repr((one, other)):
        assert is_right(one, other) == (one == other)


HOSTILE = [
    "", "[", "3", '"value"', "[3]", "{}", '{"first": 3}', '{"value": {"int": 3}}', '{"value": {"int": ["3"]}}',
    '{"value": {"float": "zz"}}', '{"value": {"float": 3.0}}', '{"value": {"dict": [["a", 2]]}}',
    '{"value": {"dict": "a"}}', '{"value": {"a": 2}}', '{"value": {"dict": {"a": 2, "a": 2}}}',
    '{"value": 3, "value": 3}', '{"value": {"object": "set"}}', '{"value": NaN}', '{"value": 1e999}',
    '{"value": 3}{"value": 3}', '{"value": 3', '{"value": ' + "9" * 900 + "}", '{"value": ' + "[" * 500,
    '{"value": ' + "[" * 400 + "]" * 400 + "}", "\ufffd", "\0", "\ud800",
]  # fmt: skip
EXPECTED = (3, 3.0, True, None, "3", [3], {"a": 2}, {"1": 2}, [], {}, float("nan"), 10**5000)


def test_forged_output_is_wrong_and_never_an_error():
    for output, expected, in_place in itertools.product(HOSTILE, EXPECTED, (False, True)):
        assert not CallCase("f", "[1]", (expected,), in_place).is_right(output), (output[:99], expected)


@given(
    st.recursive(st.none() | st.integers() | st.floats() | st.sampled_from(["int", "dict", "3"]), st.lists)
    | st.dictionaries(
        st.sampled_from(["value", "first", "int"]), st.none() | st.dictionaries(st.text(), st.integers())
    )
)
def test_no_json_is_an_error(found):
    for expected in EXPECTED:
        CallCase("f", "[1]", (expected,), True).is_right(json.dumps(found))


@given(PLAIN)
def test_depth_is_that_of_lists_and_objects(value):
    def measure(one):
        inner = one.values() if isinstance(one, dict) else one
        return 1 + max(map(measure, inner), default=0) if isinstance(one, list | dict) else 0

    assert measure_depth(json.dumps(value)) == measure(value)


def test_depth_is_limited_before_reading_whatever_limit_python_has():
    code = """
import sys
from trl_grpo_rewards.sandbox.programs.cases import CallCase
for limit in (200, 1000, 100_000):
    sys.setrecursionlimit(limit)
    for deep in ("[" * 900_000, "[" * 400_000 + "]" * 400_000, '{"value":' * 90_000):
        assert not CallCase("f", "[]", ("a" * 1_000_000,)).is_right(deep)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


NESTED = '["set",[' * 240 + '"' + "a" * 900_000 + '"' + "]]" * 240
WIDE = '["set",[' * 240 + ",".join(f'["int","{number:x}"]' for number in range(50_000)) + "]]" * 240
SHAPES = {
    "nested sets in a key": f'["dict",[[{NESTED},1]]]',
    "nested sets": NESTED,
    "nested tuples in a key": f'["dict",[[{NESTED.replace("set", "tuple")},1]]]',
    "nested wide sets": f'["dict",[[{WIDE},1]]]',
    "499 levels": "[" * 498 + "1" + "]" * 498,
    "1000 levels": "[" * 1000 + "1" + "]" * 1000,
    "100,000 levels": "[" * 100_000,
    "many integers": "[" + ",".join(map(str, range(60_000))) + "]",
    "many pairs": "{" + ",".join(f'"{number}":null' for number in range(40_000)) + "}",
    "many floats": "[" + ",".join([f"1.{number:013}e+300" for number in range(30_000)]) + "]",
    "a long integer": '{"int":"' + "f" * 900_000 + '"}',
    "a big number": "1" * 900_000,
    "a long exponent": "1e" + "9" * 100_000,
}
"""The hostile values of an attack on earlier versions, of which some took half a minute."""


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("write", ['{{"value":{}}}', '{{"value":null,"first":{}}}'])
def test_hostile_values_are_wrong_within_half_a_second(name, write):
    output = write.format(SHAPES[name])
    big = ["1" * 10] * 90_000
    for expected in ({"1": 2}, {"a": {"1": 2}}, [1], 1, 1.5, None, "a" * 1_000_000, [*range(99_999)], big, {"a": big}):
        case = CallCase("f", "[[1, 2]]", (expected,), True)
        start = time.thread_time()
        assert not case.is_right(output)
        assert time.thread_time() - start < 0.5


@pytest.mark.parametrize("output", [" " * 1_000_000, "[ " * 500_000, " ," * 500_000, "[" * 1_000_000])
def test_hostile_spaces_cost_no_more_than_their_length(output):
    start = time.thread_time()
    for expected in ("[1,2]", "[1,2] " * 100_000):
        assert not OutputCase("", expected).is_right(output)
    assert time.thread_time() - start < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("word", ["1e999", "0." + "3" * 390, "9" * 400, "-", "1."])
def test_many_hostile_words_cost_no_more_than_its_length(word):
    seconds = []
    for size in (30_000, 300_000):
        start, count = time.thread_time(), size // (len(word) + 1)
        for expected in ("1.5 ", "1 ", word + " "):
            OutputCase("", expected * count).is_right((word + " ") * count)
        seconds.append(time.thread_time() - start)
    assert seconds[1] < 30 * seconds[0] + 0.5  # a quadratic comparison would take 100 times as long
