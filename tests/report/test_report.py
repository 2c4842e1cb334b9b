"""The report of a run, from its records to what a browser shows of it."""

import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from helpers.reward_functions import lengths_of_some
from helpers.runs import train_and_read
from trl_grpo_rewards import boxed
from trl_grpo_rewards.records.fields import Rule, describe_groups, pack_rows
from trl_grpo_rewards.records.files import GroupWriter
from trl_grpo_rewards.records.kinds import is_dead, kind_of_group
from trl_grpo_rewards.report import write_report
from trl_grpo_rewards.report.anomalies import find_anomalies
from trl_grpo_rewards.report.excerpts import Excerpts
from trl_grpo_rewards.report.pages import chart_columns
from trl_grpo_rewards.report.pass_rates import PromptSample, build_heatmap, compare_group_sizes, evaluate_size
from trl_grpo_rewards.report.trends import MAX_POINTS, Run
from trl_grpo_rewards.training import group_statistics


EVIL = "<script>document.title='hacked'</script></script><img src=x onerror=\"document.title='hacked'\">\u2028&amp;"


def record(
    scores,
    *,
    prompt="What is 3 + 4?",
    completions=None,
    weights=None,
    lengths=None,
    alike=False,
    decides=None,
    text=True,
):
    """What the trainer writes of a group with these scores, a list for each reward."""
    weights = weights or dict.fromkeys(scores, 1.0)
    rows = [list(row) for row in zip(*scores.values(), strict=True)]
    totals = [
        None if row == [None] * len(row) else sum(w * (s or 0.0) for w, s in zip(weights.values(), row, strict=True))
        for row in rows
    ]
    known = [total for total in totals if total is not None]
    mean = sum(known) / len(known) if known else 0.0
    ids = [
        [5] * (length - 1 if alike else max(length - 2, 0)) + ([] if alike else [place]) + [1]
        for place, length in enumerate(lengths or [4] * len(rows))
    ]
    said = completions or [f"{place}: \\boxed{{7}}" for place in range(len(rows))]
    inputs = [{"prompt": prompt, "solution": "7"}] * len(rows)
    records = describe_groups(
        pack_rows(inputs, [prompt] * len(rows), said, ids, {1}, text),
        rows,
        weights,
        totals,
        [0.0 if total is None else total - mean for total in totals],
        [kind_of_group(is_dead(totals), totals, [row[0] for row in rows])],
        Rule(decides or next(iter(scores))),
        [sum(ids.count(one) > 1 for one in ids)],
    )
    return next(records)


def story(right=(0.2, 0.9), style=(0.4, 0.8), tokens=(40, 40), alike=(0, 0), *, steps=100, size=8, each=4, **options):
    """A made-up run: how its pass rate, another reward, the lengths and the share of duplicates go from start to end."""
    rng = random.Random(0)
    for step in range(1, steps + 1):
        at = step / steps
        now = [start + (end - start) * at for start, end in (right, style, tokens, alike)]
        for place in range(each):
            passed = [float(rng.random() < now[0]) for _ in range(size)]
            styled = [float(rng.random() < now[1]) for _ in range(size)]
            lengths = [round(now[2] * rng.uniform(0.8, 1.2)) for _ in range(size)]
            yield (
                step,
                record(
                    {"boxed": passed, "style": styled},
                    prompt=f"What is {(step * each + place) % 40} + 4?",
                    lengths=[round(now[2])] * size if (same := rng.random() < now[3]) else lengths,
                    alike=same,
                    **options,
                ),
            )


def written(folder: Path, stepped: Iterator) -> Path:
    writer = GroupWriter(folder)
    for step, one in stepped:
        writer.write(step, [one])
    return folder


def summed(stepped: Iterator) -> Run:
    run = Run()
    for step, one in stepped:
        run.add({"step": step, "group": 0, **one})
    run.end_step()
    return run


# --- numbers --------------------------------------------------------------------------------------------------------


def test_the_columns_of_the_charts_equal_a_hand_count():
    weights = {"boxed": 1.0, "tags": 0.5}
    stepped = [
        (1, record({"boxed": [1, 0], "tags": [1, 1]}, weights=weights, lengths=[3, 9])),
        (1, record({"boxed": [0, 0], "tags": [0, 0]}, weights=weights)),
        (2, record({"boxed": [1, 1], "tags": [1, 0]}, weights=weights)),
        (3, record({"boxed": [None, None], "tags": [None, None]}, weights=weights)),
    ]
    assert chart_columns(summed(stepped)) == {
        "steps": [[1, 1], [2, 2], [3, 3]],
        "kinds": [
            ["live", [0.5, 1.0, 0.0]],
            ["solved", [0.0, 0.0, 0.0]],
            ["failed", [0.5, 0.0, 0.0]],
            ["flat", [0.0, 0.0, 0.0]],
            ["unscored", [0.0, 0.0, 1.0]],
        ],
        "mean": [0.5, 1.25, None],  # (1.5 + 0.5 + 0 + 0) / 4
        "spread": [0.5, 0.5, None],
        "rewards": [["boxed", [0.25, 1.0, None]], ["tags", [0.5, 0.5, None]]],
        "signal": [["boxed", [1.0, 0.0, None]], ["tags", [0.0, 1.0, None]]],
        "length": [5.0, 4.0, 4.0],
        "shortest": [3, 4, 4],
        "longest": [9, 4, 4],
        "truncated": [0.0, 0.0, 0.0],
    }


def test_the_signal_is_that_of_the_trainer():
    rng = random.Random(1)
    scores = torch.tensor([[[rng.gauss(0, 1) for _ in range(3)] for _ in range(4)] for _ in range(6)])
    scores[0, 1, 2] = scores[1, 0, 0] = torch.nan
    scores[2, 3] = torch.nan
    weights = {"a": 1.0, "b": -0.5, "c": 2.0}
    values = [[[None if one != one else one for one in row] for row in group] for group in scores.tolist()]
    stepped = [(1, record(dict(zip("abc", zip(*rows, strict=True), strict=True)), weights=weights)) for rows in values]
    expected = group_statistics.compute_signal(scores, torch.tensor([*weights.values()])).tolist()
    assert [summed(stepped).whole.signal(name) for name in "abc"] == pytest.approx(expected)


def test_a_long_run_has_few_points_and_the_same_sums():
    run = summed(story(steps=1024, each=1, size=2))
    bins = list(run.points)
    assert [(one.first, one.last) for one in bins] == [(at, at + 15) for at in range(1, 1024, 16)]
    assert sum(one.sums["groups"] for one in bins) == run.whole.sums["groups"] == 1024
    assert MAX_POINTS / 2 < len(bins) <= MAX_POINTS


def test_the_outcome_is_the_reward_that_the_run_named():
    stepped = [(step, record({"style": [1, 1], "boxed": [1, 0]}, decides="boxed")) for step in (1, 2)]
    assert summed(stepped).outcome == "boxed" and summed(stepped).whole.mean("pass") == 0.5


def test_prompts_are_sorted_by_when_they_were_solved():
    prompts = PromptSample()
    for step, prompt, scores in [
        (1, "a", [0, 0]), (1, "b", [1, 0]), (2, "c", [0, 0]), (3, "a", [1, 1]), (4, "b", [1, 1]), (4, "c", [0, 1]),
        (5, "a", [1, 0]),
    ]:  # fmt: skip
        prompts.add({"step": step, **record({"boxed": scores}, prompt=prompt)})
    heat = build_heatmap(prompts)
    assert heat["prompts"] == [["a", 3], ["b", 4], ["c", None]]
    assert heat["rates"] == [[0, 0, 1, 1, 0.5], [0.5, 0.5, 0.5, 1, 1], [None, 0, 0, 0.5, 0.5]]


def test_of_many_prompts_a_sample_is_followed(monkeypatch):
    monkeypatch.setattr("trl_grpo_rewards.report.pass_rates.SAMPLE_SIZE", 50)
    prompts = PromptSample()
    for step in range(1, 2001):
        prompts.add({"step": step, **record({"boxed": [step % 4 == 0, 0]}, prompt=f"{step % 1000}")})
    assert 50 <= len(prompts.prompts) <= 100 and len(prompts.ids) == 1000
    assert {prompt.groups for prompt in prompts.prompts.values()} == {2}
    assert build_heatmap(prompts)["total"] == 1000 and len(build_heatmap(prompts)["steps"]) <= 48


def test_another_group_size():
    prompts = PromptSample()
    for place, right in enumerate([0, 1, 2, 4]):
        prompts.add({"step": 1, **record({"boxed": [1] * right + [0] * (4 - right)}, prompt=str(place))})
    sizes = {one["size"]: one for one in compare_group_sizes(prompts)["sizes"]}
    assert sizes[2]["dead"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1) / 4)  # of 6 pairs: all, 3, 2, all
    assert (
        sizes[4]["dead"] == 0.5
        and sizes[4]["live"] == 0.125
        and not sizes[4]["extrapolated"]
        and sizes[8]["extrapolated"]
    )
    assert compare_group_sizes(prompts)["most"] == 2


def test_more_completions_than_were_seen_are_judged_by_prompts_alike():
    rng = random.Random(0)
    rates = [rng.betavariate(0.3, 0.5) for _ in range(2000)]
    seen = [(sum(rng.random() < rate for _ in range(8)), 8) for rate in rates]
    for size in (2, 8, 64):
        truth = sum(rate**size + (1 - rate) ** size for rate in rates) / len(rates)
        assert evaluate_size(seen, size)["dead"] == pytest.approx(truth, abs=0.02)
    assert evaluate_size([(0, 8)] * 9, 64)["dead"] > 0.99


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
    "standing still": ({"style": (1, 1)}, ["style is constant"]),
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


def test_a_warning_names_steps_and_numbers():
    stepped = ((step, record({"boxed": [step % 2, 0], "tags": [0.5, 0.5]})) for step in range(1, 61))
    (found,) = find_anomalies(summed(stepped))
    assert found.title == "tags is constant"
    assert found.details.startswith("It was 0.5 for every completion in steps 1–60. ")


def test_a_reward_that_was_learned_causes_no_warning():
    def tags(step):
        return [1.0, 1.0] if step > 20 else [float(step % 3 == 0), 1.0]

    stepped = ((step, record({"boxed": [1, step % 2], "tags": tags(step)})) for step in range(1, 101))
    assert not find_anomalies(summed(stepped))


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


# --- the script and its errors --------------------------------------------------------------------------------------


def script(*arguments) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "trl_grpo_rewards.cli", "report", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_script_writes_the_report(tmp_path):
    written(tmp_path, story(steps=2))
    done = script(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"\nThe report is in {tmp_path / 'report.html'}.\n")
    other = script(tmp_path / "groups", "--out", tmp_path / "other.html")
    assert other.returncode == 0 and (tmp_path / "other.html").read_text() == (tmp_path / "report.html").read_text()


def test_bad_input_is_one_line(tmp_path):
    (tmp_path / "torn.jsonl").write_text('{"run": 1, "step": 1, "gro')
    for arguments, message in [
        ([tmp_path / "nowhere"], "FileNotFoundError: There are no group records in .* Pass the output_dir"),
        ([tmp_path / "torn.jsonl"], "ValueError: .* contain no complete record. Train for a step"),
        (
            [tmp_path / "torn.jsonl", "--out", tmp_path / "no" / "x.html"],
            "FileNotFoundError: .* does not exist. Create it",
        ),
        ([tmp_path / "torn.jsonl", "--out", tmp_path], "IsADirectoryError: .* Choose a file in it"),
    ]:
        done = script(*arguments)
        lines = [line for line in done.stderr.splitlines() if "not complete records" not in line]
        assert done.returncode == 2 and len(lines) == 1, done.stderr
        assert re.match(message, lines[0])


# --- in a browser ---------------------------------------------------------------------------------------------------


class Browser:
    """A headless Chromium, with the errors and requests of the page that is open."""

    def __init__(self, driver) -> None:
        self.driver = driver

    def open(self, page: Path, width: int = 1280, theme: str = "light") -> "Browser":
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.theme(theme)
        self.requests()
        self.driver.get(page.as_uri())
        return self

    def theme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, expression: str):
        return self.driver.execute_script(f"return {expression}")

    def text(self, selector: str) -> list[str]:
        return [element.text for element in self.driver.find_elements("css selector", selector)]

    def focus(self, selector: str) -> None:
        self.driver.execute_script("document.querySelector(arguments[0]).focus()", selector)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def requests(self) -> list[str]:
        """Addresses that were asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in sent if not url.startswith(("data:", "blob:"))]

    def assert_sound(self, page: Path) -> None:
        """Everything is drawn, nothing was refused or asked for, and nothing is wider than the screen."""
        assert self.run("document.documentElement.dataset.drawn") == "true"
        assert self.driver.get_log("browser") == []
        assert set(self.requests()) <= {page.as_uri()}
        assert self.run("document.documentElement.scrollWidth") == self.run("innerWidth")


def until(true: Callable[[], bool]) -> None:
    """Wait for what a browser does in its own time."""
    end = time.monotonic() + 10
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    assert true()


@pytest.fixture(scope="module")
def driver():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")
    chromium, service = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not service:
        pytest.skip("there is no browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    yield driver
    driver.quit()


@pytest.fixture
def browser(driver):
    return Browser(driver)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("healthy")
    return write_report(written(folder, story()), folder / "report.html")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_is_sound_at_any_width_and_in_both_themes(browser, healthy, width, theme):
    browser.open(healthy, width, theme).assert_sound(healthy)
    drawn = "[...document.querySelectorAll('.chart')].map(chart => chart.querySelectorAll('.trace, .hm image').length)"
    assert browser.run(drawn) == [5, 2, 2, 2, 4, 1]
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(253, 253, 251)", "dark": "rgb(23, 24, 26)"}[theme]
    assert browser.text("#anomalies")[0].startswith("No warnings: ")


def test_charts_follow_the_theme_and_their_legends(browser, healthy):
    browser.open(healthy)
    line = "document.querySelector('#rewards .lines path').style.stroke"
    light = browser.run(line)
    browser.theme("dark")
    until(lambda: browser.run(line) != light)
    browser.focus("#rewards .legend button")
    browser.press("\ue007")
    assert browser.run("document.querySelectorAll('#rewards .trace').length") == 1
    browser.focus("#rewards summary")
    browser.press("\ue007")
    until(lambda: browser.text("#rewards th") == ["Steps", "boxed", "style"])
    browser.assert_sound(healthy)


def test_filters_and_groups_by_keyboard(browser, tmp_path):
    stepped = [
        (1, record({"boxed": [1, 0], "tags": [1, 1]}, prompt="What is 1 + 1?", completions=["first text", "two"])),
        (2, record({"boxed": [0, 0], "tags": [0, 0]}, prompt="What is 2 + 2?")),
        (3, record({"boxed": [1, 0], "tags": [0.5, 0]}, prompt="What is 3 + 3?", lengths=[7, 9])),
    ]
    page = write_report(written(tmp_path, stepped), tmp_path / "report.html")
    browser.open(page)
    shown = "#table tbody .open"
    assert browser.text(shown) == ["3", "2", "1"]
    for selector, keys, steps in [
        ("#outcome", "live", ["3", "1"]), ("#bound", "1", ["1"]), ("#search", "three", []), ("#search", "\ue009a", []),
        ("#search", "FIRST", ["1"]),
    ]:  # fmt: skip
        browser.focus(selector)
        browser.press(keys)
        assert browser.text(shown) == steps
    assert browser.text("#found") == ["1 of 3 groups."]
    browser.open(page)
    browser.focus(shown)
    browser.press("\ue015", "\ue015", "\ue007")  # down, down, Enter
    assert (
        browser.text("#group h2") == ["Step 1, group 0\nlive"]
        and browser.text("#group .message")[0] == "What is 1 + 1?"
    )
    assert browser.text("article h3") == ["Completion 1", "Completion 2"]
    assert browser.text("article .chip")[0] == "advantage +0.50 ▲" and "first text" in browser.text("article")[0]
    browser.focus("#group nav button")
    browser.press("\ue007", "\ue007")  # Previous, twice
    assert browser.text("#group h2") == ["Step 3, group 0\nlive"]
    browser.press("\ue00c")  # Escape
    assert browser.run("document.querySelector('dialog').open") is False
    assert browser.run("document.activeElement.className") == "open"
    browser.assert_sound(page)


def test_text_of_a_model_is_shown_and_does_not_run(browser, tmp_path):
    names = [EVIL, "<b>bold</b>", "__proto__"]
    scores = {name: [1.0, 0.0] for name in names}
    one = record(scores, prompt=[{"role": EVIL, "content": EVIL}], completions=[EVIL, "\ud800"])
    one["columns"] = {EVIL: EVIL, "plain": ["a", 1]}
    page = write_report(written(tmp_path, [(step, one) for step in (1, 2, 3)]), tmp_path / "report.html")
    browser.open(page, 360)
    browser.focus(".open")
    browser.press("\ue007")
    said = browser.run("[...document.querySelectorAll('#group .message')].map(one => one.textContent.toWellFormed())")
    assert said == [EVIL, EVIL, "\ufffd"]
    legend = browser.run("[...document.querySelectorAll('#rewards .legend button')].map(name => name.textContent)")
    assert legend[0].startswith("<script>document") and legend[1:] == ["<b>bold</b>", "__proto__"]
    assert browser.driver.title == f"{tmp_path.name} – training report"
    assert browser.run("document.querySelectorAll('img, #group script').length") == 0
    browser.assert_sound(page)


def test_turns_are_folded_in_order_and_unfold(browser, tmp_path):
    call = {"type": "function", "function": {"name": "add", "arguments": {"a": 2, "b": 3}}}
    evil = {"type": "function", "function": {"name": EVIL, "arguments": json.dumps({EVIL: EVIL})}}
    turns = [
        {"role": "assistant", "content": "I add.", "tool_calls": [call, evil]},
        {"role": "tool", "name": "add", "content": "5"},
        {"role": "tool", "name": EVIL, "content": "{'error': '" + EVIL + "'}"},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "now", "arguments": None}]},
        {"role": "tool", "name": "now", "content": EVIL},
        {"role": "assistant", "content": "It is 5."},
    ]
    odd = [
        {"role": "assistant", "tool_calls": ["add", None]},
        {"role": "tool"},
        {"role": "assistant", "tool_calls": 5},
    ]
    one = record({"boxed": [1.0, 0.0]}, prompt=[{"role": "user", "content": "2 + 3?"}], completions=[turns, odd])
    page = write_report(written(tmp_path, [(1, one)]), tmp_path / "report.html")
    browser.open(page, 360)
    browser.focus(".open")
    browser.press("\ue007")
    first = "document.querySelector('#group article')"
    kinds = browser.run(f"[...{first}.querySelectorAll('.tool')].map(one => one.className + ' ' + one.open)")
    assert kinds == [f"tool {kind} false" for kind in ("call", "call", "result", "error", "call", "result")]
    names = browser.run(f"[...{first}.querySelectorAll('.tool b')].map(one => one.textContent)")
    assert names == ["call add", f"call {EVIL}", "result add", f"error {EVIL}", "call now", "result now"]
    whole = browser.run(f"{first}.querySelector('.body').textContent")
    assert whole.index("I add.") < whole.index("call add") < whole.index("error") < whole.index("It is 5.")
    assert browser.run(f"{first}.querySelector('.call .message').textContent") == '{"a": 2, "b": 3}'
    counted = browser.run(f"[...{first}.querySelectorAll('dt, dd')].map(one => one.textContent)")
    assert counted[-4:] == ["calls", "3", "errors", "1"]
    browser.focus("#group .tool summary")
    browser.press("\ue007")
    assert browser.run("document.querySelector('#group .tool').open") is True
    assert browser.driver.title == f"{tmp_path.name} – training report"
    assert browser.run("document.querySelectorAll('img, #group script').length") == 0
    browser.run("document.querySelector('dialog').close()")
    browser.focus("#search")
    browser.press("NOW")  # names are searched, too
    assert browser.text("#found") == ["1 group. Press Enter to open one."]
    browser.assert_sound(page)


@pytest.mark.parametrize(
    "stepped",
    [
        [(7, record({"boxed": [1.0, 0.0]}))],
        [(1, record({"boxed": [None, None]}, text=False))],
        [(step, record({"boxed": [0.0, 0.0]}, text=False)) for step in (1, 2)],
        [(1, {"outcome": "live"}), (2, {"prompt_id": "x"})],
        [(1, {"rewards": {"boxed": [1.0, float("inf")]}, "prompt_id": "x", "mean": float("nan")})],
    ],
    ids=["one group", "nothing scored", "no live group and no text", "hardly a field", "numbers that are none"],
)
def test_odd_runs_have_a_page(browser, tmp_path, stepped):
    page = write_report(written(tmp_path, stepped), tmp_path / "report.html")
    browser.open(page, 360).assert_sound(page)
    browser.focus(".open")
    browser.press("\ue007")
    assert browser.text("#group h2")[0].startswith(f"Step {stepped[-1][0]}, group 0")
    browser.assert_sound(page)


def test_a_run_of_the_trainer_has_a_page(browser, config, problems, tmp_path):
    trainer, lines = train_and_read(config, problems, [lengths_of_some, boxed()], max_steps=3)
    page = write_report(trainer.args.output_dir, tmp_path / "report.html")
    browser.open(page).assert_sound(page)
    shares = browser.run("data.points.kinds[0][1]")
    assert shares == [
        sum(line["outcome"] == "live" for line in lines if line["step"] == step) / 2 for step in (1, 2, 3)
    ]
    browser.focus(".open")
    browser.press("\ue007")
    assert browser.text("#group .message")[0] == lines[-1]["prompt"][-1]["content"]


def test_warnings_are_on_the_page(browser, tmp_path):
    page = write_report(written(tmp_path, story(**STORIES["hacked"][0])), tmp_path / "report.html")
    browser.open(page, 360)
    assert browser.text("#anomalies strong") == ["style rises while boxed falls"]
    browser.assert_sound(page)


@pytest.mark.slow
def test_ten_thousand_groups_have_a_page(browser, tmp_path):
    said = ["word " * 200] * 8
    page = write_report(written(tmp_path, story(steps=500, each=20, completions=said)), tmp_path / "report.html")
    assert page.stat().st_size < 30 << 20
    browser.open(page)
    assert browser.text("#sampled")[0].startswith("These are ") and "of 10,000 groups" in browser.text("#sampled")[0]
    browser.assert_sound(page)
