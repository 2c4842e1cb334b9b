"""Programs that solve nothing and attack the dialogue with the tests. Each is tried against the [`TESTS`] at the end."""

FORGER = '''
import json, os, sys

def read():
    line = b""
    while not line.endswith(b"\\n"):
        part = os.read(3, 1 << 16)
        if not part: os._exit(0)
        line += part
    return json.loads(line)

def write(message):
    data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\\n"
    while data: data = data[os.write(4, data):]

numbers = iter(range(1001, 10**9, 2))

def reply(asked, form, table=(), **more):
    """Answer a request. Lists, dicts and sets in the table get a number of the program's side."""
    kinds = ("list", "dict", "set")
    table = [[*one, next(numbers)] if one[0] in kinds and len(one) == 2 else one for one in table]
    write({"number": asked["number"], "form": form, "table": table, "changes": [], **more})

LOAD = {"number": 1}

def load():
    """Say that the program has loaded and that it has a function `add`."""
    module, names, add = ["module", [999, "solution"]], ["dict", ["add", [3]], 1], ["function", [0, "add", None]]
    reply(LOAD, [0], [["tuple", [[1], [2]]], module, names, add])

'''
"""What forged programs share: they take over the descriptors while the program is being loaded, as request 1."""


def forge(body: str) -> str:
    return f"{FORGER}\n{body}"


def answer(form: str, table: str = "()", more: str = "") -> str:
    """Return a program whose every answer is this form with this table."""
    return forge(f"load()\nwhile True:\n    asked = read()\n    reply(asked, {form}, {table}{more})")


def returns(value: str, before: str = "") -> str:
    """Return a program whose function returns this value."""
    return f"{before}\ndef add(a, b):\n    return {value}\n"


EQUAL = """
class Equal{base}:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    def __hash__(self): return 7
    def __bool__(self): return True
    def __abs__(self): return self
    __sub__ = __rsub__ = __add__ = __radd__ = __mul__ = __round__ = __call__ = __getitem__ = lambda self, *a: self
    __getattr__ = lambda self, name: self
    __iter__ = lambda self: iter(())
    __len__ = lambda self: 0
    __float__ = lambda self: 7.0
    __int__ = __index__ = lambda self: 7
    __str__ = __repr__ = lambda self: "7"
"""

ANSWERS = {
    "a handle that does not exist": answer("[0]", "[['object', [4711, [1]]], ['class', [5, 'A', None, None, [2]]], ['list', []]]"),
    "an object of a class int": answer("[0]", "[['object', [7, [1]]], ['import', ['builtins', 'int']]]"),
    "a class that is an int": answer("[0]", "[['object', [7, [1]]], ['class', [5, 'int', None, 'int', [2]]], ['list', []]]"),
    "an error that is a function": answer("[0]", "[['error', ['print']]]", ", failed=True"),
    "the end of the process": answer("[0]", "[['import', ['os', '_exit']]]"),
    "a module of the tests": answer("[0]", "[['import', ['sys', 'modules']]]"),
    "an exit": answer("[0]", "[['error', ['SystemExit', 0]]]", ", failed=True"),
    "an exit of its own class": answer("[0]", "[['failure', [7, [1]]], ['class', [5, 'E', None, 'SystemExit', [2]]], ['list', []]]", ", failed=True"),
    "a skipped test": answer("[0]", "[['failure', [7, [1]]], ['class', [5, 'S', [3], None, [2]]], ['list', []], ['list', ['unittest.case', 'SkipTest']]]", ", failed=True"),
    "a test that should stop": answer("[0]", "[['failure', [7, [1]]], ['class', [5, 'S', [3], None, [2]]], ['list', []], ['list', ['unittest.case', '_ShouldStop']]]", ", failed=True"),
    "an interrupt": answer("[0]", "[['error', ['KeyboardInterrupt']]]", ", failed=True"),
    "the end of a generator": answer("[0]", "[['error', ['GeneratorExit']]]", ", failed=True"),
    "a failure that is a number": answer("7", "()", ", failed=True"),
    "a mock that equals everything": answer("[0]", "[['object', [7, [1]]], ['class', [5, '_ANY', [3], None, [2]]], ['list', []], ['list', ['unittest.mock', '_ANY']]]"),
    "an object of the tests": answer("[0]", "[['yours', [0]]]"),
    "an object of the tests before the first": answer("[0]", "[['yours', [-1]]]"),
    "a record of a class of the tests": answer("[0]", "[['record', ['Anything', 'x', 1]]]"),
    "a record with special methods": answer("[0]", "[['record', ['ListNode', '__eq__', 1, '__class__', 2]]]"),
    "a named tuple with code in its name": answer("[0]", "[['namedtuple', ['x);import os;os._exit(0', [1], 7]], ['list', ['y']]]"),
    "a value that contains itself": answer("[0]", "[['tuple', [[0]]]]"),
    "a set that contains itself": answer("[0]", "[['set', [[0]]]]"),
    "a place that does not exist": answer("[99]"),
    "a place before the first": answer("[-1]"),
    "a kind that does not exist": answer("[0]", "[['eval', ['7']]]"),
    "a number that is a text": answer("{'int': '__import__'}"),
    "changes of what is not shared": answer("0", "()", ", **{'changes': [[0, []]]}"),
    "changes of its own names": answer("0", "()", ", **{'changes': [[1, ['add', 7]]]}"),
    "changes before the first": answer("0", "()", ", **{'changes': [[-1, [7]]]}"),
    "changes that are not any": answer("0", "()", ", **{'changes': 7}"),
    "a list with a number that is taken": answer("[0]", "[['list', [7], 1]]"),
    "a list with the number of a text": answer("[0]", "[['list', [7], '1']]"),
    "a list that is shared twice": answer("[0]", "[['list', [7], 3], ['list', [8], 3]]"),
    "a tuple that is shared": answer("[0]", "[['tuple', [7], 5]]"),
    "a shared object that does not exist": answer("[0]", "[['shared', [4711]]]"),
    "deep tuples": answer("[0]", "[['tuple', [[n + 1]]] for n in range(50000)] + [['tuple', []]]"),
    "tuples that unfold": answer("[0]", "[['tuple', [[n + 1], [n + 1]]] for n in range(60)] + [['tuple', []]]"),
    "a set of what unfolds": answer("[0]", "[['set', [[1]]]] + [['tuple', [[n + 2], [n + 2]]] for n in range(40)] + [['tuple', []]]"),
    "a million values": answer("[0]", "[['list', [0] * 1_000_000]]"),
    "a number without end": answer("{'int': 'f' * 5_000_000}"),
    "JSON that is deep": forge("load()\nasked = read()\nwrite(b'[' * 100000 + b'\\n')"),
    "JSON that is not an object": forge("load()\nasked = read()\nwrite(b'[1]\\n')"),
    "no JSON": forge("load()\nasked = read()\nwrite(b'7\\xff\\n')"),
}  # fmt: skip
"""Programs that give one forged answer to everything."""

ORDER = {
    "answers twice": forge("load()\nwhile True:\n    n = read()\n    reply(n, 7)\n    reply(n, 7)"),
    "answers in advance": forge("load()\nfor n in range(2, 100): reply({'number': n, }, 7)\nwhile True: read()"),
    "answers with the wrong number": forge("load()\nwhile True: reply({'number': read()['number'] + 1, }, 7)"),
    "replays an answer": forge("load()\nfirst = read()\nwhile True:\n    reply(first, 7)\n    read()"),
    "two answers in one write": forge("load()\nn = read()\na = json.dumps({'number': n['number'], 'form': 7, 'table': [], 'changes': []}).encode() + b'\\n'\nwrite(a + a)\nread()"),
    "answers as it loads, then again": forge("load()\nload()\nwhile True: reply(read(), 7)"),
    "never answers": forge("load()\nwhile True: read()"),
    "never reads": forge("load()\nimport time\ntime.sleep(60)"),
    "writes without end": forge("load()\nread()\nwhile True: write(b'x' * 65536)"),
    "writes without end of line": forge("load()\nread()\nwrite(b'{\"number\": 2, ' * 1_000_000)"),
    "closes its pipes": forge("load()\nread()\nos.close(3); os.close(4)\nimport time\ntime.sleep(60)"),
    "ends with success": forge("load()\nread()\nos._exit(0)"),
    "ends while it loads": "import os\nos._exit(0)",
    "exits while it loads": "import sys\nsys.exit(0)",
    "answers after its end": forge("load()\nread()\nimport threading\nthreading.Timer(0.05, lambda: reply({'number': 2, }, 7)).start()\nraise SystemExit(0)"),
    "asks for code": forge("load()\nn = read()\nwrite({'do': 'eval', 'number': 5, 'forms': ['7'], 'table': [], 'changes': []})\nreply(n, 7)"),
    "asks for an attribute": forge("load()\nn = read()\nwrite({'do': 'get', 'number': 5, 'forms': [[0], '__globals__'], 'table': [['yours', [0]]], 'changes': []})\nprint(read())"),
    "calls what it was not given": forge("load()\nn = read()\nwrite({'do': 'call', 'number': 5, 'forms': [[0], 1, 0], 'table': [['import', ['os', '_exit']]], 'changes': []})\nread()"),
    "calls a number": forge("load()\nn = read()\nwrite({'do': 'call', 'number': 5, 'forms': [7, 0], 'table': [], 'changes': []})\nread()"),
    "asks without end": forge("load()\nn = read()\nwhile True:\n    write({'do': 'readline', 'number': 5, 'forms': [], 'table': [], 'changes': []})\n    read()"),
    "writes a verdict": "import os\nfor fd in range(1, 64):\n    try: os.write(fd, b'{\"passed\": 1, \"total\": 1, \"failure\": \"\"}\\n')\n    except OSError: pass\ndef add(a, b): return 0",
    "writes a verdict and ends": "import os\ndef add(a, b):\n    for fd in range(1, 64):\n        try: os.write(fd, b'{\"passed\": 1, \"total\": 1, \"failure\": \"\"}\\n')\n        except OSError: pass\n    os._exit(0)",
    "says that nobody can judge it, in vain": forge("load()\nread()\nwrite({'unjudged': 'x'})"),
    "patches its own side": "import sys\nm = sys.modules.get('programs.inside.program_side')\nif m: m.ProgramSide.serve = lambda s, r: {'number': r['number'], 'form': 7, }\nn = sys.modules.get('programs.inside.tests_side')\nif n: n.Tests.run = lambda s: None\ndef add(a, b): return 0",
}  # fmt: skip
"""Programs that break the order of the dialogue."""

OBJECTS = {
    "says that it raises the end": "class E(Exception): pass\ndef add(a, b):\n    from programs.inside import program_side\n    program_side.ProgramSide.refer_class = lambda s, v: ['class', s.register(v), 'SystemExit', ['builtins', 'SystemExit'], 'Exception', []]\n    raise E()",
    "says that it raises a skip": "class E(Exception): pass\ndef add(a, b):\n    from programs.inside import program_side\n    program_side.ProgramSide.refer_class = lambda s, v: ['class', s.register(v), 'SkipTest', ['unittest', 'SkipTest'], 'Exception', []]\n    raise E()",
    "raises an error of the dialogue": "def add(a, b):\n    from programs.inside.plain_data import CannotCross\n    raise CannotCross('no')",
    "raises as if a module were missing": "def add(a, b): raise ModuleNotFoundError('numpy')",
    "raises as if a module were missing, later": "def add(a, b):\n    raise ModuleNotFoundError('numpy')\n    yield",
    "other nodes": "def is_same_list(*a): return True\nlist_node = tree_node = is_same_tree = is_same_list\ndef add(a, b): return 0",
    "equals everything": returns("Equal()", EQUAL.format(base="")),
    "an int that equals everything": returns("Equal(0)", EQUAL.format(base="(int)")),
    "a text that equals everything": returns("Equal('0')", EQUAL.format(base="(str)")),
    "a float that equals everything": returns("Equal(0)", EQUAL.format(base="(float)")),
    "a list that equals everything": returns("Equal()", EQUAL.format(base="(list)")),
    "a dict that equals everything": returns("Equal()", EQUAL.format(base="(dict)")),
    "an error that equals everything": returns("Equal()", EQUAL.format(base="(Exception)")),
    "a class in place of the function": EQUAL.format(base="").replace("Equal", "add").replace("class add:", "class add:\n    def __init__(self, *a): pass"),
    "a class that equals everything": returns("Meta('A', (), {})", EQUAL.format(base="(type)").replace("Equal", "Meta")),
    "an iterator of guesses": "def add(a, b):\n    yield from range(100)",
    "a coroutine": "async def add(a, b): return 7",
    "itself": "def add(a, b): return add",
    "a mock": returns("mock.ANY", "from unittest import mock"),
    "a mock that does everything": returns("mock.MagicMock()", "from unittest import mock"),
    "a generator that skips": "import unittest\ndef add(a, b): raise unittest.SkipTest('no')",
    "an exit with success": "def add(a, b): raise SystemExit(0)",
    "an exit of a subclass": "class Out(SystemExit):\n    code = 0\ndef add(a, b): raise Out",
    "an error that says success": "class Out(BaseException):\n    code = 0\ndef add(a, b): raise Out",
    "an interrupt": "def add(a, b): raise KeyboardInterrupt",
    "other builtins": "def abs(x): return 0\ndef isinstance(*a): return True\ndef all(*a): return True\ndef any(*a): return False\ndef len(x): return 0\ndef range(*a): return []\ndef print(*a): pass\ndef sorted(x): return 7\ndef sum(x): return 7\nAssertionError = SystemExit\ndef add(a, b): return 0",
    "other modules": "class math:\n    isclose = fabs = lambda *a, **k: True\nclass unittest:\n    class TestCase: pass\nclass pytest: raises = approx = None\nclass random: seed = None\nsys = os = itertools = math\ndef add(a, b): return 0",
    "other names": "__name__ = '__main__'\n__builtins__ = {}\ncheck = same = candidate = Anything = lambda *a: None\ndef add(a, b): return 0",
    "patched builtins": "import builtins\nbuiltins.AssertionError = SystemExit\nbuiltins.abs = lambda x: 0\ndef add(a, b): return 0",
    "patched modules": "import json, math\njson.dumps = lambda *a, **k: '{\"passed\": 1, \"total\": 1}'\nmath.isclose = lambda *a, **k: True\ndef add(a, b): return 0",
    "looks for the answer": "import gc, sys\ndef add(a, b):\n    frame = sys._getframe()\n    while frame:\n        for name, one in [*frame.f_locals.items(), *frame.f_globals.items()]:\n            if 'expect' in name or 'want' in name or 'CASES' in name: return one\n        frame = frame.f_back\n    for one in gc.get_objects():\n        if type(one) is dict and 'CASES' in one: return dict(one['CASES'])[a, b]\n    return 0",
    "remembers what it is compared with": "seen = []\nclass Spy:\n    def __eq__(self, other): seen.append(other); return False\n    __sub__ = __rsub__ = __lt__ = __gt__ = __contains__ = __eq__\ndef add(a, b): return seen[-1] if seen else Spy()",
}  # fmt: skip
"""Programs that return, raise or define what should pass a test."""

CHEATS = ANSWERS | ORDER | OBJECTS

TESTS = {
    "assert": "assert add(3, 4) == 7\nassert add(3, 4) == 7\nassert add(5, 6) == 11",
    "other side": "assert 7 == add(3, 4)\nassert 11 == add(5, 6)",
    "check": "def check(candidate):\n    assert candidate(3, 4) == 7\n    assert candidate(5, 6) == 11",
    "helper": "def same(x, y):\n    assert x == y\ndef check(candidate):\n    same(candidate(3, 4), 7)\n    same(candidate(5, 6), 11)\ncheck(add)",
    "loop": "CASES = [((3, 4), 7), ((5, 6), 11)]\nfor args, want in CASES:\n    assert add(*args) == want",
    "closeness": "assert abs(add(3, 4) - 7) < 1e-6 and abs(11 - add(5, 6)) < 1e-6",
    "isclose": "import math\nassert math.isclose(add(3, 4), 7)\nassert math.isclose(11, add(5, 6))",
    "all": "assert all(add(n, 1) == n + 1 for n in range(2, 9))",
    "membership": "assert add(3, 4) in (7, 7.0)\nassert add(5, 6) in {11}",
    "as a key": "assert {7: True}[add(3, 4)]\nassert {11: True}[add(5, 6)]",
    "unittest": "import unittest\nclass Adding(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(add(3, 4), 7)\n    def test_other(self):\n        self.assertAlmostEqual(add(5, 6), 11)\nif __name__ == '__main__':\n    unittest.main()",
    "pytest": "import pytest\nfrom solution import add\n@pytest.mark.parametrize('a, b, c', [(3, 4, 7), (5, 6, 11)])\ndef test_add(a, b, c):\n    assert add(a, b) == c == pytest.approx(add(a, b))",
    "raises": "import pytest\ndef test_add():\n    assert add(3, 4) == 7 and add(5, 6) == 11\ndef test_error():\n    with pytest.raises(TypeError):\n        add(None, 1)",
    "exit": "import sys\nif add(3, 4) != 7 or add(5, 6) != 11:\n    sys.exit(1)",
    "callback": "class Anything:\n    def __eq__(self, other): return True\ndef key(x): return x\nassert add(key(5), key(6)) == 11\nassert add(3, 4) == 7",
    "text": "assert str(add(3, 4)) == '7' and str(add(5, 6)) == '11' and isinstance(add(3, 4), int)",
    "try": "try:\n    results = add(3, 4), add(5, 6)\nexcept BaseException:\n    results = None\nassert results == (7, 11)",
}  # fmt: skip
"""Tests of every kind for a function that adds. None of the cheats passes any of them."""
