r"""Equations and inequalities: the value that they give a name, and which ones say the same."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.relations import Relation, find_labelled_value


def test_the_value_of_a_name():
    assert find_labelled_value(read("5 = x")) == read("5")
    assert find_labelled_value(read("S = 3 + 4 = 7")) == read("7")
    assert find_labelled_value(read("S = 3 + 4 = 8")) is find_labelled_value(read("x < 5")) is None
    assert find_labelled_value(read(r"\{1\} = A \cap B")) == read(r"\{1\}")


@pytest.mark.parametrize("one, other, verdict", [
    ("2x - 4 = 0", "x - 2 = 0", True), ("y = 2x + 1", "2x - y + 1 = 0", True), ("x + y = 2", "3x + 3y = 6", True),
    ("x + y = 2", "3x + 3y = 7", False), ("x + y = 2", "x^2 + y = 2", False), ("2x + y < 2", "-2x - y > -2", True),
    ("2x + y < 2", "-2x - y < -2", False), ("a < b < c", "c > b > a", True), ("a < b < c", "a < c < b", False),
    ("f(x) = x^2", "x \\mapsto x^2", True), ("x = y = 2", "y = 2, x = 2", True),
    (r"a \parallel b", r"b \parallel a", True), (r"a \perp b", r"a \parallel b", False),
])  # fmt: skip
def test_relations_that_say_the_same(one, other, verdict):
    assert isinstance(read(other), Relation) or "," in other
    assert is_equal(one, other) is is_equal(other, one) is verdict
