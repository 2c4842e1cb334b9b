"""What a judge is asked and what its replies are worth, where rewards/test_judges.py does not see it."""

import re

import pytest

from trl_grpo_rewards.judging.graders import CriteriaGrader
from trl_grpo_rewards.judging.prompts import Rubric, build_grading_prompt, build_ranking_prompt, is_trivial
from trl_grpo_rewards.judging.rubrics import Criterion
from trl_grpo_rewards.judging.verdicts import UnreadableReply, read_grade, read_ranking, scale_score
from trl_grpo_rewards.report.excerpts import MAX_TEXT


PLAIN = Rubric("Is it clear?", (0.0, 10.0))
CRITERIA = Rubric({"clear": ("Can each step be followed?", 3.0), "brief": 1.0, "kind": "Is it?"}, (1.0, 5.0))


def test_a_key_depends_on_all_that_a_verdict_does():
    prompts = [
        build_grading_prompt(PLAIN, "q", "a"), build_grading_prompt(PLAIN, "q", "b"),
        build_grading_prompt(PLAIN, "r", "a"), build_grading_prompt(PLAIN, "q", "a", reference="a"),
        build_grading_prompt(CRITERIA, "q", "a"), build_grading_prompt(Rubric("Is it clear?", (0.0, 5.0)), "q", "a"),
        build_ranking_prompt(PLAIN, "q", ["a"]),
    ]  # fmt: skip
    assert len({one.cache_key([model]) for one in prompts for model in ("m", "n")}) == 2 * len(prompts)
    assert prompts[0].cache_key(["m"]) == build_grading_prompt(PLAIN, "q", "a").cache_key(["m"])


def test_some_texts_are_nothing_to_grade():
    assert all(map(is_trivial, ["", " \n", "...", "Thought process:", "**Solution**", "解"]))
    assert not any(map(is_trivial, ["4", "∞", "The solution", "no", "√"]))


def test_a_score_is_a_share_of_the_scale():
    assert [scale_score(score, CRITERIA) for score in (1, 3.0, 5)] == [0.0, 0.5, 1.0]
    for score in (0.99, 5.01, 10**400, float("nan"), True, "3", None):
        with pytest.raises(UnreadableReply):
            scale_score(score, CRITERIA)


def test_each_criterion_and_each_answer_has_one_score():
    given = {"criteria": {"brief": 1, "clear": 5, "kind": 5}, "score": 1}
    assert read_grade(given, CRITERIA) == (0.8, {"clear": 1.0, "brief": 0.0, "kind": 1.0})
    assert read_ranking({"scores": {"2": 10, "1": 0, "3": 5}}, PLAIN, 3) == [0.0, 1.0, 0.5]
    for criteria in ({"clear": 5}, {**given["criteria"], "more": 1}, None):
        with pytest.raises(UnreadableReply, match="a score for each of the criteria clear, brief, kind; got"):
            read_grade({"criteria": criteria, "score": 5}, CRITERIA)
    for scores in ({"1": 1}, {"1": 1, "2": 1, "3": 1, "4": 1}, {"1": 1, "2": 1, "3": 11}, [1, 2, 3], None):
        with pytest.raises(UnreadableReply):
            read_ranking({"scores": scores}, PLAIN, 3)


@pytest.mark.parametrize("count", [1, 3, 20, 45])
def test_a_report_shows_the_verdict_on_each_criterion(count):
    criteria = tuple(Criterion(f"{index:02}" + "x" * 3000, 10.0) for index in range(count))
    shown = CriteriaGrader(criteria, False).grade([(False,) * count], "").verdicts
    assert len(shown) <= MAX_TEXT // 4 and re.findall(r"^not met \(\+10\): (\d\d)x{18,}\.\.\.$", shown, re.M) == [
        f"{index:02}" for index in range(count)
    ]
