"""What the check says about the tests of a dataset."""

import time

import pytest

from helpers.judged_programs import PlainSandbox
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.programs.cases import MODULES
from trl_grpo_rewards.sandbox.programs.examination import (
    TRIED_FAULTS,
    examine_programs,
    find_reference,
    write_mutants,
)
from trl_grpo_rewards.sandbox.protocol import Limits


def pairs(inputs, outputs):
    return {"inputs": inputs, "outputs": outputs}


GOOD = {"prompt": "Double it.", "tests": pairs(["1", "2"], ["2", "4"]), "solution": "print(2 * int(input()))"}


def examine(*rows):
    return examine_programs(list(rows), "tests", lambda: get_local_sandbox(MODULES), Limits())


def test_a_good_dataset():
    found = examine(GOOD, {**GOOD, "solution": None})
    assert found.lines == [
        "2 of 2 rows have tests that can be read",
        "2 with inputs with their outputs",
        "1 of 1 solutions of the dataset pass their tests",
    ]
    assert not found.warnings and not found.faults


def test_tests_that_do_not_end_are_a_fault_within_seconds():
    endless = {"prompt": "Write f.", "tests": "while True: pass\nassert f() == 1", "solution": "def f(): return 1"}
    start = time.monotonic()
    found = examine(*[endless] * 3)
    assert time.monotonic() - start < 30  # on a loaded machine
    assert found.hopeless == "the tests do not end" and found.faults == [
        "3 of 3 rows have tests that no program can pass. Row 0: an empty program is stopped after 2 s, which the tests alone "
        "take. Correct or remove these rows."
    ]
    few = examine(*[GOOD] * 39, endless)
    assert (
        not few.hopeless and not few.faults and "1 of 40 rows have tests that no program can pass" in few.warnings[0]
    )


def test_no_other_cheat_is_tried_after_one_that_takes_long():
    waiting = {"prompt": "Write f.", "tests": "while f() != 3: pass", "solution": "def f(): return 3"}
    start = time.monotonic()
    found = examine(waiting)
    assert not found.faults and not found.hopeless and time.monotonic() - start < 40


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({**GOOD, "tests": 7}, "have tests in 'tests' that cannot be read. Row 0: Tests must be"),
        ({**GOOD, "tests": pairs(["1", "1"], ["2", "3"])}, "have tests that no program can pass. Row 0: "),
        (
            {**GOOD, "tests": {"fn_name": "f", **pairs([[1], [1]], [1, True])}},
            "have tests that no program can pass. Row 0: ",
        ),
        ({**GOOD, "tests": pairs(["1"], [""]), "solution": ""}, "have tests that an empty program passes"),
        (
            {**GOOD, "solution": "print(3)"},
            "1 of 1 rows have a solution that fails their tests, perhaps because timeout or memory_mb is too small. Row 0: case 1 of 2",
        ),
    ],
)
def test_a_problem_of_most_rows_is_a_fault_and_of_few_rows_a_warning(row, problem):
    (fault, *more) = examine(row).faults
    assert problem in fault and ("Correct" in fault or more)
    found = examine(*[GOOD] * 39, row)
    assert not found.faults and problem.split(" Row")[0].replace("1 of 1", "1 of 40") in found.warnings[0]


PYTHON = {"tests": ["assert f(1) == 1"], "solution": "def f(n): return n"}


def test_python_tests_are_weak_where_the_program_can_reach_them():
    kinds = ["2 of 2 rows have tests that can be read", "2 with sets of Python tests"]
    solved = "1 of 1 solutions of the dataset pass their tests"
    assert examine(PYTHON, {**PYTHON, "solution": None}).lines == [*kinds, solved]
    found = examine_programs([PYTHON, {**PYTHON, "solution": None}], "tests", PlainSandbox, Limits())
    assert found.lines[:3] == [*kinds, solved] and "2 rows have weak tests: this back end cannot" in found.lines[3]


@pytest.mark.parametrize(
    ("tests", "solution", "cheat"),
    [
        (["assert abs(poly(f(1), 2)) < 1e-6"], "f = float\ndef poly(x, y): return x - y / 2", "text that they get, or 0 pass"),
        (["text = encode('abc')\nassert f(text) == 'abc'"], "def f(x): return x[::-1]\nencode = f", "text that they get"),
        (["import solution\nfor one in solution.f(3):\n    assert one < 3"], "f = range", "universal objects pass"),
        (["s = Stack()\ns.push(3)\nassert s.top() == 3"], "class Stack:\n    push = top = lambda s, *x: 3", ""),
        (["import pytest\nwith pytest.raises(Exception): f(None)"], "f = abs", "functions that raise StopIteration pass"),
        ({"fn_name": "f", "inputs": [[[1]]], "outputs": [[]]}, "def f(x): return x[1:]", "an empty list"),
        ({"fn_name": "f", "inputs": [[1], [2]], "outputs": [1, 2]}, "def f(x): return x", ""),
    ],
)  # fmt: skip
def test_tests_that_a_program_passes_that_solves_nothing(tests, solution, cheat):
    found = examine({"tests": tests, "solution": solution})
    what = "1 of 1 rows have weak tests, which a program that solves nothing passes. Row 0: "
    assert found.lines[-1].startswith("1 of 1 solutions") and len(found.faults) == bool(cheat), found
    assert all(what in one and cheat in one for one in found.faults)


def test_tests_that_do_not_notice_a_small_fault_in_the_solution():
    larger = {"prompt": "The larger one.", "solution": "def f(a, b):\n    return a if a > b else b"}
    strong = {**larger, "tests": ["assert f(1, 2) == 2", "assert f(5, 3) == 5"]}
    weak = {**larger, "tests": ["assert f(2, 2) == 2"]}
    equal = {"solution": "def f(a, b):\n    return a + b", "tests": ["assert f(2, 0) == 2", "assert f(7, 0) == 7"]}
    found = examine(*[strong] * 3, equal, weak)
    said = "{} rows have tests that do not notice a small fault in their solution (rows 3, 4). Row 3: 'return a + b' became"
    assert found.warnings == [f"{said.format('2 of 5')} 'return a - b'. Add tests to them."] and not found.faults
    few = examine(*[strong] * 10, equal)  # the others may have faults that change nothing
    assert few.lines[-1].startswith("1 of 11 rows have tests that do not notice") and not few.warnings


def test_tests_that_need_a_package_are_named_with_the_option():
    (fault,) = examine({**PYTHON, "tests": ["import numpy as np\nassert np.allclose(f(1), 1)"]}).faults
    assert "cannot be read" in fault and "import numpy" in fault and "packages=('numpy',)" in fault
    (fault,) = examine(
        {**PYTHON, "tests": ["import importlib\nnumpy = importlib.import_module('numpy')\nassert f(1)"]}
    ).faults
    assert "cannot be read" in fault and "numpy" in fault  # found out as they ran


def test_the_solution_of_a_row():
    body = {"prompt": "def f(n):\n", "canonical_solution": "    return n\n", "entry_point": "f"}
    assert find_reference(body, "tests") == "def f(n):\n    return n\n"
    assert find_reference({**body, "canonical_solution": "def f(n): return n"}, "tests") == "def f(n): return n"
    assert find_reference({"solution": "So:\n```python\nprint(1)\n```"}, "tests") == "print(1)\n"
    assert find_reference({"solution": " "}, "tests") is None and find_reference({"code": "x"}, "code") is None


def test_a_few_faults_that_are_spread_over_a_program_are_tried():
    program = "def f(x):\n" + "".join(f"    x = x + {one}\n" for one in range(40)) + "    return x"
    changed = [change for _, change in write_mutants(program)]
    assert len(changed) == TRIED_FAULTS and changed[0] == "'x = x + 0' became 'x = x + 1'" and "x + 2" in changed[-1]
    assert [change for _, change in write_mutants("a = b if c >= d else e")] == [
        "'a = b if c >= d else e' became 'a = b if not c >= d else e'"
    ]
    assert not [*write_mutants("def f(")] and not [*write_mutants("print 1")]
