r"""Parsed expressions: which is_different, and what is told apart before math-verify sees it."""

import pytest
from sympy import Eq, Float, Integral, Rational, Symbol, pi, sqrt

from trl_grpo_rewards.mathematics.comparison import AnswerRules
from trl_grpo_rewards.verify.symbolic import (
    UNREAD,
    distinguish_letters,
    is_different,
    is_false_equation,
    parse_gold,
    parse_latex,
    to_floats,
    verify_expressions,
)


x, i = Symbol("x"), Symbol("i")


@pytest.mark.parametrize(
    "one, other, expected",
    [
        (x**2 - 1, (x - 1) * (x + 1), False),
        (x**2 - 1, x**2 + 1, True),
        (sqrt(8), 2 * sqrt(2), False),
        (pi, Float(3.1415), True),
        (pi, Float(3.14159265), False),
        (Rational(1, 10**9), Rational(2, 10**9), True),  # both are 0 to six decimals
        (i, 2 * i, False),  # may be the imaginary unit
        (Integral(x, x), x**2 / 2, False),  # left to math-verify
        (Eq(x, 1), Eq(x, 2), False),  # no expressions
    ],
)
def test_expressions_differ_where_a_point_tells(one, other, expected):
    assert is_different(one, other) is expected and is_different(other, one) is expected


def test_an_equation_of_different_numbers_is_false():
    assert is_false_equation(Eq(Float(1.0), 2, evaluate=False)) and not is_false_equation(
        Eq(Float(1.0), 1, evaluate=False)
    )
    assert not is_false_equation(Eq(x, 2)) and not is_false_equation(x)


def test_values_are_two_real_numbers_or_none():
    assert to_floats(Rational(1, 2), pi) == (0.5, pytest.approx(3.14159265))
    assert to_floats(x, pi) is None and to_floats(sqrt(-1), 1) is None


def test_a_letter_and_its_capital_stay_apart():
    gold, answer = distinguish_letters(r"A + a\sin B", "B + a")
    assert "A" not in gold and "a" in gold and r"\sin" in gold and "B" in gold and answer == "B + a"
    assert distinguish_letters("A + b", "b + A") == ("A + b", "b + A")
    one, other = distinguish_letters("Aa", "aA")
    assert one != "Aa" and sorted(one) == sorted(other)  # one name for one letter in both


@pytest.mark.parametrize(
    "gold, answer, terms, expected",
    [
        (r"\frac{1}{2}", "0.5", AnswerRules(), True),
        ("(x-1)(x+1)", "x^2-1", AnswerRules(), True),
        ("(x-1)(x+1)", "x^2-2", AnswerRules(), False),
        ("3.14", r"\pi", AnswerRules(), False),
        ("3.14", r"\pi", AnswerRules(tolerance=0.01), True),
        ("3.2", r"\pi", AnswerRules(tolerance=0.01), False),
        ("6", r"2 \cdot 3", AnswerRules(), True),
        (r"\{1, 2\}", r"\{2, 1\}", AnswerRules(), True),
    ],
)
def test_parsed_answers_are_verified(gold, answer, terms, expected):
    assert verify_expressions(parse_latex(gold), parse_latex(answer), terms) is expected


def test_nothing_given_is_wrong():
    assert verify_expressions(parse_latex("1"), [], AnswerRules()) is False


def test_a_gold_that_only_the_reader_reads_makes_no_row_unjudged():
    assert parse_gold("2(0,4]") == []
    assert parse_gold(r"\begin{cases} 1 \\ 2 \end{cases}") and parse_gold(r"\text{ab}:\text{cd}")
    assert verify_expressions(UNREAD, parse_latex("1"), AnswerRules()) is False
