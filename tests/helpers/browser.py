"""A browser that tests drive."""

import base64
import gzip
import json
import re
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from trl_grpo_rewards.report import write_report


TEXTS = """
const texts = (one) => one.checkVisibility() ? one.innerText.replace(/\\t/g, " ").replace(/\\s*\\n\\s*/g, "\\n").trim() : "";
return [...document.querySelectorAll(arguments[0])].map(texts);
"""
"""What a reader sees of each element. One script takes a tenth of the time that `WebElement.text` would."""


class Browser:
    """
    A headless Chromium, with the errors and requests of the page that is open.

    All pages are opened at the same place, because the browser compiles the scripts of a place once: a second less.
    """

    def __init__(self, driver, place: Path) -> None:
        self.driver, self.place = driver, place

    def open(
        self, source: Path | Sequence[Path], width: int = 1280, theme: str = "light", part: str = ""
    ) -> "Browser":
        """Open a page, or write and open the one about a run or several. `part` is what follows its address."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.theme(theme)
        if isinstance(source, Path) and source.is_file():
            shutil.copyfile(source, self.place)
        else:
            write_report(source, self.place)
        self.requests()
        self.driver.get(f"{self.place.as_uri()}{part}")
        if part:
            self.driver.refresh()  # a part of the page that is open was only looked up
        until(lambda: self.run("document.documentElement.dataset.drawn") == "true")
        return self

    def theme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, expression: str):
        return self.driver.execute_script(f"return {expression}")

    def text(self, selector: str) -> list[str]:
        return self.driver.execute_script(TEXTS, selector)

    def count(self, selector: str) -> int:
        return self.driver.execute_script("return document.querySelectorAll(arguments[0]).length", selector)

    def focus(self, selector: str, *keys: str) -> None:
        """Focus an element, and press keys there."""
        self.driver.execute_script("document.querySelector(arguments[0]).focus()", selector)
        self.press(*keys)

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(key).perform()

    def requests(self) -> list[str]:
        """Addresses that were asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in sent if not url.startswith(("data:", "blob:"))]

    def assert_sound(self) -> None:
        """Everything is drawn, nothing was refused or asked for, and nothing is wider than the screen."""
        assert self.run("document.documentElement.dataset.drawn") == "true"
        assert self.driver.get_log("browser") == []
        assert set(self.requests()) <= {self.place.as_uri()}
        assert self.run("document.documentElement.scrollWidth") == self.run("innerWidth")


def read_packed(page: Path, part: str) -> str:
    """Return the text of a part of a page that is compressed."""
    (packed,) = re.findall(rf'<script type="application/gzip"[^>]* id="{part}">([^<]*)</script>', page.read_text())
    return gzip.decompress(base64.b64decode(packed)).decode()


def until(true: Callable[[], bool]) -> None:
    """Wait for what a browser does in its own time."""
    end = time.monotonic() + 10
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    assert true()
