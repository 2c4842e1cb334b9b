"""The summary of scored completions: the numbers are right, the text fits a screen, and no completion breaks it."""

import json

import pytest

from trl_grpo_rewards import keywords, reward
from trl_grpo_rewards.cli.output import count_columns
from trl_grpo_rewards.cli.score_summary import describe, summarize
from trl_grpo_rewards.records.completions import Group
from trl_grpo_rewards.records.rescoring import Difference, Tally, rescore


HOSTILE = "\x1b[2J\x1b[31mred\u202e <b>\n\n日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語 7"


@reward
def last_number(completion: str) -> float | None:
    return None if completion.endswith("-") else float(completion.split()[-1])


def group(*texts, **recorded) -> Group:
    return Group({"completions": [*texts], "prompts": ["q " * 60] * len(texts)}, None, recorded)


def tally_of(rewards, *groups) -> Tally:
    tally = Tally()
    for one in rescore(rewards, groups):
        tally.add(one)
    return tally


def test_a_reward_is_described_by_numbers_counted_by_hand():
    tally = tally_of(
        last_number(), group("1", "1", last_number=[1.0, 1.0]), group("0.1", "-", "4", last_number=[0.1, None, 3.0])
    )
    found = describe(tally, None)
    (one, total) = found["rewards"]
    assert (found["groups"], found["dead_groups"], found["rows"], found["difference"]) == (2, 1, 5, None)
    assert one["mean"] == pytest.approx(1.525) and one["unscored"] == 1 and one["as_recorded"] == 0.6
    assert one["quartiles"] == [0.1, 1.0, 1.0, 1.0, 4.0] and one["milliseconds"]["p50"] > 0
    assert total["name"] == "total" and total["milliseconds"] is total["as_recorded"] is None
    line = summarize(tally, None, has_details=False).splitlines()[1]
    assert line.split()[:3] == ["last_number", "1.525", "20.0%"] and "60.0%" in line
    assert "2 groups; 50.0% would be dead" in summarize(tally, None, has_details=False)


def test_rewards_without_a_score_are_null_in_json():
    found = describe(tally_of(last_number(), group("-", "-")), None)
    assert json.loads(json.dumps(found, allow_nan=False))["rewards"][0]["mean"] is None
    assert found["rewards"][0]["quartiles"] is None and found["surprising"] == []
    assert "  -  100.0%" in summarize(tally_of(last_number(), group("-", "-")), None, has_details=False)


@pytest.mark.parametrize("terms", [1, 5, 30])
def test_the_summary_fits_a_screen_whatever_was_written(terms):
    rewards = last_number()
    for place in range(terms):
        rewards = rewards + keywords(any=("7",), name=f"a_reward_with_a_long_name_{place}")
    groups = [group(HOSTILE, f"x {place}", "y 8", "z 9") for place in range(20)]
    tally, difference = tally_of(rewards, *groups), Difference()
    for new, old in zip(rescore(rewards, groups), rescore(0.5 * last_number(name="old"), groups), strict=True):
        difference.add(new, old)
    shown = summarize(tally, difference, has_details=False)
    assert all(count_columns(line) <= 80 for line in shown.splitlines())
    assert len(shown.splitlines()) <= 23 or terms == 30  # a line for each reward
    assert "\x1b" not in shown and "\u202e" not in shown
    if terms < 30:
        assert "rows that earn more:" in shown and "most surprising" in shown
    full = summarize(tally, difference, has_details=True)
    assert full.count("q q q") > shown.count("q q q")
    found = describe(tally, difference)["difference"]
    assert found["equal"] + found["more"] + found["less"] == 80 and found["examples"][0]["completion"] == HOSTILE
