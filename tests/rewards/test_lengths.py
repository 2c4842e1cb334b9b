"""Rewards for length: formulas, end points, units, and options that are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import boxed, cosine, keywords, length, overlong, shortest


def score(tokens, *args, **options):
    return length(*args, **options)(completions=[""], completion_ids=[[0] * tokens])[0]


def test_tokens_need_the_ids():
    with pytest.raises(
        ValueError, match="with unit='tokens' needs 'completion_ids', but the call has none. Pass them, or use"
    ):
        length(4)(completions=["text"])


@pytest.mark.parametrize("target, tolerance", [(0, 0), (-1, 0), (5, 5), (5, -1)])
def test_options_are_checked(target, tolerance):
    with pytest.raises(
        ValueError, match=f"requires 0 <= tolerance < target; got target={target}, tolerance={tolerance}"
    ):
        length(target, tolerance=tolerance)


@given(st.integers(1, 300), st.integers(0, 299), st.integers(0, 1000))
def test_the_formula(target, tolerance, tokens):
    tolerance = min(tolerance, target - 1)
    value = 1 - max(0, abs(tokens - target) - tolerance) / (target - tolerance)
    assert score(tokens, target, tolerance=tolerance) == pytest.approx(min(max(value, 0), 1))


def of_lengths(value, lengths, completions=None):
    return value(completions=completions or [""] * len(lengths), completion_ids=[[0] * n for n in lengths])


RIGHT = keywords(any=("yes",))


def test_no_punishment_is_no_negative_zero():
    assert str(of_lengths(overlong(100, cache=20), [0])[0]) == "0.0"  # test_conformance.py has the other values


@pytest.mark.parametrize("max_tokens, cache", [(100, 0), (100, -1), (100, 100), (100, 200), (0, 0)])
def test_overlong_refuses_what_divides_by_zero_or_punishes_an_empty_completion(max_tokens, cache):
    with pytest.raises(
        ValueError, match=f"requires 0 < cache < max_tokens; got max_tokens={max_tokens}, cache={cache}"
    ):
        overlong(max_tokens, cache=cache)


def test_cosine_counts_a_score_as_right_from_at_least():
    half = cosine(0.5 * RIGHT, max_tokens=10, at_least=0.5)
    assert of_lengths(half, [10, 10], ["yes", "no"]) == [0.5, -0.5]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"max_tokens": 9, "wrong": (0.0, 0.7)}, "wrong answers never earn more than right ones; got right=.* Use pairs"),
        ({"max_tokens": 9, "right": (-2.0, 1.0)}, "right=\\(-2.0, 1.0\\), wrong="),
    ],
)  # fmt: skip
def test_cosine_checks_its_options(options, message):
    with pytest.raises(ValueError, match=message):
        cosine(RIGHT, **options)


@given(st.integers(1, 500), st.integers(0, 1000), st.integers(0, 1000))
def test_cosine_never_pays_a_wrong_answer_like_a_right_one(max_tokens, one, other):
    right, wrong = of_lengths(cosine(RIGHT, max_tokens=max_tokens), [one, other], ["yes", "no"])
    assert wrong <= -0.5 < 0.5 <= right


@pytest.mark.parametrize(
    "lengths, texts, paid",
    [
        ([10, 20, 30], ["yes"] * 3, [0.5, 0.0, -0.5]), ([10, 20, 30], ["no"] * 3, [0.0, 0.0, -0.5]),
        ([10, 30, 30], ["no", "yes", "yes"], [0.0, -0.5, -0.5]), ([10, 10, 10], ["yes", "no", "yes"], [0.0, 0.0, 0.0]),
        ([0, 0, 4], ["yes", "no", ""], [0.5, 0.0, -0.5]), ([7], ["yes"], [0.0]),
    ],
)  # fmt: skip
def test_shortest_compares_inside_the_group(lengths, texts, paid):
    assert of_lengths(shortest(RIGHT), lengths, texts) == paid


def test_none_of_the_inner_reward_stays_none():
    columns = {"completions": [""] * 2, "completion_ids": [[1], [1, 2]], "solution": [None, "4"]}
    assert cosine(boxed(), max_tokens=2)(**columns) == [None, -0.5]
    columns["solution"] = [None, None]
    assert shortest(boxed())(**columns) == [None, None]
