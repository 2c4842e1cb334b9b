r"""LaTeX in one spelling."""

import pytest

from trl_grpo_rewards.verify.latex import (
    is_same_text,
    normalize_latex,
    strip_delimiters,
    strip_formatting,
    unwrap_font,
)


@pytest.mark.parametrize(
    "spellings",
    [
        [r"\frac{1}{2}", r"\dfrac12", r"$\tfrac{1}{2}$", r"\frac1{2}", "½", r"\[\cfrac{1}{2}\]."],
        [r"\sqrt{2}", r"\sqrt2", "√2"],
        [r"x^{-1}", "x⁻¹", "x^-1"],
        ["90^{\\circ}", "90°"],
        [r"(1,2)", r"\left(1,2\right)", r"\langle 1,2\rangle", r"\bigl(1,2\bigr)"],
        [r"\emptyset", r"\varnothing", r"\{\}", "∅"],
        ["(-1,2]\\cup (3,4)", "(-1,2] U (3,4)", "(-1,2]∪(3,4)"],
        ["5", "$5$", "**5**", "5.", r"\textbf{5}", r"\boldsymbol{5}", "= 5", r"\displaystyle 5"],
        ["1234567", "1{,}234{,}567", r"1\!234\!567"],
    ],
)
def test_spellings_become_one(spellings):
    assert len({strip_formatting(normalize_latex(text)) for text in spellings}) == 1, {
        text: strip_formatting(normalize_latex(text)) for text in spellings
    }


@pytest.mark.parametrize(
    "one, other", [("1,234", "1, 234"), ("x_1", "x1"), (r"\frac{1}{2}", r"\frac{2}{1}"), ("-1", "1"), ("x y", "xy")]
)
def test_what_differs_stays_apart(one, other):
    assert not is_same_text(strip_formatting(normalize_latex(one)), strip_formatting(normalize_latex(other)))


def test_delimiters_come_off_only_where_they_hold_the_whole():
    assert strip_delimiters(" $x$ ") == strip_delimiters("$$x$$") == strip_delimiters(r"\(x\)") == "x"
    assert strip_delimiters("$x$ and $y$") == "$x$ and $y$"
    assert strip_delimiters(r"$\$5$") == r"\$5"
    assert strip_delimiters("$$") == "$$"


def test_fonts_come_off_only_where_they_hold_the_whole():
    assert unwrap_font(r"\text{a} b") == r"\text{a} b"
    assert unwrap_font(r"\textbf{\text{a}}") == "a"


def test_a_text_is_a_fixed_point():
    for text in (r"\frac{1}{2}", "x^{2}+1", r"\text{east}", "(1,2]"):
        assert normalize_latex(normalize_latex(text)) == normalize_latex(text) and strip_formatting(
            strip_formatting(text)
        ) == strip_formatting(text)
