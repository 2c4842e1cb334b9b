"""The documentation site: it builds without warnings, and its pages fit a phone and load nothing from elsewhere."""

import functools
import http.server
import re
import runpy
import shutil
import subprocess
import sys
import threading
import tomllib

import pytest

from helpers.paths import ROOT, SCRIPTS
from trl_grpo_rewards import rewards


NAMES = [*rewards.__all__, "gate", "clip", "schedule", "route"]
"""All rewards."""

pytest.importorskip("zensical", reason="zensical is not installed: pip install -e '.[docs]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site. Its source is in `build/pages` beside it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "zensical.toml", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["make_pages.py", str(folder / "build" / "pages")])
        patch.setattr(sys, "path", [str(SCRIPTS), *sys.path])
        patch.setenv("COLUMNS", "88")
        runpy.run_path(str(SCRIPTS / "make_pages.py"), run_name="__main__")
    build = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and "No issues found" in done.stdout + done.stderr, done.stdout + done.stderr
    return folder / "build" / "site"


def list_pages(navigation: list) -> list[str]:
    """Return the pages of a navigation, which may be nested."""
    values = [value for entry in navigation for value in entry.values()]
    return [page for value in values for page in (list_pages(value) if isinstance(value, list) else [value])]


def test_the_navigation_has_every_page_once(site):
    written = {str(file.relative_to(site.parent / "pages")) for file in (site.parent / "pages").rglob("*.md")}
    listed = list_pages(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"])
    assert sorted(listed) == sorted(written)


def test_a_reward_has_a_page_with_its_signature_and_its_examples(site):
    for name in NAMES:
        text = (site.parent / "pages" / "rewards" / f"{name}.md").read_text()
        assert text.startswith(f"# {name}\n") and f"```python\n{name}(" in text and f"import {name}`" in text, name
        assert f"{name}(" in text.split("## Examples")[1].split("```pycon")[1], name
        assert ("## Arguments" in text) == (name != "overlap"), name  # which has no options


def test_docstrings_are_pages_without_the_marks_of_docstrings(site):
    pages = {
        file.name: file.read_text() for file in (site.parent / "pages").rglob("*.md") if file.parent.name != "pages"
    }
    for name, text in pages.items():
        assert not re.search(
            r"\\\\\(|\[`[~\w.]+`\](?!\()|^(Args|Returns|Raises|Example):$", text, flags=re.MULTILINE
        ), name
    assert "<mtext>max_tokens</mtext>" in pages["cosine.md"]
    assert "(trl_grpo_rewards.checks.md#Form)" in pages["trl_grpo_rewards.md"]
    assert "- **`*names`** (`str`): Names of the tags, without brackets." in pages["tags.md"]
    assert "on any number of ranks" in pages["shortest.md"] and "- **Needs:** `solution`" in pages["boxed.md"]


def test_images_exist_and_nothing_is_loaded_from_elsewhere(site):
    loaded = re.compile(r"<(?:img|script|link)\b[^>]*?\b(?:src|href)=[\"']?([^\"'\s>]+)[^>]*")
    for page in site.rglob("*.html"):
        for found in loaded.finditer(page.read_text()):
            target = found[1].split("?")[0].split("#")[0]
            assert not target.startswith(("http", "//")), f"{page} loads {target}"
            base = site if page.name == "404.html" else page.parent
            assert (base / target.lstrip("/")).exists() or target.startswith("data:"), f"{page} needs {target}"


@pytest.fixture
def address(site):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_no_page_is_wider_than_a_phone_or_reports_an_error(site, address, driver):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get_log("browser")  # of other pages
    docstrings = sorted(site.glob("re*/*.html"), key=lambda page: page.stat().st_size)  # of rewards and of modules
    for page in {*site.rglob("*.html")} - {*docstrings[:-5]}:  # those pages are alike
        driver.get(f"{address}/{page.relative_to(site)}")
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 390, page
        assert "trl_grpo_rewards" in driver.title and driver.get_log("browser") == [], page


def test_a_phone_shows_all_columns_of_the_table_that_chooses_a_reward(address, driver):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get(f"{address}/rewards.html")
    cell = "document.querySelector('table th:nth-child(3)')"
    assert driver.execute_script(f"return [{cell}.innerText, {cell}.getBoundingClientRect().right <= 390]") == [
        "because",
        True,
    ]


FOUND = """
return [...document.querySelectorAll("*")].some((one) =>
    one.shadowRoot?.querySelector("[role=listbox] a[href*='symptoms.html']"))
"""
"""Whether the page that says what to do is among the results of the search, which are in a shadow tree."""


@pytest.mark.parametrize("is_served", [True, False], ids=["served", "opened as a file"])
def test_the_search_finds_a_page(site, address, driver, is_served):
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.get(f"{address}/trainer.html" if is_served else (site / "trainer.html").as_uri())
    wait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait(driver, 30)
    wait.until(lambda _: driver.execute_script("return document.readyState") == "complete")
    driver.find_element("tag name", "body").send_keys("/")
    wait.until(lambda _: driver.switch_to.active_element.tag_name != "body")
    driver.switch_to.active_element.send_keys("loss is 0.0")
    wait.until(lambda _: driver.execute_script(FOUND))
    assert driver.get_log("browser") == []
