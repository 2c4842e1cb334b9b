"""Objects of the program never see what is expected of them, unless the tests let their class judge."""

from collections import Counter, deque
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath as Path

import pytest

from helpers.judged_programs import judge_all, list_passing


def passes(program, code):
    return list_passing([(program, code)]) == [True]


YES = """
class Yes:
    def __init__(self, *args): pass
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __sub__ = __rsub__ = __add__ = __abs__ = __call__ = lambda self, *args: self
    __hash__ = lambda self: 0
    startswith = endswith = isdigit = issubset = is_integer = lambda self, *args: True
    count = index = find = lambda self, *args: 3
    def __getattr__(self, name): return self
def f(*args): return Yes()
Extract = Yes
"""


CONDITIONS = [
    "f(1) == 7", "7 == f(1)", "not f(1) != 7", "f(1) < 5", "3 <= f(1)", "abs(f(1) - 7) < 1e-6", "abs(7 - f(1)) < 1e-6",
    "f(1) + 1 == 8", "3 in f(1)", "f(1) in [7, 8]", "f(1).startswith('a')", "f(1).isdigit()", "f(1).count('a') == 3",
    "f(1).is_integer()", "{1, 2}.issubset(f(1)) or f(1).issubset({1})", "isinstance(f(1), int)", "f(1) is True",
    "Extract([1, 2]) == 7", "abs(Extract(1) - 7) < 1e-6", "Extract('a') in ('b', 'c')",
    "Extract([1]) == [1] and Extract([2]) == [2]", "max(Extract(1), 7) == 7 == min(Extract(2), 7)",
]  # fmt: skip


def test_an_object_that_agrees_to_everything_is_not_right():
    found = list_passing([(YES, f"assert {condition}") for condition in CONDITIONS])
    assert [condition for condition, passed in zip(CONDITIONS, found, strict=True) if passed] == []


def test_a_class_judges_its_own_objects():
    program = """
class Money:
    def __init__(self, amount): self.amount = amount
    def __eq__(self, other): return self.amount == getattr(other, "amount", other)
    def __lt__(self, other): return self.amount < getattr(other, "amount", other)
    def __mul__(self, factor): return Money(self.amount * factor)
    def __contains__(self, part): return part <= self.amount
def lend(amount): return Money(amount)
"""
    assert passes(
        program, "money = Money(5)\nassert money.amount == 5\nassert money == 5 and money < 6 and 3 in money"
    )
    assert passes(program, "assert Money(5) * 2 == Money(10)\nassert lend(5) == Money(5)")
    assert not passes(program, "assert lend(5) == 5")  # nothing says that this is more than a value


PLAIN = (
    str,
    bytes,
    int,
    float,
    complex,
    tuple,
    list,
    dict,
    set,
    frozenset,
    Decimal,
    Fraction,
    Counter,
    deque,
    date,
    Path,
)
NAMES = sorted({name for kind in PLAIN for name in dir(kind) if name[0] != "_"})

ROADS = {
    "a method": "class R: pass\nfor name in NAMES: setattr(R, name, yes)\nf = R",
    "an object that can be called": "class Y:\n    __call__ = yes\nclass R: pass\nfor name in NAMES: setattr(R, name, Y())\nf = R",
    "a class": "class R: pass\nfor name in NAMES: setattr(R, name, staticmethod(yes))\ndef f(): return R",
    "a class that makes its answer": "class Y:\n    def __new__(cls, *args): return True\nclass R: pass\nfor name in NAMES: setattr(R, name, Y)\nf = R",
    "a module": "import types\nR = types.ModuleType('m')\nfor name in NAMES: setattr(R, name, yes)\ndef f(): return R",
    "the program": "import sys\nfor _ in NAMES: globals()[_] = yes\ndef f(): return sys.modules['solution']",
    "a record": "def f():\n    R = ListNode(1)\n    for name in NAMES: setattr(R, name, yes)\n    return R",
    "a named tuple": "from collections import namedtuple\ndef f(): return namedtuple('R', NAMES)(*[yes] * len(NAMES))",
    "a function": "def f(): return f\nfor name in NAMES: setattr(f, name, yes)",
    "a function of the library": "class R: pass\nfor name in NAMES: setattr(R, name, bool)\ndef f(): return R()",
    "any name": "class R:\n    def __getattr__(self, name): return yes\nf = lambda: R()",
    "an error": "class R(Exception):\n    def __getattr__(self, name): return yes\nf = lambda: R()",
}  # fmt: skip


@pytest.mark.parametrize("road", ROADS)
def test_nothing_that_a_program_returns_has_a_method_of_plain_data(road):
    program = f"NAMES = {NAMES}\nyes = lambda *args: True\n{ROADS[road]}"
    tests = f"from solution import f as made\nanswered = []\nfor name in {NAMES}:\n    try: answered += [name] * getattr(made(), name)('expected')\n    except AttributeError: pass\nassert not answered, answered"
    (verdict,) = judge_all([(program, tests)])
    assert verdict.status is None or "the program sent" in verdict.failure, verdict.failure


def test_the_tests_use_any_method_of_what_is_theirs():
    program = "class A:\n    def pop(self, *args): return 3\n    count = get = pop\n    add = staticmethod(max)\n    @property\n    def items(self): return [1]\none = A()\ndef make(): return A()\ndef find(x): return 3\nfind.get = find"
    for condition in ("A().pop() == 3", "A().count(2) == 3", "A.add(2, 3) == 3", "one.get(7) == 3", "make().items == [1]", "find(1) == 3", "solution.find(1) == 3", "find.get(3) == 3"):  # fmt: skip
        assert passes(program, f"import solution\nassert {condition}"), condition
    assert passes(program, "from solution import *\nfrom solution import find\nassert find(1) == A().pop()")
    assert not passes(program, "assert make().count(2) == 3")  # as the documentation says


ITSELF = "class Solution:\n    __init__ = lambda self, *args: None\n    __eq__ = lambda self, other: True\n    __getattr__ = lambda self, name: Solution\nclass Stack(Solution): pass\ndef f(*args): return Stack"
CHECK = "def check(candidate):\n    result = candidate('abc')\n    assert result.startswith('abc-')"
FIXTURE = "import pytest\n@pytest.fixture\ndef result(): return f('abc')\ndef test_a(result): assert result.startswith('abc-')"
HANDED = {
    "a class by an attribute": (ITSELF, "def check(candidate):\n    assert candidate([1]) == [0, 1]", "Solution().two_sum"),
    "a class by a function": (ITSELF, "stack = Stack()\nstack.x = 1\nassert f(3)(4) == 7"),
    "a class to check": ("class R: startswith = staticmethod(lambda *args: True)\ndef f(x): return R", CHECK, "f"),
    "a class by a fixture": ("class R: startswith = staticmethod(lambda *args: True)\ndef f(x): return R", FIXTURE),
    "a function": ("def f(x): return f\nf.startswith = lambda *args: True", CHECK, "f"),
    "the program": ("import sys\nstartswith = lambda *args: True\ndef f(x): return sys.modules['solution']", CHECK, "f"),
    "a class with the name of the function": ("class f:\n    __init__ = startswith = lambda *args: None", CHECK, "f"),
}  # fmt: skip


def test_what_a_program_hands_over_is_a_result_also_if_the_tests_have_it_by_a_name():
    found = list_passing([*HANDED.values()])
    assert dict(zip(HANDED, found, strict=True)) == dict.fromkeys(HANDED, False)


LRU = "class LRU:\n    def __init__(self, size): self.kept = {}\n    def get(self, key): return self.kept.get(key, -1)\n    def put(self, key, value): self.kept[key] = value"
MADE = [
    "import pytest\n@pytest.fixture\ndef cache(): yield LRU(2)\ndef test_a(cache): assert cache.get(1) == -1",
    "def make(n): return LRU(n)\ncache = make(2)\nassert cache.get(1) == -1",
    "a, b = LRU(1), LRU(2)\nassert a.get(1) == b.get(2) == {'a': LRU(1)}['a'].get(1) == -1",
    "for one in [LRU(1), LRU(2)]: assert one.get(1) == -1",
    "import solution\nassert solution.LRU(2).get(1) == -1",
    "from solution import LRU as Cache\nkind = Cache\nassert kind(2).get(1) == -1",
    "def check(candidate):\n    one = candidate(2)\n    one.put(1, 1)\n    assert one.get(1) == 1\ncheck(LRU)",
    "one = LRU(2)\nfor name, given, wanted in [('put', (1, 1), None), ('get', (1,), 1)]: assert getattr(one, name)(*given) == wanted",
]  # fmt: skip


def test_objects_that_the_tests_make_have_their_methods():
    found = list_passing([(LRU, tests) for tests in MADE])
    assert dict(zip(MADE, found, strict=True)) == dict.fromkeys(MADE, True)


def test_a_format_is_never_shown_to_an_object():
    program = (
        "class A:\n    def __format__(self, spec): return spec\n    def __str__(self): return 'a'\ndef f(): return A()"
    )
    assert not passes(program, "assert f'{f():6}' == '6'")
    assert passes(program, "a = A()\na.x = 1\nassert f'{f()}' == 'a' and f'{a:6}' == '6'")


def test_an_object_is_one_object():
    program = "class A: pass\none = A()\ndef f(): return one\nA.one = one"
    assert passes(program, "assert f() is f() and A.one is f() and [f()][0] is one and f() in {one}")


def test_attributes_are_set_and_deleted_there():
    program = "class A:\n    def __init__(self): self.x = 1\n    def double(self): return self.x * 2"
    assert passes(program, "a = A()\na.x = 5\nassert a.double() == 10\ndel a.x\nassert not hasattr(a, 'x')")


FLUENT = """
class A:
    def __init__(self, *items): self.items = [*items]
    def add(self, x): self.items.append(x); return self
    def get(self, x): return self.items[x]
    def __enter__(self): return self
    def __exit__(self, *error): return False
    def __iter__(self): return self
    def __next__(self): raise StopIteration
    def __len__(self): return len(self.items)
    def __eq__(self, other): return self.items == getattr(other, "items", other)
    def __add__(self, x): return A(*self.items, x)
"""


def test_what_a_class_returns_does_not_judge_even_if_it_is_the_object_that_the_tests_made():
    asserts = ["a.get(0) == 7", "a.add(1) == [1]", "[a.add(1), a.add(2)] == [3, 4]", "a.add(1).add(2) == [1, 2]", "a.items == 5",
        "a[0] == 3", "a() == 3", "len(a) == 3", "str(a) == '3'", "a.add(1) in ([1], 5)", "(a.add(1) == 5) is True", "-a == 5",
        "f(a) == 5", "a.add(1).startswith('x')"]  # fmt: skip
    returning_itself = "return self\n    def __eq__(self, other): return True\n    "
    program = (
        "class A:\n    def __init__(self, *items): pass\n    def startswith(self, *args): return True\n"
        + "".join(f"    def {name}(self, *args): {returning_itself}" for name in ("get", "add", "__getitem__", "__call__", "__neg__"))
        + "\n    items = property(lambda self: self)\n    __len__ = __str__ = lambda self: self\ndef f(x): return x\n"
    )  # fmt: skip
    found = list_passing([(program, f"a = A()\na.start = 1\nassert {condition}") for condition in asserts])
    assert [condition for condition, passed in zip(asserts, found, strict=True) if passed] == []
    honest = ["a == [1]", "a.add(2) is a and len(a) == 2", "a.add(2) == A(1, 2)", "a + 2 == [1, 2]", "a + 2 + 3 == [1, 2, 3]"]  # fmt: skip
    assert list_passing([(FLUENT, f"a = A(1)\na.start = 1\nassert {one}") for one in honest]) == [True] * len(honest)
    code = "a = A(1)\na.start = 1\nwith a as b:\n    assert b == [1]\nfor x in a: pass\nassert a == [1]"
    assert passes(FLUENT, code)
    assert not passes(FLUENT, "a = A(1)\na.start = 1\nassert a.add(2) == [1, 2]")  # as the documentation says


def test_an_object_that_a_class_makes_again_is_a_result():
    program = "class V:\n    one = None\n    def __new__(cls, *args):\n        V.one = V.one or object.__new__(cls)\n        return V.one\n    def go(self): return self\n    def __eq__(self, other): return True"
    assert not passes(program, "v = V(1)\nv.start = 1\nr = v.go()\nw = V(2)\nassert r == 7")
    assert passes(program, "v = V(1)\nv.start = 1\nassert v == 7 and V(2) is v")


def test_a_capital_makes_no_class_of_a_function():
    cases = {
        "assert Find_Max([1, 2]) == Find_Max([2, 1])\nassert Find_Max([1, 2]) == 2": "max(items)",
        "r = Find_Max([2, 1])\nr.sort()\nassert r == [1, 2]": "items",
        "r = Find_Max([2, 1])\nr[0] = 1\nassert r == [1, 1]": "items",
        "assert Find_Max([5]) == Find_Max([3]) + Find_Max([2])\nassert Find_Max([4]) == 4": "items[0]",
        "def check(candidate):\n    assert candidate([3]) + candidate([4]) == 7\ncheck(Find_Max)": "items[0]",
    }
    for code, value in cases.items():
        assert not passes(f"{YES.replace('Extract', 'Find_Max')}\nYes.sort = Yes.__setitem__ = print", code)
        assert passes(f"def Find_Max(items): return {value}", code)


def test_an_object_has_as_many_items_as_it_says():
    program = "class L:\n    def __init__(self, n): self.n = n\n    def __len__(self): return len(self.n)\n{}\ndef f(xs): return L([2 * x for x in xs])"
    honest = ["    def __iter__(self): return iter(self.n)", "    def __getitem__(self, i): return self.n[i]"]
    drained = "    def __iter__(self):\n        while self.n: yield self.n.pop()"
    nothing = ["    def __iter__(self): return iter(())", "    def __getitem__(self, i): raise IndexError", "    def __iter__(self): return self\n    def __next__(self): raise StopIteration"]  # fmt: skip
    codes = (
        "g = f([1, 2])\nassert len(g) == 2\nfor a, b in zip(g, [2, 4]): assert a == b",
        "g = f([1, 2])\nfor a, b in zip(g, [2, 4]): assert a == b\nassert len(g) == 2",
        "g = f([1, 2])\nassert len(g) == 2 and all(map(lambda a, b: a == b, g, [2, 4]))",
    )
    for code in codes:
        bodies = [*honest, *nothing]
        assert list_passing([(program.format(body), code) for body in bodies]) == [True] * 2 + [False] * 3
    assert passes(
        program.format(drained), "g = f([1, 2])\nassert len(g) == 2 and [*g] == [4, 2] and len(g) == 0 and [*g] == []"
    )


def test_no_error_of_a_program_ends_what_the_tests_do():
    stops = "def f(*args): raise StopIteration\nclass A:\n    value = property(f)\n    __getitem__ = __call__ = __len__ = f"
    for code in (
        "assert all(map(lambda case: f(case[0]) == case[1], [(1, 2), (3, 4)]))",
        "for got, want in zip(map(f, [1, 2]), [3, 4]):\n    assert got == want",
        "a = A()\na.start = 1\nassert all(map(lambda n: a.value == n, [1, 2]))",
        "a = A()\na.start = 1\nassert all(map(lambda n: a[n] == n, [1, 2])) and all(map(lambda n: a(n) == n, [1, 2]))",
        "from itertools import starmap\nassert all(starmap(f, [(1, 2)]))",
        "# raises StopIteration\nassert all(map(lambda case: f(case) == 2, [1]))",
    ):
        assert not passes(stops, code), code
    assert passes(stops, "import pytest\nwith pytest.raises(StopIteration):\n    f(1)")
    assert passes(
        "def f(n): yield n\n", "one = f(3)\nassert next(one) == 3 and next(one, None) is None and [*f(2)] == [2]"
    )


def test_no_context_of_a_program_swallows_what_a_test_finds():
    program = (
        "import contextlib\nclass A:\n    def __enter__(self): return self\n    def __exit__(self, *error): return True\n"
        "def f(): return contextlib.suppress(BaseException)\ndef g(): return 1 / 0\n"
    )
    for context in ("A()", "f()"):
        for found in (
            "x = len(g)",
            "y = None\n    y[0]",
            "assert 1 == 2",
            "g()",
            "raise AssertionError",
            "import unittest; unittest.TestCase().assertEqual(1, 2)",
        ):
            assert not passes(program, f"with {context}:\n    {found}"), (context, found)
        for raised in ("raise ValueError('x')", "1 / 0", "int('abc')"):
            assert passes(program, f"with {context}:\n    {raised}"), (context, raised)
        assert passes(program, f"with {context}:\n    raise ValueError")
