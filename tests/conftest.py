"""Trainers small enough to run by the dozen: the bundled model, a few problems, a few steps; and scripts run here."""

import functools
import gc
import os
import runpy
import shutil
import sys
from types import SimpleNamespace

import accelerate.utils.imports
import pytest
import torch
from hypothesis import settings

from helpers.chat_server import ChatServer
from helpers.local_http import serve
from helpers.models import read_models_once
from helpers.paths import SCRIPTS
from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOConfig, demo
from trl_grpo_rewards.cli.main import main
from trl_grpo_rewards.registry import REGISTRY


os.environ.setdefault("OMP_NUM_THREADS", "1")  # for processes that tests start: threads of tiny models only wait
os.environ.setdefault("MKL_ENABLE_INSTRUCTIONS", "AVX2")  # models sample the same completions on every CPU
torch.set_num_threads(1)
accelerate.utils.imports._is_package_available = functools.cache(  # else each run reads the metadata of packages anew
    accelerate.utils.imports._is_package_available
)
read_models_once()
for profile, examples in {"default": 25, "ci": 25, "thorough": 500}.items():  # of each law
    known = settings.get_profile("default" if profile == "thorough" else profile)
    settings.register_profile(profile, known, deadline=None, max_examples=examples)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests in a browser are slow."""
    for item in items:
        if "driver" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """TRL collects garbage after each run, which would take longer than the run if all modules were looked through."""
    gc.freeze()


@pytest.fixture
def config(tmp_path):
    return lambda cls=FilteredGRPOConfig, **options: small_config(tmp_path, cls, **options)


@pytest.fixture
def problems():
    return demo.arithmetic("train", size=64)


@pytest.fixture(scope="session")
def chat_server():
    with serve(ChatServer()) as server:
        yield server


@pytest.fixture
def server(chat_server):
    """The scripted judge of chat_server.py, of which nothing is known yet."""
    from trl_grpo_rewards import failures
    from trl_grpo_rewards.judging import client

    for known in (client.ACCEPTED, failures.FAILED_ONCE, failures.SHOWN_FAILURES):
        known.clear()
    return chat_server()


@pytest.fixture(scope="session")
def driver():
    """A headless Chromium. Tests that need it are skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")
    chromium, service = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not service:
        pytest.skip("there is no browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    yield driver
    driver.quit()


@pytest.fixture
def run_here(tmp_path, monkeypatch, capsys):
    """Calls a program as its process would, in a folder of its own, but here: imports need not be loaded again."""

    def run(program):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [str(SCRIPTS), *sys.path])
        before, said = dict(REGISTRY), None
        try:
            program()
        except SystemExit as exit:
            said = exit.code
        finally:
            REGISTRY.clear()
            REGISTRY.update(before)
            for name, module in [*sys.modules.items()]:  # the next program may have another module of this name
                if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
                    del sys.modules[name]
        out, error = capsys.readouterr()
        status = int(said is not None) if isinstance(said, str) or said is None else int(said)
        return SimpleNamespace(returncode=status, stdout=out, stderr=f"{error}{said if isinstance(said, str) else ''}")

    return run


@pytest.fixture
def command(run_here):
    """Runs a command such as `trl-grpo-rewards check`."""
    return lambda *arguments: run_here(lambda: main([*map(str, arguments)]))


@pytest.fixture
def script(run_here, monkeypatch):
    """Runs a script of the repository."""

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        return run_here(lambda: runpy.run_path(str(SCRIPTS / name), run_name="__main__"))

    return run
