"""Back ends that cannot run two programs that talk run both in one request."""

import pytest

from helpers.corpora import HONEST
from helpers.plain_programs import PlainSandbox, attempt
from trl_grpo_rewards.programs.formats import read_tests
from trl_grpo_rewards.programs.row_verdicts import keeps_apart


@pytest.mark.parametrize("style", ["helper", "unittest", "generator", "in place nested", "callback", "list node"])
def test_an_honest_program_is_paid(style):
    program, code, entry_point = HONEST[style]
    assert attempt(program, read_tests(code, {"entry_point": entry_point} if entry_point else {})).share == 1


def test_a_wrong_program_is_not():
    tests = read_tests("assert add(1, 2) == 3")
    for program in (
        "def add(a, b): return 7",
        "1 / 0",
        "import os; os._exit(0)",
        'print(\'{"passed": 1, "total": 1, "failure": ""}\')\nimport os; os._exit(0)',
    ):
        assert attempt(program, tests).share == 0


def test_such_a_back_end_does_not_keep_them_apart():
    assert not keeps_apart(PlainSandbox())
