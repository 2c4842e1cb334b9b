r"""What only names a value, and which names mean the same."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.names import have_same_name, is_name
from trl_grpo_rewards.mathematics.values import Symbol


@pytest.mark.parametrize("name", [
    "x", "x_1", "AB", "|AB|", r"\angle ABC", r"m\angle A", "f(2)", "f'(x)", "y'", r"\frac{dy}{dx}", r"P(A \mid B)",
    r"n(A \cap B)", "(f+g)(2)", r"(f \circ g)(2)", r"f \circ g(2)", r"|AB|_{\max}", r"\left.\frac{dy}{dx}\right|_{x=1}",
    r"\det A", r"\dim V", r"\max f(x)", r"\text{Area}", r"\text{Area}(ABC)", r"|\vec a + \vec b|", r"\tan(A+B)",
    r"\sin 2\alpha", "A^c", r"\complement_U A", r"A \cap B", r"\frac{AB}{CD}", r"\vec a \cdot \vec b", r"\nabla f",
])  # fmt: skip
def test_a_name_is_no_part_of_the_answer(name):
    assert is_equal("7", f"{name} = 7") is is_equal(f"{name} = 7", "7") is True
    assert is_equal("7", f"{name} = 8") is False


@pytest.mark.parametrize("left", [
    "2x", "x^2", "-x", "x+1", "|x|", "|n|", "x-y", r"\sqrt{x}", r"\frac{x}{2}", r"\sin^2 x + \cos^2 x", "3!", "8",
    "",
])  # fmt: skip
def test_an_equation_is_not_answered_by_its_right_side(left):
    assert not is_equal("7", f"{left} = 7") or left == ""


@pytest.mark.parametrize("one, other, same", [
    ("y", "f(x)", True), ("y'", "f'(x)", True), (r"\frac{dy}{dx}", "y'", True), ("P(A)", "P(B)", False),
    ("y", "y'", False),
])  # fmt: skip
def test_two_names_of_one_thing(one, other, same):
    assert have_same_name(read(one), read(other)) is same is have_same_name(read(other), read(one))


def test_a_constant_is_no_name():
    assert is_name(Symbol("x")) and not is_name(Symbol("\\pi")) and not is_name(read("2x"))
    assert is_equal("A=5", "5") is True and is_equal("A^{-1}=5", "5") is False
