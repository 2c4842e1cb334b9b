"""Errors of rewards: the sentence about them, and columns that are missing."""

from pathlib import Path

import pytest

from trl_grpo_rewards import boxed, gate, length, reward
from trl_grpo_rewards.errors import describe_reward_error


@reward
def torn(completion: str, *, deep: int = 0) -> float:
    raise LookupError("two\nlines" if deep else "")


def catch(call) -> Exception:
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def test_an_error_of_a_reward_is_told_with_the_reward_and_the_place():
    place = rf"({Path(__file__)}, line {torn.function.__code__.co_firstlineno + 2})"
    remedy = "Correct the reward, or let it return None for what it cannot judge."
    error = catch(lambda: (boxed() + torn(deep=1))(completions=["4"], solution=["4"]))
    assert describe_reward_error(error) == f"Reward torn(deep=1) raised LookupError: two lines {place}. {remedy}"
    assert "raised LookupError: no message (" in describe_reward_error(catch(lambda: torn()(completions=["4"])))


@reward
def leaves(completion: str) -> float:
    raise SystemExit(0)


def test_a_reward_that_leaves_ends_the_run_with_a_sentence():
    error = catch(lambda: (boxed() + leaves())(completions=["4"], solution=["4"]))
    assert describe_reward_error(error) == (
        "RuntimeError: Reward leaves() called sys.exit(0), which would end the run. Raise an error, or return None."
    )
    told = describe_reward_error(catch(lambda: length(5)(completions=["4"])))  # whose message says what to do
    assert told.startswith("ValueError: length() with unit='tokens' needs 'completion_ids', but the call has none.")
    assert describe_reward_error(ValueError("of something else")) is None


@reward
def reads_messages(completion: str) -> float:
    return float(completion[0]["content"] == "4")


def test_an_error_of_a_reward_that_takes_its_text_for_messages_says_so_without_the_command():
    notes = catch(lambda: gate(boxed(), by=reads_messages())(completions=["4"], solution=["4"])).__notes__
    assert [note for note in notes if note.startswith("A completion is a text here.")] == notes[1:2]
