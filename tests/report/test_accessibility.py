"""The page for readers who need contrast or use a keyboard."""

from pathlib import Path

from helpers.browser import until
from helpers.made_runs import with_log


CONTRAST = (Path(__file__).parents[1] / "helpers" / "contrast.js").read_text()
"""A script that returns what is too pale to read."""


def test_text_and_lines_have_the_contrast_of_wcag_aa_in_both_themes(browser, logged):
    browser.open(logged)
    browser.focus("#rewards summary", "\ue007")
    browser.focus("#rewards .legend button", "\ue007")
    until(lambda: browser.text("#rewards th") == ["Steps", "boxed", "style"])
    assert browser.count("#rewards .trace") == 1  # the other one is hidden by its legend
    stroke = "document.querySelector('#rewards .lines path').style.stroke"
    light = browser.run(stroke)
    browser.focus(".open", "\ue007")
    assert browser.driver.execute_script(CONTRAST) == []
    browser.theme("dark")
    until(lambda: browser.run(stroke) != light)
    assert browser.driver.execute_script(CONTRAST) == []
    browser.assert_sound()
    browser.driver.execute_script("document.querySelector('.message').style.color = 'var(--line)'")
    assert len(browser.driver.execute_script(CONTRAST)) >= 1  # it does find a text that is too pale


def test_everything_can_be_reached_by_keyboard(browser, logged):
    browser.open(logged)
    wanted = "a[href], button:enabled, select, input, summary, [tabindex='0']"
    visible = f"[...document.querySelectorAll(`{wanted}`)].filter(one => one.getClientRects().length)"
    count = browser.run(f"{visible}.length")
    at = f"[{visible}.indexOf(document.activeElement), document.activeElement.matches(':focus-visible')]"
    reached = []
    for _ in range(count):
        browser.press("\ue004")
        reached.append(browser.run(at))
    assert reached == [[place, True] for place in range(count)] and count > 60
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_landmarks_have_names_of_their_own_and_columns_have_heads(browser, tmp_path):
    runs = [with_log(tmp_path / name, steps=3) for name in ("a", "b")]
    browser.open(runs)
    browser.driver.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    until(lambda: all(browser.text("#reward th")))
    labels = browser.run(
        "[...document.querySelectorAll('[role=region], section[aria-label]')].map(one => one.ariaLabel)"
    )
    assert len({*labels}) == len(labels) >= 1
    heads = browser.run("[...document.querySelectorAll('main th')].map(one => one.textContent)")
    assert all(heads) and len(heads) > 20
