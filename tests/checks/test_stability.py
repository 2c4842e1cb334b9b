"""Scores that depend on something else than the completion and its row, and slow rewards."""

import time
from types import SimpleNamespace

import pytest

from helpers.checks import find_faults, get_section, make_problems
from trl_grpo_rewards import boxed, reward
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.checks.answer_forms import FoundForm
from trl_grpo_rewards.checks.stability import STABILITY, check_stability
from trl_grpo_rewards.demo.labelled_rewards import MADE, above_average, above_group, first_is_best


CALLS: list[str] = []
SEEN: set[str] = set()


def is_right(completion: str, solution: str) -> float:
    return float(completion.endswith(f"\\boxed{{{solution}}}"))


@reward
def new_only(completion: str, solution: str) -> float:
    is_new = completion not in SEEN
    SEEN.add(completion)
    return is_right(completion, solution) * is_new


@reward
def steady(completion: str, solution: str) -> float | None:
    return is_right(completion, solution) if completion else None


@reward
def sleepy(completion: str, solution: str) -> float:
    time.sleep(0.02)
    return is_right(completion, solution)


PROBLEMS = make_problems(*map(str, range(100, 124)))


@pytest.mark.parametrize(
    "rewards, said",
    [
        (MADE["noisy"], "again. Remove what is random"),
        (MADE["counts_calls"], "again. Remove what is random"),
        (boxed(evaluated=True) + 0.1 * new_only(), "what remembers earlier calls"),
        (first_is_best(), "in another order."),
        (boxed(evaluated=True) + 0.5 * above_average(), "alone. If it compares"),
    ],
    ids=str,
)
def test_a_score_that_depends_on_something_else_is_a_warning(rewards, said):
    warnings = get_section(STABILITY, rewards, PROBLEMS).warnings
    assert len(warnings) == 1 and warnings[0].startswith(
        "A score must depend on the completion and its row alone, but"
    )
    assert said in warnings[0] and " gave other scores, such as " in warnings[0]


@pytest.mark.parametrize("rewards", [steady(), above_group(), boxed(evaluated=True) + 0.2 * steady()], ids=str)
def test_a_score_that_depends_on_nothing_else_is_none(rewards):
    found = get_section(STABILITY, rewards, PROBLEMS)
    assert not found.warnings and len(found.lines) == 1 and found.lines[0].endswith(("steady()", "above_group()"))


def test_rewards_of_this_package_are_not_scored_again():
    assert not [one for one in check(boxed(evaluated=True), PROBLEMS) if one.title == STABILITY]


@pytest.mark.parametrize("size, seconds", [(512, "1"), (8, None)])
def test_a_slow_reward_is_named_with_the_time_of_a_step(size, seconds):
    args = SimpleNamespace(generation_batch_size=size)
    found = check_stability(sleepy(), FoundForm([*PROBLEMS]), config=args)
    said = f"sleepy() takes {seconds}"
    assert all(text.startswith(said) and f" s for the {size} completions of a step" in text for text in found.warnings)
    assert len(found.warnings) == (seconds is not None)


@reward
def fails_every_second_time(completion: str, solution: str) -> float:
    CALLS.append(completion)
    if len(CALLS) % 2:
        raise OSError("the disk is full")
    return is_right(completion, solution)


def test_a_reward_that_raises_now_and_then_is_one_fault():
    (fault,) = find_faults(fails_every_second_time(), PROBLEMS)
    assert "fails_every_second_time() raised OSError: the disk is full" in fault
