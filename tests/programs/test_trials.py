"""A program is stopped when enough is known, and its first failure is described."""

import asyncio

from trl_grpo_rewards.programs.formats import read_tests
from trl_grpo_rewards.programs.trials import Trial, try_program
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.protocol import Limits


PAIRS = read_tests({"inputs": ["1", "2", "3"], "outputs": ["1", "4", "9"]})
CALLS = read_tests({"fn_name": "f", "inputs": [[1], [2]], "outputs": [1, 4]})


def attempt(program, tests=PAIRS, partial=False, **limits):
    return asyncio.run(try_program(program, tests, get_local_sandbox(), Limits(**limits), partial))


def test_the_first_failure_ends_a_trial_unless_the_share_is_wanted():
    program = "print({'1': 1, '3': 9}.get(input(), 0))"
    assert attempt(program) == Trial(1, 3, "finished", "case 2 of 3: input '2'; expected '4'; wrote '0\\n'")
    found = attempt(program, partial=True)
    assert (found.passed, found.share, found.failure) == (
        2,
        2 / 3,
        "case 2 of 3: input '2'; expected '4'; wrote '0\\n'",
    )
    assert attempt("print(int(input()) ** 2)") == Trial(3, 3)


def test_programs_that_exceed_their_time_or_are_refused_are_not_run_again():
    found = attempt("n = int(input())\nwhile n == 1: pass\nprint(n ** 2)", partial=True, seconds=0.2)
    assert (found.passed, found.status) == (0, "timed_out") and found.failure.endswith("stopped after 0.2 s")
    found = attempt("import os; os.fork()", partial=True)
    assert (found.passed, found.status) == (0, "refused")


def test_calls_are_described():
    found = attempt("def f(n): return n", CALLS)
    assert (
        found.failure == """case 2 of 2: call f(*arguments) with arguments '[2]'; expected 4; wrote '["int", "2"]'"""
    )
    assert "crashed: ValueError: no" in attempt("def f(n): raise ValueError('no')", CALLS).failure
    assert "wrote more than 100 bytes" in attempt("print('x' * 999)", output_bytes=100).failure
    assert len(attempt("print('x' * 9999)").failure) < 700
