"""Replies of judges: what is read as a verdict, and what is refused."""

import pytest

from trl_grpo_rewards.judging.grading_prompts import Rubric
from trl_grpo_rewards.judging.verdicts import UnreadableReply, drop_reasoning, read_grade, read_ranking, scale_score


PLAIN = Rubric("Is it clear?", (0.0, 10.0))
CRITERIA = Rubric({"clear": 3.0, "brief": ("Is it short?", 1.0)}, (1.0, 5.0))


def test_only_reasoning_at_the_beginning_is_left_out():
    assert drop_reasoning("<think>a</think> b") == "b"
    assert drop_reasoning("<|channel|>analysis a<|channel|>final b") == "b"
    assert drop_reasoning("b <think>a</think>") == "b <think>a</think>"
    assert drop_reasoning("<think>a") == "<think>a"


def test_a_score_is_a_share_of_the_scale():
    assert [scale_score(score, CRITERIA) for score in (1, 3.0, 5)] == [0.0, 0.5, 1.0]
    for score in (0.99, 5.01, 10**400, float("nan"), True, "3", None):
        with pytest.raises(UnreadableReply):
            scale_score(score, CRITERIA)


def test_a_grade_is_the_score_or_the_weighted_mean_of_the_criteria():
    assert read_grade({"score": 4}, PLAIN) == (0.4, {})
    assert read_grade({"score": 4, "of": 10.0}, PLAIN) == (0.4, {})
    with pytest.raises(UnreadableReply, match="100"):
        read_grade({"score": 4, "of": 100.0}, PLAIN)
    given = {"criteria": {"brief": 1, "clear": 5}, "score": 1}
    assert read_grade(given, CRITERIA) == (0.75, {"clear": 1.0, "brief": 0.0})
    for criteria in ({"clear": 5}, {"clear": 5, "brief": 1, "kind": 1}, None):
        with pytest.raises(UnreadableReply):
            read_grade({"criteria": criteria, "score": 5}, CRITERIA)


def test_a_comparison_scores_every_answer_once():
    assert read_ranking({"scores": {"2": 10, "1": 0, "3": 5}}, PLAIN, 3) == [0.0, 1.0, 0.5]
    for scores in ({"1": 1}, {"1": 1, "2": 1, "3": 1, "4": 1}, {"1": 1, "2": 1, "3": 11}, [1, 2, 3], None):
        with pytest.raises(UnreadableReply):
            read_ranking({"scores": scores}, PLAIN, 3)
