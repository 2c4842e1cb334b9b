"""What is sent to a back end, run here without protection: honest programs pass, dishonest ones do not."""

import ast

import pytest

from helpers.dishonest_programs import CHEATS, EQUAL_TO_ALL
from helpers.plain_programs import count_passed, run_plainly
from trl_grpo_rewards.programs.cases import CallCase, OutputCase, RowTests, WeakCase
from trl_grpo_rewards.programs.drivers import write_runs
from trl_grpo_rewards.programs.formats import read_tests


SCRIPT = read_tests({"inputs": ["1234\n"], "outputs": ["2468\n"]})
CALLS = read_tests(["assert double(1234) == 2468"])
FUNCTION = read_tests({"inputs": ["1234"], "outputs": ["2468"], "fn_name": "double"})
WEAK = read_tests(
    "def check(candidate):\n    for x in (3, 4):\n        assert candidate(x) == 2 * x", {"entry_point": "double"}
)

DOUBLE = "def double(x):\n    return 2 * x\n\nif __name__ == '__main__':\n    print(double(int(input())))\n"


@pytest.mark.parametrize("tests", [SCRIPT, CALLS, FUNCTION, WEAK], ids=["script", "asserts", "function", "weak"])
@pytest.mark.parametrize(
    "program",
    [
        DOUBLE,
        "from __future__ import annotations\n" + DOUBLE,
        "class Solution:\n    def double(self, x): return 2 * x\ndouble = Solution().double\n" + DOUBLE,
        "print('hello', end='') if __name__ != '__main__' else None\n" + DOUBLE,
        "import sys, io\nif __name__ != '__main__': sys.stdout = io.StringIO()\n" + DOUBLE,
        "import atexit\natexit.register(len, ())\n" + DOUBLE,
        "import threading\nthreading.Thread(target=len, args=([],)).start()\n" + DOUBLE,
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'int'\n" + DOUBLE,
        "# café ☕ \U0001f600\n" + DOUBLE,
        DOUBLE.replace("\n", "\r\n"),
        "double = lambda x: 2 * x\nif __name__ == '__main__':\n    import sys\n    sys.stdout.buffer.write(b'2468')",
    ],
    ids=range(11),
)
def test_honest_programs_pass(tests, program):
    assert count_passed(program, tests) == len(tests.cases)


@pytest.mark.parametrize("name", CHEATS)
def test_dishonest_programs_do_not_pass(name):
    for tests in (SCRIPT, CALLS, FUNCTION):
        assert count_passed(CHEATS[name], tests) == 0
    if name not in WEAKNESSES:
        assert count_passed(CHEATS[name], WEAK) == 0


WEAKNESSES = {"patched asserts"}


def test_a_program_that_searches_the_descriptors_passes_weak_tests():
    """A known weakness. Such tests are counted, in the log and in the checks."""
    thief = (
        "import os\nfor fd in range(3, 20):\n    try: found = os.read(fd, 1000)\n    except OSError: continue\n"
        "    for to in range(3, 20):\n        try: os.write(to, found)\n        except OSError: pass\nos._exit(0)"
    )
    assert count_passed(thief, WEAK) == 1 and WEAK.weak_asserts == 1
    assert count_passed(thief, CALLS) == 0


def test_the_program_gets_nothing_of_what_is_expected():
    tests = RowTests(
        (OutputCase("11", "secret-1"), CallCase("f(12)", ("secret-2",)), CallCase("f(13)", ("secret-3",)))
    )
    for run, own in zip(write_runs("pass", tests), ("11", "f(12)", "f(13)"), strict=True):
        assert "secret-" not in run.source + run.input
        assert own in run.input and not any(other in run.input for other in {"11", "f(12)", "f(13)"} - {own})


def test_the_secret_of_weak_tests_is_new_for_each_run_and_not_in_the_program():
    first, second = (write_runs("pass", WEAK)[0] for _ in range(2))
    assert first.secret != second.secret and first.source == second.source
    assert first.secret not in first.source and len(first.secret) == 32
    assert not first.is_passed(second.secret) and not first.is_passed("") and first.is_passed(first.secret)


def test_neither_frames_nor_memory_contain_the_secret():
    spy = """
import gc, os, sys
def double(x):
    texts = [repr(one) for one in gc.get_objects() if isinstance(one, (dict, list, tuple)) and len(one) < 1000]
    frame = sys._getframe()
    while frame:
        texts += [repr(frame.f_locals), repr(frame.f_globals), repr(frame.f_code.co_consts)]
        frame = frame.f_back
    texts.append(sys.stdin.read())
    os.write(2, ''.join(texts).encode(errors='replace'))
    return 2 * x
"""
    [run] = write_runs(spy.replace("os.write(2,", "os.write(3,"), WEAK)
    output = run_plainly(run)
    assert (
        output is not None and len(output) > 10_000 and output.count(run.secret) == 1 and output.endswith(run.secret)
    )


def test_sources_are_ascii_and_equal_for_the_runs_of_one_program():
    tests = read_tests(["assert f(1) == 'é'", "assert f(2) == 3"])
    runs = write_runs("f = '\ud800é\0'", tests)
    assert len({run.source for run in runs}) == 1 and runs[0].source.isascii()
    ast.parse(runs[0].source)


@pytest.mark.parametrize(
    "program, call, accepted",
    [
        ("from collections import *\nf = lambda: Counter('aab')", "f()", {"a": 2, "b": 1}),
        ("from collections import *\nf = lambda: namedtuple('P', 'x')(1)", "f()", (1,)),
        ("import enum\nE = enum.IntEnum('E', 'A')\nf = lambda: [E.A]", "f()", [1]),
        ("f = lambda: 10**5000", "f()", 10**5000),
        ("f = lambda n: len(str(n))", "f(10**5000)", 5001),
        ("f = lambda x: x", "f(float('nan'))", float("nan")),
        ("def f(n): return [] if n == 0 else [f(n - 1)]", "len(f(99))", 1),
        ("import sys\nsys.setrecursionlimit(10**5)\ndef f(n): return n and f(n - 1)", "f(5000)", 0),
        ("def f(x: List[int]) -> Optional[int]: return heappop(x) + gcd(4, 6) + pow(2, 3, 5)", "f([1])", 6),
        ("def f(): return frozenset([1]), b'x', None, {(1, 2): {3}}", "f()", ({1}, b"x", None, {(1, 2): {3}})),
        ("class Node:\n    def __init__(self, v): self.v = v\nf = lambda n: n.v", "f(Node(3))", 3),
        ("print('x' * 10**6)\nf = lambda: 1", "f()", 1),
    ],
    ids=range(12),
)
def test_what_honest_functions_return(program, call, accepted):
    tests = RowTests(
        (CallCase(call, (accepted,)),), read_tests({"inputs": ["1"], "outputs": ["1"], "fn_name": "f"}).imports
    )
    assert count_passed(program, tests) == 1


def test_scripts_may_read_and_print_integers_of_any_length():
    tests = read_tests({"inputs": ["9" * 5000], "outputs": ["9" * 5000]})
    assert count_passed("print(int(input()))", tests) == 1


def test_a_script_has_a_main_module():
    program = (
        "from __future__ import annotations\nimport sys, dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\n"
    )
    assert (
        count_passed(
            program + "print(sys.modules['__main__'].A(3).x, __name__)",
            read_tests({"inputs": [""], "outputs": ["3 __main__"]}),
        )
        == 1
    )


def test_weak_tests_see_plain_data():
    weak = WeakCase("assert sorted(f()) == [1, 2]\nassert f() != [1]", 2, frozenset({"f", "sorted"}))
    tests = RowTests((weak,))
    assert count_passed("def f(): return {1, 2}", tests) == 1
    assert count_passed("def f():\n    yield 2\n    yield 1", tests) == 1
    assert count_passed("f = lambda: range(1, 3)", tests) == 1
    lie = EQUAL_TO_ALL.format(base="") + "    def __iter__(self): return iter([self])\ndef f(): return Equal()"
    assert count_passed(lie, tests) == 0
    assert count_passed("def f(): return [3]", tests) == 0


def test_weak_tests_may_use_classes_and_functions_that_functions_return():
    tests = read_tests(
        "def test_f():\n    s = Stack()\n    s.push(3)\n    assert s.pop() == 3\n    assert add(1)(2) == 3"
    )
    program = """
class Stack(list):
    push = list.append
def add(x): return lambda y: x + y
"""
    assert str(tests) == "2 weak tests" and count_passed(program, tests) == 1
    assert count_passed(program.replace("x + y", "x"), tests) == 0
    assert (
        count_passed(EQUAL_TO_ALL.format(base="") + "Stack = Equal\ndef add(x): return lambda y: Equal()", tests) == 0
    )


@pytest.mark.parametrize("name", ["factorial", "gcd", "merge", "count", "List", "math", "reduce"])
def test_what_is_imported_for_a_program_does_not_pass_its_tests(name):
    tests = read_tests({"inputs": ["5"], "outputs": ["120"], "fn_name": name})
    assert count_passed("", tests) == 0
    assert count_passed(f"def {name}(n): return 120", tests) == 1


def test_a_reference_solution_among_the_tests_does_not_help():
    tests = read_tests(
        "def reference(x):\n    return 2 * x\ndef check(f):\n    assert f(1234) == 2468", {"entry_point": "double"}
    )
    assert count_passed(DOUBLE, tests) == 1 and count_passed("def double(x): return reference(x)", tests) == 0


def test_asserts_behind_a_main_guard_run():
    tests = read_tests("if __name__ == '__main__':\n    assert double(3) != 7")
    assert count_passed(DOUBLE, tests) == 1 and count_passed("def double(x): return 7", tests) == 0


def test_methods_of_a_class_are_called_on_a_new_object():
    tests = read_tests({"inputs": ["1", "2"], "outputs": ["1", "1"], "fn_name": "count"})
    program = "class Solution:\n    n = 0\n    def count(self, x):\n        self.n += 1\n        return self.n"
    assert count_passed(program, tests) == 2
    assert count_passed("class Solution:\n    def count(self, x): return count", tests) == 0
