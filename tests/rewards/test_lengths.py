"""length: the formula, its units, and its options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import length


def score(tokens, *args, **options):
    return length(*args, **options)(completions=[""], completion_ids=[[0] * tokens])[0]


@pytest.mark.parametrize(
    "tokens, paid", [(0, 0.0), (64, 0.25), (128, 0.5), (256, 1.0), (320, 0.75), (512, 0.0), (10_000, 0.0)]
)
def test_it_falls_evenly_on_both_sides_of_the_target(tokens, paid):
    assert score(tokens, 256) == paid


@pytest.mark.parametrize(
    "tokens, paid", [(0, 0.0), (40, 0.5), (80, 1.0), (100, 1.0), (120, 1.0), (160, 0.5), (200, 0.0)]
)
def test_within_the_tolerance_it_is_paid_in_full(tokens, paid):
    assert score(tokens, 100, tolerance=20) == paid


def test_units():
    text = "three short words"
    assert length(3, unit="words")(completions=[text]) == [1.0]
    assert length(17, unit="chars")(completions=[text]) == [1.0]
    assert length(4)(completions=[text], completion_ids=[[1, 2]]) == [0.5]


def test_tokens_need_the_ids():
    with pytest.raises(ValueError, match="counts tokens, and the call has no 'completion_ids'. Pass them, or count"):
        length(4)(completions=["text"])


@pytest.mark.parametrize("target, tolerance", [(0, 0), (-1, 0), (5, 5), (5, -1)])
def test_options_are_checked(target, tolerance):
    with pytest.raises(
        ValueError, match=f"target={target} and tolerance={tolerance}; it needs 0 <= tolerance < target"
    ):
        length(target, tolerance=tolerance)


@given(st.integers(1, 300), st.integers(0, 299), st.integers(0, 1000))
def test_the_formula(target, tolerance, tokens):
    tolerance = min(tolerance, target - 1)
    value = 1 - max(0, abs(tokens - target) - tolerance) / (target - tolerance)
    assert score(tokens, target, tolerance=tolerance) == pytest.approx(min(max(value, 0), 1))
