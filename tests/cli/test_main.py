"""The command itself: its subcommands, its help, and what it loads."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

from helpers.paths import ROOT
from trl_grpo_rewards import boxed
from trl_grpo_rewards.cli import console
from trl_grpo_rewards.cli.main import COMMANDS, main
from trl_grpo_rewards.records.files import GroupWriter


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
    codes = {console.CLOSED}
    if "--help" in line and not is_buffered:  # argparse itself may ignore that nobody reads its help
        codes.add(0)
    assert done.returncode in codes and done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_an_output_that_cannot_be_written_is_one_sentence(tmp_path):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "trl_grpo_rewards.cli", "--help"]
        done = subprocess.run(command, env={**os.environ, "PYTHONUNBUFFERED": ""}, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == console.MISUSED and done.stderr.startswith(b"error: Standard output cannot be written: ")
    assert done.stderr.count(b"\n") == 1


# --- the page about the commands


PAGE = (ROOT / "docs" / "commands.md").read_text().partition("## Exit codes")[2]
WORDS = {word for line in PAGE.splitlines() if line.startswith("|") for word in re.findall(r"`(\w+)`", line)}


def find_keys(value) -> set[str]:
    if isinstance(value, dict):
        return {*value}.union(*map(find_keys, value.values()))
    return set().union(*map(find_keys, value)) if isinstance(value, list) else set()


def list_top_keys(command: str) -> list[str]:
    table = PAGE.split(f"`{command} --json`:")[1].split("\n\n")[1]
    return [key for cell in re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", cell)]


@pytest.fixture
def run(tmp_path):
    """The records of a run, as far as the commands read them."""
    texts = [r"\boxed{4}", r"\boxed{5}", "4", r"\boxed{4} "]
    record = {
        "prompt": "2 + 2?", "prompt_id": "a", "completions": texts, "columns": {"solution": "4"},
        "rewards": {"boxed": boxed()(completions=texts, solution=["4"] * 4)}, "weights": {"boxed": 1.0},
        "total": [1.0, 0.0, 0.0, 1.0], "lengths": [5, 5, 1, 6], "outcome_reward": "boxed",
    }  # fmt: skip
    writer = GroupWriter(tmp_path / "run")
    for step in range(1, 26):
        writer.write(step, [record, record])
    return tmp_path / "run"


def test_the_page_names_the_keys_of_each_command(command, run):
    found = {
        "check": command("check", "--rewards", "boxed()", "--json"),
        "score": command("score", "boxed(evaluated=True)", run, "--against", "boxed(partial=0.5)", "--json"),
        "report": command("report", run, "--json"),
    }
    assert [one.returncode for one in found.values()] == [1, 0, 0], [one.stderr for one in found.values()]
    values = {name: json.loads(one.stdout) for name, one in found.items()}
    assert {name: sorted(value) for name, value in values.items()} == {n: sorted(list_top_keys(n)) for n in values}
    keys = set().union(*(find_keys(value) for value in values.values()))
    assert keys == WORDS
    assert values["score"]["difference"]["dead_groups"] == 0 and values["score"]["rows"] == 200


def test_the_page_and_the_help_name_the_exit_codes(command):
    codes = {str(code) for code in (console.FINE, console.FAULTY, console.MISUSED, 130, console.CLOSED)}
    assert {*re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)} == codes
    assert {*re.findall(r"^  (\d+) ", console.TEXTS["exit_codes"], re.MULTILINE)} == codes
    for name in ("", *COMMANDS):
        shown = command(*name.split(), "--help").stdout
        assert console.TEXTS["exit_codes"] in shown and f"usage: trl-grpo-rewards {name}" in shown
