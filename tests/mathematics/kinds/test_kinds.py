r"""Kinds: which text is of which kind. Which values are equal is in tests/verify/cases.txt."""

import time

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.arrays import Matrix
from trl_grpo_rewards.mathematics.kinds.families import Family, Residue
from trl_grpo_rewards.mathematics.kinds.lists import Collection
from trl_grpo_rewards.mathematics.kinds.names import have_same_name
from trl_grpo_rewards.mathematics.kinds.notations import Based, Dashed, Ratio, Time
from trl_grpo_rewards.mathematics.kinds.quantities import Parts, Quantity
from trl_grpo_rewards.mathematics.kinds.relations import Relation
from trl_grpo_rewards.mathematics.kinds.sets import Builder, Cases, find_set, is_set
from trl_grpo_rewards.mathematics.kinds.texts import Choice, Text
from trl_grpo_rewards.mathematics.values import Number, Operation, Symbol


PIECEWISE = r"\begin{cases}2x, & x<0\\x^2, & x\ge 0\end{cases}"
MATRIX = r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"
TEXTS = {
    Number: ["72", "1{,}000"],
    Symbol: ["x", "B", "(B)"],
    Operation: [r"\frac\pi2", r"\frac{a+b}c", r"\frac{12}{5,\!525}", r"\sqrt{1,250}", r"2,500\pi", r"\sum_{k=1}^{n} k",
                rf"{MATRIX}{MATRIX}"],
    Quantity: [r"18 \text{ integers}", r"60\ \frac{\text{km}}{\text{h}}", "The answer is 22 apples", "5 apples"],
    Parts: [r"5\text{ feet 6 inches}"],
    Relation: ["f'(x)=2x", r"P(A\mid B)=\frac12", r"-2 \le x < 7", "x - 2 = 0", r"x \mapsto x^2", r"b \parallel a"],
    Builder: [r"\{x \mid -1<x<1\}", r"\{x \mid x > 1\}"],
    Collection: ["（1，2）", r"(-\infty, 3]", r"x = 1 \pm \sqrt2", "[[1,2],[3,4]]", r"\begin{cases}x=1\\y=2\end{cases}", "x, x < 0"],
    Matrix: [MATRIX, rf"{MATRIX}-{MATRIX}", rf"2{MATRIX}", r"\begin{cases}1\\2\end{cases}"],
    Cases: [PIECEWISE],
    Based: ["2102_3", "(2102)_3", r"2102_{\text{three}}", r"2102 \text{ base } 3", r"2102\text{ (base 3)}", "3f_{16}"],
    Ratio: ["1:2:3", "1:02:03"],
    Dashed: ["2020-01-02"],
    Time: [r"7:30\text{ p.m.}"],
    Choice: ["B. Paris", "B: Paris", "(B) Paris", "B) Paris", r"\textbf{(B)}\ \text{Paris}"],
    Text: [r"\text{odd}", "odd", "no real solutions", "January 5, 2021", "St. John's"],
    Family: [r"2k\pi, k \in \mathbb{Z}"],
    Residue: [r"3 \pmod 5"],
}  # fmt: skip
"""Texts of each kind."""

NOT = {
    Based: ["9_8", "2a_{12}", "AB_{11}", "A_{16}", "x_{16}", "12_x", "12_{37}", "12_1", r"12\text{ base }x", "1.5_3", "11_{10}"],
    Choice: ["(B) and (C)", "(B, C)", "B(1, 2)", "A:B", "(A) - (B)"],
    Dashed: ["2020 - 1 - x"],
    Family: [r"5, k \in \mathbb{Z}"],
    Text: ["5 apples", "twenty", "A, B", "Area = 5"],
}  # fmt: skip
"""Texts that look like a kind and are of another one, or of none."""

NUMBERS_IN_BASES = {
    **dict.fromkeys(["2102_3", "2102_{(3)}", r"2102_{\text{base }3}", r"\text{2102 base 3}", "2102_{three}"], 65),
    **{r"345_\text{six}": 137, "3F_{16}": 63, r"\text{AB}_{12}": 131, "AB_{12}": 131, r"7\text{A}_{16}": 122},
}


def test_a_text_is_of_its_kind():
    wrong = [(text, kind.__name__) for kind, texts in TEXTS.items() for text in texts if type(read(text)) is not kind]
    assert wrong == []
    assert [(text, kind.__name__) for kind in NOT for text in NOT[kind] if isinstance(read(text), kind)] == []


def test_the_number_that_digits_in_a_base_are():
    values = {text: read(text) for text in NUMBERS_IN_BASES}
    assert {text: int(value.digits, value.base) for text, value in values.items()} == NUMBERS_IN_BASES


def test_what_is_a_set():
    assert all(is_set(read(text)) for text in ("x < 1", "(1, 2]", r"x \in A", r"A \cup B", r"\mathbb{R}^*"))
    assert not any(is_set(read(text)) for text in ("(1, 2)", "5", "x = 1", "1, 2"))
    assert find_set(read("x^2 < 4")) is None and find_set(read("x < y")) is None
    assert find_set(read(r"\{x \in \mathbb{Z} \mid x > 0\}")) is None  # endless


SAME_NAMES = {
    True: [("y", "f(x)"), ("y'", "f'(x)"), (r"\frac{dy}{dx}", "y'")],
    False: [("P(A)", "P(B)"), ("y", "y'")],
}


def test_names_that_mean_the_same():
    for verdict, pairs in SAME_NAMES.items():
        assert {have_same_name(*map(read, pair[::way])) for pair in pairs for way in (1, -1)} == {verdict}


def test_a_row_that_cannot_be_compared_leaves_the_verdict_open():
    one, other = (rf"\begin{{cases}}{value} & x<0\\1 & x\ge 0\end{{cases}}" for value in (r"\frac00", r"\frac{1}{0}"))
    assert is_equal(one, one) is True and is_equal(one, other) is None


def test_repeated_work_is_bounded():
    start = time.process_time()
    matrix = r"\begin{pmatrix}x&1\\1&x\end{pmatrix}"
    nested = "x"
    for _ in range(25):
        nested = rf"\begin{{vmatrix}}{nested}&1&2&3\\1&2&y&4\\3&1&4&z\\2&7&1&8\end{{vmatrix}}"
    for text in (matrix * 60, nested, "+".join(["t(1,2)"] * 300)):
        assert read(text) is None or is_equal(text, text.replace("x", "y")) is not None
    assert time.process_time() - start < 2
