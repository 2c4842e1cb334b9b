"""Python tests that can run as they are written, and those that cannot."""

import time

import pytest

from helpers.corpora import read_corpus
from trl_grpo_rewards.sandbox.programs.formats import read_tests
from trl_grpo_rewards.sandbox.programs.python_tests import PythonTests, UnreadableTests, find_use


EVAL_PLUS = """import numpy as np
def assertion(out, exp, atol):
    assert np.allclose(out, exp, atol=atol) if atol else out == exp
def check(candidate):
    for inp, exp in zip([[3, 4], [1, 2]], [7, 3]):
        assertion(candidate(*inp), exp, 0)
"""
MBPP_PLUS = EVAL_PLUS.replace("def check(candidate):", "if True:").replace("candidate", "add")
ENTRIES = read_corpus("sandbox/programs/python_tests.txt")
"""Tests that run as they are written, and refused ones after what their error says. A line with `|` is their entry point."""


@pytest.mark.parametrize("one", [one for one in ENTRIES if one.marks == ["runs"]], ids=lambda one: one.name)
def test_tests_run_as_they_are_written(one):
    [case] = read_tests(one.program, {"entry_point": one.tests}).cases
    assert case == PythonTests((one.program,), one.tests or None)


@pytest.mark.parametrize("code, entry_point", [(EVAL_PLUS, "add"), (MBPP_PLUS, None)], ids=["check", "loop"])
def test_imports_of_packages_need_the_option(code, entry_point):
    companions = {"entry_point": entry_point}
    for packages in (["numpy"], ("scipy", "numpy"), None):
        assert read_tests(code, companions, packages=packages).cases[0].blocks == (code,)
    with pytest.raises(UnreadableTests, match=r"The tests import numpy, .* Set packages=\('numpy',\)"):
        read_tests(code, companions)
    with pytest.raises(UnreadableTests, match=r"import numpy, .* Set packages=\('numpy', 'scipy'\)"):
        read_tests(code, companions, packages=("scipy",))
    with pytest.raises(UnreadableTests, match=r"import numpy, "):
        read_tests(["assert f(1) == 2"], {"test_setup_code": "def g():\n    from numpy.linalg import norm"})


REFUSED = [
    *((one.program, one.tests, one.name) for one in ENTRIES if one.marks == ["refused"]),
    ("assert f('\0')", None, "cannot be read"),
    ("assert " + "(" * 10_000 + "f(1)" + ")" * 10_000, None, "cannot be read"),
    ("assert f(1" + "-1" * 400_000 + ")", None, "cannot be read"),
    ("assert f(1) == 2\n" * 100_000, None, "1,700,000 characters"),
]


@pytest.mark.parametrize(("code", "entry_point", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_tests_that_cannot_run_are_one_error(code, entry_point, reason):
    start = time.thread_time()
    with pytest.raises(UnreadableTests, match=reason) as raised:
        read_tests(code, {"entry_point": entry_point})
    assert str(raised.value).endswith(".") and time.thread_time() - start < 5


def test_each_block_is_valid_on_its_own():
    with pytest.raises(UnreadableTests, match="cannot be read"):
        read_tests(["def test():", "    assert f(1) == 2"])


@pytest.mark.parametrize(
    ("code", "entry_point", "names"),
    [
        ("assert add(1, 2) == 3", None, ["add"]),
        ("assert sum([1, 2]) == abs(-3)", None, ["abs", "sum"]),  # what is tested must be one of them
        ("assert abs(add(1, 2) - 3) < 1e-6", None, ["add"]),
        ("assert sum(sum([1]), abs(1)) == 1", "sum", ["sum"]),
        ("def check(candidate):\n    assert len(candidate([1])) == 1", "Solution().wrap", ["Solution", "candidate"]),
        ("for x in range(3):\n    assert math.isclose(f(x), x)", None, ["f", "x"]),
        ("if __name__ == '__main__':\n    assert f(__file__)", None, ["f"]),
        ("from solution import f as g\nassert abs(g(1) - 3) < 1e-6", None, ["g"]),
        ("import solution\nassert sorted(solution.f(1)) == [3]", None, ["solution"]),
        ("import numpy as np\nfrom a.b import c as d\nassert f(np.d) == d(c)", None, ["f", "c"]),
        ("assert isclose(area(1), 3) and Counter(area(2))", None, ["area"]),
        ("assert area(Counter('a')).most_common(Counter('b').total())", None, ["area"]),
        ("assert Counter().increment() == make(Deque.of(3))", None, ["Counter", "Deque", "make"]),
        ("assert isclose(hypot(3, 4), 5) and count() < count()", None, ["count", "hypot"]),
    ],
)  # fmt: skip
def test_names(code, entry_point, names):
    assert find_use(PythonTests((code,), entry_point)).names == sorted(names)


@pytest.mark.parametrize(
    ("code", "classes"),
    [
        ("s = Stack()\ns.push(1)", {"Stack"}),
        ("assert Stack().push(1).items == [1]", {"Stack"}),
        ("self.s = Stack()\nassert self.s.pop() == 1", {"Stack"}),
        ("assert Vector(1) * 2 == Vector(2)", {"Vector"}),
        ("d = Table()\nd['a'] = 1\nassert 'a' in d and d != Table()", {"Table"}),
        ("d = Table()\nd['a'] = 1\nassert d == {'a': 1}", set()),
        ("d = Table()\nd.name = 'a'", {"Table"}),
        ("assert Vector(1) + Vector(2) == Vector(3)\nassert Vector(1) == 1", set()),
        ("assert Color.RED.value == 1", {"Color"}),
        ("assert Find_Max([1, 2]) == 2 and Find_Max([1]) == 1", set()),
        ("r = Find_Max([1])\nr.sort()\nassert r[0] == 1 and r == [1]", set()),
        ("assert max(Find(1), 7) == 7 == min(Find(2), 7)", set()),
        ("s = stack()\ns.push(1)", set()),
        ("def check(candidate):\n    s = candidate()\n    s.push(1)\ncheck(Stack)", {"Stack"}),
    ],
)
def test_classes(code, classes):
    found = {*find_use(PythonTests((code,))).classes}
    assert found & {"Stack", "Vector", "Table", "Color", "Find_Max", "Find", "stack"} == classes


@pytest.mark.parametrize(
    ("code", "members"),
    [
        ("assert Calculator.add(1, 2) == 3", ["add"]),
        ("import solution as s\nassert s.count('a') == 1", ["count", "s"]),
        ("from solution import find\nassert find('a')", ["find"]),
        ("count = f(1).count('a')\nassert count == 1", []),
        ("import math\ndef check(candidate):\n    assert candidate.sort(math.sqrt(1))", []),
    ],
)
def test_members(code, members):
    assert find_use(PythonTests((code,), None)).members == members


@pytest.mark.parametrize(
    ("testing", "others"),
    [
        (["assert 1 == 1", "if x != 1: raise ValueError", "f(1)", "x = f(1)", "for one in y: g(one)", "print(f(1))"], []),
        (["result = f(1)", "assert result == 1"], ["print(result)", "random.seed(3)", "x = list(range(5))", "'text'", "x = 1"]),
        (["same(f(1), 2)", "go(f)", "T().run()"], ["def same(a, b):\n    assert a == b", "def go(g): g(1)", "go(len)",
            "class T:\n    def run(self): same(f(1), 2)"]),
        (["g(1)", "m.f(1)", "many = [g(n) for n in y]"], ["from solution import f as g",
            "import solution as m", "import random as r", "r.seed(1)", "def later(): assert f(1)"]),
        (["with pytest.raises(ValueError): f(0)", "t.assertEqual(x, 1)", "list(map(f, y))"], ["import unittest", "if 1: unittest.main()"]),
    ],
)  # fmt: skip
def test_blocks_that_test_something(testing, others):
    flags = dict(zip([*testing, *others], find_use(PythonTests((*testing, *others))).are_tests, strict=True))
    assert flags == dict.fromkeys(testing, True) | dict.fromkeys(others, False)
