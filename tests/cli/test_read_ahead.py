"""A job's command line is read before torch and TRL are imported, by the names that their source declares."""

import json
import subprocess
import sys

import pytest

from trl_grpo_rewards.cli import read_ahead
from trl_grpo_rewards.cli.check import CheckArguments
from trl_grpo_rewards.cli.job import JobParser
from trl_grpo_rewards.cli.read_ahead import DESCRIPTIONS, MOST_USED, build_parser, format_help
from trl_grpo_rewards.cli.train import TrainArguments


JOB_TYPES = {"check": CheckArguments, "train": TrainArguments}


@pytest.mark.parametrize("command", DESCRIPTIONS)
def test_the_source_declares_what_the_parser_of_trl_accepts(command):
    declared = {spelling: one for one in build_parser(command)._actions for spelling in one.option_strings}
    accepted = {
        spelling: one
        for one in JobParser(command, JOB_TYPES[command])._actions
        for spelling in one.option_strings
        if one.nargs != 0 or not spelling.startswith("--no")
    }
    negated = {name for name in declared if name.startswith(("--no_", "--no-")) and name not in accepted}
    assert {*declared} - {"--help-all", "--config"} - negated == {*accepted}
    assert {name.replace("--no_", "--").replace("--no-", "--") for name in negated} < {*accepted}
    for name, action in accepted.items():
        one = declared[name]
        assert one.dest == action.dest
        assert action.nargs in (one.nargs, None if one.nargs == "?" else one.nargs), name
        assert not action.choices or {*(one.completer() or map(str, action.choices))} == {*map(str, action.choices)}, (
            name
        )
        assert (one.help or "").startswith(action.help or "")


def test_help_shows_each_of_our_options_once_and_those_of_trl_if_asked(command):
    shown, everything = command("train", "--help").stdout, command("train", "--help-all").stdout
    assert shown.count("\n") < 110 and everything.count("\n") > 900
    for name in ("--rewards", "--dataset_name", "--zero_variance", "--selective"):
        assert everything.count(f"  {name} ") == shown.count(f"  {name} ") == 1
    assert "--dataset-name" not in everything
    assert "  --learning_rate " in everything and "  --learning_rate " not in shown
    for name in MOST_USED.replace(",", "").replace("and ", "").split():
        assert f"  {name} " in everything and name in shown


def test_only_the_command_that_trains_offers_to_leave_out_the_check():
    assert "  --no_check " in format_help("train", has_all=False)
    assert "no_check" not in format_help("check", has_all=True)


def test_if_trl_moves_its_classes_its_own_parser_decides(command, monkeypatch):
    def fail(*names):
        raise LookupError

    monkeypatch.setattr(read_ahead, "read_options", fail)
    assert command("check", "--max_stepz", "3").stderr.startswith("error: '--max_stepz' on the command line is not an")
    assert "--learning_rate" in command("check", "--help").stdout


COMPLETE = """
import json, os, sys
from trl_grpo_rewards.cli.main import main
for place, line in enumerate(json.load(sys.stdin)):
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": " "}
    if (child := os.fork()) == 0:
        os.environ.update(asked, _ARGCOMPLETE_STDOUT_FILENAME=str(place))
        main()
    os.waitpid(child, 0)
"""


def test_a_shell_completes_a_command_line(tmp_path):
    pytest.importorskip("argcomplete")
    lines = {
        "tr": "train",
        "train --zero_v": "--zero_variance --zero_variance_by --zero_variance_tolerance",
        "check --unscored ": "row term", "train --lr_scheduler_type lin": "linear",
        "train --config gs": "gsm8k gsm8k_vllm", "score --ag": "--against", "report --o": "--out",
    }  # fmt: skip
    asked = json.dumps([f"trl-grpo-rewards {line}" for line in lines])
    subprocess.run([sys.executable, "-c", COMPLETE], cwd=tmp_path, input=asked, text=True, timeout=300, check=True)
    found = [" ".join(sorted((tmp_path / str(place)).read_text().split())) for place in range(len(lines))]
    assert found == [*lines.values()]
