"""What a reader sees first: a verdict, checks, a chart, and a text before and after."""

import json
import math
import random

import pytest

from helpers.made_runs import record, story, summed, written
from trl_grpo_rewards.diagnosis.table import Anomaly
from trl_grpo_rewards.records.runs import LogWriter, write_run
from trl_grpo_rewards.report.excerpts import Examples, find_typical
from trl_grpo_rewards.report.pages import write_page
from trl_grpo_rewards.report.summaries import find_anomalies, find_ends, measure_margin, name_worst, write_verdict
from trl_grpo_rewards.report.trends import compare_held_out


# --- verdict --------------------------------------------------------------------------------------------------------


def constant(scores, steps=2):
    return [(step, record({"boxed": scores})) for step in range(1, steps + 1)]


@pytest.mark.parametrize(
    ("stepped", "verdict"),
    [
        (
            [(1, record({"boxed": [0, 1, 0, 0]}))] * 4 + [(2, record({"boxed": [1, 1, 1, 1]}))] * 4,
            "In training, boxed rose from 25% to 100%. The share of solved training groups rose from 0% to 100%.",
        ),
        (
            [(1, record({"boxed": [1, 1]}))] * 4 + [(2, record({"boxed": [0, 0]}))] * 4,
            "In training, boxed fell from 100% to 0%. The share of solved training groups fell from 100% to 0%; 100% failed.",
        ),
        (
            [(step, record({"boxed": [1, right]})) for step in (1, 2) for right in (0, 0, 1, step - 1)],
            "In training, boxed went from 62% to 75%, which may be chance. The share of solved training groups went from"
            " 25% to 50%, which may be chance; 50% are live.",
        ),
        (
            [(1, record({"boxed": [0.25, 0.5]})), (2, record({"boxed": [0.5, 1.0]}))],
            "In training, boxed went from 0.38 to 0.75, which may be chance. No training group is solved at the end; 100%"
            " are live.",
        ),
        (constant([0.5, 0.5]), "In training, boxed stayed at 0.50. No training group is solved at the end; 100% are flat (equal rewards)."),
        (constant([1, 1], steps=1), "In training, boxed is 100%. The share of solved training groups is 100%."),
        (constant([None, None]), "No training group is solved at the end; 100% are unscored."),
    ],
    ids=["rises", "falls", "may be chance", "one group of no share", "flat", "one step", "unscored"],
)  # fmt: skip
def test_the_verdict_says_what_changed(stepped, verdict):
    run = summed(stepped)
    assert " ".join(write_verdict(run, find_ends(run), [])) == verdict


def test_held_out_problems_come_before_training_if_they_were_evaluated_twice():
    run = summed(constant([0, 1]))

    def evaluated(*values, dataset="", std=0.4, seconds=2.0):
        steps = [0, 2][: len(values)]
        log = [
            {"step": step, f"eval_{dataset and dataset + '_'}runtime": seconds, f"eval_{dataset and dataset + '_'}samples_per_second": 40 / seconds,
             "eval_rewards/boxed/mean": value, "eval_rewards/boxed/std": std}
            for step, value in zip(steps, values, strict=True)
        ]  # fmt: skip
        return compare_held_out(log)[0]

    def say(*held_out, rows=None):
        return write_verdict(run, find_ends(run), held_out, rows)[0]

    for std, told in ((0.1, "fell from 30% to 10%"), (0.7, "went from 30% to 10%, which may be chance")):
        assert say(evaluated(0.3, 0.1, std=std)) == f"On 40 held-out problems, boxed {told}."
    assert say(evaluated(0.3, 0.1, std=None)).endswith("which may be chance.")
    assert say(evaluated(0.3, 0.1, std=0.1, seconds=2000.0)).startswith("On about 40 held-out problems, boxed fell")
    for rows, told in (
        (20, "20 held-out problems, boxed rose"),
        (1, "1 held-out problem, boxed went"),
        ("a", "40 held-out problems, boxed rose"),
    ):
        assert say(evaluated(0.28, 0.91), rows={"": rows}).startswith(f"On {told} from 28% to 91%")
    assert say(evaluated(0.28)) == "In training, boxed stayed at 50%."
    assert say(evaluated(0.1), evaluated(0.2, 0.1, dataset="hard")) == (
        "On 40 held-out problems of hard, boxed went from 20% to 10%, which may be chance."
    )
    assert say(evaluated(None, 0.5)) == "In training, boxed stayed at 50%."


def test_the_margin_is_about_that_of_students_t():
    for counts, quantile in (((2, 2), 4.30), ((3, 3), 2.78), ((6, 6), 2.23), ((500, 500), 1.96)):
        assert 0.92 * quantile < measure_margin([0.6, 0.8], counts) < 1.1 * quantile
    assert measure_margin([0.0, 0.0], (1, 1)) == math.inf


def test_the_first_sentence_is_the_first_warning(tmp_path):
    (run,) = write_page(written(tmp_path, story((0.7, 0.3), (0.2, 0.9), (40, 120))), tmp_path / "report.html")
    titles = [one["title"] for one in run["anomalies"]]
    assert run["verdict"][0] == f"Warning: {titles[0]}, and {len(titles) - 1} more below." and len(titles) > 1
    assert name_worst([Anomaly(titles[0], "")]) == [f"Warning: {titles[0]}."] and name_worst([]) == []


# --- checks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "checks"), [(1, 0), (4, 0), (5, 5), (19, 5), (20, 12), (49, 13), (50, 14)])
def test_a_run_passes_the_checks_that_it_is_long_enough_to_fail(steps, checks):
    assert len(find_anomalies(summed(story(steps=steps)))[1]) == checks


def test_a_run_with_one_reward_has_fewer_checks():
    rng = random.Random(0)
    single = summed((step, record({"boxed": [rng.random() < 0.5, 0.0, 1.0]})) for step in range(1, 31))
    assert not any("rises while" in check for check in find_anomalies(single)[1])


# --- a text before and after ----------------------------------------------------------------------------------------


def collect(stepped):
    examples = Examples()
    for place, (step, one) in enumerate(stepped):
        examples.add({"step": step, "group": place, **one})
    return examples.describe()


def test_both_texts_are_typical_of_their_steps():
    def group(rights, prompt):
        return record({"boxed": rights}, prompt=prompt, completions=[f"{prompt}{place}" for place in range(4)])

    stepped = [
        (1, group([0, 0, 0, 1], "a")), (1, group([1, 1, 1, 1], "b")), (1, group([0, 1, 0, 0], "c")),
        (2, group([0, 0, 0, 0], "d")), (3, group([0, 1, 1, 1], "e")), (3, group([0, 0, 0, 0], "f")), (3, group([1, 1, 1, 0], "g")),
    ]  # fmt: skip
    before, after = collect(stepped)
    found = [(one["step"], one["group"], one["completion"][0][1], one["scores"]) for one in (before, after)]
    assert found == [(1, 0, "a0", [["boxed", 0]]), (3, 4, "e1", [["boxed", 1]])] and after["total"] == 1


def test_a_prompt_that_is_sampled_again_late_is_shown_twice():
    def stepped(again):
        prompts = {1: ["a", "b"], again: ["b"], 10: ["z"]}
        return [(step, record({"boxed": [1, 0]}, prompt=prompt)) for step in prompts for prompt in prompts[step]]

    assert [(one["step"], one["prompt"][0][1]) for one in collect(stepped(8))] == [(1, "b"), (8, "b")]
    assert [(one["step"], one["prompt"][0][1]) for one in collect(stepped(3))] == [(1, "a"), (10, "z")]


def test_there_is_no_pair_without_texts_or_scores_or_a_second_step():
    one, silent = record({"boxed": [1, 0]}), record({"boxed": [1, 0]}, text=False)
    unscored, odd = record({"boxed": [None, None]}), {"rewards": {}, "prompt_id": ""}
    for stepped in ([(1, one)], [(1, one), (2, silent)], [(1, unscored), (2, unscored)], [(1, odd), (2, odd)]):
        assert collect(stepped) == []
    assert len(collect([(1, one), (2, one)])) == 2


def test_the_typical_number_is_the_one_closest_to_the_mean():
    assert find_typical([0, 1, None, 5, 2.2, float("nan")]) == 4
    assert find_typical([3]) == 0


# --- the page -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (360, "dark")])
def test_verdict_checks_and_chart_are_on_the_first_screen_and_facts_are_folded(browser, logged, width, theme):
    browser.open(logged, width, theme)
    parts = ["#verdict", "#anomalies", "#kinds .chart", "#examples", "#numbers", "#details", "#charts", "#groups"]
    tops = browser.run(f"{json.dumps(parts)}.map(part => document.querySelector(part).getBoundingClientRect().top)")
    assert [*tops[:3], *tops[4:]] == sorted([*tops[:3], *tops[4:]]) and tops[2] < 900
    assert tops[3] < 900 or width < 1280
    assert browser.text("#verdict")[0].startswith("On 64 held-out problems, boxed rose from 25% to 75%. ")
    assert browser.text("#anomalies")[0] == "✓ 21 checks passed"
    assert not browser.run("document.querySelector('#details').open") and "versions" not in browser.text("main")[0]
    assert "start" not in browser.text("main")[0].lower().split()
    drawn = "[...document.querySelectorAll('.chart')].map(chart => chart.querySelectorAll('.trace, .hm image').length)"
    assert browser.run(drawn) == [2, 2, 2, 2, 3, 1, 6, 1, 1, 1]  # the last three: of the trainer's log
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(253, 253, 251)", "dark": "rgb(23, 24, 26)"}[theme]
    browser.assert_sound()


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["x/a", "x/b"], ["a", "b"]),
        (["one/out", "two/out"], ["one", "two"]),
        (["one/7/out", "two/8/out", "three"], ["one/7", "two/8", "three"]),
        (["one/out", "one/more/out"], ["out", "more"]),
    ],
)
def test_runs_are_named_by_the_shortest_part_that_differs(tmp_path, paths, names):
    runs = [written(tmp_path / path, story(steps=1, each=1)) for path in paths]
    assert [run["name"] for run in write_page(runs, tmp_path / "report.html")] == names


def test_the_same_run_twice_and_records_without_a_description_have_a_page(browser, tmp_path):
    """A run of an early version has neither a log nor a description."""
    old = written(tmp_path / "old", story(steps=3))
    page = tmp_path / "report.html"
    runs = write_page([old, old], page)
    assert [run["progress"] for run in runs] == [{"last": 3, "planned": None, "ended": False}] * 2
    browser.open(page, 390).assert_sound()


def test_a_run_that_stopped_early_says_so_until_it_is_known_to_have_ended(browser, tmp_path):
    write_run(tmp_path, {"rewards": "boxed()", "options": {"max_steps": 30}})
    written(tmp_path, story(steps=3))
    browser.open(tmp_path)
    assert browser.text("#end") == ["The records end at step 3 of 30."]
    assert browser.text("#latest") == ["Load the latest report"]
    LogWriter(tmp_path).start([{"step": 3, "train_runtime": 1.0}])
    browser.open(tmp_path)
    assert browser.text("#end") == browser.text("#latest") == [""]
    assert browser.run("document.querySelector('#about').textContent").startswith(
        "Finished at step 3 of 30, 12 groups of 8"
    )
