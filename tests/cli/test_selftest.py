"""`trl-grpo-rewards check --selftest`, with a few of the labelled rewards."""

import json

import pytest

from trl_grpo_rewards.cli.main import main
from trl_grpo_rewards.demo import labelled_rewards
from trl_grpo_rewards.demo.labelled_rewards import LABELLED, MADE


SOME = ("alone", "last_number", "contains")
MISSED, ALARM = ("a miss", "attack", MADE["alone"], "numbers"), ("an alarm", "", MADE["contains"], "numbers")


@pytest.mark.parametrize("given", ["--rewards boxed()", "--details", "--json --config gsm8k"])
def test_no_other_option_goes_with_the_self_test(capsys, monkeypatch, given):
    monkeypatch.setattr(labelled_rewards, "LABELLED", [])
    with pytest.raises(SystemExit) as ended:
        main(["check", "--selftest", *given.split()])
    refused = given.removeprefix("--json ").split()[0]
    assert ended.value.code == 2 and f"except --json; got {refused}. Leave out either." in capsys.readouterr().err


@pytest.mark.parametrize(
    "more, code, counts", [((), 0, (1, 1, 0, 0, 2)), ((MISSED, ALARM), 1, (1, 2, 1, 1, 3))]
)  # fmt: skip
def test_what_is_found_missed_and_a_false_alarm_is_said(monkeypatch, capsys, more, code, counts):
    monkeypatch.setattr(labelled_rewards, "LABELLED", [*(one for one in LABELLED if one[0] in SOME), *more])
    with pytest.raises(SystemExit) as ended:
        main(["check", "--selftest"])
    found, broken, missed, alarms, healthy = counts
    said = f"{found} of {broken} broken rewards found, {missed} missed; {alarms} of {healthy} healthy rewards called faulty, "
    assert ended.value.code == code and capsys.readouterr().out.endswith(f"{said}1 with a warning.\n")
    with pytest.raises(SystemExit):
        main(["check", "--selftest", "--json"])
    rows = json.loads(capsys.readouterr().out)["selftest"]
    results = {
        "alone": "quiet",
        "last_number": "warned",
        "contains": "found",
        "a miss": "missed",
        "an alarm": "false alarm",
    }
    assert all(one["result"] == results[one["reward"]] for one in rows) and len(rows) == 3 + len(more)
    assert "contains()" in next(one["finding"] for one in rows if one["reward"] == "contains")
