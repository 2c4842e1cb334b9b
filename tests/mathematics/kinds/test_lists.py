r"""Lists, tuples and finite sets: which ones say the same, and what stands for several values."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.lists import Collection


@pytest.mark.parametrize(
    "gold, answers",
    [
        ("2, 3", ["3 and 2", r"\{2, 3\}", "x=2, y=3", r"2 \text{ or } 3", r"2 \& 3", "x = 2, 3", r"\{x : x = 2 \text{ or } x = 3\}"]),
        ("2, 2", ["m = n = 2", "m = 2, n = 2"]),
        ("x = 2, y = 3", ["y = 3, x = 2", "(x, y) = (2, 3)", "2, 3"]),
        (r"\pm 2", ["2, -2", r"x = \pm 2", r"\{2, -2\}", "-2 or 2"]),
        (r"(\pm 1, 2)", ["(1, 2), (-1, 2)", r"(\pm 1, 2)"]),
        ("1, 2, 3, 4, 5", [r"1, 2, \ldots, 5", "1,2,3,...,5"]),
        ("(1, 2)", [r"\langle 1, 2 \rangle", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"]),
        ("BD", ["B, D", "D and B"]),
        ("5", ["5 or 5.0", r"\{5\}"]),
        (r"2k\pi, k \in \mathbb{Z}", [r"2n\pi, n \in \mathbb{Z}", r"\{2k\pi \mid k \in \mathbb{Z}\}", r"\{x \mid x = 2k\pi, k \in \mathbb{Z}\}"]),
    ],
)  # fmt: skip
def test_lists_that_say_the_same(gold, answers):
    assert [is_equal(gold, answer) for answer in answers] == [True] * len(answers)


@pytest.mark.parametrize(
    "gold, answers",
    [
        ("2, 3", ["2", "2, 3, 4", "2, 2", "x = 3, 4", "2 or 4"]),
        ("2", ["2, 3", "2 or 3", "x = 2, y = 3"]),
        ("x = 2", ["x = y = 2", "y = 2"]),
        ("x = 2, y = 3", ["x = 3, y = 2"]),
        ("(1, 2)", ["(2, 1)", "(1, 2, 0)", r"\{1, 2\}", r"(\pm 1, 2)"]),
        ("2n", ["2k"]),
        (r"1, 2, \ldots, 5", [r"1, 2, \ldots, 6"]),
        (r"\emptyset", [r"\{\emptyset\}"]),
    ],
)
def test_lists_that_differ(gold, answers):
    assert [is_equal(gold, answer) for answer in answers] == [False] * len(answers)


def test_dots_stand_for_integers():
    assert read(r"2, 4, \ldots, 8").items == read("2, 4, 6, 8").items
    assert len(read(r"1, 2, \ldots, 1000").items) == 4  # too many


def test_a_condition_is_no_item():
    assert is_equal(r"\frac1x", r"\frac1x, x \ne 0") is True and is_equal("5", r"5, x \ne 0") is False
    assert isinstance(read("x, x < 0"), Collection)


def test_a_sign_stands_for_two_values():
    assert is_equal(r"x = 1 \pm 2", "x = 3, x = -1") is True and len(read(r"(\pm 1, 2)").items) == 2
    assert is_equal(r"\pm 1 \mp 2", "-1, 1") is True and is_equal(r"\pm 1 \mp 2", "3, -3") is False
    assert is_equal(r"\pm a \pm b", "a + b, -a - b") is True
