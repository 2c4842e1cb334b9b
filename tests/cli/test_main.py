"""The command itself: its subcommands, its help, and what it loads."""

import os
import subprocess
import sys
from importlib.metadata import entry_points, version

import pytest

from trl_grpo_rewards.cli.main import COMMANDS, main


def test_the_command_is_installed_and_lists_its_subcommands(command):
    (entry,) = entry_points(group="console_scripts", name="trl-grpo-rewards")
    assert entry.load() is main
    shown = command()
    assert shown.returncode == 0 and all(f"  {name} " in shown.stdout for name in COMMANDS)
    assert command("--help").stdout == shown.stdout
    assert command("--version").stdout.strip() == version("trl_grpo_rewards")
    unknown = command("trian")
    assert unknown.returncode == 2 and "invalid choice: 'trian'" in unknown.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_subcommand_has_help(command, name):
    shown = command(name, "--help")
    assert shown.returncode == 0 and f"usage: trl-grpo-rewards {name} " in shown.stdout


def test_the_help_of_a_job_begins_with_its_own_options(command):
    shown = command("train", "--help").stdout
    sections = ["the job:", "FilteredGRPOConfig):", "ModelConfig):", "(GRPOConfig):"]
    places = [shown.index(section) for section in sections]
    assert places == sorted(places)
    options = ["  --rewards ", "  --outcome_reward ", "  --use_peft ", "  --learning_rate "]
    assert [sum(place < shown.index(option) for place in places) for option in options] == [1, 2, 3, 4]
    assert shown[: places[1]].count("\n") < 60


@pytest.mark.parametrize("arguments", [["report", "--help"], ["score", "--help"], ["--help"]], ids=" ".join)
def test_what_needs_no_model_loads_no_torch(arguments):
    code = (
        "import sys; from trl_grpo_rewards.cli.main import main\ntry: main(sys.argv[1:])\n"
        "except SystemExit: sys.exit('torch' in sys.modules or 'trl' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=dict(os.environ), capture_output=True)
    assert done.returncode == 0
