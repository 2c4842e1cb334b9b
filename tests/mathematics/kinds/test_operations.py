r"""Arithmetic: numbers, signs, powers, factors that stand side by side, brackets and bars."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.values import is_equal, write
from trl_grpo_rewards.mathematics.grammar import INFIXES, read
from trl_grpo_rewards.mathematics.kinds import arithmetic
from trl_grpo_rewards.mathematics.rationals import evaluate_exactly


ARITHMETIC = {
    r"2\frac34": ["mixed", 2, ["/", 3, 4]],
    r"2\frac32": ["*", 2, ["/", 3, 2]],
    r"x \cdot 2\frac32": ["*", "x", 2, ["/", 3, 2]],
    "1 1/2": ["mixed", 1, ["/", 1, 2]],
    "1011_2": ["base", "1011", 2],
    r"0.\overline{3}": Fraction(1, 3),
    r"0.1\overline{6}": Fraction(1, 6),
    r"0.1666\ldots": Fraction(1, 6),
    "0.1212...": Fraction(4, 33),
    "|x-1|": ["abs", ["+", "x", -1]],
    r"\|v\|": ["norm", "v"],
    r"\lfloor 2.5 \rfloor": ["floor", Fraction(5, 2)],
}


@pytest.mark.parametrize("text, value", ARITHMETIC.items())
def test_arithmetic_becomes_a_value(text, value):
    assert write(read(text)) == value


@pytest.mark.parametrize("text, value", [
    ("-0.5", Fraction(-1, 2)), (".5", Fraction(1, 2)), ("+007", 7), ("1,234,567.5", Fraction(2469135, 2)),
    ("12 000", 12000), ("1.234.567,89", Fraction(123456789, 100)), ("1e3", 1000), ("1.5E-2", Fraction(3, 200)),
    ("-3/4", Fraction(-3, 4)), (r"\frac{-1.5}{3}", Fraction(-1, 2)), (r"-2 \frac{1}{3}", Fraction(-7, 3)),
    ("2 1/3", Fraction(7, 3)), (r"0.1\overline{6}", Fraction(1, 6)), (r"-0.\overline{9}", -1),
    (r"2.5 \times 10^{4}", 25000), (r"2.5\text{ million}", 2500000), (r"\binom{5}{2}", 10),
    (r"\sqrt{\frac{4}{9}}", Fraction(2, 3)),
])  # fmt: skip
def test_a_number_is_read_exactly(text, value):
    assert evaluate_exactly(read(text)) == value


def test_a_number_is_no_factor_of_the_number_before():
    assert read("5 6") is read("2x 3 4") is None and is_equal("2 (3)", "6") is True
    assert arithmetic.read_factor in [infix.build for infix in INFIXES["<number>"]]


integers = st.integers(-999, 999)
fractions = st.builds(Fraction, integers, st.integers(1, 60))


@given(fractions)
@settings(deadline=None)
def test_a_fraction_has_one_value_in_every_notation(value):
    above, below, sign = abs(value.numerator), value.denominator, "-" if value < 0 else ""
    written = [
        f"{sign}{above}/{below}",
        rf"{sign}\frac{{{above}}}{{{below}}}",
        rf"\dfrac{{{value.numerator}}}{{{below}}}",
    ]
    written += [rf"${sign}\tfrac{{{above}}}{{{below}}}$", rf"x = {sign}\frac{{{above}}}{{{below}}}"]
    if below > 1 and above > below:
        written.append(rf"{sign}{above // below}\frac{{{above % below}}}{{{below}}}")
    if below in (2, 4, 5, 8, 10, 20, 25, 40, 50):
        written.append(f"{float(value)}")
    assert all(is_equal(one, written[0]) is is_equal(written[0], one) is True for one in written)
    assert is_equal(f"{value + 1}", written[1]) is is_equal(written[1], f"{value + 1}") is False


@given(st.integers(1000, 10**9))
@settings(deadline=None)
def test_a_large_number_has_one_value_in_every_notation(value):
    grouped = f"{value:,}"
    for one in (*(grouped.replace(",", comma) for comma in (",", "{,}", ",\\!", "\\,")), f"{value}.0"):
        assert is_equal(one, f"{value}") is True and is_equal(one, f"{value + 1}") is False
