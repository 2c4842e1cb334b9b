"""What the page shows: the trainer's log, several runs, links, files, programs."""

import csv

from helpers.browser import until
from helpers.made_runs import EVIL, record, story, with_log, written
from trl_grpo_rewards.records.runs import write_run
from trl_grpo_rewards.report import write_report


def test_the_trainers_log_and_held_out_values_are_on_the_page(browser, tmp_path):
    page = write_report(with_log(tmp_path), tmp_path / "report.html")
    browser.open(page)
    titles = [
        "Entropy",
        "KL divergence",
        "Gradient norm",
        "Learning rate",
        "Seconds per step",
        "Generated tokens per step",
    ]
    assert browser.text("#logged h3") == titles
    assert browser.text("#held-out tr") == [
        "before (step 0) after (step 40)", "boxed 0.25 0.75", "total reward 0.25 0.75", "dead groups 50% 50%"
    ]  # fmt: skip
    browser.focus("#learning_rate summary")
    browser.press("\ue007")
    until(lambda: len(browser.text("#learning_rate tr")) == 41)
    assert browser.text("#learning_rate tr")[:2] == ["Steps value", "1 5.0e-7"]
    browser.focus("#axis")
    browser.press("seconds")
    last = "document.querySelector('#entropy .chart').data[0].x.at(-1)"
    until(lambda: browser.run(last) == 80)
    browser.press("\ue015")  # down, to the generated tokens
    until(lambda: browser.run(last) == browser.run("data.runs[0].tokens"))
    browser.assert_sound(page)


def test_prompts_that_are_asked_once_have_pass_rates_by_step(browser, tmp_path):
    once = [
        (step, record({"boxed": [1.0] * right + [0.0] * (4 - right)}, prompt=f"{step}, {right}"))
        for step in (1, 2) for right in (step, 4)
    ]  # fmt: skip
    page = write_report(written(tmp_path, once), tmp_path / "report.html")
    browser.open(page)
    assert browser.text("#passes h2") == ["Pass rates of groups"] and browser.text("#heat") == []
    assert browser.text("#passes .legend button") == ["up to 25%", "up to 50%", "all right"]
    assert (
        "The outcome reward is boxed" in browser.text("#about")[0]
        and "boxed calls right" in browser.text("#passes p")[0]
    )
    again = [*once, *[(3, one) for _, one in once]]
    page = write_report(written(tmp_path / "again", again), tmp_path / "report.html")
    browser.open(page)
    assert browser.text("#heat h2") == ["When each prompt was solved"] and browser.text("#passes") == []
    browser.assert_sound(page)


def test_group_sizes_are_ranked_by_signal_and_the_page_says_so(browser, healthy):
    browser.open(healthy)
    assert browser.text("#sizes p")[0].startswith("Ranked by the expected signal per generated completion: ")
    assert [text.split()[0] for text in browser.text("#sizes .sizes tbody tr")] == ["64", "32", "16", "8", "4", "2"]
    shown = [float(text.split()[-1]) for text in browser.text("#sizes .sizes tbody td:nth-child(2)")]
    assert shown == sorted(shown, reverse=True)
    assert len(browser.text("#sizes .most")) == 1


def test_runs_are_compared(browser, tmp_path):
    runs = [with_log(tmp_path / name / "out", entropy=entropy) for name, entropy in (("a", 0.5), ("b", 0.1))]
    for run, rate in zip(runs, (1e-6, 5e-7), strict=True):
        options = {"learning_rate": rate, "output_dir": str(run), "seed": 3}
        write_run(run, {"rewards": "boxed()", "model": EVIL, "options": options, "started": str(run)})
    page = write_report([*runs, with_log(tmp_path / "third", steps=30)], tmp_path / "report.html")
    browser.open(page, 1280)
    names = [str(runs[0]), str(runs[1]), "third"]
    assert browser.text("#kinds .legend button") == [name if len(name) <= 40 else name[:39] + "…" for name in names]
    assert browser.text("#charts h2") == [
        "Live groups",
        "Total reward",
        "Mean of boxed",
        "Mean of style",
        "Tokens per completion",
    ]
    assert browser.text("#comparison tr")[2] == "Groups 160 160 120"
    differences = [text.split()[0] for text in browser.text("#differences tr")]
    assert "learning_rate" in differences and "output_dir" not in differences and "Started" not in differences
    lines = browser.run("document.querySelector('#entropy .chart').data.map(line => line.y[0])")
    assert lines == [0.5, 0.1, 0.5]
    browser.assert_sound(page)
    browser.open(page, 390)
    assert browser.run("document.documentElement.scrollWidth") == 390
    browser.focus("#run")
    browser.press("third")
    assert browser.text("#found") == ["120 of 440 groups."]
    browser.focus(".open")
    browser.press("\ue007")
    assert browser.text("#group h2")[0].startswith("third, step 30, group ")
    assert browser.run("location.hash").startswith("#run3-step30-")


def test_links_lead_to_steps_and_groups(browser, tmp_path):
    page = write_report(written(tmp_path, story(steps=12)), tmp_path / "report.html")
    at = page.as_uri()
    browser.driver.get(f"{at}#step12-3")
    assert (
        browser.text("#group h2")[0].startswith("Step 12, group 3\n") and browser.run("location.hash") == "#step12-3"
    )
    assert browser.run("document.querySelector('#group-name a').getAttribute('href')") == "#step12-3"
    browser.focus("#group nav [value='1']")
    browser.press("\ue007")
    assert browser.run("location.hash") == "#step12-2"
    browser.press("\ue00c")
    until(lambda: browser.run("location.hash") == "")
    browser.run("location.hash = '#step7'")
    until(lambda: browser.text("#found") == ["4 of 48 groups."])
    browser.run("location.hash = '#steps5-6'")
    until(lambda: browser.text("#table tbody .open") == ["6"] * 4 + ["5"] * 4)
    browser.run("location.hash = '#step7-99'")
    until(lambda: browser.text("#found") == ["Group 99 of step 7 is not on this page. 4 of 48 groups."])
    for odd in (
        "#step",
        "#step1-",
        "#steps9",
        "#run7-step1-1",
        "#step<b>",
        "#constructor",
        "#step99999999999999999999-1",
    ):
        browser.driver.get("about:blank")
        browser.driver.get(f"{at}{odd}")
        assert browser.run("document.querySelector('dialog').open") is False
        assert browser.driver.get_log("browser") == []
    browser.open(page)
    browser.focus("#reward summary")
    browser.press("\ue007")
    until(lambda: browser.text("#reward td a"))
    browser.focus("#reward td a")
    browser.press("\ue007")
    until(lambda: browser.run("location.hash") == "#step1" and browser.text("#found") == ["4 of 48 groups."])


def test_tables_are_complete_and_can_be_downloaded(browser, tmp_path):
    texts = ["=HYPERLINK(1)", " \t@SUM(1)", 'a "quoted", text', "two\nlines", "-5", "\ud55c", "+1", "=1"]
    stepped = [(step, record({"boxed": [0.25] * 8, "-x": [-1.0] * 8}, completions=texts)) for step in range(1, 61)]
    page = write_report(written(tmp_path, stepped), tmp_path / "report.html")
    folder = tmp_path / "files"
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    browser.open(page)
    browser.focus("#rewards summary")
    browser.press("\ue007")
    until(lambda: len(browser.text("#rewards tr")) == 61)
    for selector, name in (("#rewards .download", "rewards"), ("#groups > .download", "groups")):
        browser.focus(selector)
        browser.press("\ue007")
        until(lambda name=name: (folder / f"{tmp_path.name}-{name}.csv").exists())

    def read(name):
        with (folder / f"{tmp_path.name}-{name}.csv").open(encoding="utf-8-sig", newline="") as file:
            return [*csv.reader(file)]

    until(lambda: len(read("groups")) == 481)
    assert read("rewards")[:2] == [["first step", "last step", "boxed", "'-x"], ["1", "1", "0.25", "-1"]]
    assert len(read("rewards")) == 61
    head, *rows = read("groups")
    assert head[:9] == ["run", "step", "group", "outcome", "prompt", "completion", "text", "boxed", "'-x"]
    said = [row[6] for row in rows[:8]]
    assert said == ["'=HYPERLINK(1)", "' \t@SUM(1)", 'a "quoted", text', "two\nlines", "'-5", "\ud55c", "'+1", "'=1"]
    assert {row[8] for row in rows} == {"-1"} and rows[0][1] == "60"
    browser.assert_sound(page)


def test_numbers_are_not_broken_across_lines(browser, tmp_path):
    said = ["<think>" + "+".join(str(at * 7919) for at in range(1, 60)) + "</think>\\boxed{91548731}", "9" * 500]
    one = record({"boxed": [1.0, 0.0]}, completions=said)
    page = write_report(written(tmp_path, [(1, one)]), tmp_path / "report.html")
    browser.open(page, 360)
    browser.focus(".open")
    browser.press("\ue007")
    heights = browser.run("[...document.querySelectorAll('#group .whole')].map(one => one.getClientRects().length)")
    assert len(heights) > 59 and {*heights} == {1}
    assert browser.run("[...document.querySelectorAll('#group article .message')].map(one => one.textContent)") == said
    assert browser.run("document.querySelector('#group').scrollWidth <= innerWidth")


def test_programs_keep_their_lines(browser, tmp_path):
    program = "```python\ndef f(x):\n    return x  # " + "a long line " * 20 + "\n```"
    failure = "case 1 of 10: expected 4; " * 10
    one = record({"code": [1.0, 0.0]}, completions=[f"So:\n{program}\nDone.", "```python\nnever closed"])
    one["logged"] = {"code/failure": [None, failure]}
    page = write_report(written(tmp_path, [(1, one)]), tmp_path / "report.html")
    browser.open(page, 360)
    browser.focus(".open")
    browser.press("\ue007")
    assert browser.run("[...document.querySelectorAll('.program')].map(one => one.textContent)") == [program]
    assert browser.run("document.querySelector('.program').getClientRects()[0].height") < 120
    whole = browser.run("[...document.querySelectorAll('#group article .message')].map(one => one.textContent)")
    assert whole == [f"So:\n{program}\nDone.", "```python\nnever closed"]
    widths = browser.run("[...document.querySelectorAll('#group dt')].map(one => one.getBoundingClientRect().width)")
    assert min(widths) > 20  # a long note does not crush the names
    browser.assert_sound(page)
