"""Options of rewards that ask a judge: what is refused, with its remedy."""

import pytest

from trl_grpo_rewards import column, judge, ranking
from trl_grpo_rewards.judging.settings import list_columns


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""}, {"rubric": " "}, {"rubric": {}}, {"rubric": {"a": -1.0}}, {"rubric": {"a": ("b", "c")}},
        {"scale": (10, 0)},
        {"model": " "}, {"rubric": {"a": ""}}, {"base_url": "localhost:8000/v1"}, {"api_key_env": "sk-1234"},
        {"request": {"stream": True}}, {"cache": ""}, {"rubric": {"": 1.0}}, {"rubric": {"a": 0}},
        {"rubric": {"a": True}}, {"rubric": {"a": ()}}, {"rubric": {"a": (1.0, 2.0)}}, {"scale": (1.0, 1.0)},
        {"rubric": column("r"), "scale": (0, 5)},
    ],
)  # fmt: skip
def test_judge_refuses_what_cannot_work(options):
    with pytest.raises(ValueError, match="A judge cannot use .*\\. ") as caught:
        judge(**{"model": "m", "rubric": "r", **options})
    assert "sk-1234" not in str(caught.value)


@pytest.mark.parametrize("option", [{"dropout": 0.5}, {"separate": True}])
def test_options_of_columns_are_refused_without_one(option):
    with pytest.raises(ValueError, match=r"with rubric='Is it clear\?'. Leave it out, or set the rubric to column"):
        judge("m", "Is it clear?", **option)
    with pytest.raises(TypeError, match="'rubric' of 'ranking' must be of type str; got column"):
        ranking("m", column("rubric"))
    judge("m", column("rubric"), **option)


def test_a_criterion_is_a_sentence_a_weight_or_both():
    judge("m", {"clear": "Is it?", "brief": 2, "kind": ("Is it?", 2.0), "whole": (2.0, "Is it?")})


def test_the_column_of_a_reference_is_needed_if_it_is_shown():
    assert list_columns(True, "answer") == {"answer"} and list_columns(False, "answer") == set()
