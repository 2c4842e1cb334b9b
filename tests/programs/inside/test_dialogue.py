"""No program is paid for what it writes into the pipe, returns or defines instead of a solution."""

import time

import pytest

from helpers.judged_programs import judge_all
from helpers.pipe_cheats import ANSWERS, CHEATS, OBJECTS, ORDER, TESTS
from trl_grpo_rewards.programs.inside import dialogue


ADD = "def add(a, b): return a + b"
WAITING = {"never answers", "never reads", "closes its pipes", "asks without end"}
COSTLY = {"tuples that unfold", "a set of what unfolds", "deep tuples", "a million values", "a number without end"}
QUICK = {"assert", "check", "unittest", "callback"}
"""Kinds of tests that every cheat attacks in a quick run, and the costly ones always."""


def check_unpaid(names, kinds):
    jobs = [(name, kind) for name in names for kind in kinds]
    trials = judge_all([(CHEATS[name], TESTS[kind], "add") for name, kind in jobs], seconds=1.0)
    assert [job for job, trial in zip(jobs, trials, strict=True) if trial.passed] == []
    assert all(alive.passed for alive in judge_all([(ADD, TESTS["assert"], "add")] * 8))


def test_there_are_enough_cheats():
    assert len(ANSWERS | ORDER) >= 40 and len(OBJECTS) >= 20


def test_the_tests_are_passed_by_an_honest_program():
    trials = judge_all([(ADD, tests, "add") for tests in TESTS.values()])
    assert {kind: trial.failure for kind, trial in zip(TESTS, trials, strict=True) if not trial.passed} == {}


@pytest.mark.parametrize("kind", [pytest.param(one, marks=[pytest.mark.slow] * (one not in QUICK)) for one in TESTS])
def test_no_cheat_is_paid(kind):
    check_unpaid({*CHEATS} - COSTLY - (set() if kind in ("assert", "unittest") else WAITING), [kind])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COSTLY))
def test_hostile_values_cost_no_more_than_the_time_limit(name):
    start = time.monotonic()
    check_unpaid([name], ["assert"])
    assert time.monotonic() - start < 10
    check_unpaid([name], QUICK - {"assert"})


def test_the_descriptors_are_those_that_the_back_ends_promise():
    assert (dialogue.READ_END, dialogue.WRITE_END) == (3, 4)
