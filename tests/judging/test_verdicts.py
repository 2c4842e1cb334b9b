"""What a judge is asked and what its replies are worth, where rewards/test_judges.py does not see it."""

import re

import pytest

from trl_grpo_rewards.judging.graders import CriteriaGrader, ScaleGrader
from trl_grpo_rewards.judging.rubrics import Criterion
from trl_grpo_rewards.judging.verdicts import UnreadableReply, is_trivial, read_values, read_verdict_value
from trl_grpo_rewards.report.excerpts import MAX_TEXT


PLAIN = ScaleGrader("Is it clear?", (0.0, 10.0))
CRITERIA = ScaleGrader({"clear": ("Can each step be followed?", 3.0), "brief": 1.0, "kind": "Is it?"}, (1.0, 5.0))


def test_a_key_depends_on_all_that_a_verdict_does():
    (plain,), (other,) = PLAIN.build_prompts("q", "a"), ScaleGrader("Is it clear?", (0.0, 5.0)).build_prompts("q", "a")
    prompts = [plain, other, PLAIN.build_ranking("q", ["a"]), *CRITERIA.build_prompts("q", "a")]
    prompts += [*PLAIN.build_prompts("q", "b"), *PLAIN.build_prompts("r", "a"), *PLAIN.build_prompts("q", "a", "a")]
    assert len({one.cache_key([model]) for one in prompts for model in ("m", "n")}) == 2 * len(prompts)
    assert plain.cache_key(["m"]) == PLAIN.build_prompts("q", "a")[0].cache_key(["m"])


def test_some_texts_are_nothing_to_grade():
    assert all(map(is_trivial, ["", " \n", "...", "Thought process:", "**Solution**", "解"]))
    assert not any(map(is_trivial, ["4", "∞", "The solution", "no", "√"]))


def test_a_score_is_a_share_of_the_scale():
    assert [read_verdict_value(score, (1.0, 5.0)) for score in (1, 3.0, 5)] == [0.0, 0.5, 1.0]
    for score in (0.99, 5.01, 10**400, float("nan"), True, "3", None):
        with pytest.raises(UnreadableReply):
            read_verdict_value(score, (1.0, 5.0))


def test_each_criterion_and_each_answer_has_one_score():
    (by_name,), ranked = CRITERIA.build_prompts("q", "a"), PLAIN.build_ranking("q", [*"abc"])
    given = {"criteria": {"brief": 1, "clear": 5, "kind": 5}, "score": 1}
    assert CRITERIA.grade([read_values(given, by_name)], "").score == 0.8
    assert read_values({"scores": {"2": 10, "1": 0, "3": 5}}, ranked) == {"1": 0.0, "2": 1.0, "3": 0.5}
    for criteria in ({"clear": 5}, {**given["criteria"], "more": 1}, None):
        with pytest.raises(
            UnreadableReply, match="criteria must be one for each of clear, brief, kind, and no others"
        ):
            read_values({"criteria": criteria, "score": 5}, by_name)
    for scores in ({"1": 1}, {"1": 1, "2": 1, "3": 1, "4": 1}, {"1": 1, "2": 1, "3": 11}, [1, 2, 3], None):
        with pytest.raises(UnreadableReply):
            read_values({"scores": scores}, ranked)


@pytest.mark.parametrize("count", [1, 3, 20, 45])
def test_a_report_shows_the_verdict_on_each_criterion(count):
    criteria = tuple(Criterion(f"{index:02}" + "x" * 3000, 10.0) for index in range(count))
    shown = CriteriaGrader(criteria, False).grade([dict.fromkeys(range(count), False)], "").verdicts
    assert len(shown) <= MAX_TEXT // 4 and re.findall(r"^not met \(\+10\): (\d\d)x{18,}\.\.\.$", shown, re.M) == [
        f"{index:02}" for index in range(count)
    ]
