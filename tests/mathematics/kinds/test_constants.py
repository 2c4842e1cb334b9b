r"""Expressions with arbitrary constants: renamed, shifted and combined constants are equal, everything else is not."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.constants import are_same_up_to_constants


@pytest.mark.parametrize(
    "gold, answer, verdict",
    [
        ("x^2+C", "x^2+c", True),
        ("x^2+C", "x^2+K", True),
        ("x^2+C", "x^2-C", True),
        ("x^2+C", "x^2+5+C", True),
        ("x^2+C", r"x^2+\text{constant}", True),
        ("x^2+C", "x^2", False),
        ("x^2+C", "x^2+5", False),
        ("x^2+C", "x^2+y", False),
        ("x^2+C", "x^2+x+C", False),
        ("x+C", "2x+C", False),
        ("x+C", "x+x", False),
        ("x+C", "C", False),
        (r"\ln|2x|+C", r"\ln|x|+C", True),
        (r"\ln|x+1|+C", r"\ln|x|+C", False),
        (r"\frac12\sin^2x+C", r"-\frac14\cos 2x+C", True),
        (r"\arctan x+C", r"-\arctan\frac1x+C", True),
        (r"\frac{e^{ax}}{a}+C", r"\frac{e^{ax}+1}{a}+C", False),  # the difference depends on a
        ("ax^2+bx+c", "ax^2+bx+C", False),
        ("Ax+By+C", "Ax+By+C+1", False),
        ("x+c", "x+c+1", False),
        ("C_1e^x+C_2e^{-x}", "Ae^{-x}+Be^x", True),
        ("C_1e^x+C_2e^{-x}", r"C_1\cosh x+C_2\sinh x", True),
        ("C_1e^x+C_2e^{-x}", "C_1(e^x+e^{-x})", False),
        ("C_1e^x+C_2e^{-x}", "Ae^x+Be^{2x}", False),
        ("C_1e^x+C_2e^{-x}", "Ae^x+Be^{x}", False),
        ("C_1e^x+C_2e^{-x}+x", "C_1e^x+C_2e^{-x}", False),
        ("C_1x+C_2", "xy+x", False),
        ("2x", "3x", False),
        ("kx", "Cx", False),
        ("Ce^x", "Ae^x", False),  # C may be given
    ],
)
def test_families_of_functions(gold, answer, verdict):
    assert are_same_up_to_constants(read(gold), read(answer)) is verdict


@pytest.mark.parametrize("gold, answer, verdict", [
    ("Ce^{2x}", "Ae^{2x}", True), ("Ae^{2x}", "Ce^{2x}", True), ("Ae^{2x}", "Be^{2x}", False),
    ("Ae^x+Be^{-x}", "C_1e^x+C_2e^{-x}", True), ("Ax+B", "Bx+A", False), ("Ce^{2x}", "Ae^{3x}", False),
    ("(x+C)^2", "(x+K)^2", True), (r"\frac{1}{x+C}", r"\frac{1}{A+x}", True),
    (r"\frac{1}{x+C}", r"\frac{1}{2x+C}", False),
])  # fmt: skip
def test_solutions_of_differential_equations(gold, answer, verdict):
    assert is_equal(f"y={gold}", f"y={answer}") is is_equal(f"y={gold}", answer) is verdict
