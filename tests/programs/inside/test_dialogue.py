"""No program is paid for what it writes into the pipe, returns or defines instead of a solution."""

import asyncio
import time

import pytest

from helpers.pipe_cheats import ANSWERS, CHEATS, OBJECTS, ORDER, TESTS
from trl_grpo_rewards.programs.drivers import MODULES
from trl_grpo_rewards.programs.formats import read_tests
from trl_grpo_rewards.programs.inside import dialogue
from trl_grpo_rewards.programs.row_verdicts import try_program
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.protocol import Limits


ADD = "def add(a, b): return a + b"
WAITING = {"never answers", "never reads", "closes its pipes", "asks without end"}
COSTLY = {"tuples that unfold", "a set of what unfolds", "deep tuples", "a million values", "a number without end"}


def try_all(jobs, seconds=1.0):
    async def run():
        sandbox = get_local_sandbox(None, MODULES)
        return await asyncio.gather(*(try_program(*job, sandbox, Limits(seconds)) for job in jobs))

    return asyncio.run(run())


def check_unpaid(names, kinds):
    jobs = [(CHEATS[name], read_tests(TESTS[kind], {"entry_point": "add"})) for name in names for kind in kinds]
    paid = [job for job, trial in zip(jobs, try_all(jobs), strict=True) if trial.passed]
    assert not paid
    (alive,) = try_all([(ADD, read_tests(TESTS["assert"]))])
    assert alive.passed


def test_there_are_enough_cheats():
    assert len(ANSWERS | ORDER) >= 40 and len(OBJECTS) >= 20


@pytest.mark.parametrize("kind", TESTS)
def test_the_tests_are_passed_by_an_honest_program(kind):
    (trial,) = try_all([(ADD, read_tests(TESTS[kind], {"entry_point": "add"}))])
    assert trial.passed, trial


@pytest.mark.parametrize("name", sorted({*CHEATS} - COSTLY))
def test_a_cheat_is_not_paid(name):
    check_unpaid([name], ["assert", "unittest"] if name in WAITING else ["assert", "check", "unittest", "callback"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", TESTS)
def test_no_cheat_is_paid_by_any_kind_of_test(kind):
    check_unpaid({*CHEATS} - WAITING, [kind])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COSTLY))
def test_hostile_values_cost_no_more_than_the_time_limit(name):
    start = time.monotonic()
    check_unpaid([name], ["assert"])
    assert time.monotonic() - start < 10


def test_the_descriptors_are_those_that_the_back_ends_promise():
    assert (dialogue.READ_END, dialogue.WRITE_END) == (3, 4)
