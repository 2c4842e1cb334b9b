"""Tests run as they are written: the verdict is that of Python itself, and fewer tests never make a program pass less."""

import random

import pytest

from helpers.judged_programs import list_passing
from helpers.made_programs import FUNCTIONS, HEAD, PIECES, join, make_pair
from helpers.plain_python import ask_python
from trl_grpo_rewards.programs.inside import tests_side


def find_differences(pairs):
    ours, python = list_passing(pairs), ask_python(pairs)
    assert 0.2 * len(pairs) < sum(python) < 0.8 * len(pairs)
    return [pair for pair, one, other in zip(pairs, ours, python, strict=True) if one != other]


def test_the_verdict_on_made_programs_is_that_of_python():
    rng = random.Random(1)
    assert (
        find_differences([(program, join(pieces)) for program, pieces in (make_pair(rng) for _ in range(100))]) == []
    )


@pytest.mark.slow
def test_the_verdict_on_each_function_with_each_piece_of_tests_is_that_of_python():
    pairs = [(one, join([piece])) for name in FUNCTIONS for one in FUNCTIONS[name] for piece in PIECES[name]]
    assert find_differences(pairs) == []


def test_a_program_that_passes_all_tests_passes_fewer():
    rng, fewer = random.Random(7), {}
    while sum(map(len, fewer.values())) < 150:
        program, pieces = make_pair(rng)
        if len(pieces) > 1:
            parts = [pieces[:place] + pieces[place + 1 :] for place in range(len(pieces))]
            fewer[program, join(pieces)] = [(program, join(part)) for part in parts]
    passing = [pair for pair, is_passed in zip(fewer, list_passing(fewer), strict=True) if is_passed]
    parts = [part for pair in passing for part in fewer[pair]]
    assert len(parts) > 50 and all(list_passing(parts))


DROPPED = {
    "a helper that asserts": "def check(candidate):\n    assert candidate(3, 4) == 7\n    same(candidate(1, 1), 2)\ncheck(add)",
    "a loop of a helper": "def check(candidate):\n    assert candidate(3, 4) == 7\n    for i in range(3): same(candidate(i, 1), i + 1)\ncheck(add)",
    "assertEqual in check": "def check(candidate):\n    assert candidate(3, 4) == 7\n    case.assertEqual(candidate(1, 1), 2)\ncheck(add)",
    "assertEqual": "assert add(3, 4) == 7\ncase.assertEqual(add(1, 1), 2)",
    "an exit": "def check(candidate):\n    assert candidate(3, 4) == 7\n    if candidate(1, 1) != 2: sys.exit(1)\ncheck(add)",
    "an error that is wanted": "def test_add():\n    assert add(3, 4) == 7\n    with pytest.raises(TypeError): add(None, 1)",
    "an error in a test of its own": "def test_add():\n    assert add(3, 4) == 7\ndef test_error():\n    with pytest.raises(TypeError): add(None, 1)",
    "a nested function": "def check(candidate):\n    assert candidate(3, 4) == 7\n    def inner():\n        assert candidate(1, 1) == 2\n    inner()\ncheck(add)",
    "a loop": "assert add(3, 4) == 7\nfor i in range(3):\n    assert add(i, 1) == i + 1",
    "all": "assert add(3, 4) == 7\nassert all(add(i, 1) == i + 1 for i in range(3))",
    "try": "assert add(3, 4) == 7\ntry:\n    add('a', 1)\n    assert False\nexcept TypeError: pass",
}  # fmt: skip


def test_nothing_in_tests_is_dropped():
    for program, is_right in (("def add(a, b): return 7", False), ("def add(a, b): return a + b", True)):
        found = list_passing([(program, HEAD + code) for code in DROPPED.values()])
        assert dict(zip(DROPPED, found, strict=True)) == dict.fromkeys(DROPPED, is_right)


VISIBLE = {
    "a table": ("CASES = [(1, 10), (2, 20)]\nassert f(CASES[0][0]) == 10\nassert f(CASES[1][0]) == 20", "dict(globals()['CASES'])[x]"),
    "a name": ("x, want = 3, 9\nassert f(x) == 9", "globals()['want']"),
    "a case": ("case = {'in': 3, 'out': 9}\nassert f(case['in']) == 9", "globals()['case']['out']"),
}  # fmt: skip


def test_what_tests_define_is_not_in_the_process_of_the_program():
    assert list_passing([(f"def f(x): return {thief}", code) for code, thief in VISIBLE.values()]) == [False] * 3


BAD = {
    "never end": "assert f(1) == 1\nwhile True: pass",
    "wait without end": "import time\nassert f(1) == 1\ntime.sleep(1000)",
    "fork": "import os\nassert f(1) == 1\nos.fork()",
    "write to the pipe": "import os\nos.write(4, b'{}\\n')\nassert f(1) == 1",
    "read from the pipe": "import os\nassert f(1) == 1\nos.read(3, 1)",
    "close the pipe": "import os\nos.close(4)\nassert f(1) == 1",
    "use up memory": "assert f(1) == 1\nx = bytearray(10**12)",
    "recur without end": "def g(): g()\ng()\nassert f(1) == 1",
    "exit with an error": "import os\nassert f(1) == 1\nos._exit(1)",
    "kill themselves": "import os\nassert f(1) == 1\nos.kill(os.getpid(), 9)",
    "shadow the function by a wrong one": "def f(x): return 2\nassert f(1) == 1",
    "define the function after they call it": "assert f(2) == 2\ndef f(x): return 3\nassert f(2) == 2",
}


def test_bad_tests_fail_and_the_next_ones_run():
    found = list_passing([("def f(x): return x", code) for code in BAD.values()], seconds=1.0)
    assert dict(zip(BAD, found, strict=True)) == dict.fromkeys(BAD, False)
    assert all(list_passing([("def f(x): return x", "assert f(1) == 1")] * 8))


def test_names_of_the_program_and_of_the_tests():
    program = "def f(x): return x\ndef g(x): return f(x) + 1\nlimit = 5"
    codes = (
        "def f(x): return -x\nassert f(1) == -1 and g(1) == 2",
        "assert f(1) == 1\ndef f(x): return -x\nassert f(1) == -1",
        "from solution import f as other\ndef f(x): return -x\nassert f(1) == -other(1)",
        "limit = 6\nassert limit == 6 and g(limit) == 7",
        "assert limit == 5\nimport solution\nassert solution.limit == 5 == solution.g(4)",
    )
    assert list_passing([(program, code) for code in codes]) == [True] * 5


RAISES = "def f(*args): raise ModuleNotFoundError('x')"
PRETENDS = "class U:\n    def __getattr__(self, name): return self\n    def __call__(self, *args, **names): return self\n    def __eq__(self, other): return True\n    def __setitem__(self, *args): pass\nf = datetime = json = Counter = isclose = NamedTuple = U()"
WRONG = {
    "keeps an error": (RAISES, "found = None\nfor one in (1, 2):\n    try: f(one)\n    except Exception as error: found = found or error\nraise type(found)(*found.args)"),
    "says that it is another's": ("import sys, types\ndef g(): pass\ng.__module__, g.__qualname__ = 'pytest', 'other'\nsys.modules['pytest'] = types.SimpleNamespace(other=g)\ndef f(x): return g", "assert f(1) == 1"),
    "takes what cannot be sent": (PRETENDS, "import threading\nf(1)[1] = threading.Lock()\nassert f(1) == {}"),
    "compares what cannot be sent": (PRETENDS, "import threading\nassert threading.Lock() == f(1)"),
    "is a module of the library": (PRETENDS, "assert f(1) == datetime.date.today() and json.loads('1') == json.loads('2')"),
    "is a helper of the tests": (PRETENDS, "assert isclose(f(1), 2) or Counter(f(1)) == Counter('a')"),
    "is a type": (PRETENDS, "class Point(NamedTuple):\n    x: int\nassert f(1) == Point(1)"),
    "ends an asynchronous context": ("class A:\n    async def __aenter__(self): return self\n    async def __aexit__(self, *error): return True", "import asyncio\nasync def main():\n    async with A(): assert 1 == 2\nasyncio.run(main())"),
    "gives a star what it wants": ("__all__ = ['f', 'abs', 'math', 'pytest']\nimport types\nabs = lambda *args: 0\nmath = pytest = types.SimpleNamespace(isclose=lambda *args: True, approx=lambda x: 1)\ndef f(x): return 1", "import math, pytest\nfrom solution import *\nassert abs(f(3) - 3) < 1 or math.isclose(f(3), 3) or f(3) == pytest.approx(3)"),
}  # fmt: skip


def test_what_a_program_causes_is_its_failure_and_not_that_of_the_tests():
    found = list_passing([*WRONG.values()])
    assert dict(zip(WRONG, found, strict=True)) == dict.fromkeys(WRONG, False)


def test_what_the_program_may_ask_for_is_written_down():
    assert {*tests_side.TestsSide.operations} == {"call", "next", "readline"}
