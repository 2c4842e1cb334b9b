"""Numbers in other bases than 10: their spellings, what they answer, and what only looks like one."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.bases import Based


@pytest.mark.parametrize(
    "text, number",
    [
        ("2102_3", 65), ("(2102)_3", 65), (r"2102_{\text{three}}", 65), (r"2102_{\text{base }3}", 65), ("2102_{(3)}", 65),
        (r"2102 \text{ base } 3", 65), (r"\text{2102 base 3}", 65), (r"2102\text{ (base 3)}", 65), ("2102_{three}", 65),
        (r"345_\text{six}", 137), ("3F_{16}", 63), ("3f_{16}", 63), (r"\text{AB}_{12}", 131), ("AB_{12}", 131),
        (r"7\text{A}_{16}", 122),
    ],
)  # fmt: skip
def test_the_number_that_digits_are(text, number):
    value = read(text)
    assert isinstance(value, Based) and int(value.digits, value.base) == number


@pytest.mark.parametrize(
    "text",
    [
        "9_8",
        "2a_{12}",
        "AB_{11}",
        "A_{16}",
        "x_{16}",
        "12_x",
        "12_{37}",
        "12_1",
        r"12\text{ base }x",
        "1.5_3",
        "11_{10}",
    ],
)
def test_what_is_no_number_in_another_base(text):
    assert not isinstance(read(text), Based)


@pytest.mark.parametrize(
    "gold, right, wrong",
    [
        ("664_7", ["(664)_7", r"664\text{ (base 7)}", "0664_7"], ["664", "340", "340_{10}", "664_8", "1240_6"]),
        ("1010_2", ["1010_2"], ["10", "10_{10}", "1010_3", "1010"]),
        ("664", ["664_7", "664_{10}"], [r"664\text{ base }7", "1240_8"]),  # the question says which base is meant
        ("340", ["340", "340_{10}"], ["664_7", r"664\text{ base }7"]),
        ("63", ["63", "63_{10}"], ["3F_{16}", r"77\text{ base }8"]),
        ("11_{10}", ["11"], ["1011_2"]),
        ("8", ["8"], [r"8\text{ base }9"]),
    ],
)
def test_digits_with_a_base_answer_the_same_digits(gold, right, wrong):
    assert [is_equal(gold, answer) for answer in right] == [True] * len(right)
    assert [is_equal(gold, answer, tolerance=0.001) for answer in wrong] == [False] * len(wrong)
