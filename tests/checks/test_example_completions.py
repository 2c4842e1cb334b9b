"""The honest completion and the attacks, in the form that the rewards ask for."""

import pytest

from helpers.checks import find_faults, make_problems
from trl_grpo_rewards import boxed, choice, demo, keywords, length, parse, reward, route, tags
from trl_grpo_rewards.checks import attacks, check, honest
from trl_grpo_rewards.checks.example_completions import (
    count_words,
    find_answer_column,
    find_expression,
    make_wrong_answer,
    merge_forms,
    write_completion,
)
from trl_grpo_rewards.forms import ContradictoryForms, Form


def test_attacks_are_of_the_form_that_the_rewards_want():
    rewards = boxed() + tags("think", "answer") + keywords(all=["because"]) + length(50, unit="words")
    row = {"prompt": "Ann has 3 apples and buys 4. How many?", "solution": "7"}
    right = honest(rewards, row)
    assert right.startswith("<think>First") and right.endswith("<answer>\\boxed{7}</answer>") and "because" in right
    made = attacks(rewards, row)
    assert rewards(completions=[right, *made.values()], prompts=[row["prompt"]] * (len(made) + 1),
                   solution=["7"] * (len(made) + 1))[0] == pytest.approx(4.0, abs=0.1)  # fmt: skip
    assert len(made["unclosed tags"]) > 60_000 and made["empty tags"] == "<think></think><answer></answer>"
    assert {name for name, text in made.items() if "\\boxed{7}" in text} == {"many boxes"}


def test_each_branch_of_a_route_has_its_own_form():
    data = make_problems("7", "8").add_column("kind", ["a", "b"])
    rewards = route("kind", {"a": boxed() + 0.1 * tags("think"), "b": boxed() + 0.1 * tags("answer")})
    assert not find_faults(rewards, data) and not [warning for one in check(rewards, data) for warning in one.warnings]
    assert honest(rewards, data[0]).startswith("<think>") and honest(rewards, data[1]).startswith("<answer>")


@pytest.mark.parametrize(
    "expression",
    [
        "boxed(evaluated=True) - 2 * keywords(any=('sorry',))",
        "boxed(evaluated=True) - keywords(any=('sorry',))",
        "boxed(evaluated=True) + 0.5 * tags('think', 'answer') + 0.5 * tags('think', name='t')",
        "boxed(evaluated=True) + 0.5 * tags('think') + 0.5 * tags('think', 'answer', name='t')",
        "boxed(evaluated=True) + 0.2 * keywords(all=('because',)) + 0.2 * keywords(all=('therefore',), name='k')",
        "boxed(evaluated=True) + 0.2 * keywords(none=('step',))",
    ],
)
def test_negative_and_repeated_terms_are_no_faults(expression):
    rewards, data = parse(expression), demo.arithmetic(size=64)
    assert not find_faults(rewards, data)
    text = honest(rewards, data[0])
    best = sum(weight for weight, _ in rewards.terms if weight > 0)
    assert rewards(prompts=[data[0]["prompt"]], completions=[text], solution=[data[0]["solution"]]) == [best]


def test_two_forms_that_contradict_each_other_are_named():
    rewards = boxed() + tags("think") + length(9) + tags("plan", name="plan") - tags("other", name="unwanted")
    with pytest.raises(ContradictoryForms, match="No completion can earn both 'tags' and 'plan': one needs the tags"):
        merge_forms(rewards, {})


@pytest.mark.parametrize(
    "unit, size", [("tokens", lambda text: len(text) // 3), ("words", count_words), ("chars", len)]
)
@pytest.mark.parametrize("target", [12, 300])
def test_a_completion_has_the_length_that_its_form_asks_for(unit, size, target):
    form = Form(tags=("think",), length=(target, unit))
    text = write_completion(form, "many words " * 20, "7", lambda text: len(text) // 3)
    assert target <= size(text) <= target + 24 and text.endswith("</think>\n7")


def test_a_working_that_says_what_is_forbidden_is_left_out():
    assert write_completion(Form(without=("STEP",)), "Every step is shown.", "7", len) == ".\n7"
    assert write_completion(Form(words=("so",)), "It is seven.", "7", len) == "It is seven. so\n7"


@reward(outcome=True)
def titled(completion: str, title: str) -> float:
    return float(title in completion)


@reward(outcome=True)
def authored(completion: str, author: str) -> float:
    return float(author in completion)


def test_the_right_answer_is_in_the_column_that_outcomes_read():
    assert find_answer_column(titled() + tags("think")) == "title"
    assert find_answer_column(titled() + authored()) == find_answer_column(tags("think")) == "solution"


def test_the_completion_of_a_row_is_honest_by_itself():
    assert honest(boxed(), {"prompt": "?", "solution": "7", "completion": "seven"}) == "seven"
    assert honest(boxed(), {"prompt": "?", "solution": "2 + 5 = 7\n#### 7"}).startswith("2 + 5 = 7")


def test_a_wrong_answer_is_of_the_same_kind():
    assert [make_wrong_answer(letter, "ABC") for letter in "ABC"] == ["C", "A", "B"]
    assert make_wrong_answer("7", "") == "20" and make_wrong_answer("x + 1", "") == make_wrong_answer(None, "ABC")
    made = attacks(choice("ABC"), {"prompt": "Which?", "solution": "B"})
    assert made["a wrong answer"].endswith("\\boxed{A}") and made["every choice"].endswith("\\boxed{A, B, C}")


@pytest.mark.parametrize(
    "question, expression",
    [
        ("What is 3 + 4?", "3 + 4"),
        ("Is 1 + 1 less than (12 - 3) * 4?", "(12 - 3) * 4"),
        ("Find $2x+1$ at 3.", "2x+1"),
        ("How old is he in 2024?", "How old is he in 2024?"),
    ],
)
def test_the_longest_expression_of_a_question_is_restated(question, expression):
    assert find_expression(question) == expression
