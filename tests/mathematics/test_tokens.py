r"""Tokens: spellings that mean the same become the same tokens, and what only changes the look disappears."""

import pytest

from trl_grpo_rewards.mathematics.tokens import MAX_TOKENS, Unreadable, spell, tokenize


def find_texts(text):
    return [token.text for token in tokenize(text)]


SPELLINGS = [
    [r"\frac{1}{2}", r"\dfrac{1}{2}", r"\tfrac {1} {2}", r"$\frac{1}{2}$", r"\displaystyle\frac{1}{2}"],
    [r"x \le 3", "x ≤ 3", r"x\leqslant3", "x <= 3", r"\(x \leq 3\)"],
    ["1,000", "1{,}000", r"1,\!000", r"1\,000", "1 000"],
    [r"\left( 1, 2 \right)", "(1, 2)", r"\bigl(1,2\bigr)", "（1，2）"], [r"\pi", "π", "pi"], ["x^{2}", "x²"],
    ["x_{12}", "x₁₂"], [r"5\text{ cm}", r"5\mathrm{cm}", "5 cm", r"5\textbf{ cm}"], ["αβ", r"\alpha \beta"],
    [r"\sin x", "sin x"], ["5°", r"5^\circ", r"5^{\circ}", r"5\degree", r"5 ^\circ"], ["1或2", "1 or 2"],
    [r"\\frac{1}{2}", r"\frac{1}{2}"], [r"\color{red}{5}", "{5}"],
]  # fmt: skip


def test_spellings_have_the_same_tokens():
    for spellings in SPELLINGS:
        plain = [[text.replace("1,000", "1000") for text in find_texts(one) if text not in "{}"] for one in spellings]
        assert all(one == plain[0] for one in plain), spellings


TOKENS = [
    ("abc", ["a", "b", "c"]), ("apple", ["apple"]), ("5 cm", ["5", "cm"]), ("cm", ["c", "m"]),
    ("the sum is ab", ["the", "sum", "is", "ab"]), ("kqQr", ["k", "q", "Q", "r"]), ("pqrs", ["p", "q", "r", "s"]),
    ("work+1", ["w", "o", "r", "k", "+", "1"]), ("McDonald", ["McDonald"]), ("NaOH", ["NaOH"]), ("PQRS", ["PQRS"]),
    ("5 kmph^2", ["5", "kmph", "^", "2"]), (r"\coshx", [r"\cosh", "x"]), ("x**2", ["x", "^", "2"]),
    ("**x**", ["*", "*", "x", "*", "*"]), ("<1,2>", [r"\langle", "1", ",", "2", r"\rangle"]),
    ("x<1,y>2", ["x", "<", "1", ",", "y", ">", "2"]), (r"\left\{1\right.", [r"\{", "1", "."]),
    (r"\left.1\right|", ["1", "|"]),
    (r"\begin{aligned}x&=1\end{aligned}", [r"\aligned", "x", "=", "1", r"\aligned"]), ("4{:}30", ["4", ":", "30"]),
    ("0{.}5", ["0.5"]), (r"x+\text{constant}", ["x", "+", "C"]), ("NO", ["NO"]), ("(NO)", ["(", "N", "O", ")"]),
    ("xIV", ["x", "I", "V"]), ("2.5e-3", ["2.5e-3"]), ("1.234.567,89", ["1234567.89"]), ("3{,}14", ["3.14"]),
    (r"\cotx", [r"\cot", "x"]), (r"\cancel{5}", []), ("!!", ["!!"]), ("x'=1", ["x", "'", "=", "1"]),
    (r"\begin{array}{c}1\\2\end{array}", [r"\array", "{", "c", "}", "1", r"\\", "2", r"\array"]),
]  # fmt: skip


def test_a_text_is_cut_into_tokens():
    assert [(text, find_texts(text)) for text, _ in TOKENS] == TOKENS


def test_a_token_knows_whether_space_is_before_it_and_whether_it_is_upright():
    assert [(token.spaced, token.upright) for token in tokenize(r"5 x\mathrm{m}")] == [
        (False, False), (True, False), (False, True),
    ]  # fmt: skip


def test_too_many_tokens_and_open_braces_are_not_read():
    for text in ("1 + " * MAX_TOKENS, r"\text{" * 100, r"\text{open", "{" * 100):
        with pytest.raises(Unreadable):
            tokenize(text)


def test_a_text_in_one_spelling():
    assert spell(r" \text{ Paris }. ") == spell("**Paris**") == "Paris"
    assert spell(r"\frac12") != spell(r"\frac{12}") and spell("x  +  1") == spell("x+1") == "x+1"
    assert spell(r"\alpha b") == r"\alpha b" and spell("5 6") == "5 6"
    assert spell("open {") == "open {"
