"""Trials: the example completions of dataset rows, each of which every reward scores once."""

import math
from collections import Counter

import pytest

from helpers.checks import make_problems
from trl_grpo_rewards import boxed, gate, judge, reward, tags
from trl_grpo_rewards.checks import Form, assert_not_gameable, attacks, honest
from trl_grpo_rewards.checks.answer_forms import find_form
from trl_grpo_rewards.checks.dry_run import check_dry_run
from trl_grpo_rewards.checks.gameability import check_attacks
from trl_grpo_rewards.checks.honest_completions import NO_ANSWER, Example, split_words
from trl_grpo_rewards.checks.trials import (
    ATTACKED_ROWS,
    TRIED_ROWS,
    average_scores,
    make_trials,
    take_rows,
    without_asking,
)


ASKED = judge(model="none", rubric="Is it right?", base_url="http://localhost:9/v1")


@reward(grouped=True)
def group_size(completions: list[str], completion_ids: list[list[int]]) -> list[float]:
    return [float(len(completions))] * len(completions)


@reward(batched=True)
def is_chat(completions: list) -> list[float]:
    return [float(completion == [{"role": "assistant", "content": "4"}]) for completion in completions]


def test_terms_that_ask_are_left_out():
    assert without_asking(boxed() + 0.5 * ASKED) == boxed() and without_asking(ASKED) is None
    assert without_asking(gate(ASKED, by=boxed())) is None
    rewards = 2 * boxed() + 0.5 * tags("think")
    assert without_asking(rewards - ASKED) == rewards


def test_completions_of_the_dataset_are_not_used_for_rewards_that_declare_their_form():
    data = make_problems("1", "2").add_column("completion", ["a", "b"])
    assert find_form(boxed(), take_rows(data)).rows == [{**row} for row in data.remove_columns("completion")]
    assert len(take_rows(make_problems(*map(str, range(TRIED_ROWS + 1))))) == TRIED_ROWS


SCORED: list[tuple[str, str, str]] = []
CALLS: list[str] = []


@reward(batched=True, form=lambda: Form())
def watches(prompts: list, completions: list, solution: list, *, place: str) -> list[float]:
    """Paid for the right answer at the end. Remembers all that it scores."""
    CALLS.append(place)
    SCORED.extend((place, *one) for one in zip(prompts, completions, strict=True))
    return [float(text.endswith(f"{{{right}}}")) for text, right in zip(completions, solution, strict=True)]


@pytest.mark.parametrize("rows", [2, ATTACKED_ROWS, ATTACKED_ROWS + 1, TRIED_ROWS + 1])
def test_each_example_is_scored_once_by_each_reward_whatever_is_checked(rows):
    SCORED.clear(), CALLS.clear()
    rewards = watches(place="a") + gate(watches(place="b"), by=watches(place="c"), name="gated") + tags("think")
    data = make_problems(*(str(1000 + row) for row in range(rows)))
    trials = make_trials(rewards, take_rows(data))
    assert not check_attacks(trials).faults + check_dry_run(trials).faults
    tried = min(rows, TRIED_ROWS)
    attacked = len(attacks(rewards, data[0])) * min(rows, ATTACKED_ROWS)
    assert {*Counter(SCORED).values()} == {1} and max(Counter(CALLS).values()) <= 2
    assert [sum(one[0] == place for one in SCORED) for place in "ac"] == [3 * tried + attacked] * 2
    SCORED.clear()
    assert_not_gameable(rewards, [*data])
    assert {*Counter(SCORED).values()} == {1}


def test_a_trial_has_the_scores_of_each_term_and_the_total():
    rewards = boxed() + 0.5 * group_size() - tags("a")
    rows = [
        {"prompt": "What is 3 + 4?", "solution": solution, "completion": f"\\boxed{{{solution}}}"} for solution in "78"
    ]
    first, second = (made := make_trials(rewards, rows, attacked=1)).trials
    size = 3 + len(attacks(rewards, rows[0]))  # a row's completions are a group
    assert first.right == Example("\\boxed{7}", [1.0, size, 0.0, 1 + size / 2])
    assert first.wrong == Example("\\boxed{8}", [0.0, size, 0.0, size / 2])
    assert second.helpless == Example(NO_ANSWER, [0.0, 3.0, 0.0, 1.5]) and second.right.total == 2.5
    assert {name: one.text for name, one in first.attacks.items()} == attacks(rewards, rows[0], others=["8"])
    assert second.attacks == {} and (first.row, second.row) == (*rows,)
    assert made.has_solution and min(made.milliseconds) > 0 and len(made.milliseconds) == 3


def test_completions_are_messages_where_prompts_are():
    chat = {"prompt": [{"role": "user", "content": "?"}], "solution": "4", "completion": "4"}
    assert make_trials(is_chat(), [chat]).trials[0].right.total == 1.0
    assert make_trials(is_chat(), [{**chat, "prompt": "?"}]).trials[0].right.total == 0.0


def test_a_tokenizer_measures_the_completions():
    rewards = group_size() + boxed()
    lengths = []
    make_trials(rewards, [{"prompt": "What is 3 + 1?", "solution": "4"}], lambda text: lengths.append(text) or [0])
    assert {*Counter(lengths).values()} == {1} and honest(
        rewards, {"prompt": "What is 3 + 1?", "solution": "4"}
    ) in lengths


@pytest.mark.parametrize("scores, mean", [([1.0, None, 0.0], 0.5), ([None], math.nan)])
def test_what_has_no_score_does_not_count(scores, mean):
    means = average_scores(Example("", [score, 2.0]) for score in scores)
    assert means == pytest.approx([mean, 2.0], nan_ok=True)


def test_without_a_tokenizer_each_word_is_a_token():
    assert split_words(" a b\nc ") == [0, 1, 2] and split_words(" ") == []
