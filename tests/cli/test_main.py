"""The command itself: its subcommands, its help, and what it loads."""

import os
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

from trl_grpo_rewards.cli import console
from trl_grpo_rewards.cli.main import COMMANDS, main


def test_the_command_is_installed_and_lists_its_subcommands(command):
    (entry,) = entry_points(group="console_scripts", name="trl-grpo-rewards")
    assert entry.load() is main
    shown = command()
    assert shown.returncode == 0 and all(f"  {name} " in shown.stdout for name in COMMANDS)
    assert command("--help").stdout == shown.stdout
    assert command("--version").stdout.strip() == version("trl_grpo_rewards")


@pytest.mark.parametrize(
    "line, is_buffered",
    [("--help", True), ("--help", False), ("score rows.jsonl", False), ("score rows.jsonl --json", True)],
)
def test_a_closed_output_ends_the_command_without_a_word(tmp_path, line, is_buffered):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "2 + 2?", "completion": "4", "solution": "4"}\n' * 9)
    (tmp_path / "run.json").write_text('{"rewards": "boxed()", "is_expression": true}')
    command = [sys.executable, "-m", "trl_grpo_rewards.cli", *line.split()]
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if is_buffered else "1"}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, cwd=tmp_path, env=environment, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    is_dropped = "--help" in line and not is_buffered  # argparse itself ignores that nobody reads its help
    assert (done.returncode, done.stderr) == (0 if is_dropped else console.CLOSED, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_an_output_that_cannot_be_written_is_one_sentence(tmp_path):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "trl_grpo_rewards.cli", "--help"]
        done = subprocess.run(command, env={**os.environ, "PYTHONUNBUFFERED": ""}, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == console.MISUSED and done.stderr.startswith(b"error: Standard output cannot be written: ")
    assert done.stderr.count(b"\n") == 1
