"""A browser that tests drive."""

import json
import time
from collections.abc import Callable
from pathlib import Path


class Browser:
    """A headless Chromium, with the errors and requests of the page that is open."""

    def __init__(self, driver) -> None:
        self.driver = driver

    def open(self, page: Path | str, width: int = 1280, theme: str = "light") -> "Browser":
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.theme(theme)
        self.requests()
        self.driver.get(page if isinstance(page, str) else page.as_uri())
        return self

    def theme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, expression: str):
        return self.driver.execute_script(f"return {expression}")

    def text(self, selector: str) -> list[str]:
        return [element.text for element in self.driver.find_elements("css selector", selector)]

    def count(self, selector: str) -> int:
        return self.driver.execute_script("return document.querySelectorAll(arguments[0]).length", selector)

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
