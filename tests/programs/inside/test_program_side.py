"""What honest programs define is there for the tests, in every style in which tests use it."""

import asyncio

import pytest

from helpers.honest_programs import HONEST
from helpers.plain_python import ask_python
from trl_grpo_rewards.programs.drivers import MODULES
from trl_grpo_rewards.programs.formats import read_tests
from trl_grpo_rewards.programs.inside.program_side import ProgramSide
from trl_grpo_rewards.programs.row_verdicts import try_program
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.protocol import Limits


@pytest.mark.parametrize("style", HONEST)
def test_an_honest_program_is_paid(style):
    program, code, entry_point = HONEST[style]
    tests = read_tests(code, {"entry_point": entry_point} if entry_point else {})
    trial = asyncio.run(try_program(program, tests, get_local_sandbox(None, MODULES), Limits(5.0)))
    assert trial.failure == "" and trial.passed == trial.total == 1


OURS = {"capsys", "fixture", "pytest class", "async"}
"""Styles for which the plain runner has no fixtures, no setup and no event loop."""


def test_python_agrees():
    styles = [style for style, (*_, entry_point) in HONEST.items() if not entry_point and style not in OURS]
    found = ask_python([HONEST[style][:2] for style in styles])
    assert [style for style, is_passed in zip(styles, found, strict=True) if not is_passed] == []


def test_what_the_tests_may_ask_for_is_written_down():
    assert {*ProgramSide.operations} == {
        "load",
        "call",
        "special",
        "get",
        "set",
        "delete",
        "take",
        "wait",
        "mirror",
    }
