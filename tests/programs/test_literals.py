"""Constants in tests: what is read, and that nothing is evaluated."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.programs.literals import read_literal


def read(text):
    return read_literal(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    "text",
    [
        "-1.5e3",
        "2.0 / 3",
        "(3 + 5 + 7, 3 * 5 * 7)",
        "10**9 + 7",
        "2 ** -1",
        "-7 // 2 % 3",
        "[0] * 3",
        "3 * 'ab'",
        "tuple([1, [2]])",
        "set()",
        "set([1, 1])",
        "frozenset({1})",
        "float('inf')",
        "{'a': [None, True], 1: b'x'}",
        "str(12)",
        "-2 + 0.5j",
    ],
)
def test_constants_are_read(text):
    assert read(text) == eval(text) and type(read(text)) is type(eval(text))


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "f()",
        "open('a')",
        "__import__('os')",
        "tuple(x)",
        "list('a', 'b')",
        "tuple(*[1])",
        "float('x')",
        "[x for x in y]",
        "1 if 2 else 3",
        "lambda: 1",
        "'a'.upper()",
        "f'{1}'",
        "{**{}}",
        "[*[1]]",
        "1 / 0",
        "9 ** 9 ** 9 ** 9",
        "10 ** 1000000",
        "(-1) ** 0.5",
        "2.0 ** 99999",
        "[0] * 10 ** 9",
        "'a' * 10 ** 9",
        "'a' + 'b'",
        "-True",
        "{[]: 1}",
        "{[]}",
        "set([[]])",
        "1 < 2",
        "...",
        "1j ** 2",
        "range(3)",
        "'%999999999d' % 1",
        "[" * 102 + "]" * 102,
        "-" * 150 + "1",
    ],
)
def test_what_is_not_a_small_constant_is_refused(text):
    with pytest.raises(ValueError):
        read(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text() | st.binary(), st.lists, max_leaves=10))
def test_every_value_is_read_from_its_text(value):
    assert read(repr(value)) == value
