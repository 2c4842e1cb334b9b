"""The scores of example completions, as the checks compute them."""

import math

import pytest

from helpers.checks import make_problems
from trl_grpo_rewards import boxed, code, gate, judge, reward, tags
from trl_grpo_rewards.checks.example_completions import NO_ANSWER
from trl_grpo_rewards.checks.example_scores import (
    average,
    compute_means,
    has_solution,
    score_texts,
    split_words,
    swap_completions,
    take_rows,
    without_asking,
)


ASKED = judge(model="none", rubric="Is it right?", base_url="http://localhost:9/v1")


@reward(grouped=True)
def group_size(completions: list[str], completion_ids: list[list[int]]) -> list[float]:
    return [float(len(completions))] * len(completions)


@reward
def hinted(completion: str, hint: str) -> float:
    return float(hint in completion)


@reward(batched=True)
def is_chat(completions: list) -> list[float]:
    return [float(completion == [{"role": "assistant", "content": "4"}]) for completion in completions]


def test_terms_that_ask_are_left_out():
    assert without_asking(boxed() + 0.5 * ASKED) == boxed() and without_asking(ASKED) is None
    assert without_asking(gate(ASKED, by=boxed())) is None
    rewards = 2 * boxed() + 0.5 * tags("think")
    assert without_asking(rewards - ASKED) == rewards


def test_whether_a_reward_reads_the_solution():
    assert has_solution(gate(tags("a"), by=boxed()), []) and not has_solution(tags("a") + hinted(), [])
    solved = {"prompt": "Print 1.", "tests": {"inputs": [""], "outputs": ["1"]}, "solution": "print(1)"}
    assert has_solution(code(), [solved]) and not has_solution(code(), [{**solved, "solution": None}])


def test_rows_have_no_completion_of_the_dataset():
    data = make_problems("1", "2").add_column("completion", ["a", "b"])
    (row,) = take_rows(data, 1)
    assert {*row} == {"prompt", "solution"} and row["solution"] == "1" and len(take_rows(data, 9)) == 2


def test_texts_are_scored_by_each_term_and_in_total():
    seven, eight = {"prompt": "?", "solution": "7"}, {"prompt": "?", "solution": "8"}
    rewards, seconds = boxed() + 0.5 * group_size() - tags("a"), [0.0] * 3
    texts = ["\\boxed{7}", "\\boxed{8}", "\\boxed{8}"]
    scores = score_texts(rewards, [seven, seven, eight], texts, split_words, seconds)
    assert scores == [[1, 0, 1], [2, 2, 1], [0, 0, 0], [2.0, 1.0, 1.5]]
    assert min(seconds) > 0
    chat = {"prompt": [{"role": "user", "content": "?"}], "solution": "7"}
    assert score_texts(is_chat(), [chat], ["4"], split_words)[-1] == [1.0]
    assert score_texts(is_chat(), [seven], ["4"], split_words)[-1] == [0.0]


def test_the_means_of_right_wrong_and_helpless_completions():
    rows = [{"prompt": "?", "solution": solution} for solution in ("7", "7", "8", None)]
    means = compute_means(boxed() + tags("think"), rows, split_words)
    assert means == {"right": [1.0, 1.0, 7 / 4], "wrong": [0.0, 1.0, 1.0], "helpless": [0.0, 0.0, 0.0]}


def test_the_completion_of_a_row_with_another_answer_is_wrong():
    rows = [{"solution": solution} for solution in ("1", "1", "2")]
    assert swap_completions(rows, ["a", "b", "c"], "solution") == ["c", "c", "a"]
    assert swap_completions(rows[:2], ["a", "b"], "solution") == [NO_ANSWER] * 2


@pytest.mark.parametrize("scores, mean", [([1.0, None, 0.0], 0.5), ([None], math.nan), ([], math.nan)])
def test_what_has_no_score_does_not_count(scores, mean):
    assert average(scores) == pytest.approx(mean, nan_ok=True)


def test_without_a_tokenizer_each_word_is_a_token():
    assert split_words(" a b\nc ") == [0, 1, 2] and split_words(" ") == []
