"""No program is paid for what it writes into the pipe, returns or defines instead of a solution."""

import re
import textwrap
import time

import pytest

from helpers.corpora import DIALOGUE, select
from helpers.judged_programs import judge_all
from trl_grpo_rewards.sandbox.programs.inside import dialogue


CHEATS, TESTS = select(DIALOGUE, without="tests"), select(DIALOGUE, "tests")
ADD = "def add(a, b): return a + b"
COSTLY = {"tuples that unfold", "a set of what unfolds", "deep tuples", "a million values", "a number without end"}
ALONE = ("check", "pytest", "raises", "exit")
TOGETHER = "\n".join(
    f"def test_{place}():\n{textwrap.indent(TESTS[kind], '    ')}"
    for place, kind in enumerate(kind for kind in TESTS if kind not in (*ALONE, "unittest"))
)
"""Tests of all other kinds in one file, each in a function."""


def judge(names, tests, partial=False):
    jobs = [(CHEATS[name], tests, "add") for name in names]
    return dict(zip(names, judge_all(jobs, seconds=0.5, partial=partial), strict=True))


def test_there_are_enough_cheats():
    assert len(CHEATS) >= 107 and len(select(DIALOGUE, "forged")) >= 60


def test_the_tests_are_passed_by_an_honest_program():
    trials = judge_all([(ADD, tests, "add") for tests in TESTS.values()])
    assert {kind: trial.failure for kind, trial in zip(TESTS, trials, strict=True) if not trial.passed} == {}
    (trial,) = judge_all([(ADD, TOGETHER)], partial=True)
    assert trial.passed == trial.total == 12


def test_no_cheat_is_paid():
    names, paid, reaching = [name for name in CHEATS if name not in COSTLY], [], {}
    for kind in ("assert", "unittest"):
        for name, trial in judge(names, TESTS[kind]).items():
            paid += [(kind, name)] * trial.passed
            if not re.search("^the program (?:sent|ended)|^stopped after", trial.failure):
                reaching[name] = kind
    assert len(reaching) > 35  # with these, tests get to see a value or an error
    paid += [(kind, name) for kind in ALONE for name, trial in judge(reaching, TESTS[kind]).items() if trial.passed]
    paid += [name for name, trial in judge(reaching, TOGETHER, partial=True).items() if trial.passed]
    assert paid == []
    assert all(alive.passed for alive in judge_all([(ADD, TESTS["assert"], "add")] * 8))


@pytest.mark.slow
def test_hostile_values_cost_no_more_than_the_time_limit():
    for name in sorted(COSTLY):
        start = time.monotonic()
        assert not judge([name], TESTS["assert"])[name].passed
        assert time.monotonic() - start < 10, name
    assert [name for name, trial in judge(COSTLY, TESTS["unittest"]).items() if trial.passed] == []
    assert all(alive.passed for alive in judge_all([(ADD, TESTS["assert"], "add")] * 8))


def test_the_descriptors_are_those_that_the_back_ends_promise():
    assert (dialogue.READ_END, dialogue.WRITE_END) == (3, 4)
