"""Rewards from elsewhere, in every command: of an installed package, and of a plain module beside the data."""

import json
import shutil
import subprocess
import sys

import pytest

from helpers.paths import TESTS
from helpers.processes import Forked


REWARDS = "boxed(evaluated=True) + 0.1 * polite(word='think') + 0.1 * shouted()"
CALLS = {
    "train": ["--rewards", REWARDS, "--max_steps", "1", "--eval_prompts", "0", "--per_device_train_batch_size", "32"],
    "check": ["--rewards", REWARDS, "--details"], "score": [REWARDS, "rows.jsonl"],
}  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where pip has installed the package under tests/helpers/plugin."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(TESTS / "helpers" / "plugin", folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", "site", "./source"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "site"


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_rewards_from_elsewhere_work_in(name, installed, tmp_path):
    row = {"prompt": "What is 3 + 4?", "completion": "<think>3+4=7</think>\\boxed{7}", "solution": "7"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "mine.py").write_text(
        "from trl_grpo_rewards import reward\n\n@reward\ndef shouted(completion):\n    return float('!' in completion)\n"
    )
    run = Forked(name, *CALLS[name], "--import", "mine", cwd=tmp_path, packages=[installed]).wait()
    assert run.returncode == 0, run.stdout + run.stderr
    seen = (tmp_path / "runs/addition/groups/0001-0001.jsonl").read_text() if name == "train" else run.stdout
    assert "polite" in seen and "shouted" in seen
