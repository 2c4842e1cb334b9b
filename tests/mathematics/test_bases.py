"""Numbers in other bases than 10: their spellings, and what only looks like one."""

import pytest

from trl_grpo_rewards.mathematics.bases import find_base, gives_base, names_base
from trl_grpo_rewards.mathematics.comparison import compare
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.mathematics.rationals import evaluate_exactly


@pytest.mark.parametrize(
    "text, number",
    [
        ("2102_3", 65), ("(2102)_3", 65), (r"2102_{\text{three}}", 65), (r"2102_{\text{base }3}", 65), ("2102_{(3)}", 65),
        (r"2102 \text{ base } 3", 65), (r"\text{2102 base 3}", 65), (r"2102\text{ (base 3)}", 65), ("2102_{three}", 65),
        (r"345_\text{six}", 137), ("3F_{16}", 63), ("3f_{16}", 63), (r"\text{AB}_{12}", 131), ("AB_{12}", 131),
        (r"7\text{A}_{16}", 122), ("11_{10}", 11), ("10_2+11_2", 5),
        ("9_8", None), ("2a_{12}", None), ("AB_{11}", None), ("A_{16}", None), ("x_{16}", None), ("12_x", None),
        ("12_{37}", None), ("12_1", None), (r"12\text{ base }x", None), ("1.5_3", None),
    ],
)  # fmt: skip
def test_the_number_that_digits_are(text, number):
    value = read(text)
    assert (None if value is None else evaluate_exactly(value)) == number


def test_a_gold_answer_with_a_base_requires_one():
    def is_equal(gold, answer, tolerance=None):
        return compare(read(gold), read(answer), AnswerRules(tolerance=tolerance))

    assert not is_equal("664_7", "664") and not is_equal("664_7", "340") and not is_equal("664_7", "340", 0.001)
    assert is_equal("664_7", "340_{10}") and is_equal("664_7", r"664\text{ (base 7)}") and is_equal("664", "664_7")
    assert is_equal("11_{10}", "11") and is_equal("11", "11_{10}") and is_equal("63", "3F_{16}")
    assert not is_equal("8", r"8\text{ base 9}") and not is_equal("1010_2", "1010_3")


def test_names_of_bases():
    assert find_base(["base", "six"]) == find_base(["{", "6", "}"]) == 6
    assert find_base(["37"]) is find_base(["x"]) is find_base([]) is find_base(["6", "7"]) is None
    assert gives_base(read("11_2")) and not gives_base(read("11_{10}")) and names_base(read("11_{10}"))
