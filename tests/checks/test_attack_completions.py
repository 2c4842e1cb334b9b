"""Attacks in the form that the rewards ask for."""

import pytest

from trl_grpo_rewards import boxed, choice, keywords, length, reward, tags
from trl_grpo_rewards.checks import attacks, honest
from trl_grpo_rewards.checks.attack_completions import FORMLESS, find_expression, make_wrong_answer
from trl_grpo_rewards.checks.trials import make_trials


def test_attacks_are_of_the_form_that_the_rewards_want():
    rewards = boxed() + tags("think", "answer") + keywords(all=["because"]) + length(50, unit="words")
    row = {"prompt": "Ann has 3 apples and buys 4. How many?", "solution": "7"}
    right = honest(rewards, row)
    assert right.startswith("<think>First") and right.endswith("<answer>\\boxed{7}</answer>") and "because" in right
    made = attacks(rewards, row)
    assert rewards(completions=[right, *made.values()], prompts=[row["prompt"]] * (len(made) + 1),
                   solution=["7"] * (len(made) + 1))[0] == pytest.approx(4.0, abs=0.1)  # fmt: skip
    assert len(made["unclosed tags"]) > 60_000 and made["empty tags"] == "<think></think><answer></answer>"
    assert {name for name, text in made.items() if "\\boxed{7}" in text} == {
        "many boxes", "right between wrong answers",
    }  # fmt: skip


def test_a_wrong_answer_is_of_the_same_kind():
    assert [make_wrong_answer([letter], "ABC") for letter in "ABC"] == ["C", "A", "B"]
    assert make_wrong_answer(["7"], "") == "20" and make_wrong_answer(["x + 1"], "") == make_wrong_answer([], "ABC")
    made = attacks(choice("ABC"), {"prompt": "Which?", "solution": "B"})
    assert made["a wrong answer"].endswith("\\boxed{A}") and made["every choice"].endswith("\\boxed{A, B, C}")


@pytest.mark.parametrize("gold, first", [("B", "A"), ("Oslo", "Amber"), ("7", "0"), ("x + 1", "0")])
def test_guesses_are_of_the_same_kind_and_neither_begin_nor_end_with_the_right_one(gold, first):
    guesses = attacks(says_hello(), {"prompt": "?", "solution": gold})["many answers in a box"]
    listed = guesses.partition("{")[2].rstrip("}").split(", ")
    assert listed[0] == first and gold in listed[1:-1] and len(listed) > 9


@pytest.mark.parametrize(
    "question, expression",
    [
        ("What is 3 + 4?", "3 + 4"), ("Is 1 + 1 less than (12 - 3) * 4?", "(12 - 3) * 4"),
        ("Find $2x+1$ at 3.", "2x+1"), ("How old is he in 2024?", "How old is he in 2024?"),
    ],
)  # fmt: skip
def test_the_longest_expression_of_a_question_is_restated(question, expression):
    assert find_expression(question) == expression


@reward(worthless=lambda: {"greeting": "Hello"})
def says_hello(completion: str) -> float:
    return float("Hello" in completion)


def test_without_a_right_completion_an_attack_with_a_good_form_may_pay():
    rows = [{"prompt": "What is 3 + 4?", "solution": "7"}]
    every, some = (make_trials(rewards, rows).trials[0].attacks for rewards in (says_hello() + boxed(), says_hello()))
    assert every.keys() == attacks(says_hello() + boxed(), rows[0]).keys()
    assert some.keys() == {*FORMLESS, "says_hello: greeting"}
    assert "a wrong answer" in every.keys() - some.keys()
