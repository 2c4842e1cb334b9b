r"""What math-verify is asked, and what it may not ignore."""

from trl_grpo_rewards.answers.symbolic import are_equal


EQUAL = [
    (r"\frac{1}{2}", "0.5"), ("(x-1)(x+1)", "x^2-1"), ("6", r"2 \cdot 3"), (r"\{1, 2\}", r"\{2, 1\}"),
    (r"\lim_{n\to\infty}\left(1+\frac1n\right)^n", "e"),
]  # fmt: skip


def test_equal_expressions():
    assert [pair for pair in EQUAL if not are_equal(*pair) or not are_equal(*pair[::-1])] == []


DIFFERENT = [
    ("(x-1)(x+1)", "x^2-2"),
    ("3.1415", r"\pi"),
    ("10^{-9}", r"2 \cdot 10^{-9}"),  # to math-verify, both are 0
    (r"\sqrt{2} \cdot 10^{-18}", r"\sqrt{3} \cdot 10^{-18}"),
    ("A + b", "a + b"),  # it ignores case
    (r"33\frac{1}{3}\%", r"\frac{1}{3}\%"),  # it reads a percentage within a text
    ("7", "5 = 7"),  # it drops the left side
    ("5'6\"", "56"),  # it ignores signs
    ("7", r"7 \% \text{ or } 8"),
    ("7", ""),
    ("", "7"),
]


def test_different_expressions():
    assert [pair for pair in DIFFERENT if are_equal(*pair) or are_equal(*pair[::-1])] == []


def test_a_text_equals_itself_if_it_can_be_read():
    assert are_equal(r"\text{ab}:\text{cd}", r"\text{ab}:\text{cd}") and are_equal("5'6\"", "5'6\"")
    assert not are_equal("2(0,4]", "2(0,4]") and not are_equal("", "")
