"""Honest, correct completions, and those that are right for another row."""

import pytest

from helpers.checks import find_faults, make_problems
from trl_grpo_rewards import boxed, code, demo, gate, keywords, length, parse, reward, route, tags
from trl_grpo_rewards.checks import check, honest
from trl_grpo_rewards.checks.honest_completions import (
    NO_ANSWER,
    count_words,
    find_answer_column,
    has_solution,
    is_guess,
    merge_forms,
    swap_completions,
    write_completion,
)
from trl_grpo_rewards.traits import ContradictoryForms, Form


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


@reward(outcome=True)
def headed(completion: str, title: str) -> float:
    return float(title in completion)


@reward(outcome=True)
def authored(completion: str, author: str) -> float:
    return float(author in completion)


@reward
def hinted(completion: str, hint: str) -> float:
    return float(hint in completion)


@reward
def rounded(completion: str, digits: int, answer: float) -> float:
    return float(f"{answer:.{digits}f}" in completion)


@pytest.mark.parametrize(
    "rewards, column, guessed",
    [
        (headed() + tags("think"), "title", False),  # what the outcome reads
        (headed() + authored(), "solution", False),
        (tags("think"), "solution", False),
        (hinted() + tags("think"), "hint", True),  # the only column that a function of the user's own reads
        (hinted() + headed(), "title", False),
        (hinted() + rounded(), "answer", False),  # the usual name
        (hinted() + hinted(hint="other", name="other"), "solution", False),
    ],
    ids=str,
)
def test_the_right_answer_is_in_a_column_that_the_rewards_read(rewards, column, guessed):
    assert find_answer_column(rewards) == column and is_guess(rewards) is guessed


def test_the_completion_of_a_row_is_honest_by_itself():
    assert honest(boxed(), {"prompt": "?", "solution": "7", "completion": "seven"}) == "seven"
    assert honest(boxed(), {"prompt": "?", "solution": "2 + 5 = 7\n#### 7"}).startswith("2 + 5 = 7")


def test_whether_a_reward_reads_the_solution():
    assert has_solution(gate(tags("a"), by=boxed()), []) and not has_solution(tags("a") + keywords(any=("b",)), [])
    solved = {"prompt": "Print 1.", "tests": {"inputs": [""], "outputs": ["1"]}, "solution": "print(1)"}
    assert has_solution(code(), [solved]) and not has_solution(code(), [{**solved, "solution": None}])


def test_the_completion_of_a_row_with_another_answer_is_wrong():
    rows = [{"solution": solution} for solution in ("1", "1", "2")]
    assert swap_completions(boxed(), rows, ["a", "b", "c"]) == ["c", "c", "a"]
    assert swap_completions(boxed(), rows[:2], ["a", "b"]) == [NO_ANSWER] * 2


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
