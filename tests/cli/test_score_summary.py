"""The summary of scored completions: the numbers are right, the text fits a screen, and no completion breaks it."""

import json

import pytest
from rich.cells import cell_len

from trl_grpo_rewards import keywords, reward
from trl_grpo_rewards.cli.score import describe_scores, format_share, summarize_scores
from trl_grpo_rewards.records.files import Group
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


def summarize(tally, difference, has_details=False) -> str:
    return summarize_scores(describe_scores(tally, difference), has_details=has_details)


def test_a_reward_is_described_by_numbers_counted_by_hand():
    tally = tally_of(
        last_number(), group("1", "1", last_number=[1.0, 1.0]), group("0.1", "-", "4", last_number=[0.1, None, 3.0])
    )
    found = describe_scores(tally, None)
    (one, total) = found["rewards"]
    assert (found["groups"], found["dead_groups"], found["rows"], found["difference"]) == (2, 1, 5, None)
    assert one["mean"] == pytest.approx(1.525) and one["unscored"] == 1 and one["as_recorded"] == 0.6
    assert one["shares"] == [
        {"score": 0.1, "share": 0.25},
        {"score": 1.0, "share": 0.5},
        {"score": 4.0, "share": 0.25},
    ]
    assert one["quartiles"] == [0.1, 1.0, 1.0, 1.0, 4.0] and one["milliseconds"]["p50"] > 0
    assert total["name"] == "total" and total["milliseconds"] is total["as_recorded"] is None
    line = summarize(tally, None).splitlines()[1]
    assert line.split()[:3] == ["last_number", "1.525", "20.0%"] and "60.0%" in line
    assert "2 groups; 50.0% would be dead" in summarize(tally, None)


def test_rewards_without_a_score_are_null_in_json():
    found = describe_scores(tally_of(last_number(), group("-", "-")), None)
    assert json.loads(json.dumps(found, allow_nan=False))["rewards"][0]["mean"] is None
    assert found["rewards"][0]["quartiles"] is None and found["surprising"] == []
    assert "  -  100.0%" in summarize(tally_of(last_number(), group("-", "-")), None)


@reward
def first_number(completion: str) -> float:
    return float(completion.split()[0])


def test_details_are_whole():
    totals = ["0.3123", "0.8123", "1.1234", *["1.5123"] * 5]
    rewards = first_number(name="accuracy") + 0.5 * keywords(any=("none",), name="format")
    groups = [group(*totals, accuracy=[0.0] * 8) for _ in range(20)]
    shown, full = (summarize(tally_of(rewards, *groups), None, one) for one in (False, True))
    assert full.count("  0.3123: 12%, 0.8123: 12%, 1.123: 12%, 1.512: 62%") == 2 and shown.count("12%,") == 6
    assert shown.endswith("\n\n--details shows the table and all examples in full.") and "--details" not in full
    assert "q " * 59 in full and "..." not in full


@pytest.mark.parametrize(
    "share, said",
    [
        (0, "0%"), (0.001, "<1%"), (0.0099, "<1%"), (0.01, "1%"), (0.99, "99%"), (0.07, "7%"), (0.996, ">99%"),
        (1, "100%"),
    ],
)  # fmt: skip
def test_only_nothing_is_no_percent_and_only_everything_is_a_hundred(share, said):
    assert format_share(share) == said


def test_the_summary_fits_a_screen_whatever_was_written():
    rewards = last_number() + keywords(any=("7",), name="a_reward_with_a_long_name")
    groups = [group(HOSTILE, f"x {place}", "y 8", "z 9") for place in range(20)]
    tally, difference = tally_of(rewards, *groups), Difference()
    for new, old in zip(rescore(rewards, groups), rescore(0.5 * last_number(name="old"), groups), strict=True):
        difference.add(new, old)
    shown = summarize(tally, difference)
    assert all(cell_len(line) <= 80 for line in shown.splitlines()) and len(shown.splitlines()) <= 30
    assert "\x1b" not in shown and "\u202e" not in shown
    assert "rows that earn more:" in shown and "largest outliers" in shown
    assert summarize(tally, difference, True).count("q q q") > shown.count("q q q")
    found = describe_scores(tally, difference)["difference"]
    assert found["equal"] + found["more"] + found["less"] == 80 and found["examples"][0]["completion"] == HOSTILE
