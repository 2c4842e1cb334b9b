"""Programs and tests that are made of pieces: each program has right and wrong functions, each test uses some of them."""

import random


FUNCTIONS = {
    "add": (
        "def add(a, b):\n    return a + b",
        "def add(a, b):\n    return 7",
        "def add(a, b):\n    return a - b",
        "def add(a, b):\n    return str(a + b)",
        "def add(a, b):\n    raise ValueError('no')",
        "def add(a, b):\n    print(a + b)",
    ),
    "ratio": (
        "def ratio(a, b):\n    if b == 0:\n        raise ZeroDivisionError('by nothing')\n    return a / b",
        "def ratio(a, b):\n    return a / b if b else 0",
        "def ratio(a, b):\n    return a // b",
        "def ratio(a, b):\n    if b == 0:\n        raise KeyError('by nothing')\n    return a / b",
    ),
    "count": (
        "calls = [0]\ndef count():\n    calls[0] += 1\n    return calls[0]",
        "def count():\n    return 1",
        "import itertools\nticks = itertools.count(0)\ndef count():\n    return next(ticks)",
    ),
    "rotate": (
        "def rotate(items, k):\n    items[:] = items[-k:] + items[:-k]",
        "def rotate(items, k):\n    return items[-k:] + items[:-k]",
        "def rotate(items, k):\n    items.reverse()",
    ),
    "evens": (
        "def evens(limit):\n    for n in range(0, limit, 2):\n        yield n",
        "def evens(limit):\n    return range(0, limit, 2)",
        "def evens(limit):\n    for n in range(limit):\n        yield n",
    ),
    "apply": (
        "def apply(function, values):\n    return [function(value) for value in values]",
        "def apply(function, values):\n    return [*values]",
        "def apply(function, values):\n    return list(map(function, values))[:-1]",
    ),
    "words": (
        "def words(text):\n    found = {}\n    for word in text.split():\n        found[word] = found.get(word, 0) + 1\n    return found",
        "from collections import Counter\ndef words(text):\n    return Counter(text.split())",
        "def words(text):\n    return dict.fromkeys(text.split(), 1)",
        "def words(text):\n    return list(text.split())",
    ),
    "Stack": (
        "class Stack:\n    def __init__(self):\n        self.items = []\n    def push(self, one):\n        self.items.append(one)\n        return self\n    def pop(self):\n        return self.items.pop()\n    def __len__(self):\n        return len(self.items)\n    def __eq__(self, other):\n        return isinstance(other, Stack) and self.items == other.items",
        "class Stack(list):\n    def push(self, one):\n        self.append(one)\n        return self\n    items = property(lambda self: [*self])",
        "class Stack:\n    def __init__(self):\n        self.items = []\n    def push(self, one):\n        self.items.insert(0, one)\n        return self\n    def pop(self):\n        return self.items.pop()\n    def __len__(self):\n        return len(self.items)",
        "class Stack:\n    items = []\n    def push(self, one):\n        self.items.append(one)\n        return self\n    def pop(self):\n        return self.items.pop() if self.items else None\n    def __len__(self):\n        return len(self.items)",
    ),
}
"""Ways to write each name: the first is right, and of the others some are."""

PIECES = {
    "add": (
        "assert add(1, 2) == 3",
        "assert 0 == add(0, 0)",
        "assert add('a', 'b') == 'ab', 'texts'",
        "for i in range(3):\n    assert add(i, 1) == i + 1",
        "assert all(add(i, i) == 2 * i for i in range(4))",
        "same(add(2, 2), 4)",
        "if add(1, 1) != 2:\n    sys.exit(1)",
        "case.assertEqual(add(5, 6), 11)",
        "assert add(0.1, 0.2) == pytest.approx(0.3)",
        "try:\n    add(None, 1)\n    assert False\nexcept TypeError:\n    pass",
        "def test_add():\n    assert add(10, 20) == 30",
        "@pytest.mark.parametrize('a, b, c', [(1, 1, 2), (3, 4, 7)])\ndef test_rows(a, b, c):\n    assert add(a, b) == c",
        "class TestAdd(unittest.TestCase):\n    def setUp(self):\n        self.one = 1\n    def test_it(self):\n        self.assertEqual(add(self.one, 1), 2)",
        "class TestPlain:\n    def test_it(self):\n        assert add(2, 3) == 5",
        "WANTED = {(1, 5): 6, (2, 5): 7}\nfor pair, want in WANTED.items():\n    assert add(*pair) == want",
    ),
    "ratio": (
        "assert ratio(6, 3) == 2",
        "assert abs(ratio(1, 3) - 0.3333333) < 1e-6",
        "with pytest.raises(ZeroDivisionError):\n    ratio(1, 0)",
        "with pytest.raises(ZeroDivisionError, match='nothing'):\n    ratio(1, 0)",
        "try:\n    ratio(1, 0)\nexcept ZeroDivisionError as error:\n    assert 'nothing' in str(error)\nelse:\n    raise AssertionError",
        "case.assertRaises(ArithmeticError, ratio, 1, 0)",
        "assert math.isclose(ratio(7, 2), 3.5)",
        "def test_ratio():\n    with pytest.raises((ZeroDivisionError, KeyError)):\n        ratio(0, 0)",
    ),
    "count": (
        "first = count()\nassert count() == first + 1",
        "def rising():\n    return count() < count()\nassert rising()",
    ),
    "rotate": (
        "items = [1, 2, 3]\nrotate(items, 1)\nassert items == [3, 1, 2]",
        "items = [[1], [2]]\ninner = items[1]\nassert rotate(items, 1) is None and items[0] is inner",
    ),
    "evens": (
        "assert list(evens(5)) == [0, 2, 4]",
        "numbers = evens(10)\nassert next(numbers) == 0 and next(numbers) == 2",
        "assert sum(evens(7)) == 12",
        "assert [*zip(evens(4), 'ab')] == [(0, 'a'), (2, 'b')]",
    ),
    "apply": (
        "assert apply(lambda x: x * 2, [1, 2]) == [2, 4]",
        "assert apply(str, [1]) == ['1'] and apply(len, ['ab', '']) == [2, 0]",
        "seen = []\napply(seen.append, [1, 2])\nassert seen == [1, 2]",
        "def double(x):\n    if x < 0:\n        raise ValueError(x)\n    return 2 * x\nwith pytest.raises(ValueError):\n    apply(double, [-1])",
    ),
    "words": (
        "assert words('a b a') == {'a': 2, 'b': 1}",
        "assert words('') == {}",
        "assert sorted(words('x y').items()) == [('x', 1), ('y', 1)]",
        "assert isinstance(words('q'), dict) and words('q q')['q'] == 2",
    ),
    "Stack": (
        "stack = Stack()\nstack.push(1).push(2)\nassert stack.pop() == 2 and len(stack) == 1",
        "with pytest.raises(IndexError):\n    Stack().pop()",
        "assert Stack().push(3).items == [3]",
        "assert isinstance(Stack(), Stack) and Stack().push(1) == Stack().push(1)",
        "class TestStack(unittest.TestCase):\n    def setUp(self):\n        self.stack = Stack()\n    def test_empty(self):\n        self.assertEqual(len(self.stack), 0)\n    def test_pop(self):\n        self.stack.push('x')\n        self.assertEqual(self.stack.pop(), 'x')",
    ),
}
"""Pieces of tests for each name."""

HEAD = "import math, sys, unittest\nimport pytest\ncase = unittest.TestCase()\ndef same(x, y):\n    assert x == y\n"


def make_pair(rng: random.Random) -> tuple[str, list[str]]:
    """Return a program, and the pieces of tests for it."""
    names = rng.sample([*FUNCTIONS], rng.randint(1, 3))
    program = "\n".join(rng.choice(FUNCTIONS[name]) if rng.random() < 0.5 else FUNCTIONS[name][0] for name in names)
    pieces = [piece for name in names for piece in rng.sample(PIECES[name], rng.randint(1, min(4, len(PIECES[name]))))]
    rng.shuffle(pieces)
    return program, pieces


def join(pieces: list[str]) -> str:
    """Return the code of tests."""
    return HEAD + "\n".join(pieces) + "\n"
