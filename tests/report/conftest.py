"""The browser, and the page of a run that has everything."""

from pathlib import Path

import pytest

from helpers.browser import Browser
from helpers.made_runs import with_log
from trl_grpo_rewards.report import write_report


@pytest.fixture(scope="session")
def browser(driver, tmp_path_factory):
    return Browser(driver, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="session")
def logged(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("logged")
    return write_report(with_log(folder, steps=50), folder / "report.html")
