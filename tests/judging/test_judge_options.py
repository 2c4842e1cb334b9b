"""Options of rewards that ask a judge: what is refused, with its remedy."""

import pytest

from helpers.judging import build_settings
from trl_grpo_rewards.judging.judge_options import SCALE, check_judge, is_criterion, is_rubric, list_columns
from trl_grpo_rewards.judging.settings import Settings
from trl_grpo_rewards.options import column, freeze


OPTIONS = {name: getattr(build_settings(), name) for name in Settings.__dataclass_fields__}


@pytest.mark.parametrize(
    "rubric, is_valid",
    [
        ("Is it clear?", True),
        (" ", False),
        (column("rubric"), True),
        ({"clear": ("Is it?", 2.0), "brief": 1.0, "kind": "Is it kind?"}, True),
        ({}, False),
        ({"clear": -1.0}, False),
        ({"": 1.0}, False),
    ],
)
def test_a_rubric_is_a_sentence_weighted_criteria_or_a_column(rubric, is_valid):
    assert is_rubric(freeze(rubric, "rubric")) is is_valid


def test_a_criterion_is_a_sentence_a_weight_or_both():
    assert all(map(is_criterion, ["Is it?", 2, ("Is it?", 2.0), (2.0, "Is it?")]))
    assert not any(map(is_criterion, ["", 0, True, (), ("a", "b"), (1.0, 2.0)]))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"dropout": 0.5}, "dropout=0.5 with rubric='r'. Leave it out, or set the rubric to column"),
        ({"separate": True}, "separate=True with rubric='r'. Leave it out"),
        ({"rubric": column("r"), "dropout": 1.0}, "dropout=1.0. Set it to a share from 0 to less than 1"),
        ({"rubric": column("r"), "scale": (0.0, 5.0)}, r"scale=\(0.0, 5.0\) with rubric=column\('r'\). Leave it out"),
        ({"scale": (1.0, 1.0)}, "Set it to the worst and the best score"),
    ],
)
def test_options_that_cannot_work_together_are_refused(options, message):
    with pytest.raises(ValueError, match=f"A judge cannot use .*{message}"):
        check_judge(**{"rubric": "r", "scale": SCALE, **OPTIONS, **options})
    check_judge(rubric=column("r"), scale=SCALE, separate=True, dropout=0.5, **OPTIONS)


def test_the_column_of_a_reference_is_needed_if_it_is_shown():
    assert list_columns(True, "answer") == {"answer"} and list_columns(False, "answer") == set()
