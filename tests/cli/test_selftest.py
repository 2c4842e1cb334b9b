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
    assert (
        ended.value.code == 2
        and f"no option except --json; got {refused}. Leave out either." in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "more, code, said",
    [
        ((), 0, "1 of 1 broken rewards found, 0 missed; 0 of 2 healthy rewards called faulty, 1 with a warning.\n"),
        ((MISSED,), 1, "1 of 2 broken rewards found, 1 missed; 0 of 2 healthy rewards called faulty, 1 with a warning.\n"),
        ((ALARM,), 1, "1 of 1 broken rewards found, 0 missed; 1 of 3 healthy rewards called faulty, 1 with a warning.\n"),
    ],
)  # fmt: skip
def test_what_is_found_missed_and_a_false_alarm_is_said(monkeypatch, capsys, more, code, said):
    monkeypatch.setattr(labelled_rewards, "LABELLED", [*(one for one in LABELLED if one[0] in SOME), *more])
    with pytest.raises(SystemExit) as ended:
        main(["check", "--selftest"])
    assert ended.value.code == code and capsys.readouterr().out.endswith(said)
    with pytest.raises(SystemExit):
        main(["check", "--selftest", "--json"])
    found = json.loads(capsys.readouterr().out)["selftest"]
    results = {one["reward"]: one["result"] for one in found}
    assert results.items() >= {"alone": "quiet", "last_number": "warned", "contains": "found"}.items()
    assert [results.get(one[0]) for one in more] == [
        {"a miss": "missed", "an alarm": "false alarm"}[one[0]] for one in more
    ]
    assert "contains()" in next(one["finding"] for one in found if one["reward"] == "contains")
