"""What a reader sees first: a verdict, checks, a chart, and a text before and after."""

import json
import random

import pytest

from helpers.browser import until
from helpers.made_runs import EVIL, record, story, summed, written
from trl_grpo_rewards.records.logs import LogWriter
from trl_grpo_rewards.records.runs import write_run
from trl_grpo_rewards.report import write_report
from trl_grpo_rewards.report.anomalies import run_checks
from trl_grpo_rewards.report.examples import Examples, find_typical
from trl_grpo_rewards.report.pages import write_page
from trl_grpo_rewards.report.summaries import find_ends
from trl_grpo_rewards.report.verdicts import write_verdict


# --- verdict --------------------------------------------------------------------------------------------------------


def constant(scores, steps=2):
    return [(step, record({"boxed": scores})) for step in range(1, steps + 1)]


@pytest.mark.parametrize(
    ("stepped", "verdict"),
    [
        (
            [(1, record({"boxed": [0, 1, 0, 0]})), (2, record({"boxed": [1, 1, 1, 1]}))],
            "In training, boxed rose from 25% to 100%. The share of solved training groups rose from 0% to 100%.",
        ),
        (
            [(1, record({"boxed": [1, 1]})), (2, record({"boxed": [0, 0]}))],
            "In training, boxed fell from 100% to 0%. The share of solved training groups fell from 100% to 0%; 100% failed.",
        ),
        (
            [(1, record({"boxed": [0.25, 0.5]})), (2, record({"boxed": [0.5, 1.0]}))],
            "In training, boxed rose from 0.38 to 0.75. No training group is solved at the end; 100% are live.",
        ),
        (constant([0.5, 0.5]), "In training, boxed stayed at 0.50. No training group is solved at the end; 100% are flat (equal rewards)."),
        (constant([1, 1], steps=1), "In training, boxed is 100%. The share of solved training groups is 100%."),
        (constant([None, None]), "No training group is solved at the end; 100% are unscored."),
    ],
    ids=["rises", "falls", "no share", "flat", "one step", "unscored"],
)  # fmt: skip
def test_the_verdict_says_what_changed(stepped, verdict):
    run = summed(stepped)
    assert " ".join(write_verdict(run, find_ends(run), [])) == verdict


def test_held_out_problems_come_before_training_if_they_were_evaluated_twice():
    run = summed(constant([0, 1]))

    def evaluated(*values, dataset=""):
        steps = [0, 2][: len(values)]
        return {
            "dataset": dataset, "evaluations": len(steps), "steps": [0, 2], "values": [("boxed", [values[0], values[-1]])],
        }  # fmt: skip

    def say(*held_out, rows=None):
        return write_verdict(run, find_ends(run), held_out, rows)[0]

    assert say(evaluated(0.28, 0.91)) == "On held-out problems, boxed rose from 28% to 91%."
    for rows, where in (
        ({"": 20}, "20 held-out problems"),
        ({"": 1}, "1 held-out problem"),
        ({"": "a"}, "held-out problems"),
    ):
        assert say(evaluated(0.28, 0.91), rows=rows) == f"On {where}, boxed rose from 28% to 91%."
    assert say(evaluated(0.28)) == "In training, boxed stayed at 50%."
    assert say(evaluated(0.1), evaluated(0.2, 0.1, dataset="hard")) == (
        "On held-out problems of hard, boxed fell from 20% to 10%."
    )
    assert say(evaluated(None, 0.5)) == "In training, boxed stayed at 50%."


# --- checks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "checks"), [(1, 0), (4, 0), (5, 1), (19, 1), (20, 5), (49, 5), (50, 7)])
def test_a_run_passes_the_checks_that_it_is_long_enough_to_fail(steps, checks):
    assert len(run_checks(summed(story(steps=steps)))) == checks


def test_a_run_with_one_reward_has_fewer_checks():
    rng = random.Random(0)
    single = summed((step, record({"boxed": [rng.random() < 0.5, 0.0, 1.0]})) for step in range(1, 31))
    assert not any("rises while" in check for check in run_checks(single))


def test_warnings_are_on_the_page_and_passed_checks_on_demand(browser, hacked):
    browser.open(hacked, 360)
    assert browser.text("#anomalies strong") == ["style rises while boxed falls"]
    assert browser.text("#anomalies summary") == ["✓ 6 checks passed"]
    assert not any(browser.text("#anomalies details li"))
    browser.focus("#anomalies summary")
    browser.press("\ue007")
    until(lambda: any(browser.text("#anomalies details li")))
    passed = browser.text("#anomalies details li")
    assert len(passed) == 6 and "No reward rises while boxed falls." not in passed
    browser.assert_sound(hacked)


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
    assert (before["step"], before["group"], before["completion"][0][1], before["scores"]) == (
        1,
        0,
        "a0",
        [["boxed", 0]],
    )
    assert (after["step"], after["group"], after["completion"][0][1], after["total"]) == (3, 4, "e1", 1)


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


def test_the_pair_on_the_page_leads_to_its_groups_and_runs_nothing(browser, tmp_path):
    said = f"It begins here, {EVIL}.\n\n" + "Then it goes on.\n" * 60 + "So the answer is \\boxed{7}."
    stepped = [(1, record({"boxed": [1, 0]}, prompt=EVIL, completions=[EVIL, said]))]
    stepped.append((30, record({"boxed": [1, 1]}, prompt=EVIL, completions=[said] * 2)))
    page = write_report(written(tmp_path, stepped), tmp_path / "report.html")
    browser.open(page, 390)
    assert browser.text("#examples h3") == ["Step 1", "Step 30"]
    first, second = browser.run("[...document.querySelectorAll('#examples .message')].map(one => one.textContent)")
    assert first == EVIL and second.startswith("It begins here, <script>document.title")
    assert " […] " in second and second.endswith("So the answer is \\boxed{7}.") and len(second) < 300
    assert browser.count("img, #examples script") == 0
    browser.focus("#examples article:last-child a")
    browser.press("\ue007")
    until(lambda: "".join(browser.text("#group h2")).startswith("Step 30, group 0"))
    whole = browser.run("[...document.querySelectorAll('#group article .message')].map(one => one.textContent)")
    assert whole == [said] and browser.text("#group article h3") == ["Completion 1 × 2"]
    browser.assert_sound(page)


# --- the page -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1280, 390])
def test_verdict_checks_and_chart_are_on_the_first_screen_and_facts_are_folded(browser, logged, width):
    browser.open(logged, width)
    parts = ["#verdict", "#anomalies", "#kinds .chart", "#examples", "#numbers", "#details", "#charts", "#groups"]
    tops = browser.run(f"{json.dumps(parts)}.map(part => document.querySelector(part).getBoundingClientRect().top)")
    assert [*tops[:3], *tops[4:]] == sorted([*tops[:3], *tops[4:]]) and tops[2] < 900
    assert tops[3] < 900 or width < 1280
    assert browser.text("#verdict")[0].startswith("On held-out problems, boxed rose from 25% to 75%. ")
    assert not browser.run("document.querySelector('#details').open") and "versions" not in browser.text("main")[0]
    assert "start" not in browser.text("main")[0].lower().split()
    browser.assert_sound(logged)


@pytest.mark.parametrize("moves", [False, True])
def test_only_what_moves_is_drawn(browser, tmp_path, moves):
    writer = LogWriter(tmp_path)
    writer.start([{"step": step, "learning_rate": 0.5 + moves * step} for step in range(1, 5)])
    stepped = [(step, record({"boxed": [0, 1, moves * (step > 2)]})) for step in range(1, 5)]
    browser.open(write_report(written(tmp_path, stepped), tmp_path / "report.html"))
    assert (browser.text("#learning_rate h3") == ["Learning rate"]) is moves
    assert (browser.text("#reward h2") == ["Total reward and its spread"]) is moves
    assert ("Learning rate 0.50" in browser.text("#still")[0]) is not moves


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
    runs = write_page([old, old], tmp_path / "report.html")
    assert [run["progress"] for run in runs] == [{"last": 3, "planned": None, "ended": False}] * 2
    browser.open(tmp_path / "report.html", 390).assert_sound(tmp_path / "report.html")


def test_a_run_that_stopped_early_says_so_until_it_is_known_to_have_ended(browser, tmp_path):
    write_run(tmp_path, {"rewards": "boxed()", "options": {"max_steps": 30}})
    written(tmp_path, story(steps=3))
    browser.open(write_report(tmp_path, tmp_path / "report.html"))
    assert browser.text("#end") == ["The records end at step 3 of 30."]
    assert browser.text("#latest") == ["Load the latest report"]
    LogWriter(tmp_path).start([{"step": 3, "train_runtime": 1.0}])
    browser.open(write_report(tmp_path, tmp_path / "report.html"))
    assert browser.text("#end") == browser.text("#latest") == [""]
    assert browser.run("document.querySelector('#about').textContent").startswith(
        "Finished at step 3 of 30, 12 groups of 8"
    )
