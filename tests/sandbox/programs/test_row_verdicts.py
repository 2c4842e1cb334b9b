"""A program is stopped when enough is known, and its first failure is described."""

import asyncio

import pytest

from helpers.corpora import HONEST
from helpers.judged_programs import PlainSandbox, count_passed, judge_all
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.programs.cases import MODULES, ProgramVerdict, judge_tests, keeps_apart, try_program
from trl_grpo_rewards.sandbox.programs.formats import read_tests
from trl_grpo_rewards.sandbox.programs.python_tests import UnreadableTests
from trl_grpo_rewards.sandbox.protocol import Limits, RunResult


PAIRS = read_tests({"inputs": ["1", "2", "3"], "outputs": ["1", "4", "9"]})
CALLS = read_tests({"fn_name": "f", "inputs": [[1], [2]], "outputs": [1, 4]})


def attempt(program, tests=PAIRS, partial=False, **limits):
    sandbox = get_local_sandbox(MODULES)
    tests = read_tests(tests) if isinstance(tests, str | list) else tests
    return asyncio.run(try_program(program, tests, sandbox, Limits(**limits), partial))


def test_the_first_failure_ends_a_trial_unless_the_share_is_wanted():
    program = "print({'1': 1, '3': 9}.get(input(), 0))"
    failure = "case 2 of 3: input '2'; expected '4'; wrote '0\\n'"
    assert attempt(program) == ProgramVerdict(1, 3, "finished", failure)
    found = attempt(program, partial=True)
    assert (found.passed, found.share, found.failure) == (2, 2 / 3, failure)
    assert attempt("print(int(input()) ** 2)") == ProgramVerdict(3, 3)


def test_programs_that_exceed_their_time_are_not_run_again():
    found = attempt("n = int(input())\nwhile n == 1: pass\nprint(n ** 2)", partial=True, seconds=0.2)
    assert (found.passed, found.status) == (0, "timed_out") and found.failure.endswith("stopped after 0.2 s")


def test_calls_are_described():
    assert attempt("def f(n): return n", CALLS).failure == "case 2 of 2: call f(2); expected 4; returned 2"
    assert "crashed: ValueError: no" in attempt("def f(n): raise ValueError('no')", CALLS).failure
    assert "wrote more than 100 bytes" in attempt("print('x' * 999)", output_bytes=100).failure
    assert len(attempt("print('x' * 9999)").failure) < 700


def test_an_expected_output_that_is_larger_than_the_limit_can_be_written():
    tests = read_tests({"inputs": [""], "outputs": ["x" * 2000]})
    assert attempt("print('x' * 2000)", tests, output_bytes=1000) == ProgramVerdict(1, 1)
    assert attempt("print('x' * 9000)", tests, output_bytes=1000).status == "flooded"


@pytest.mark.parametrize(
    ("program", "failure", "status"),
    [
        ("def f(n): return n if n == 1 else 3", "'assert f(2) == 4': AssertionError; the last call, f(2), returned 3", "finished"),
        ("def f(n): return {'a': [n]}", "'assert f(1) == 1': AssertionError; the last call, f(1), returned {'a': [1]}", "finished"),
        ("def f(n): raise ValueError('no')", "'assert f(1) == 1': ValueError: no; the last call, f(1), raised ValueError: no", "crashed"),
        ("def f(n): return 'x' * 9999", f"'assert f(1) == 1': AssertionError; the last call, f(1), returned '{'x' * 199}...", "finished"),
        ("def f(n): return 10**100_000", "'assert f(1) == 1': AssertionError; the last call, f(1), returned <int>", "finished"),
        ("class f:\n    def __init__(self, n): pass\n    def __repr__(self): 1 / 0", "'assert f(1) == 1': AssertionError; the last call, f(1), returned <f>", "finished"),
        ("1 / 0", "the program raised ZeroDivisionError: division by zero", "crashed"),
        ("def g(n): return n", "'assert f(1) == 1': NameError: name 'f' is not defined", "finished"),
        ("import os\ndef f(n): os._exit(0)", "the program ended during the tests", "crashed"),
        ("def f(n):\n    while True: pass", "stopped after 0.5 s", "timed_out"),
        ("import time\ndef f(n): time.sleep(60)", "stopped after 0.5 s", "timed_out"),
    ],
)  # fmt: skip
def test_failures_of_python_tests_are_described(program, failure, status):
    found = attempt(program, "assert f(1) == 1\nassert f(2) == 4", seconds=0.5)
    assert found == ProgramVerdict(0, 1, status, failure)


def test_parts_of_python_tests_are_counted_where_the_share_is_wanted():
    tests = [
        "cases = list(range(5))",
        "assert f(1) == 1",
        "assert f(2) == 4",
        "def test_f():\n    assert f(3) == 9",
        "def g(x):\n    return f(x)",
        "print('done')",
    ]
    found = attempt("def f(n): return n if n == 1 else 9", tests, partial=True)
    assert (found.passed, found.total) == (2, 3) and "f(2), returned 9" in found.failure
    assert attempt("def f(n): return n * n", tests, partial=True) == ProgramVerdict(3, 3)
    assert attempt("1 / 0", tests, partial=True).share == 0


@pytest.mark.parametrize(
    "tests",
    [
        "import no_such_module\nassert f(1) == 1",
        "try:\n    x = 1\nfinally:\n    import no_such_module\nassert f(1) == 1",
        "import solution, socket\nassert f(socket) == 1",
        "class Mine(Base): pass\nassert f(Mine()) == 1",
        "def helper():\n    assert f(1) == 1",
        "def f(n): return 1\nassert f(1) == 1",
        "assert 1 == 1",
    ],
)
def test_tests_that_cannot_run_apart_from_the_program_are_unreadable(tests):
    with pytest.raises(UnreadableTests, match="Tests must be"):
        sandbox, program = get_local_sandbox(MODULES), "class Base: pass\ndef f(n): return 1"
        asyncio.run(try_program(program, read_tests(tests, packages=None), sandbox, Limits()))


def test_a_verdict_that_is_not_one_is_a_failure():
    done = RunResult("finished", "", "")
    for output in ("", "null", "[]", "7", '{"passed": 1}', '{"passed": 0, "total": 0}', '{"passed": 1, "total": 2}'):
        for partial in (False, True):
            trial = judge_tests(RunResult("finished", output, ""), done, Limits(), partial)
            assert trial.share < 1 and trial.status == "finished"
    right = '{"passed": 2, "total": 2, "failure": ""}'
    assert judge_tests(RunResult("finished", right, ""), done, Limits(), False) == ProgramVerdict(1, 1)
    assert judge_tests(RunResult("crashed", right, ""), done, Limits(), False).passed == 0


@pytest.mark.parametrize("style", ["helper", "unittest", "generator", "in place nested", "callback", "list node"])
def test_an_honest_program_is_paid(style):
    program, code, entry_point = HONEST[style]
    (found,) = judge_all([(program, code, entry_point)], partial=True, sandbox=PlainSandbox())
    assert found.share == 1


def test_a_wrong_program_is_not():
    tests, forged = read_tests("assert add(1, 2) == 3"), '{"passed": 1, "total": 1, "failure": ""}'
    for program in (
        "def add(a, b): return 7",
        "1 / 0",
        "import os; os._exit(0)",
        f"print({forged!r})\nimport os; os._exit(0)",
    ):
        assert count_passed(program, tests, sandbox=PlainSandbox()) == 0
    assert not keeps_apart(PlainSandbox())
