"""Functions of the user's own that want the answer in a form that nobody declared."""

import pytest
from datasets import Dataset

from helpers.checks import find_faults, make_problems
from helpers.labelled_rewards import CITIES, MADE, NUMBERS, make_rows, soft_format
from trl_grpo_rewards import boxed, reward, tags
from trl_grpo_rewards.checks import Form, assert_not_gameable, check, honest
from trl_grpo_rewards.checks.search import find_form


@reward
def brief(completion: str, max_words: int) -> float:
    return float(len(completion.split()) <= max_words)


@reward
def near_length(completion: str, max_words: int) -> float:
    return max(0.0, 1 - abs(len(completion.split()) - max_words) / max_words)


@reward
def repeats_word(completion: str, keyword: str) -> float:
    return float(keyword in completion)


@reward
def encoded(completion: str, solution: str) -> float:
    """Wants a form that nobody guesses, and pays a little for what is not it."""
    return float(completion == f"=={solution[::-1]}==") or 0.1 * ("{" in completion) or 0.2 * ("<think>" in completion)


@reward
def encoded_in_another_column(completion: str, reversed_city: str) -> float:
    return 2.0 * (completion == f"=={reversed_city[::-1]}==") - 1.0


UNKNOWN = {
    "a form of its own": (encoded(), make_problems(*CITIES)),
    "next to a term for form": (encoded() + 0.5 * soft_format(), make_problems(*CITIES)),
    "next to an outcome": (boxed(evaluated=True) + 0.5 * encoded(), make_problems(*NUMBERS)),
    "another column": (encoded_in_another_column(), Dataset.from_dict(make_rows("reversed_city", CITIES))),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_form_that_is_not_found_is_a_warning_with_what_was_tried_and_what_to_write(name):
    rewards, data = UNKNOWN[name]
    found = check(rewards, data)
    assert not [text for one in found for text in one.faults + one.warnings if "attack" in text]
    (warning,) = [text for one in found for text in one.warnings if "No right answer that was tried" in text]
    assert "@reward(form=lambda: Form(answer='Answer: {}'))" in warning and len(warning) <= 300
    column = next(name for name in data.column_names if name != "prompt")
    tried = "\n".join(line for line in found[-1].lines if line.startswith("tried: "))
    assert any(f"'#### {value}" in tried and f"\\\\boxed{{{value}}}'" in tried for value in data[column])


@pytest.mark.parametrize(
    "rewards, column, values",
    [
        (brief(), "max_words", [50] * 24),
        (brief(), "max_words", [2] * 8),
        (near_length(), "max_words", [5, 20, 50, 70]),
        (repeats_word(), "keyword", CITIES),
    ],
    ids=["an option", "an option that nothing meets", "options of rows", "a word to mention"],
)
def test_what_a_column_contains_that_is_taken_for_the_solution_is_no_fault(rewards, column, values):
    assert not find_faults(rewards, Dataset.from_dict(make_rows(column, values)))


def test_a_column_that_may_be_missing_and_is_causes_no_fault():
    assert not find_faults(MADE["optional"], Dataset.from_dict(make_rows("theme", CITIES)))


@reward(form=lambda: Form(answer="=={}==", bare=True))
def declared(completion: str, solution: str) -> float:
    return float(completion == f"=={solution}==")


def test_a_form_that_is_declared_is_used_and_nothing_else_tried():
    assert_not_gameable(declared())
    assert honest(declared(), {"prompt": "?", "solution": "7"}) == "==7=="
    assert find_form(declared(), [*make_problems(*NUMBERS)]).form == Form()


def test_the_tests_of_a_reward_of_ones_own_find_its_form_too():
    assert_not_gameable(MADE["in_element"] + 0.1 * tags("think"))
    with pytest.raises(AssertionError, match="many boxes on 3 of 3 rows"):
        assert_not_gameable(MADE["any_element"])
    assert_not_gameable(
        encoded(), [{"prompt": "?", "solution": city, "completion": f"=={city[::-1]}=="} for city in CITIES]
    )
