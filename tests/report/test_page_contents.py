"""What the page shows: the trainer's log, several runs, links, files, programs."""

import csv
import re

from helpers.browser import until
from helpers.made_runs import EVIL, record, story, with_log, written
from trl_grpo_rewards.records.runs import LogWriter, write_run
from trl_grpo_rewards.report import write_report


def let_download(browser, folder):
    """Let the page save files in this folder. Return a function that presses a button and reads the rows of its file."""
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})

    def download(selector, rows=1):
        before = {*folder.glob("*.csv")}
        browser.focus(selector, "\ue007")
        until(lambda: len({*folder.glob("*.csv")} - before) == 1)
        (path,) = {*folder.glob("*.csv")} - before

        def read():
            with path.open(encoding="utf-8-sig", newline="") as file:
                return [*csv.reader(file)]

        until(lambda: len(read()) >= rows)
        return path.name, read()

    return download


def assert_every_table_has_a_file(browser):
    """Except for the groups and the numbers below the charts, which have tests of their own."""
    without = "[...document.querySelectorAll('main section')].filter(one => one.querySelector('table')"
    without += " && !one.querySelector('.download, details')).map(one => one.id)"
    assert browser.run(without) == []


def test_the_log_and_held_out_values_are_on_the_page(browser, logged, tmp_path):
    browser.open(logged)
    assert_every_table_has_a_file(browser)
    assert browser.text("#logged h3") == ["Entropy", "KL divergence", "Generated tokens per step"]
    still = "truncated completions under 1%; Gradient norm 1.50; Learning rate 5.0e-7; Seconds per step 2.00"
    assert browser.text("#still") == [f"Constant, so not drawn: {still}."]
    held, trained = (text.splitlines() for text in browser.text("#numbers table"))
    assert held == [
        "On held-out problems step 0 step 50", "boxed (held-out) 25% 75%", "total reward (held-out) 0.25 0.75",
        "dead groups (held-out) 50% 50%"
    ]  # fmt: skip
    assert trained[0] == "In training steps 1 to 5 steps 46 to 50"
    assert re.fullmatch(r"boxed \(training\) \d+% \d+% ± [\d.]+%", trained[1])
    assert re.fullmatch(r"style \(training\) [\d.]+ [\d.]+ ± [\d.]+", trained[2]) and trained[3].startswith(
        "Solved groups "
    )
    name, rows = let_download(browser, tmp_path / "files")("#numbers .download", 10)
    run = logged.parent.name
    assert name == f"{run}-numbers.csv" and rows[0] == ["Value", run]
    assert rows[1:3] == [["boxed (held-out), before", "0.25"], ["boxed (held-out), after", "0.75"]]
    browser.focus("#kl summary", "\ue007")
    until(lambda: browser.count("#kl tr") == 51)
    assert browser.text("#kl tr:first-child") == ["Steps value", "1 0.010"]
    browser.focus("#axis", "seconds")
    last = "document.querySelector('#entropy .chart').data[0].x.at(-1)"
    until(lambda: browser.run(last) == 100)
    browser.press("\ue015")  # down, to the generated tokens
    until(lambda: browser.run(last) == browser.run("data.runs[0].tokens"))
    browser.assert_sound()


def test_a_single_evaluation_has_one_column(browser, tmp_path):
    writer = LogWriter(tmp_path)
    writer.start([{"step": 0, "eval_runtime": 1.0, "eval_reward": 0.25}])
    browser.open(written(tmp_path, story(steps=1)))
    tables = [text.splitlines() for text in browser.text("#numbers table")]
    assert tables[0] == ["On held-out problems step 0", "total reward (held-out) 0.25"]
    assert tables[1][0] == "In training step 1"
    assert browser.text("#anomalies") == ["Only 1 step: most checks need 20."]
    assert browser.text("#reward h2") == [] and "total reward" in browser.text("#still")[0]  # it is constant
    both = [tmp_path, with_log(tmp_path / "other", steps=2)]
    browser.open(both)
    assert "total reward (held-out) 0.25 0.25 → 0.75" in browser.text("#numbers tr")
    assert browser.text("#numbers > p")[0].startswith("In training: the means over the first and the last steps. ")


def test_what_a_run_learns_only_from_is_said_and_drawn(browser, tmp_path):
    """A term that never pays, so that the other one has all of the signal, all the time."""
    browser.open(written(tmp_path, story((0, 0), style=(0.3, 0.6), steps=6)))
    assert browser.text("#signal h2") == ["Where the signal comes from"] and "signal" not in browser.text("#still")[0]
    assert browser.run("document.querySelector('#signal .chart').data.map(line => line.y.at(-1))") == [0, 1]
    (said,) = browser.text("#anomalies li")
    assert said.startswith(
        "boxed paid nothing\nboxed paid 0 to all 192 completions in steps 1–6; all of the difference comes from style: the "
        "model learns style only."
    )
    browser.assert_sound()


def test_prompts_that_are_asked_once_have_pass_rates_by_step(browser, tmp_path):
    once = [
        (step, record({"boxed": [1.0] * right + [0.0] * (4 - right)}, prompt=f"{step}, {right}"))
        for step in (1, 2) for right in (step, 4)
    ]  # fmt: skip
    browser.open(written(tmp_path, once))
    assert browser.text("#passes h2") == ["Pass rates of groups"] and browser.text("#heat") == []
    assert browser.text("#passes .legend button") == ["up to 25%", "up to 50%", "all right"]
    assert (
        "The outcome reward is boxed" in browser.run("document.querySelector('#details #about').textContent")
        and "were right, by boxed" in browser.text("#passes p")[0]
    )
    again = [*once, *[(3, one) for _, one in once]]
    browser.open(written(tmp_path / "again", again))
    assert browser.text("#heat h2") == ["When each prompt was solved"] and browser.text("#passes") == []
    browser.assert_sound()


def test_runs_are_compared(browser, tmp_path):
    runs = [with_log(tmp_path / name / "out", entropy=entropy, steps=8) for name, entropy in (("a", 0.5), ("b", 0.1))]
    for run, rate in zip(runs, (1e-6, 5e-7), strict=True):
        options = {"learning_rate": rate, "output_dir": str(run), "seed": 3}
        job = {"system_prompt": f"{rate} {'long ' * 200}end"}
        write_run(run, {"rewards": "boxed()", "model": EVIL, "options": options, "job": job, "started": str(run)})
    page = write_report([*runs, with_log(tmp_path / "third", steps=6)], tmp_path / "report.html")
    browser.open(page)
    assert_every_table_has_a_file(browser)
    names = ["a", "b", "third"]
    assert browser.text("#reward .legend button") == names and browser.text("h1") == ["a, b, third"]
    verdict = r"a: On 64 held-out problems, boxed rose from 25% to 75%\. (The share of solved training groups|No training group) .*"
    assert re.fullmatch(verdict, browser.text("#verdict p")[0])
    assert browser.text("#lead h2")[0] == "boxed (training)"
    assert browser.text("#charts h2")[:2] == ["style (training)", "Live groups"]
    rows = browser.text("#numbers tr")
    assert rows[0] == "Value a b third" and "Groups 32 32 24" in rows
    assert rows[1] == "boxed (held-out) 25% → 75% 25% → 75% 25% → 75%"
    differences = [text.split()[0] for text in browser.text("#differences tr")]
    assert browser.run("document.querySelector('#differences tbody').textContent").count("long end") == 2
    assert "learning_rate" in differences and "output_dir" not in differences and "Started" not in differences
    lines = browser.run("document.querySelector('#entropy .chart').data.map(line => line.y[0])")
    assert lines == [0.5, 0.1, 0.5]
    browser.assert_sound()
    download = let_download(browser, tmp_path / "files")
    _, side = download("#numbers .download", 22)
    assert side[0] == ["Value", *names] and ["Groups", "32", "32", "24"] in side
    (trained,) = (row for row in side if row[0] == "boxed (training), after")
    assert [float(one) for one in trained[1:]] == browser.run("data.runs.map(run => run.changes[0].values[1])")
    _, differing = download("#differences .download", 4)
    assert differing[0] == side[0] and any(row[1].endswith("long end") for row in differing[1:])
    assert browser.run("document.querySelector('#sizes')") is None
    for width in (1280, 390):
        if width == 390:
            browser.open(page, width)
        assert browser.run("document.documentElement.scrollWidth") == width
        cut = "[...document.querySelectorAll('#table .run')].filter(one => one.scrollWidth > one.clientWidth + 1)"
        assert browser.run(f"{cut}.length") == 0 and browser.text("#table .run")[0] in names
    room = "document.querySelector('#table .run').clientWidth / document.querySelector('#table').clientWidth"
    assert browser.run(room) == 1
    browser.focus("#run", "third")
    assert browser.text("#found") == ["24 of 88 groups."]
    browser.focus(".open", "\ue007")
    assert browser.text("#group h2")[0].startswith("third, step 6, group ")
    assert browser.run("location.hash").startswith("#run3-step6-")
    browser.press("\ue00c")
    browser.run("location.hash = '#run2-steps1-2'")
    until(lambda: browser.text("#found") == ["8 of 88 groups."])


def test_equal_curves_of_two_runs_are_told_apart_and_fit_on_a_phone(browser, tmp_path):
    browser.open([with_log(tmp_path / name, steps=25) for name in ("shorter", "longer-by-much")], 390)
    browser.assert_sound()
    dashes = browser.run("document.querySelector('#reward .chart').data.map(({ line }) => line.dash)")
    assert dashes == ["solid", "dash"]
    charts = "[...document.querySelectorAll('main .chart')].map(one => one.parentElement)"
    assert browser.run(f"{charts}.filter(one => one.querySelectorAll('.legend button').length !== 2).length") == 0
    cut = "[...document.querySelectorAll('.tall')].filter(one => one.scrollWidth > one.clientWidth).length"
    assert browser.run(cut) == 0
    assert browser.run("[...document.querySelectorAll('#numbers th')].at(-1).getBoundingClientRect().right") <= 390


def test_what_all_prompts_begin_with_is_cut_from_their_list(browser, tmp_path):
    begin = "Solve this problem. Think first, and then write only the answer in a box. "
    stepped = [(step, record({"boxed": [1, 0]}, prompt=f"{begin}{step} + 1?")) for step in (1, 2)]
    browser.open(written(tmp_path, stepped))
    assert browser.text("#table td:last-child") == ["… 2 + 1?", "… 1 + 1?"]


def test_seeds_of_one_setting_are_a_band(browser, tmp_path):
    steps = range(1, 9)

    def run(name, seed, rate, value):
        folder = written(tmp_path / name, story(steps=8, each=1))
        write_run(folder, {"rewards": "boxed()", "options": {"seed": seed, "learning_rate": rate}})
        LogWriter(folder).start(
            [{"step": step, "reward": 0.5, "entropy": value * step, "step_time": 1.0} for step in steps]
        )
        return folder

    runs = [run(f"a{seed}", seed, 1e-6, value) for seed, value in enumerate((0.1, 0.5, 0.2))]
    other = run("b", 0, 5e-6, 0.3)
    browser.open([*runs, other]).assert_sound()
    assert browser.text("#entropy .legend button") == ["a0, a1, a2: median and range", "b"]
    lines = "document.querySelector('#entropy .chart').data"
    ends = browser.run(f"{lines}.map(({{ y }}) => y[0])")
    assert ends == [0.1, 0.5, 0.2, 0.3]  # lowest, highest, median, and the other run
    assert browser.run(f"{lines}.map(({{ fill }}) => fill || 'none')") == ["none", "tonexty", "none", "none"]
    browser.focus("#entropy .legend button", "\ue007")
    assert browser.run(f"{lines}.filter(({{ visible }}) => visible).length") == 1
    browser.focus("#entropy summary", "\ue007")
    until(lambda: browser.text("#entropy th")[1:] == [
        "a0, a1, a2: lowest", "a0, a1, a2: highest", "a0, a1, a2: median and range", "b"
    ])  # fmt: skip
    browser.focus("#axis", "seconds")
    until(lambda: browser.run(f"{lines}[2].x.at(-1)") == 8)
    browser.theme("dark")
    browser.assert_sound()
    browser.open([*runs[:2], other])
    assert browser.text("#entropy .legend button") == ["a0", "a1", "b"]


def test_what_rewards_log_is_drawn(browser, tmp_path):
    """Also under a name that could mean something else to the page."""
    names = ["boxed/chars", EVIL, "constructor", "log"]
    for folder in (tmp_path / "a", tmp_path / "b"):
        written(folder, story(steps=4))
        LogWriter(folder).start([{"step": step, "reward": 0.5, **dict.fromkeys(names, step)} for step in range(1, 5)])
    for runs, legend in ((tmp_path / "a", []), ([tmp_path / "a", tmp_path / "b"], ["a", "b"])):
        browser.open(runs, 360)
        assert browser.text("#logged h3")[-4:] == names
        assert browser.text("#logged section p")[-4:] == [
            "Logged by the reward boxed.",
            *["Logged by a reward or a callback."] * 3,
        ]
        assert browser.text("#logged section:last-child .legend button") == legend
        assert browser.count("img") == 0
        browser.assert_sound()


def test_links_lead_to_steps_and_groups(browser, tmp_path):
    browser.open(written(tmp_path, story(steps=12)), part="#step12-3")
    assert (
        browser.text("#group h2")[0].startswith("Step 12, group 3 live")
        and browser.run("location.hash") == "#step12-3"
    )
    assert browser.run("document.querySelector('#group-name a').getAttribute('href')") == "#step12-3"
    following = "matching[matching.findIndex(({step, group}) => step === 12 && group === 3) + 1]"
    expected = browser.run(f"groupLink({following})")
    browser.focus("#group nav [value='1']", "\ue007")
    assert browser.run("location.hash") == expected
    browser.press("\ue00c")
    until(lambda: browser.run("location.hash") == "")
    browser.run("location.hash = '#step7'")
    until(lambda: browser.text("#found") == ["4 of 48 groups."])
    browser.run("location.hash = '#steps5-6'")
    until(
        lambda: sorted(browser.text("#table tbody .open"), reverse=True) == sorted(["6"] * 4 + ["5"] * 4, reverse=True)
    )
    browser.run("location.hash = '#step7-99'")
    until(lambda: browser.text("#found") == ["Group 99 of step 7 is not on this page. 4 of 48 groups."])
    odds = ["#step", "#step1-", "#steps9", "#run7-step1-1", "#step<b>", "#constructor", "#step99999999999999999999-1"]
    for odd in odds:
        browser.run(f"location.hash = '{odd}'")
        assert browser.run("document.querySelector('dialog').open") is False
    assert browser.driver.get_log("browser") == []
    browser.focus("#reward summary", "\ue007")
    until(lambda: browser.text("#reward td a"))
    browser.focus("#reward td a", "\ue007")
    until(lambda: browser.run("location.hash") == "#step1" and browser.text("#found") == ["4 of 48 groups."])


def test_tables_are_complete_and_can_be_downloaded(browser, tmp_path):
    texts = ["=HYPERLINK(1)", " \t@SUM(1)", 'a "quoted", text', "two\nlines", "-5", "\ud55c", "+1", "=1"]
    stepped = [
        (step, record({"boxed": [step / 100] * 8, "-x": [-1.0 * step] * 8}, completions=texts))
        for step in range(1, 61)
    ]
    browser.open(written(tmp_path, stepped))
    browser.focus("#rewards summary", "\ue007")
    until(lambda: browser.count("#rewards tr") == 61)
    download = let_download(browser, tmp_path / "files")
    name, rows = download("#rewards .download", 61)
    assert name == f"{tmp_path.name}-rewards.csv" and len(rows) == 61
    assert rows[:2] == [["first step", "last step", "boxed", "'-x"], ["1", "1", "0.01", "-1"]]
    name, (head, *rows) = download("#groups > .download", 481)
    assert name == f"{tmp_path.name}-groups.csv" and len(rows) == 480
    assert head[:9] == ["run", "step", "group", "outcome", "prompt", "completion", "text", "boxed", "'-x"]
    said = [row[6] for row in rows[:8]]
    assert said == ["'=HYPERLINK(1)", "' \t@SUM(1)", 'a "quoted", text', "two\nlines", "'-5", "\ud55c", "'+1", "'=1"]
    assert {row[8] for row in rows} == {str(-step) for step in range(1, 61)} and rows[0][1] == "60"
    browser.assert_sound()


def test_texts_of_completions_keep_their_numbers_lines_and_cards(browser, tmp_path):
    numbers = ["<think>" + "+".join(str(at * 7919) for at in range(1, 60)) + "</think>\\boxed{91548731}", "9" * 500]
    program = "```python\ndef f(x):\n    return x  # " + "a long line " * 20 + "\n```"
    programs = [f"So:\n{program}\nDone.", "```python\nnever closed"]
    failed = record({"code": [1.0, 0.0]}, completions=programs)
    failed["logged"] = {"code/failure": [None, "case 1 of 10: expected 4; " * 10]}
    same = record(
        {"boxed": [1, 1, 0, 1], "judge": [0.5, 0.5, 0.5, 1.0]}, completions=["same", "same", "other", "same"]
    )
    stepped = [(1, record({"boxed": [1.0, 0.0]}, completions=numbers)), (2, failed), (3, same)]
    browser.open(written(tmp_path, stepped), 360)

    def show(step):
        browser.run(f"location.hash = '#step{step}-0'")
        until(lambda: browser.text("#group h2")[0].startswith(f"Step {step}, "))
        assert browser.run("document.querySelector('#group').scrollWidth <= innerWidth")
        return browser.run("[...document.querySelectorAll('#group article .message')].map(one => one.textContent)")

    browser.focus(".open", "\ue007")
    assert show(1) == numbers
    heights = browser.run("[...document.querySelectorAll('#group .whole')].map(one => one.getClientRects().length)")
    assert len(heights) > 59 and {*heights} == {1}
    assert show(2) == programs
    assert browser.run("[...document.querySelectorAll('.program')].map(one => one.textContent)") == [program]
    assert browser.run("document.querySelector('.program').getClientRects()[0].height") < 120
    widths = browser.run("[...document.querySelectorAll('#group dt')].map(one => one.getBoundingClientRect().width)")
    assert min(widths) > 20  # a long note does not crush the names
    show(3)  # equal completions are one card unless their scores differ
    assert browser.text("#group article h3") == ["Completion 4", "Completion 1 × 2", "Completion 3"]
    ends = (
        "[...document.querySelectorAll('#group article:first-child dd')].map(one => { const range = document.createRange();"
        " range.selectNodeContents(one); const chip = one.querySelector('.chip');"
        " return Math.round(range.getBoundingClientRect().right - (chip ? parseFloat(getComputedStyle(chip).paddingRight) : 0)) })"
    )
    assert len({*browser.run(ends)}) == 1  # scores and totals end at the same place
    browser.assert_sound()
