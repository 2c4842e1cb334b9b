"""Numbers that are joined by colons or hyphens: ratios, dates, scores and ranges."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.ratios import Dashed, Ratio


@given(st.lists(st.integers(1, 99), min_size=3, max_size=4), st.integers(2, 9))
@settings(deadline=None)
def test_a_ratio_is_compared_term_by_term(terms, factor):
    ratio, scaled = ":".join(map(str, terms)), " : ".join(str(term * factor) for term in terms)
    assert is_equal(ratio, scaled) is is_equal(scaled, ratio) is True
    for place in range(1, len(terms)):
        other = [*terms[:place], terms[place] + 1, *terms[place + 1 :]]
        assert is_equal(ratio, ":".join(map(str, other))) is False
    assert is_equal(ratio, f"{terms[0]}/{terms[1]}") is False


@pytest.mark.parametrize(
    "gold, right, wrong",
    [
        ("2020-01-02", ["2020-01-02"], ["2017", "2020-02-01"]),
        ("5-6", ["5 - 6", r"5\text{-}6", "5--6", r"5\text{ to }6"], ["-1", "6-5", "5, 6"]),
        ("-1", ["5-6"], [r"5\text{ to }6"]),
        ("3:4", [r"3\text{ to }4", "6:8", r"\frac34"], [r"4\text{ to }3", "3-4"]),
    ],
)
def test_numbers_that_are_joined(gold, right, wrong):
    assert [is_equal(gold, answer) for answer in right] == [True] * len(right)
    assert [is_equal(gold, answer) for answer in wrong] == [False] * len(wrong)


def test_the_kinds_of_joined_numbers():
    assert isinstance(read("1:2:3"), Ratio) and isinstance(read("1:02:03"), Ratio)
    assert isinstance(read("2020-01-02"), Dashed) and not isinstance(read("2020 - 1 - x"), Dashed)
