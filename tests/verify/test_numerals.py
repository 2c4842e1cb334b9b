"""Numbers as answers write them, read exactly."""

from fractions import Fraction

import pytest

from trl_grpo_rewards.verify.numerals import parse_number


@pytest.mark.parametrize(
    "text, value",
    [
        ("72", Fraction(72)),
        ("-0.5", Fraction(-1, 2)),
        (".5", Fraction(1, 2)),
        ("+007", Fraction(7)),
        ("1,234,567.5", Fraction(2469135, 2)),
        ("12 000", Fraction(12000)),
        ("1e3", Fraction(1000)),
        ("1.5E-2", Fraction(3, 200)),
        ("3/4", Fraction(3, 4)),
        ("-3/4", Fraction(-3, 4)),
        (r"\frac{-1.5}{3}", Fraction(-1, 2)),
        (r"2\frac{1}{3}", Fraction(7, 3)),
        (r"-2 \frac{1}{3}", Fraction(-7, 3)),
        ("2 1/3", Fraction(7, 3)),
        (r"0.1\overline{6}", Fraction(1, 6)),
        (r"-0.\overline{9}", Fraction(-1)),
        ("10^3", Fraction(1000)),
        ("-10^{-2}", Fraction(-1, 100)),
        (r"2.5 \times 10^{4}", Fraction(25000)),
        (r"3\cdot10^{-1}", Fraction(3, 10)),
    ],
)
def test_a_number_is_read_exactly(text, value):
    assert parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "+", "x", "1,23", "1,2345", "0,123", "1 23", "1/0", r"\frac{1}{0}", r"12\frac{5}{3}", "1/2/3", "2^3", "1.2.3", "10^1000", "9" * 5000],
)  # fmt: skip
def test_what_is_not_one_number_is_none(text):
    assert parse_number(text) is None
