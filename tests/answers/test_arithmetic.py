"""Equations that arithmetic can check: which they are, whether they hold, and what is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.answers.arithmetic import are_sides_equal, compute_true_share, find_written_equations


@pytest.mark.parametrize(
    "text",
    [
        "3+4=7", "So 3 + 4 = 7.", "- 3 + 4 = 7", "1. 3 + 4 = 7", "3 + 4 == 7", "$3 + 4 = 7$", "\\[ 3 + 4 = 7 \\]",
        "\\boxed{3 + 4 = 7}", "3 + 4\n  = 7", "3 + 4 &= 7", "<<3+4=7>>7", "3 + 4 = 7 apples", "3 + 4 = 7 = 7",
        "\\frac{6}{2} + 4 = 7", "2 \\times 3 + 1 = 7", "2 × 3 + 1 = 7", "2(2 + 1) + 1 = 7", "2^3 - 1 = 7",
        "2**3 - 1 = 7", "3,500 / 500 = 7", r"3,\!500 / 500 = 7", "3{,}500 / 500 = 7", "3.5 * 2 = 7.0", "10 − 3 = 7",
        "49 / 7 = 7", "(3 + 4) = 7", "$10 - $3 = $7", "3 + 4 = 7 months", "3 + 0 x 9 + 4 = 7",
    ],
)  # fmt: skip
def test_it_is_true_however_it_is_written(text):
    assert compute_true_share(text) == 1.0
    assert compute_true_share(text.replace("7", "8")) in (0.0, 0.5)


@pytest.mark.parametrize(
    "text",
    [
        "x + 3 = 7", "2x + 3 = 7", "3 + 4 = 7x", "3 + 4 = 7%", "20% of 50 + 5 = 15", "f(3) + 4 = 7",
        "3 + \\sqrt{16} = 8", "7! + 1 = 8", "10 mod 3 + 1 = 3", "12:30 + 1 = 13", "3 + 4 = 7:00",
        r"2\frac{1}{2} + 1 = 3.5",  # a sum, and elsewhere a product
        r"4 + 2 \frac{6}{2} = 10",
        "8 / 4 / 2 = 4",  # which is divided first?
        r"1/3 = 0.\overline{3}", r"2/3 = 0.{\bar{6}}", r"0.\bar{6} + 1/3 = 1", "1/6 = 0.1(6)", "1/3 = 0.333...",
        "1/3 = 0.333…", "17 / 5 = 3 remainder 2", r"17 / 5 = 3 \text{ R } 2", "17 / 5 = 3 r2", "3 / 4 = 75 percent",
        r"3 / 4 = 75\text{ percent}", "2 * 1000000 = 2 million", "5 * 12 = 5 dozen", "1/4 = 25 hundredths",
        "1 - 1/3 = 2 thirds", "7 / 2 = 3 and a half", "150 / 60 = 2 hours 30 minutes", "0x10 + 1 = 17", "- 3 + 5 = 2",
        "2+3 = 10 divided by 2", "9 + 4 = 1 mod 12", "twice 2 + 3 = 10", "Negative 2 + 3 = 1", "7 = 7", "3 + 4 = 3+4",
        "7 = 3 + 4", "3 + 4", "= 7", "",
    ],
)  # fmt: skip
def test_what_may_be_something_else_is_left_out(text):
    assert compute_true_share(text) is None


@pytest.mark.parametrize(
    "text, share",
    [
        ("12 * 2 = 24 = 99", 0.5), ("2+2=4=5", 0.5), ("2 + 2 = 4 = 8 / 2", 1.0), ("2 + 2 = 4 = 5 + 1 = 6", 1 / 3),
        ("x = 2 + 2 = 4 = 5", 0.5), ("4 = 2 + 2 = 5", 0.0), ("2 + 2 = 4 = 5%", 1.0),
    ],
)  # fmt: skip
def test_each_later_side_of_a_chain_must_equal_its_first_calculation(text, share):
    assert compute_true_share(text) == pytest.approx(share)


@pytest.mark.parametrize(
    "left, right, true",
    [
        ("1/3+1/6", "1/2", True), ("0.1+0.2", "0.3", True), ("10/3", "3.33", False), ("2^-1", "0.5", True),
        ("-2^2", "-4", True), ("1/0", "0", False), ("0^-1", "0", False), ("9^9^9^9", "1", False), ("4^0.5", "2", None),
        ("2+", "2", None), ("(2", "2", None), ("1" * 121, "1", None), ("1 1", "11", None),
        ("(" * 59 + "1" + ")" * 59, "1", True), ("-" * 118 + "1", "1", None), ("9" * 70 + "*" + "9" * 49, "1", False),
        ("2^" * 59 + "2", "1", False), ("8^(1/3)", "2", None), ("2^3^2", "512", True), ("5--3", "8", True),
        ("2-3-4", "-5", True), ("2^1001-2^1001", "0", True), ("25 000", "25000", None), ("(2*)", "2", None), ("2*+3", "6", None),
    ],
)  # fmt: skip
def test_arithmetic_is_exact_and_bounded(left, right, true):
    assert are_sides_equal(left, right) is true


@given(st.integers(-999, 999), st.integers(1, 999), st.sampled_from("+-*"))
def test_every_sum_and_product_of_python_is_true(one, other, sign):
    value = eval(f"{one} {sign} {other}")
    assert compute_true_share(f"so ({one}) {sign} {other} = {value}.") == 1.0
    assert compute_true_share(f"so ({one}) {sign} {other} = {value + 1}.") == 0.0


def test_equations_are_counted_once():
    assert len(find_written_equations("1+1=2\n1 + 1 = 2\n1+1=3\n" * 50)) == 2


@given(st.text("0123456789+-*/^()=. x\n\\${}", max_size=200))
def test_no_text_is_an_error(text):
    assert compute_true_share(text) is None or 0 <= compute_true_share(text) <= 1
