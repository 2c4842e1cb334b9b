"""A headless Chromium for the tests of the page, and a page. Without Chromium they are skipped."""

import shutil
from pathlib import Path

import pytest

from helpers.browser import Browser
from helpers.made_runs import story, with_log, written
from trl_grpo_rewards.report import write_report


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def healthy(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("healthy")
    return write_report(written(folder, story()), folder / "report.html")


@pytest.fixture(scope="session")
def hacked(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hacked")
    return write_report(written(folder, story(right=(0.7, 0.3), style=(0.2, 0.9))), folder / "report.html")


@pytest.fixture(scope="session")
def logged(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("logged")
    return write_report(with_log(folder), folder / "report.html")
