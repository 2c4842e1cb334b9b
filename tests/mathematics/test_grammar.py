r"""The grammar: what binds to what, and that each text becomes one value or none."""

from fractions import Fraction

import pytest

from helpers.values import write
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.arrays import Matrix
from trl_grpo_rewards.mathematics.kinds.choices import Choice
from trl_grpo_rewards.mathematics.kinds.lists import Collection
from trl_grpo_rewards.mathematics.kinds.quantities import Parts, Quantity
from trl_grpo_rewards.mathematics.kinds.ratios import Dashed, Ratio
from trl_grpo_rewards.mathematics.kinds.relations import Relation
from trl_grpo_rewards.mathematics.kinds.sets import Builder
from trl_grpo_rewards.mathematics.kinds.texts import Text
from trl_grpo_rewards.mathematics.kinds.times import Time
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.mathematics.values import Number, Operation, Symbol
from trl_grpo_rewards.verify.equality import settle


PRECEDENCE = {
    "1+2*3^2": ["+", 1, ["*", 2, ["^", 3, 2]]],
    "-x^2": ["-", ["^", "x", 2]],
    "2x/3y": ["*", ["/", ["*", 2, "x"], 3], "y"],
    "a-b-c": ["+", "a", ["-", "b"], ["-", "c"]],
    "2^3^2": ["^", ["^", 2, 3], 2],
    r"x \cdot -y": ["*", "x", ["-", "y"]],
    "3!^2": ["^", ["factorial", 3], 2],
    "5!!": ["double factorial", 5],
    r"A \cup B \cap C": ["\\cup", "A", ["\\cap", "B", "C"]],
    r"[1,2] U [3,4]": ["\\cup", ["[]", 1, 2], ["[]", 3, 4]],
    r"n \choose k": ["binom", "n", "k"],
    r"{1 \over 2}": ["/", 1, 2],
    "3 x 10^8": ["*", 3, ["^", 10, 8]],
    "2(3)": ["*", 2, 3],
    r"2^{10}": ["^", 2, 10],
    "2^10": ["^", 2, 10],
    "2^-1": ["^", 2, -1],
    r"3 \pmod{5}": ["pmod", 3, 5],
    r"2^3-1 \pmod 5": ["pmod", ["+", ["^", 2, 3], -1], 5],
    r"3 (\text{mod } 5)": ["pmod", 3, 5],
    r"x \equiv 3 \bmod 5": ["\\equiv", "x", ["pmod", 3, 5]],
    "3*x**2": ["*", 3, ["^", "x", 2]],
    "**5**": 5,
    "kqQr": ["*", "k", "q", "Q", "r"],
    "GMmr^{-2}": ["*", "G", "M", "m", ["^", "r", -2]],
    r"22\frac12^\circ + x": ["+", ["degree", ["mixed", 22, ["/", 1, 2]]], "x"],
    "x{=}0{.}5": ["=", "x", Fraction(1, 2)],
    r"\{1, 2\}": ["{}", 1, 2],
    r"\{\}": "\\emptyset",
    r"\{x : |x| < 1\}": ["|", ["<", ["abs", "x"], 1]],
    "(1,200)": ["()", 1, 200],
    "(0,1]": ["(]", 0, 1],
    r"\langle 1, 2 \rangle": ["<>", 1, 2],
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}": [[1, 2], [3, 4]],
    r"\begin{array}{cc} 1 & 2 \end{array}": [[1, 2]],
    r"\begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}": ["+", ["*", 1, 4], ["-", ["*", 2, 3]]],
    r"2\begin{pmatrix} 1 \\ 3 \end{pmatrix}": [[["*", 2, 1]], [["*", 2, 3]]],
    "t(0,4]": ["\\in", "t", ["(]", 0, 4]],
}


@pytest.mark.parametrize("text, value", PRECEDENCE.items())
def test_an_expression_has_this_structure(text, value):
    assert write(read(text)) == value


@pytest.mark.parametrize("text, kind", [
    ("72", Number), ("1{,}000", Number), (r"\frac\pi2", Operation), (r"\frac{a+b}c", Operation),
    (r"\frac{12}{5,\!525}", Operation), (r"\sqrt{1,250}", Operation), (r"2,500\pi", Operation),
    (r"\sum_{k=1}^{n} k", Operation), (r"\int_0^1 x \, dx", Operation), ("x", Symbol),
    (r"18 \text{ integers}", Quantity), (r"60\ \frac{\text{km}}{\text{h}}", Quantity),
    ("The answer is 22 apples", Quantity), ("f'(x)=2x", Relation), (r"P(A\mid B)=\frac12", Relation),
    (r"-2 \le x < 7", Relation), (r"\{x \mid -1<x<1\}", Builder), ("（1，2）", Collection),
    (r"(-\infty, 3]", Collection), (r"5\text{ feet 6 inches}", Parts), (r"x = 1 \pm \sqrt2", Collection),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", Matrix), ("1:2:3", Ratio), (r"7:30\text{ p.m.}", Time),
    ("2020-01-02", Dashed), ("B. Paris", Choice), (r"\text{odd}", Text), ("no real solutions", Text),
])  # fmt: skip
def test_a_text_becomes_a_value(text, kind):
    assert isinstance(read(text), kind)


@pytest.mark.parametrize("text", [
    "1+", "2^", r"\frac{1}", r"\sqrt", r"\sin", "|x", "(1", "1)", r"\{1)", "()", r"\oint x", r"\foo{1}", r"\sum k", r"\int x",
    r"\frac{1.5}2.5", "_{10}x", r"2\text{ base }x", r"\left\{x\right.", "(mod 5", "1_x", r"0.\overline{x}", r"\begin{pmatrix} 1 & 2 \\ 3 \end{pmatrix}", r"\begin{pmatrix} & 1 \end{pmatrix}",
    "-{1,2}", "(1,2)+1",
])  # fmt: skip
def test_what_is_not_complete_is_not_read(text):
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    ["", "+", "1/", "5 6", r"\frac{1}", "(1", "1)", "{", r"\text{seventy", "5 or", r"5\text{ or more}", "5 false"]
    + [r"\lim_{x \to 0} x", r"5\text{ k}", "Tom has 22 apples", "5 remainder 2", r"5\text{ out of 6}"],
)  # fmt: skip
def test_what_is_no_answer_is_not_read(text):
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "$for all integers k 12",
        r"\text{number of ways}c{5}{4}$",
        r"9.8 \mathrm{m\,s^{-- 2}}",
        "5040!",
        "open word letter",
    ],
)
def test_odd_texts_raise_no_error(text):
    for gold, answer in [(text, text), (text, "5"), ("5", text)]:
        assert settle(gold, answer, AnswerRules(evaluated=True)) in (True, False, None)
