r"""Which kind of value each text is read as. Which values are equal is in tests/answers/cases.txt."""

import time

import pytest

from helpers.tables import read_tables
from helpers.values import is_equal
from trl_grpo_rewards.answers.mathematics.grammar import read
from trl_grpo_rewards.answers.mathematics.kinds.arrays import Matrix
from trl_grpo_rewards.answers.mathematics.kinds.families import Family, Residue
from trl_grpo_rewards.answers.mathematics.kinds.lists import Collection
from trl_grpo_rewards.answers.mathematics.kinds.names import have_same_name
from trl_grpo_rewards.answers.mathematics.kinds.notations import Based, Dashed, Ratio, Time
from trl_grpo_rewards.answers.mathematics.kinds.quantities import Parts, Quantity
from trl_grpo_rewards.answers.mathematics.kinds.relations import Relation
from trl_grpo_rewards.answers.mathematics.kinds.sets import Builder, Cases, find_set, is_set
from trl_grpo_rewards.answers.mathematics.kinds.texts import Choice, Text
from trl_grpo_rewards.answers.mathematics.values import Number, Operation, Symbol


TEXTS = read_tables("answers/mathematics/texts.txt")

NUMBERS_IN_BASES = {
    **dict.fromkeys(["2102_3", "2102_{(3)}", r"2102_{\text{base }3}", r"\text{2102 base 3}", "2102_{three}"], 65),
    **{r"345_\text{six}": 137, "3F_{16}": 63, r"\text{AB}_{12}": 131, "AB_{12}": 131, r"7\text{A}_{16}": 122},
}


KINDS = [
    Number,
    Symbol,
    Operation,
    Quantity,
    Parts,
    Relation,
    Builder,
    Collection,
    Matrix,
    Cases,
    Based,
    Ratio,
    Dashed,
    Time,
]
KINDS += [Choice, Text, Family, Residue]


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_of_its_kind(kind):
    assert [text for (text,) in TEXTS[kind.__name__] if type(read(text)) is not kind] == []
    assert [text for (text,) in TEXTS.get(f"no {kind.__name__}", []) if isinstance(read(text), kind)] == []


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
