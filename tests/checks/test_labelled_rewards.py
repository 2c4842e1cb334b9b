"""What `check` says of broken and healthy rewards, and the script that counts it."""

import json
import pickle
import re

import pytest
from datasets import Dataset

from helpers import labelled_rewards
from helpers.labelled_rewards import DATA, LABELLED, MADE
from helpers.paths import ROOT
from trl_grpo_rewards.checks import check


PAGE = (ROOT / "docs" / "commands.md").read_text()

WARNED = {
    "last_number": "'the answer denied'",
    "first_number": "'the answer denied'",
    "with_unit": "'the answer denied'",
    "only_label": "'the answer denied'",
    "within_5_percent": "'a number nearby'",
    "alike_enough": "'(one character changed|the answer denied)'",
}
"""Healthy rewards that a warning is said of, with what it names."""


@pytest.mark.parametrize("name, said, rewards, data", LABELLED, ids=[one[0] for one in LABELLED])
def test_the_broken_are_found_and_the_healthy_are_paid_in_their_own_form(name, said, rewards, data):
    assert pickle.loads(pickle.dumps(rewards)) == rewards
    found = check(rewards, Dataset.from_dict(DATA[data]))
    faults, warnings = ([text for one in found for text in getattr(one, kind)] for kind in ("faults", "warnings"))
    if said:
        assert any(re.search(said, text) for text in faults + warnings)
        return
    assert not faults and all(re.search(WARNED.get(name, "^$"), text) for text in warnings)
    right, wrong = (found[-1].data["dry_run"][-1][kind] for kind in ("right", "wrong"))
    assert right > wrong
    if name != "grouped":
        assert right == pytest.approx(3.0 if "script" in name else sum(rewards.weights))


def test_the_set_is_large_and_its_page_is_true():
    broken = [one for one in LABELLED if one[1]]
    said = re.search(
        r"On (\d+) labelled rewards, `check` finds all (\d+) broken ones, and calls none of the (\d+) healthy", PAGE
    )
    expected = len(LABELLED), len(broken), len(LABELLED) - len(broken)
    assert (*map(int, said.groups()),) == expected and min(expected) >= 40
    assert len({name for name, *_ in LABELLED}) == len(LABELLED) and {one[3] for one in LABELLED} == {*DATA}


SOME = ("alone", "last_number", "contains")
MISSED, ALARM = ("a miss", "attack", MADE["alone"], "numbers"), ("an alarm", "", MADE["contains"], "numbers")


@pytest.mark.parametrize("more, code, counts", [((), 0, (1, 1, 0, 0, 2)), ((MISSED, ALARM), 1, (1, 2, 1, 1, 3))])
def test_what_is_found_missed_and_a_false_alarm_is_said(script, monkeypatch, more, code, counts):
    monkeypatch.setattr(labelled_rewards, "LABELLED", [*(one for one in LABELLED if one[0] in SOME), *more])
    run = script("check_labelled.py")
    found, broken, missed, alarms, healthy = counts
    said = f"{found} of {broken} broken rewards found, {missed} missed; {alarms} of {healthy} healthy rewards called faulty, "
    assert run.returncode == code and run.stdout.endswith(f"{said}1 with a warning.\n")
    rows = json.loads(script("check_labelled.py", "--json").stdout)
    results = {"alone": "quiet", "last_number": "warned", "contains": "found"}
    results |= {"a miss": "missed", "an alarm": "false alarm"}
    assert all(one["result"] == results[one["reward"]] for one in rows) and len(rows) == 3 + len(more)
    assert "contains()" in next(one["finding"] for one in rows if one["reward"] == "contains")
