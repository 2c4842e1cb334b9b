"""Sets of numbers: every notation of a set is the same set, and another end or bracket is another one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.sets import Builder, find_segments, is_set


@pytest.mark.parametrize("spellings", [
    ["(2, 5)", "]2, 5[", "2 < x < 5", "5 > x > 2", r"x \in (2, 5)", r"\{x \mid 2 < x < 5\}", "{x|2<x<5}", r"|x - 3.5| < 1.5",
     r"x > 2 \text{ and } x < 5"],
    [r"(-\infty, 1) \cup (3, \infty)", r"x < 1 \text{ or } x > 3", r"x < 1, x > 3", r"\mathbb{R} \setminus [1, 3]"],
    [r"x \ne \pm 2", r"x \ne 2, -2", r"(-\infty, -2) \cup (-2, 2) \cup (2, \infty)", r"\mathbb{R} - \{\pm 2\}",
     "all real numbers except 2 and -2"],
    [r"(0, \infty)", r"\mathbb{R}^+", r"\mathbb R_{>0}", "x > 0", r"\mathbf{R}^+"],
    [r"\mathbb{R}", r"(-\infty, \infty)", r"\Bbb R", r"\text{all real numbers}"],
    [r"\{1, 2, 3\}", r"\{x \in \mathbb{Z} \mid 1 \le x \le 3\}", r"\{x \mid 0 < x < 4, x \in \mathbb{Z}\}"],
    [r"\emptyset", r"\text{no solution}", r"\{\}", r"\text{There is no solution}", r"\text{None}", r"\text{the empty set}"],
    ["(a, b)", "a < x < b", "b > x > a"],
])  # fmt: skip
def test_a_set_has_one_value_in_every_notation(spellings):
    assert [is_equal(one, other) for one in spellings for other in spellings] == [True] * len(spellings) ** 2


@pytest.mark.parametrize("one, other", [
    ("(2, 5)", "[2, 5)"), ("(2, 5)", "2 < x < 6"), ("(1, 3)", r"\{x \in \mathbb{Z} \mid 1 < x < 3\}"),
    ("[1, 3]", r"\{x \in \mathbb{Q} \mid 1 \le x \le 3\}"), ("(0, 1)", r"\{2x \mid 0 < x < 1\}"),
    ("(0, 1)", r"\{x \mid 0 < y < 1\}"), (r"(0, \infty)", r"[0, \infty)"), (r"\mathbb{R}^+", r"\mathbb{R}"),
    (r"x < 1 \text{ or } x > 3", r"x < 1 \text{ or } x > 4"), ("x > 2", "y > 2"), ("(a, b)", "b < x < a"),
    (r"\emptyset", "0"), (r"(1, \infty)", r"(1, \infty]"),
])  # fmt: skip
def test_different_sets_differ(one, other):
    assert is_equal(one, other) is is_equal(other, one) is False


def test_what_is_a_set():
    assert all(is_set(read(text)) for text in ("x < 1", "(1, 2]", r"x \in A", r"A \cup B", r"\mathbb{R}^*"))
    assert not any(is_set(read(text)) for text in ("(1, 2)", "5", "x = 1", "1, 2"))
    assert find_segments(read("x^2 < 4")) is None and find_segments(read("x < y")) is None
    assert find_segments(read(r"\{x \in \mathbb{Z} \mid x > 0\}")) is None  # endless


def test_an_interval_may_have_letters_as_ends():
    assert is_equal("(a, b]", r"a < x \le b") is is_equal("(a, b)", "b > x > a") is True
    assert is_equal("(a, b]", "a < x < b") is is_equal("(a, b]", "[a, b)") is False
    assert is_equal(r"A = [1, 2)", "[1, 2)") is is_equal(r"\{x \mid f(x) > 1\}", r"\{x \mid f(x) > 1\}") is True
    assert isinstance(read(r"\{x \mid x > 1\}"), Builder)


integers = st.integers(-999, 999)


@given(integers, st.integers(1, 50), st.booleans(), st.booleans())
@settings(deadline=None)
def test_an_interval_has_one_value_in_every_notation(low, size, has_low, has_high):
    high = low + size
    opening, closing = "[" if has_low else "(", "]" if has_high else ")"
    below, above = "\\le" if has_low else "<", "\\leq" if has_high else "<"
    written = [
        f"{opening}{low}, {high}{closing}",
        rf"\left{opening}{low},{high}\right{closing}",
        f"{low} {below} x {above} {high}",
        rf"x \in {opening}{low}, {high}{closing}",
        rf"\{{x \mid {low} {below} x {above} {high}\}}",
        rf"\{{x : {low} {below} x {above} {high}\}}",
        rf"x {'≥' if has_low else '>'} {low} \text{{ and }} x {'≤' if has_high else '<'} {high}",
        f"{opening}{low}, {low + size / 2}] \\cup ({low + size / 2}, {high}{closing}",
    ]
    assert all(is_equal(one, other) is True for one in written for other in written)
    wrong = f"{'(' if has_low else '['}{low}, {high}{closing}"
    assert all(is_equal(one, wrong) is is_equal(wrong, one) is False for one in written)
