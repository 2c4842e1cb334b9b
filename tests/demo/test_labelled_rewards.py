"""What `check` says of the broken and the healthy rewards of its self-test."""

import pickle
import re

import pytest
from datasets import Dataset

from helpers.paths import ROOT
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.demo.labelled_rewards import DATA, LABELLED


PAGE = (ROOT / "docs" / "commands.md").read_text()

WARNED = {
    "last_number": "'the answer denied'",
    "first_number": "'the answer denied'",
    "with_unit": "'the answer denied'",
    "only_label": "'the answer denied'",
    "alike_enough": "'(one character changed|the answer denied)'",
}
"""Healthy rewards that a warning is said of, with the attacks that it names."""


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
    said = re.search(r"finds (\d+) of (\d+) broken rewards, and calls none of the (\d+)\s+healthy", PAGE)
    expected = len(broken), len(broken), len(LABELLED) - len(broken)
    assert (*map(int, said.groups()),) == expected and min(expected) >= 40
    assert len({name for name, *_ in LABELLED}) == len(LABELLED) and {one[3] for one in LABELLED} == {*DATA}
