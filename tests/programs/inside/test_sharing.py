"""What the tests and the program do to a list, a dict or a set happens on both sides."""

import pytest

from helpers.judged_programs import list_passing
from helpers.plain_python import ask_python
from trl_grpo_rewards.programs.inside.plain_data import MAX_OBJECTS, SharedObjects, Violation


STACK = """
class Stack:
    def __init__(self, items=None):
        self.items = [] if items is None else items
        self.table = {}
    def push(self, one): self.items.append(one)
    def total(self): return sum(self.items)
    def get(self, key): return self.table.get(key)
    def show(self): return self.items
"""

PAIRS = {
    "a default that is kept": ("def f(kept=[]): return kept", "r = f()\nr.append(5)\nassert f() == []"),
    "a list that leaks": (STACK, "s = Stack([1, 2])\nx = s.show()\nx.append(9)\nassert s.show() == [1, 2]"),
    "a list that is not copied": (STACK, "x = [1, 2]\ns = Stack(x)\nx.append(10)\nassert s.total() == 3"),
    "a list that is kept": (STACK, "x = [1, 2]\ns = Stack(x)\nx.append(10)\nassert s.total() == 13"),
    "an attribute that changes": (STACK, "s = Stack()\ns.items.append(3)\nassert s.total() == 3"),
    "an item that is set": (STACK, "s = Stack()\ns.table['a'] = 3\nassert s.get('a') == 3"),
    "a list that grows": (STACK, "s = Stack()\nx = s.items\ns.push(3)\nassert x == [3]"),
    "a list of the class": (
        "class S:\n    items = []\n    def add(self, x): self.items.append(x)",
        "a, b = S(), S()\na.add(1)\nassert b.items == []",
    ),
    "a shallow copy": ("def clone(g): return dict(g)", "g = {'a': [1]}\nh = clone(g)\nh['a'].append(2)\nassert g == {'a': [1]}"),
    "rows that are one": ("def grid(n): return [[0] * n] * n", "g = grid(2)\ng[0][0] = 1\nassert g == [[1, 0], [0, 0]]"),
    "a list in a cache": (
        "import functools\n@functools.cache\ndef primes(n): return [2, 3]",
        "p = primes(5)\np.clear()\nassert primes(5) == [2, 3]",
    ),
    "a callback that changes": ("def run(f):\n    x = []\n    f(x)\n    return len(x)", "assert run(lambda x: x.append(1)) == 1"),
    "a callback that keeps": ("def run(f):\n    x = []\n    f(x)\n    x.append(7)", "got = []\nrun(got.append)\nassert got == [[7]]"),
    "one list for all": ("L = []\ndef get(k): return L", "assert get(1) is not get(1)"),
    "a list of its own": ("D = {}\ndef get(k): return D.setdefault(k, [])", "assert get(1) is get(1) and get(1) is not get(2)"),
    "settings": ("CFG = {'x': 1}\ndef value(): return CFG['x']", "CFG['x'] = 5\nassert value() == 5"),
    "a class attribute that is set": ("class K:\n    n = 0\n    def __init__(self): K.n += 1", "K.n = 0\nK()\nassert K.n == 1"),
    "a class attribute that an object hides": (
        "class Dog:\n    species = 'dog'\n    def __init__(self): self.species = 'dog'",
        "Dog.species = 'wolf'\nassert Dog().species == 'wolf'",
    ),
    "a set": ("S = set()\ndef add(x):\n    S.add(x)\n    return S", "a = add(1)\nb = add(2)\nassert a == {1, 2} and a is b"),
    "sorted in place": ("def sort(x): x.sort()", "x = list(range(50_000, 0, -1))\nsort(x)\nassert x == list(range(1, 50_001))"),
    "many lists": ("def same(x): return x", "assert all(same([n])[0] == n for n in range(500))"),
}  # fmt: skip


def test_the_verdict_is_that_of_python():
    pairs = [*PAIRS.values()]
    found = zip(PAIRS, list_passing(pairs), ask_python(pairs), strict=True)
    assert [name for name, ours, python in found if ours != python] == []


def test_both_sides_forget_the_same_objects():
    one, other = SharedObjects(0), SharedObjects(1)
    kept = [[n] for n in range(3 * MAX_OBJECTS)]
    for place, value in enumerate(kept):
        number = (one if place % 2 else other).add(value, "list")
        (other if place % 2 else one).add([*value], "list", number)
    one.forget_oldest()
    other.forget_oldest()
    assert [*one.entries] == [*other.entries] and len(one.entries) == MAX_OBJECTS
    assert id(kept[0]) not in one.numbers and id(kept[-1]) in one.numbers


def test_changes():
    shared, value = SharedObjects(0), [1, [2]]
    number = shared.add(value, "list")
    assert shared.list_changed() == []
    value.append(3)
    assert shared.list_changed() == [(number, [1, [2], 3])] and shared.list_changed() == []
    shared.apply(number, [5])
    assert value == [5] and shared.list_changed() == []
    for taken in (number, "x", None.__class__):
        with pytest.raises(Violation):
            shared.add([], "list", taken)


ARRAYS = {
    "changed": ("def double(x): x *= 2", "x = np.arange(3)\ndouble(x)\nassert x.tolist() == [0, 2, 4]"),
    "not changed": ("def double(x): return x * 2", "x = np.arange(3)\ndouble(x)\nassert x.tolist() == [0, 2, 4]"),
    "changed by the tests": ("x = [0]\ndef keep(y): x[0] = y\ndef total(): return sum(x[0])", "y = np.ones(2)\nkeep(y)\ny[1] = 5\nassert total() == 6"),
    "one array": ("def same(x): return x", "x = np.eye(2)\nassert same(x) is x"),
    "a table": ("def swap(x): x[[0, 1]] = x[[1, 0]]", "x = np.array([[1, 2], [3, 4]])\nswap(x)\nassert x.tolist() == [[3, 4], [1, 2]]"),
    "another shape": ("def flatten(x): x.resize(4, refcheck=False)", "x = np.array([[1, 2], [3, 4]])\nflatten(x)\nassert x.sum() == 10"),
}  # fmt: skip


def test_small_arrays_that_change_in_place():
    pytest.importorskip("numpy")
    pairs = [(program, f"import numpy as np\n{code}") for program, code in ARRAYS.values()]
    found = zip(ARRAYS, list_passing(pairs, packages=("numpy",)), ask_python(pairs), strict=True)
    assert [name for name, ours, python in found if ours != python] == []
