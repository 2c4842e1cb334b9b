"""The numbers of a report and its warnings, from the records of a run."""

import json
import random

import pytest
import torch

from helpers.made_runs import record, story, summed
from trl_grpo_rewards.records.fields import is_record
from trl_grpo_rewards.report import summaries
from trl_grpo_rewards.report.excerpts import Excerpts, round_numbers
from trl_grpo_rewards.report.summaries import chart_columns
from trl_grpo_rewards.report.trends import MAX_POINTS, PASS_BANDS, PromptHistories, build_heatmap, find_pass_band
from trl_grpo_rewards.training.groups import compute_signal


def find_anomalies(run):
    return summaries.find_anomalies(run)[0]


# --- numbers --------------------------------------------------------------------------------------------------------


def test_the_columns_of_the_charts_equal_a_hand_count():
    weights = {"boxed": 1.0, "tags": 0.5}
    stepped = [
        (1, record({"boxed": [1, 0], "tags": [1, 1]}, weights=weights, lengths=[3, 9])),
        (1, record({"boxed": [0, 0], "tags": [0, 0]}, weights=weights)),
        (2, record({"boxed": [1, 1], "tags": [1, 0]}, weights=weights)),
        (3, record({"boxed": [None, None], "tags": [None, None]}, weights=weights)),
    ]
    assert round_numbers(chart_columns(summed(stepped))) == {
        "steps": [[1, 1], [2, 2], [3, 3]],
        "kinds": [
            ["solved", [0.0, 0.0, 0.0]],
            ["live", [0.5, 1.0, 0.0]],
            ["failed", [0.5, 0.0, 0.0]],
            ["flat", [0.0, 0.0, 0.0]],
            ["unscored", [0.0, 0.0, 1.0]],
        ],
        "bands": [
            ["none right", [0.5, 0.0, None]],
            ["up to 25%", [0.0, 0.0, None]],
            ["up to 50%", [0.5, 0.0, None]],
            ["up to 75%", [0.0, 0.0, None]],
            ["over 75%", [0.0, 0.0, None]],
            ["all right", [0.0, 1.0, None]],
        ],
        "mean": [0.5, 1.25, None],  # (1.5 + 0.5 + 0 + 0) / 4
        "spread": [0.5, 0.5, None],
        "rewards": [["boxed", [0.25, 1.0, None]], ["tags", [0.5, 0.5, None]]],
        "signal": [["boxed", [1.0, 0.0, None]], ["tags", [0.0, 1.0, None]]],
        "length": [5.0, 4.0, 4.0],
        "shortest": [3, 4, 4],
        "longest": [9, 4, 4],
        "truncated": [0.0, 0.0, 0.0],
        "tokens": [20, 8, 8],
    }


def test_the_signal_is_that_of_the_trainer():
    rng = random.Random(1)
    scores = torch.tensor([[[rng.gauss(0, 1) for _ in range(3)] for _ in range(4)] for _ in range(6)])
    scores[0, 1, 2] = scores[1, 0, 0] = torch.nan
    scores[2, 3] = torch.nan
    weights = {"a": 1.0, "b": -0.5, "c": 2.0}
    values = [[[None if one != one else one for one in row] for row in group] for group in scores.tolist()]
    stepped = [(1, record(dict(zip("abc", zip(*rows, strict=True), strict=True)), weights=weights)) for rows in values]
    expected = compute_signal(scores, torch.tensor([*weights.values()])).tolist()
    assert summed(stepped).points[[f"groups/signal/{name}" for name in "abc"]].to_numpy()[0] == pytest.approx(expected)


def test_a_long_run_has_few_points_and_the_same_sums():
    one = record({"boxed": [1, 0]})
    run = summed((step, one) for step in range(1, 1025))
    assert run.points[["first", "last"]].to_numpy().tolist() == [[at, at + 15] for at in range(1, 1024, 16)]
    assert MAX_POINTS / 2 < len(run.points) <= MAX_POINTS
    assert {*run.points["completions"]} == {32} and {*run.points["rewards/boxed/mean"]} == {0.5}


def test_the_outcome_is_the_reward_that_the_run_named():
    stepped = [(step, record({"style": [1, 1], "boxed": [1, 0]}, decides="boxed")) for step in (1, 2)]
    run = summed(stepped)
    assert run.outcome == "boxed" and dict(chart_columns(run)["bands"])["up to 50%"] == [1.0, 1.0]


def test_prompts_are_sorted_by_when_they_were_solved():
    prompts = PromptHistories()
    for step, prompt, scores in [
        (1, "a", [0, 0]), (1, "b", [1, 0]), (2, "c", [0, 0]), (3, "a", [1, 1]), (4, "b", [1, 1]), (4, "c", [0, 1]),
        (5, "a", [1, 0]),
    ]:  # fmt: skip
        prompts.add({"step": step, **record({"boxed": scores}, prompt=prompt)})
    heat = build_heatmap(prompts)
    assert heat["prompts"] == [["a", 3], ["b", 4], ["c", None]]
    rates = [[0, 0, 1, 1, 0.5], [0.5, 0.5, 0.5, 1, 1], [None, 0, 0, 0.5, 0.5]]
    assert round_numbers(heat["rates"]) == rates


@pytest.mark.parametrize(("repeated", "rows"), [(0, 0), (1, 0), (9, 0), (10, 10)])
def test_prompts_are_followed_only_where_they_are_asked_again(repeated, rows):
    """A tenth of them must be, and in another step: groups of one step say nothing about learning."""
    prompts = PromptHistories()
    for place in range(100):
        prompts.add({"step": 1, **record({"boxed": [1, 0]}, prompt=str(place))})
        prompts.add({"step": 1, **record({"boxed": [1, 0]}, prompt=str(place))})
    for place in range(repeated):
        prompts.add({"step": 2, **record({"boxed": [1, 1]}, prompt=str(place))})
    assert len(build_heatmap(prompts)["prompts"]) == rows


def test_prompts_of_an_environment_are_told_apart_by_their_columns():
    prompts = PromptHistories()
    for step in (1, 2):
        for secret in range(3):
            one = record({"boxed": [secret, 0]}, prompt="Guess.")
            prompts.add({"step": step, **one, "columns": {"secret": secret}})
    assert len(prompts.labels) == 3 and sorted(build_heatmap(prompts)["rates"]) == [[0, 0], [0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(("passed", "band"), [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3), (7, 4), (8, 5)])
def test_the_range_of_a_pass_rate(passed, band):
    assert find_pass_band(passed, 8) == PASS_BANDS[band]


def test_groups_are_sampled_within_a_budget(monkeypatch):
    monkeypatch.setattr("trl_grpo_rewards.report.excerpts.MAX_BYTES", 20_000)
    excerpts = Excerpts()
    for step in range(1, 401):
        one = record({"boxed": [1.0, 0.0], "style": [0.0, 3.0 if step == 150 else 0.1 * (step % 2)]})
        excerpts.add({"step": step, "group": 0, **one})
    steps = [json.loads(text)["step"] for text in excerpts.to_json()]
    assert steps == sorted(set(steps)) and len("".join(excerpts.to_json())) <= 60_000
    assert steps[-10:] == list(range(391, 401)) and 150 in steps and sum(step < 200 for step in steps) > 5


def test_long_texts_lose_their_middle_and_odd_ones_are_shown():
    odd = [[{"role": "assistant", "content": [{"type": "image"}, {"type": "text", "text": "seen"}]}], None, {"a": 1}]
    one = record({"boxed": [1, 0, 0, 0]}, completions=["x" * 9000 + "end", *odd])
    excerpts = Excerpts()
    excerpts.add({"step": 1, **one})
    texts = [turns[0][1] if turns else None for turns in json.loads(excerpts.to_json()[0])["completions"]]
    assert "… 1,003 characters left out …" in texts[0] and texts[0].endswith("end") and len(texts[0]) < 8100
    assert texts[1:] == ["[image]seen", None, '{"a": 1}']


# --- warnings -------------------------------------------------------------------------------------------------------

STORIES = {
    "healthy": ({}, []),
    "healthy and longer": ({"tokens": (40, 120), "alike": (0.0, 0.9)}, []),
    "healthy from the start": ({"right": (0.9, 0.95), "style": (0.9, 0.9), "alike": (0.4, 0.9)}, []),
    "standing still": ({"style": (1, 1)}, ["style has a large weight but little signal"]),
    "hacked": ({"right": (0.7, 0.3), "style": (0.2, 0.9)}, ["style rises while boxed falls"]),
    "rambling": (
        {"right": (0.7, 0.3), "style": (0.5, 0.5), "tokens": (40, 120)},
        ["Completions grow longer and worse"],
    ),
    "collapsing": ({"right": (0.3, 0.3), "alike": (0.1, 0.9)}, ["Completions become duplicates"]),
    "short": ({"style": (1, 1), "steps": 15}, []),
}


@pytest.mark.parametrize("name", STORIES)
def test_warnings_say_what_is_wrong_and_nothing_else(name):
    options, expected = STORIES[name]
    found = find_anomalies(summed(story(**options)))
    assert [one.title for one in found] == expected
    assert all("steps 1–100" in one.details or "steps 91–100" in one.details for one in found)


@pytest.mark.parametrize("steps", [5, 30, 60])
@pytest.mark.parametrize("score", [0.0, 0.5, None])
def test_an_outcome_that_ends_without_a_lesson_is_one_warning(steps, score):
    healthy = [(step, record({"boxed": [1.0, 0.0], "style": [0.0, 0.5]})) for step in range(1, 6)]
    dead = [
        (step, record({"boxed": [score] * 2, "style": [0.0, 1.0 + place]}))
        for step in range(6, 6 + steps)
        for place in range(4)
    ]
    (found,) = [one for one in find_anomalies(summed(healthy + dead)) if one.title.startswith("boxed")]
    if score is None and steps > 5:
        assert found.title == "boxed gives no score"
        return
    assert found.title == "boxed gives no signal at the end"
    assert found.details.startswith(
        f"boxed was the same for all completions of each prompt in steps 6–{5 + steps}, so only other rewards"
    )
    assert not find_anomalies(summed(healthy + dead[:4] + healthy))


def test_a_few_dead_steps_are_to_be_expected_in_a_long_run():
    stepped = [(step, record({"boxed": [step < 96, 0]})) for step in range(1, 101) for _ in range(4)]
    assert not find_anomalies(summed(stepped))
    (found,) = find_anomalies(summed([(step, one) for step, one in stepped if step > 50]))
    assert "in steps 96–100, so nothing was learned: 20 of 20 groups were 'failed'" in found.details
    constant = [(step, record({"boxed": [0, 0]})) for step in range(1, 61)]
    (found,) = find_anomalies(summed(constant + [(step + 60, one) for step, one in stepped]))
    assert found.title == "boxed is constant" and "steps 1–60" in found.details


def test_a_group_is_dead_by_the_tolerance_of_its_run():
    close = {"boxed": [0.5, 0.505], "style": [0.0, 1.0]}
    for tolerance, titles in ((0.01, ["boxed gives no signal at the end"]), (0.001, [])):
        stepped = (
            (step, {**record(close), "outcome": "live", "tolerance": tolerance})
            for step in range(1, 10)
            for _ in range(4)
        )
        assert [one.title for one in find_anomalies(summed(stepped))] == titles


def test_a_run_of_version_0_2_with_a_witness_is_still_read():
    """Its scores are a field of their own."""
    old = ((step, one | {"witness": [0.5] * len(one["total"])}) for step, one in story())
    assert all(is_record({"step": step, "group": 0, **one}) for step, one in old)
    assert not find_anomalies(summed(old))


def test_a_warning_names_steps_and_numbers():
    stepped = ((step, record({"boxed": [step % 2, 0], "tags": [0.5, 0.5]})) for step in range(1, 61))
    (found,) = find_anomalies(summed(stepped))
    assert found.title == "tags is constant"
    assert found.details.startswith("It was 0.5 for every completion in steps 1–60. ")


def test_a_reward_that_was_learned_causes_no_warning():
    """Neither the outcome nor another one."""
    solved = (
        (step, record({"boxed": [1.0, float(step > 9 or place == 3)]})) for step in range(1, 90) for place in range(4)
    )
    tags = ([float(step > 20 or step % 3 == 0), 1.0] for step in range(1, 101))
    other = ((step, record({"boxed": [1, step % 2], "tags": one})) for step, one in enumerate(tags, 1))
    assert find_anomalies(summed(solved)) == find_anomalies(summed(other)) == []


def test_a_heavy_reward_without_signal_and_one_without_scores():
    rng = random.Random(0)
    stepped = [
        (step, record({"boxed": [rng.random() < 0.5, 0, 1], "fine": [0.01 * (step % 2), 0, 0], "judge": [None] * 3}))
        for step in range(1, 101)
    ]
    found = {one.title: one.details for one in find_anomalies(summed(stepped))}
    assert {*found} == {"judge gives no score", "fine has a large weight but little signal"}
    assert "33% of the weight and" in found["fine has a large weight but little signal"]
    assert "steps 1–100" in found["judge gives no score"]
