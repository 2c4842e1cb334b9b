"""repetition, overlap and distinct: closed forms and attacks. test_conformance.py has the formula of repetition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import distinct, overlap, repetition


def test_repetition_in_words_and_characters():
    assert repetition(1, unit="words")(completions=["No, no, NO, no"]) == [-0.5]
    assert repetition(2, unit="chars")(completions=["哈哈哈哈"]) == [pytest.approx(-2 / 3)]
    with pytest.raises(
        ValueError, match="repetition\\(\\) with unit='tokens' needs 'completion_ids', but the call has none"
    ):
        repetition()(completions=["a"])


@pytest.mark.parametrize(
    "completion, solution, paid",
    [
        ("Paris", "Paris", 1.0), ("<think>Lyon? No.</think> It is PARIS!", "paris", 0.5), ("Lyon", "Paris", 0.0),
        ("", "Paris", 0.0), ("red fox", "the red fox", 0.8), ("red red red red", "red", 0.4),
        ("a b c d e f g h i j k l m n o p q r s t u v w x y z", "q", 2 / 27),
        ("Paris, France", ["Lyon", "Paris"], 2 / 3), ("Paris, France", ["Lyon", "Paris", None], None),
        ("1985", 1985, 1.0), ("Paris", None, None), ("Paris", "...", None), ("Paris", [], None),
    ],
)  # fmt: skip
def test_overlap_is_the_f1_of_words(completion, solution, paid):
    assert overlap()(completions=[completion], solution=[solution]) == [paid if paid is None else pytest.approx(paid)]


@given(
    st.lists(st.sampled_from("abc"), min_size=1).map(" ".join),
    st.lists(st.sampled_from("abc"), min_size=1).map(" ".join),
)
def test_overlap_is_symmetric_and_whole_only_for_the_same_words(one, other):
    (score,), (back,) = overlap()(completions=[one], solution=[other]), overlap()(completions=[other], solution=[one])
    assert score == back and (score == 1.0) == (sorted(one) == sorted(other))


@pytest.mark.parametrize(
    "completions, paid",
    [
        (["a b c", "a b c"], [0.0, 0.0]), (["a b c", "d e f"], [1.0, 1.0]),
        (["a b c d", "x b c d", "x"], [0.5, 0.5, 1.0]), (["A, b: c!", "a b c", ""], [0.0, 0.0, 0.0]),
        (["a b c a b c a b c", "y"], [1.0, 1.0]), (["4", "4"], [0.0, 0.0]), (["4"], [1.0]), (["", ""], [0.0, 0.0]),
    ],
)  # fmt: skip
def test_distinct_is_the_share_that_no_sibling_has(completions, paid):
    assert distinct()(completions=completions) == paid
