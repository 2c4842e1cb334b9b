r"""Functions by cases and systems of equations, in each environment."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.arrays import Matrix
from trl_grpo_rewards.mathematics.kinds.cases import OTHERWISE, Cases
from trl_grpo_rewards.mathematics.kinds.lists import Collection


PIECEWISE = r"\begin{cases}2x, & x<0\\x^2, & x\ge 0\end{cases}"
PARITY = r"\begin{cases}1 & \text{if } n \text{ is even}\\0 & \text{if } n \text{ is odd}\end{cases}"


@pytest.mark.parametrize(
    "gold, answer, verdict",
    [
        (PIECEWISE, r"\begin{cases}x^2 & \text{if } x\ge0,\\2x & \text{if } x<0.\end{cases}", True),
        (PIECEWISE, r"\left\{\begin{array}{ll}2x, & x<0\\x^2, & x\ge 0\end{array}\right.", True),
        (PIECEWISE, r"\begin{cases}2x, x<0\\x^2, x\ge 0\end{cases}", True),
        (PIECEWISE, r"\begin{cases}2x \text{ for } x<0\\x^2 \text{ for } x\ge 0\end{cases}", True),
        (PIECEWISE, r"\begin{cases}2x & x<0\\x^2 & \text{otherwise}\end{cases}", True),
        (PIECEWISE, r"\begin{cases}x^2 & \text{else}\\2x & x<0\end{cases}", True),
        (PIECEWISE, rf"f(x)={PIECEWISE}", True),
        (PIECEWISE, r"\begin{cases}x^2, & x<0\\2x, & x\ge 0\end{cases}", False),
        (PIECEWISE, r"\begin{cases}2x, & x<0\\x^2, & x\ge 1\end{cases}", False),
        (PIECEWISE, r"\begin{cases}2x, & x<1\\x^2, & \text{otherwise}\end{cases}", False),
        (PIECEWISE, r"\begin{cases}2x, & x<0\\x^2, & x\ge 0\\1 & x=7\end{cases}", False),
        (PIECEWISE, "x^2", False),
        (PARITY, r"\begin{cases}0 & \text{for } n \text{ is odd}\\1 & n \text{ is even}\end{cases}", True),
        (PARITY, r"\begin{cases}1 & n \text{ is odd}\\0 & n \text{ is even}\end{cases}", False),
        (PARITY, "1", False),
    ],
)
def test_rows_are_compared_in_any_order(gold, answer, verdict):
    assert is_equal(gold, answer) is is_equal(answer, gold) is verdict


@pytest.mark.parametrize(
    "gold, answer, verdict",
    [
        (r"\left\{\begin{array}{l}x=1\\y=2\end{array}\right.", "y=2,x=1", True),
        (r"\left\{\begin{array}{l}x=1\\y=2\end{array}\right.", "x=2,y=1", False),
        (r"\begin{cases}x=1\\y=2\end{cases}", "(1,2)", True),
        (r"\left\{\begin{aligned}x&=1\\y&=2\end{aligned}\right.", "x=1,y=2", True),
        (r"\begin{cases}x+y=5\\x-y=1\end{cases}", r"\left\{\begin{matrix}x-y=1\\x+y=5\end{matrix}\right.", True),
        (r"\begin{cases}x>1\\x<3\end{cases}", "(1,3)", True),
    ],
)
def test_systems_are_lists_of_equations(gold, answer, verdict):
    assert is_equal(gold, answer) is is_equal(answer, gold) is verdict


def test_rows_become_values_of_three_kinds():
    assert isinstance(read(PIECEWISE), Cases) and read(rf"{PIECEWISE}").rows[0] == (read("2x"), read("x<0"))
    assert isinstance(read(r"\begin{cases}x=1\\y=2\end{cases}"), Collection)
    assert isinstance(read(r"\begin{cases}1\\2\end{cases}"), Matrix)
    assert read(r"\begin{cases}1&\text{otherwise}\end{cases}").rows[0][1] == OTHERWISE
    assert read(r"\left\{x=1\right.") is None
    assert read(r"\begin{cases}1&2&3\\1\end{cases}") is None


def test_a_row_that_cannot_be_compared_leaves_the_verdict_open():
    one, other = (rf"\begin{{cases}}{value} & x<0\\1 & x\ge 0\end{{cases}}" for value in (r"\frac00", r"\frac{1}{0}"))
    assert is_equal(one, one) is True and is_equal(one, other) is None
