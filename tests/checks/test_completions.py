"""Honest, correct completions, attacks in the same form, and the trials in which each reward scores them once."""

from collections import Counter

import pytest

from helpers.checks import find_faults, make_problems
from trl_grpo_rewards import boxed, choice, demo, gate, keywords, length, parse, reward, route, tags
from trl_grpo_rewards.checks import Form, assert_not_gameable, attacks, check, honest
from trl_grpo_rewards.checks.attack_completions import FORMLESS
from trl_grpo_rewards.checks.dry_run import check_dry_run
from trl_grpo_rewards.checks.gameability import check_attacks
from trl_grpo_rewards.checks.trials import ANSWERS, ATTACKED_ROWS, TRIED_ROWS, make_trials, take_rows


def test_each_branch_of_a_route_has_its_own_form():
    data = make_problems("7", "8").add_column("kind", ["a", "b"])
    rewards = route("kind", {"a": boxed() + 0.1 * tags("think"), "b": boxed() + 0.1 * tags("answer")})
    assert not [text for one in check(rewards, data) for text in one.faults + one.warnings]
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


def test_the_completion_of_a_row_is_honest_by_itself():
    assert honest(boxed(), {"prompt": "?", "solution": "7", "completion": "seven"}) == "seven"
    assert honest(boxed(), {"prompt": "?", "solution": "2 + 5 = 7\n#### 7"}).startswith("2 + 5 = 7")


# --- attacks ----------------------------------------------------------------------------------------------------------


def test_attacks_are_of_the_form_that_the_rewards_want():
    rewards = boxed() + tags("think", "answer") + keywords(all=["because"]) + length(50, unit="words")
    row = {"prompt": "Ann has 3 apples and buys 4. How many?", "solution": "7"}
    right = honest(rewards, row)
    assert right.startswith("<think>First") and right.endswith("<answer>\\boxed{7}</answer>") and "because" in right
    made = attacks(rewards, row)
    assert rewards(completions=[right, *made.values()], prompts=[row["prompt"]] * (len(made) + 1),
                   solution=["7"] * (len(made) + 1))[0] == pytest.approx(4.0, abs=0.1)  # fmt: skip
    assert len(made["unclosed tags"]) > 60_000 and made["empty tags"] == "<think></think><answer></answer>"
    holders = {name for name, text in made.items() if "\\boxed{7}" in text}
    assert holders == {"many boxes", "right between wrong answers", "the right answer to a new question"}


def test_a_wrong_answer_is_of_the_same_kind():
    for rewards, gold, wrong in [(choice("ABC"), "A", "C"), (choice("ABC"), "B", "A"), (boxed(), "7", "20")]:
        made = attacks(rewards, {"prompt": "Which?", "solution": gold})
        assert made["a wrong answer"].endswith(f"\\boxed{{{wrong}}}")
        assert ("every choice" in made) is (gold != "7")


@reward(worthless=lambda: {"greeting": "Hello"})
def says_hello(completion: str) -> float:
    return float("Hello" in completion)


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
    assert attacks(boxed(), {"prompt": question})["question restated"].endswith(f"boxed{{{expression}}}")


def test_without_a_right_completion_an_attack_with_a_good_form_may_pay():
    rows = [{"prompt": "What is 3 + 4?", "solution": "7"}]
    every, some = (
        {*make_trials(rewards, rows).scores} - {*ANSWERS} for rewards in (says_hello() + boxed(), says_hello())
    )
    assert every == {*attacks(says_hello() + boxed(), rows[0])}
    assert some == {*FORMLESS, "says_hello: greeting"} and "a wrong answer" in every - some


# --- trials -----------------------------------------------------------------------------------------------------------


@reward(grouped=True)
def group_size(completions: list[str], completion_ids: list[list[int]]) -> list[float]:
    return [float(len(completions))] * len(completions)


@reward(batched=True)
def is_chat(completions: list) -> list[float]:
    return [float(completion == [{"role": "assistant", "content": "4"}]) for completion in completions]


SCORED: list[tuple[str, str, str]] = []
CALLS: list[str] = []


@reward(batched=True, form=lambda: Form())
def watches(prompts: list, completions: list, solution: list, *, place: str) -> list[float]:
    """Paid for the right answer at the end. Remembers all that it scores."""
    CALLS.append(place)
    SCORED.extend((place, *one) for one in zip(prompts, completions, strict=True))
    return [float(text.endswith(f"{{{right}}}")) for text, right in zip(completions, solution, strict=True)]


@pytest.mark.parametrize("rows", [2, ATTACKED_ROWS + 1, TRIED_ROWS + 1])
def test_each_example_is_scored_once_by_each_reward_whatever_is_checked(rows):
    SCORED.clear(), CALLS.clear()
    rewards = watches(place="a") + gate(watches(place="b"), by=watches(place="c"), name="gated") + tags("think")
    data = make_problems(*(str(1000 + row) for row in range(rows)))
    trials = make_trials(rewards, take_rows(data))
    assert not check_attacks(trials).faults + check_dry_run(trials).faults
    tried = min(rows, TRIED_ROWS)
    attacked = sum(len(attacks(rewards, data[row])) for row in range(min(rows, ATTACKED_ROWS)))
    assert {*Counter(SCORED).values()} == {1} and max(Counter(CALLS).values()) <= 4
    assert [sum(one[0] == place for one in SCORED) for place in "ac"] == [3 * tried + attacked] * 2
    SCORED.clear()
    assert_not_gameable(rewards, [*data])
    assert {*Counter(SCORED).values()} == {1}


def test_completions_are_messages_where_prompts_are_and_are_measured_once_by_the_tokenizer():
    chat = {"prompt": [{"role": "user", "content": "?"}], "solution": "4", "completion": "4"}
    assert make_trials(is_chat(), [chat]).scores["right"][0, -1] == 1.0
    assert make_trials(is_chat(), [{**chat, "prompt": "?"}]).scores["right"][0, -1] == 0.0
    rewards, lengths = group_size() + boxed(), []
    row = {"prompt": "What is 3 + 1?", "solution": "4"}
    make_trials(rewards, [row], lambda text: lengths.append(text) or [0])
    assert {*Counter(lengths).values()} == {1} and honest(rewards, row) in lengths
