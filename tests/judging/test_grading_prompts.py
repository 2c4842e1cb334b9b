"""What a judge is sent: fences around the texts, the key of a verdict, and texts that are not worth a call."""

import pytest

from trl_grpo_rewards.judging.grading_prompts import Rubric, build_grading_prompt, build_ranking_prompt, is_trivial


PLAIN = Rubric("Is it clear?", (0.0, 10.0))
CRITERIA = Rubric({"clear": ("Can each step be followed?", 2.0), "brief": 1.0, "kind": "Is it kind?"}, (1.0, 5.0))


def test_criteria_have_weights_and_words():
    assert PLAIN.weights == {} and CRITERIA.weights == {"clear": 2.0, "brief": 1.0, "kind": 1.0}
    assert CRITERIA.wording.splitlines()[1:] == [
        "- clear: Can each step be followed?",
        "- brief",
        "- kind: Is it kind?",
    ]


def test_a_key_depends_on_all_that_a_verdict_does():
    sheets = [
        build_grading_prompt(PLAIN, "q", "a"), build_grading_prompt(PLAIN, "q", "b"),
        build_grading_prompt(PLAIN, "r", "a"), build_grading_prompt(PLAIN, "q", "a", reference="a"),
        build_grading_prompt(CRITERIA, "q", "a"), build_grading_prompt(Rubric("Is it clear?", (0.0, 5.0)), "q", "a"),
        build_ranking_prompt(PLAIN, "q", ["a"]),
    ]  # fmt: skip
    assert len({sheet.cache_key(["m"]) for sheet in sheets}) == len(sheets)
    assert sheets[0].cache_key(["m"]) != sheets[0].cache_key(["n"]) and sheets[0].cache_key(
        ["m"]
    ) == build_grading_prompt(PLAIN, "q", "a").cache_key(["m"])


@pytest.mark.parametrize("answer", ["", " \n", "...", "Thought process:", "**Solution**", "解"])
def test_there_is_nothing_to_grade(answer):
    assert is_trivial(answer)


@pytest.mark.parametrize("answer", ["4", "∞", "The solution", "no", "√"])
def test_there_is_something_to_grade(answer):
    assert not is_trivial(answer)
