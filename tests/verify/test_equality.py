r"""Which answers are equal."""

import threading
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.verify.equality import number, read_gold
from trl_grpo_rewards.verify.pool import judge


def equal(gold, answer, tolerance=None):
    return judge([(gold, answer)], tolerance)[0].equal


@pytest.mark.parametrize(
    "column, gold",
    [
        (72, "72"),
        (-3, "-3"),
        (0.5, "0.5"),
        (72.0, "72.0"),
        (1e-7, "0.0000001"),
        (Decimal("1.50"), "1.50"),
        (Fraction(1, 3), "1/3"),
        (numpy.float32(0.1), "0.1"),
        (numpy.int64(7), "7"),
        (numpy.bool_(True), "True"),
        (True, "True"),
        ("72", "72"),
        (" $\\frac{1}{2}$ ", r"\frac{1}{2}"),
        ("$$x$$", "x"),
        (r"\(x\)", "x"),
        (r"\[x\]", "x"),
        (r"\boxed{7}", "7"),
        (r"Long proof. Hence \boxed{\frac{\pi}{2}}.", r"\frac{\pi}{2}"),
        ("48/2 = <<48/2=24>>24\n#### 72", "72"),
        ("#### 1,000", "1,000"),
        ("$5$ or $7$", "$5$ or $7$"),
        (r"\$36", r"\$36"),
        ("", None),
        ("   ", None),
        ("####", None),
        (None, None),
        ([4], None),
        (float("nan"), None),
        (float("inf"), None),
        (Decimal("NaN"), None),
    ],
)
def test_the_gold_of_every_column(column, gold):
    assert read_gold(column) == gold


def test_an_integer_that_python_does_not_print_is_no_gold():
    assert read_gold(10**5000) is None


EQUAL = [
    ("72", "72.0"),
    ("72", "072"),
    ("1,000", "1000"),
    ("10{,}000", "10000"),
    ("0.5", r"\frac{1}{2}"),
    (r"\frac12", r"\dfrac{1}{2}"),
    ("1/2", r"\tfrac{1}{2}"),
    ("-1/2", r"-\frac{1}{2}"),
    (r"\$36", "36"),
    (r"3\sqrt{13}", r"3 \sqrt{13}"),
    (r"3\sqrt{13}", r"\sqrt{117}"),
    (r"\sqrt3", r"\sqrt{3}"),
    (r"\frac{\pi}{2}", r"\pi/2"),
    ("(1,2)", r"\left( 1, 2 \right)"),
    ("[0,1)", "[0, 1)"),
    (r"\{1,2\}", r"\{2, 1\}"),
    (r"\text{Evelyn}", "Evelyn"),
    (r"\text{Evelyn}", r"\text{evelyn}"),
    ("no solution", "No solution."),
    ("x^2+1", "1 + x^2"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
    (r"\begin{pmatrix} 1/2 \\ 3 \end{pmatrix}", r"\begin{pmatrix} \frac{1}{2} \\ 3 \end{pmatrix}"),
    ("x=5", "5"),
    ("xy", "yx"),
    ("x y + 5", "5 + x y"),
    ("True", r"\text{True}"),
    (r"106^\circ", "106"),
    ("(C)", r"\text{(C)}"),
    ("$5$ or $7$", "$5$ or $7$"),
    ("7" * 5000, "7" * 5000),
    ("7" * 400, "7" * 400 + ".0"),
    ("18", r"18 \text{ dollars}"),
    (r"18\text{ dollars}", r"\$18"),
    ("0.5", r"\frac{1}{2}\text{ dollars}"),
    ("12", r"12\text{ cm}^2"),
    ("864 \\mbox{ inches}^2", "864"),
    ("18", r"18\text{ km/h}"),
    ("90", "90°"),
    ("42", "**42**"),
    ("20", "€20"),
]

DIFFERENT = [
    (r"3\sqrt{5}", "3"),
    (r"2\pi", "2"),
    ("10^{5}", "10"),
    ("5!", "5"),
    ("3:4", "3"),
    ("4x+7", "4"),
    ("2, 3", "3"),
    ("3", "3.1"),
    ("1000000", "1000001"),
    (r"\frac{1}{2}", r"\frac{1}{3}"),
    ("(1,2)", "(2,1)"),
    ("Evelyn", "Eleven"),
    ("True", "False"),
    ("listen", "silent"),
    ("x y + 5", "7"),
    ("12", "1 2"),
    ("72", ""),
    ("72", r"\text{seventy-two"),
    ("72", "7" * 5000),
    ("72", "7" * 400),
    ("7" * 400, "72"),
    ("9007199254740993", "9007199254740992"),
    (r"\frac13", "0.333333"),
    ("3.5", "3.50000001"),
]


@pytest.mark.parametrize("gold, answer", EQUAL)
def test_equal_answers(gold, answer):
    assert equal(gold, answer) is True


@pytest.mark.parametrize("gold, answer", DIFFERENT)
def test_different_answers(gold, answer):
    assert equal(gold, answer) is False


@pytest.mark.parametrize(
    "gold, answer, tolerance, verdict",
    [
        ("3.14159", "3.14", 0.01, True),
        ("3.14159", "3.1", 0.01, False),
        ("1000", "1005", 0.01, True),
        ("1000", "1020", 0.01, False),
        ("0", "0.005", 0.01, True),
        (r"\frac{1}{3}", "0.333", 0.001, True),
        (r"\pi", "3.1416", 0.001, True),
        (r"\sqrt{2}", "1.5", 0.001, False),
        ("x", "y", 0.5, False),
        ("2", "2", 0.0, True),
    ],
)
def test_tolerance_is_absolute_or_relative(gold, answer, tolerance, verdict):
    assert equal(gold, answer, tolerance) is verdict


def test_a_gold_that_cannot_be_read_is_neither_right_nor_wrong():
    assert equal("t(0,4]", "4") is None
    assert equal("We get $x=5$.", "5") is equal("The answer is 5.", "5") is None
    assert equal("The answer is 5.", "The answer is 5") is True
    assert equal("t(0,4]", " $t(0, 4]$. ") is True


def test_verdicts_are_the_same_in_a_thread():
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.extend(equal(g, a) for g, a in EQUAL + DIFFERENT))
    thread.start()
    thread.join()
    assert verdicts == [True] * len(EQUAL) + [False] * len(DIFFERENT)


@given(st.integers(0, 10**9), st.integers(1, 10**4))
def test_numbers_are_read_exactly(numerator, denominator):
    value = Fraction(numerator, denominator)
    assert number(f"{numerator}/{denominator}") == number(f"\\frac{{{numerator}}}{{{denominator}}}") == value
    assert number(f"-{numerator}/{denominator}") == number(f"-\\frac{{{numerator}}}{{{denominator}}}") == -value
    assert number(f"{numerator:,}") == numerator and number(f"-{numerator}.25") == -numerator - Fraction(1, 4)


@given(st.text(alphabet="0123456789.,/+-\\frac{} ", max_size=12))
def test_a_text_is_a_number_or_not(text):
    value = number(text)
    assert value is None or equal(text, text) is True
