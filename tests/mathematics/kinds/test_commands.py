r"""Names and commands: what each of them becomes."""

import pytest

from helpers.values import write
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds import commands


COMMANDS = {
    r"\frac12": ["/", 1, 2],
    r"\frac{1}2x": ["*", ["/", 1, 2], "x"],
    r"\frac\pi2": ["/", "\\pi", 2],
    r"\sqrt2x": ["*", ["sqrt", 2], "x"],
    "√13": ["sqrt", 13],
    r"\sqrt[3]{x}": ["root", "x", 3],
    r"\sin^2 3x": ["^", ["sin", ["*", 3, "x"]], 2],
    r"\sin^{-1} x": ["arcsin", "x"],
    r"\sin x \cos x": ["*", ["sin", "x"], ["cos", "x"]],
    r"\sin 30^\circ": ["sin", ["radians", ["degree", 30]]],
    r"\cosh x": ["cosh", "x"],
    r"\sinh^{-1} x": ["arcsinh", "x"],
    r"\operatorname{arctg} x": ["arctan", "x"],
    r"\mathrm{arsinh}\,x": ["arcsinh", "x"],
    r"\operatorname{sgn}(x)x": ["*", ["sgn", "x"], "x"],
    r"\sin(60^\circ)": ["sin", ["radians", ["degree", 60]]],
    r"2\text{ cis }\theta": ["*", 2, ["cis", "\\theta"]],
    r"\overline{1+i}": ["conjugate", ["+", 1, "i"]],
    r"\frac{d}{dx} x^3": ["derivative", "x", ["^", "x", 3]],
    r"\frac{d}{dx} f": ["*", ["/", "d", ["*", "d", "x"]], "f"],
    r"\log_2 8": ["log", 8, 2],
    r"\ln(x)y": ["*", ["ln", "x"], "y"],
    r"\binom{5}{2}": ["binom", 5, 2],
    r"\sum_{k=1}^{n} k^2": ["sum", "k", 1, "n", ["^", "k", 2]],
    r"\int_0^1 x^2 \, dx": ["int", "x", 0, 1, ["^", "x", 2]],
    r"\gcd(6, 9)": ["gcd", 6, 9],
    r"\lcm(4,6)": ["lcm", 4, 6],
    r"\max\{1, 2\}": ["max", 1, 2],
    r"\dim V": "dim V",
    r"\vec{i}": "\\mathbf{i}",
    r"\overline{AB}": "\\overline{A B}",
}
NAMES = {
    "C_{10}^3": ["binom", 10, 3],
    r"\mathrm{C}^{3}_{10}": ["binom", 10, 3],
    "C_1^2": ["^", "C_1", 2],
    "{}_{10}C_3": ["binom", 10, 3],
    "^{5}P_2": ["*", ["binom", 5, 2], ["factorial", 2]],
    r"\Gamma(5)": ["gamma", 5],
    "x_{12}'": "x_12'",
    "f^{-1}(2)": ["call f^{-1}", 2],
    "x^{-1}": ["^", "x", -1],
    "f'(x)": ["call f'", "x"],
    "f^{\\prime}(x)": ["call f'", "x"],
    "x(2)": ["*", "x", 2],
    r"P(A \mid B)": ["call P", "A | B"],
    r"\mathbb{E}[X]": ["call \\mathbb{E}", "X"],
}


@pytest.mark.parametrize("text, value", [*COMMANDS.items(), *NAMES.items()])
def test_a_command_becomes_a_value(text, value):
    assert write(read(text)) == value


@pytest.mark.parametrize("command", sorted(commands.UNREAD | {"\\foo"}))
def test_an_unknown_command_is_not_read(command):
    assert read(rf"{command}{{x}} + 1") is None
