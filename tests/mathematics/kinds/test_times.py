"""Times of day."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.times import Time


@pytest.mark.parametrize(
    "gold, right, wrong",
    [
        ("4:30 pm", ["4:30 PM", r"4:30\text{ p.m.}", "16:30"], ["4:30 am", "4:31 pm", "4:30 m"]),
        ("16:30", ["16:30", "4:30 pm"], ["4:30 am", "4:30"]),
        ("7 pm", ["7:00 pm", "19:00"], ["7 am"]),
    ],
)
def test_a_time_is_compared_by_hour_and_minute(gold, right, wrong):
    assert [is_equal(gold, answer) for answer in right] == [True] * len(right)
    assert [is_equal(gold, answer) for answer in wrong] == [False] * len(wrong)


@given(st.integers(1, 11), st.integers(0, 59), st.integers(1, 59))
def test_an_hour_after_noon_is_one_of_24(hour, minute, later):
    time = f"{hour}:{minute:02} pm"
    assert read(time) == Time(hour, minute, "pm")
    assert is_equal(time, f"{hour + 12}:{minute:02}") is True
    assert is_equal(time, f"{hour + 12}:{(minute + later) % 60:02}") is False
