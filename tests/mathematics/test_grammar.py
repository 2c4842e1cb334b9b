r"""The grammar: each text becomes one value or none. What the values are equal to is in tests/verify/cases.txt."""

import pytest

from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds import commands
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.verify.verification import settle


UNREAD = [
    "1+", "2^", r"\frac{1}", r"\sqrt", r"\sin", "|x", "(1", "1)", r"\{1)", "()", r"\oint x", r"\foo{1}", r"\sum k", r"\int x",
    r"\frac{1.5}2.5", "_{10}x", r"2\text{ base }x", r"\left\{x\right.", "(mod 5", "1_x", r"0.\overline{x}",
    r"\begin{pmatrix} 1 & 2 \\ 3 \end{pmatrix}", r"\begin{pmatrix} & 1 \end{pmatrix}", "-{1,2}", "(1,2)+1",
    "", "+", "1/", "{", r"\text{seventy", "5 or", r"5\text{ or more}", "5 false", r"\lim_{x \to 0} x", r"5\text{ k}",
    "Tom has 22 apples", "5 remainder 2", r"5\text{ out of 6}", r"\left\{x=1\right.", r"\begin{cases}1&2&3\\1\end{cases}",
    "(1,2)(x,4)", "(1,2)^2", "(1,2)+(1,2,3)", r"2(0,\infty)", r"(0,1)+(2,\infty)", "2{1,2}", r"\{1,2\}^T",
    r"\begin{vmatrix} 1&0&0&0&0\\0&1&0&0&0\\0&0&1&0&0\\0&0&0&1&0\\0&0&0&0&1 \end{vmatrix}",
    *(rf"{command}{{x}} + 1" for command in [*commands.UNREAD, "\\foo"]),
]  # fmt: skip


def test_what_is_not_complete_or_no_answer_is_not_read():
    assert [text for text in UNREAD if read(text) is not None] == []


@pytest.mark.parametrize("text", [
    "$for all integers k 12", r"\text{number of ways}c{5}{4}$", r"9.8 \mathrm{m\,s^{-- 2}}", "5040!",
    "open word letter",
])  # fmt: skip
def test_odd_texts_raise_no_error(text):
    for gold, answer in [(text, text), (text, "5"), ("5", text)]:
        assert settle(gold, answer, AnswerRules(evaluated=True)) in (True, False, None)
