"""What a browser shows of a run."""

import json
import re

import pytest

from helpers.browser import until
from helpers.made_runs import EVIL, record, story, written
from helpers.reward_functions import lengths_of_some
from helpers.runs import train_and_read
from trl_grpo_rewards import boxed
from trl_grpo_rewards.report import write_report


def test_filters_and_groups_by_keyboard(browser, tmp_path):
    stepped = [
        (1, record({"boxed": [1, 0], "tags": [1, 1]}, prompt="What is 1 + 1?", completions=["first text", "two"])),
        (2, record({"boxed": [0, 0], "tags": [0, 0]}, prompt="What is 2 + 2?")),
        (3, record({"boxed": [1, 0], "tags": [0.5, 0]}, prompt="What is 3 + 3?", lengths=[7, 9])),
    ]
    browser.open(written(tmp_path, stepped))
    shown = "#table tbody .open"
    assert browser.text(shown) == ["3", "1", "2"]  # live groups first, those with the largest spread before others
    browser.focus(shown, "\ue015", "\ue007")  # down, Enter
    assert (
        browser.text("#group h2") == ["Step 1, group 0 live"]
        and browser.text("#group .message")[0] == "What is 1 + 1?"
    )
    assert browser.text("#group h3")[2:] == ["Completion 1", "Completion 2"]
    assert browser.text("#group .chip")[0] == "▲ advantage +0.50" and "first text" in browser.text("#group article")[0]
    browser.focus("#group nav button", "\ue007")  # Previous
    assert browser.text("#group h2") == ["Step 3, group 0 live"]
    browser.focus("#group nav [value='1']", "\ue007", "\ue007")  # Next, twice: the order of the table
    assert browser.text("#group h2") == ["Step 2, group 0 failed"]
    browser.press("\ue00c")  # Escape
    assert browser.run("document.querySelector('dialog').open") is False
    assert browser.run("document.activeElement.className") == "open"
    browser.focus("#order", "new")
    assert browser.text(shown) == ["3", "2", "1"]
    for selector, keys, steps in [
        ("#outcome", "live", ["3", "1"]), ("#bound", "1", ["1"]), ("#last", "2", ["1"]), ("#search", "FIRST", ["1"]),
        ("#search", "three", []),
    ]:  # fmt: skip
        browser.focus(selector, keys)
        assert browser.text(shown) == steps
    assert browser.text("#found") == ["0 of 3 groups."]
    browser.assert_sound()


def test_text_of_a_model_is_shown_and_does_not_run(browser, tmp_path):
    """Neither in the texts before and after, nor in their groups, nor in names and columns."""
    long = f"It begins here, {EVIL}.\n\n" + "Then it goes on.\n" * 60 + "So the answer is \\boxed{7}."
    names = [EVIL, "<b>bold</b>", "__proto__"]
    columns = {"columns": {EVIL: EVIL, "plain": ["a", 1]}}
    stepped = [
        (step, record({name: [1.0, right] for name in names}, prompt=[{"role": EVIL, "content": EVIL}], completions=texts) | columns)
        for step, right, texts in ((1, 0.0, [EVIL, "\ud800"]), (30, 1.0, [long, long]))
    ]  # fmt: skip
    browser.open(written(tmp_path, stepped), 360)
    assert browser.text("#examples h3") == ["Step 1", "Step 30"]
    first, second = browser.run("[...document.querySelectorAll('#examples .message')].map(one => one.textContent)")
    assert first == EVIL and second.startswith("It begins here, <script>document.title")
    assert " […] " in second and second.endswith("So the answer is \\boxed{7}.") and len(second) < 300
    shown = "[...document.querySelectorAll('#group .message')].map(one => one.textContent)"
    browser.focus(".open", "\ue007")
    assert browser.run(shown) == [EVIL, EVIL, "\\ud800"]
    legend = browser.run("[...document.querySelectorAll('#rewards .legend button')].map(name => name.textContent)")
    assert legend[0].startswith("<script>document") and legend[1:] == ["<b>bold</b>", "__proto__"]
    browser.press("\ue00c")
    browser.focus("#examples article:last-child a", "\ue007")
    until(lambda: "".join(browser.text("#group h2")).startswith("Step 30, group 0"))
    assert browser.run(shown) == [EVIL, long] and browser.text("#group article h3") == ["Completion 1 × 2"]
    assert browser.driver.title == f"{tmp_path.name} – training report"
    assert browser.count("img, #group script, #examples script") == 0
    browser.assert_sound()


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
    browser.open(written(tmp_path, [(1, one)]), 360)
    browser.focus(".open", "\ue007")
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
    browser.focus("#group .tool summary", "\ue007")
    assert browser.run("document.querySelector('#group .tool').open") is True
    assert browser.driver.title == f"{tmp_path.name} – training report"
    assert browser.count("img, #group script") == 0
    browser.press("\ue00c")
    browser.focus("#search", "NOW")  # names are searched, too
    assert browser.text("#found") == ["1 group."]
    browser.assert_sound()


@pytest.mark.parametrize(
    "stepped",
    [
        [(7, record({"boxed": [1.0, 0.0]}))],
        [(1, record({"boxed": [None, None]}, text=False))],
        [(step, record({"boxed": [0.0, 0.0]}, text=False)) for step in (1, 2)],
        [
            (1, {"rewards": {}, "columns": {}, "prompt_id": "x"}),
            (2, {"rewards": {"boxed": [None]}, "columns": {}, "prompt_id": ""}),
        ],
    ],
    ids=["one group", "nothing scored", "no live group and no text", "hardly a field"],
)
def test_odd_runs_have_a_page(browser, tmp_path, stepped):
    browser.open(written(tmp_path, stepped), 360).assert_sound()
    browser.focus(".open", "\ue007")
    assert browser.text("#group h2")[0].startswith(f"Step {stepped[-1][0]}, group 0")
    browser.assert_sound()


def test_a_run_of_the_trainer_has_a_page(browser, config, problems, tmp_path):
    trainer, lines = train_and_read(config, problems, [lengths_of_some, boxed()], max_steps=3)
    browser.open(trainer.args.output_dir).assert_sound()
    shares = browser.run("data.runs[0].points.kinds.find(([name]) => name === 'live')[1]")
    assert shares == [
        sum(line["outcome"] == "live" for line in lines if line["step"] == step) / 2 for step in (1, 2, 3)
    ]
    assert browser.place.stat().st_size < 2_500_000
    browser.focus(".open", "\ue007")
    first = max(lines, key=lambda line: (line["outcome"] == "live", line["spread"], line["step"], line["group"]))
    assert browser.text("#group .message")[0] == first["prompt"][-1]["content"]
    template = trainer.processing_class.apply_chat_template
    assert first["model_input"] == template(first["prompt"], add_generation_prompt=True, tokenize=False)
    assert browser.text("#group #input p") == [""]
    browser.focus("#group #input summary", "\ue007")
    shown = browser.run("document.querySelector('#group #input p').textContent")
    assert shown == first["model_input"] and "<|" in shown
    browser.assert_sound()


def test_the_latest_report_of_a_run_that_goes_on_is_shown_at_the_same_place(browser, tmp_path):
    """Also if there is something new above this place, such as a warning."""
    style = {"right": (0.7, 0.3), "style": (0.2, 0.9)}
    browser.open(written(tmp_path, story(**style, steps=19)))
    browser.driver.execute_script(
        "byId('order').value = 'newest'; byId('first').value = '5'; byId('search').value = 'What'; filterAnew();"
        "document.querySelector('#rewards summary').click(); document.querySelector('#reward .legend button').click();"
        "byId('more').click(); scrollTo(0, byId('rewards').getBoundingClientRect().top + scrollY + 30)"
    )
    until(lambda: browser.count("#rewards tr") == 20)
    top = "document.querySelector('#rewards').getBoundingClientRect().top"
    assert browser.text("#found") == ["60 of 76 groups."] and abs(browser.run(top) + 30) < 1
    before = browser.run("scrollY")
    write_report(written(tmp_path, story(**style, steps=60)), browser.place)
    browser.driver.find_element("css selector", "#latest").click()
    until(lambda: browser.text("#found") == ["224 of 240 groups."])
    assert browser.run("[byId('order').value, byId('search').value]") == ["newest", "What"]
    assert browser.text("#rewards tr:last-child")[-1].startswith("60 ") and browser.count("#table .open") == 150
    assert browser.text("#reward .legend [aria-pressed='false']") == ["mean total reward"]
    assert browser.count("main details[open]") == 1
    assert browser.text("#anomalies strong") == ["style rises while boxed falls"]
    until(lambda: browser.run("history.scrollRestoration") == "auto")
    assert abs(browser.run(top) + 30) < 1 and browser.run("scrollY") > before + 20
    assert browser.run("document.activeElement.id") == "latest"
    browser.assert_sound()
    browser.open(tmp_path, 360)  # what was kept is used once
    assert browser.text("#found") == ["240 groups."]
    assert browser.text("#anomalies summary") == ["✓ 9 checks passed"]
    assert not any(browser.text("#anomalies details li"))
    browser.focus("#anomalies summary", "\ue007")
    until(lambda: any(browser.text("#anomalies details li")))
    passed = browser.text("#anomalies details li")
    assert len(passed) == 9 and "No reward rises while boxed falls or stays." not in passed
    browser.assert_sound()


def test_a_browser_that_cannot_unpack_the_page_says_so(browser, tmp_path):
    write_report(written(tmp_path, story(steps=2)), browser.place)
    command = browser.driver.execute_cdp_cmd
    added = command("Page.addScriptToEvaluateOnNewDocument", {"source": "delete globalThis.DecompressionStream"})
    try:
        browser.driver.get(browser.place.as_uri())
        until(lambda: browser.text("#packed")[0].startswith("This browser cannot unpack this page. Open it in Chrome"))
    finally:
        command("Page.removeScriptToEvaluateOnNewDocument", added)
    browser.open(tmp_path)
    assert browser.text("#packed") == [""]
    browser.assert_sound()


@pytest.mark.slow
def test_of_many_groups_a_sample_is_on_the_page(browser, tmp_path):
    one = record({"boxed": [1, 0] * 4}, completions=["word " * 400] * 8)
    page = write_report(written(tmp_path, ((step, one) for step in range(1, 1201))), tmp_path / "report.html")
    assert page.stat().st_size < 2_500_000
    browser.open(page)
    assert re.search(r" These are [\d,]+ of 1,200 groups: ", browser.text("#sampled")[0])
    browser.assert_sound()
