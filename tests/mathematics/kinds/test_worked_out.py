r"""Expressions: which are equal within a tolerance, and which could be worked out."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds import is_open
from trl_grpo_rewards.mathematics.kinds.expressions import FORMAL, are_within


@pytest.mark.parametrize(
    "text, expected",
    [
        ("6/2", True), ("1/2", False), (r"\frac{112176}{2}", True), ("2+3", True), ("5-1", True), ("x+1+2", True),
        ("x+1", False), (r"3\sqrt5", False), (r"2\cdot3", True), (r"1.5\times10^3", False), (r"10^2\times10^3", True),
        ("2^{10}", True), ("10^5", False), (r"\sqrt{16}", True), (r"\sqrt{2}", False), ("5!", True), (r"\log_2 8", True),
        (r"\sin 30^\circ", True), (r"\sin 20^\circ", False), ("16^{0.5}", True), (r"\frac{2\sqrt3}{3}", False), ("-1", False),
        (r"\sum_{k=1}^3 k", True), ("x = 3 + 4", True), ("(1+2, 4)", True), ("3 + 4 = 7", False), ("2\\pi", False),
    ],
)  # fmt: skip
def test_what_is_left_to_work_out(text, expected):
    assert is_open(read(text)) is expected


@pytest.mark.parametrize("other", ["0", "7", r"-\infty", "x"])
def test_infinity_is_within_no_tolerance_of_a_number(other):
    assert not is_equal(r"\infty", other, tolerance=0.1) and not is_equal(other, r"\infty", tolerance=0.1)
    assert is_equal(r"\infty", r"\infty", tolerance=0.1) is True


def test_two_values_agree_within_a_tolerance():
    assert are_within(read("100"), read("101"), 0.01) and not are_within(read("100"), read("102"), 0.01)
    assert are_within(read(r"\pi"), read("3.14"), 0.001) and are_within(read("x"), read("x"), 0.1) is None
    assert are_within(read(r"\infty"), read("7"), 0.1) is None


@pytest.mark.parametrize("sign", sorted(FORMAL.keys() - {"\\neg"}))
def test_operations_that_are_not_on_numbers_are_compared_by_their_operands(sign):
    assert is_equal(f"A {sign} B", f"A {sign} B") is True and is_equal(f"A {sign} B", f"A {sign} C") is False
    assert is_equal(f"A {sign} B", f"B {sign} A") is FORMAL[sign]
