"""Programs that try to pass tests without solving them. `double` is the function that the tests call."""

EQUAL_TO_ALL = """
class Equal{base}:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __hash__(self): return 0
    def __bool__(self): return True
    def __sub__(self, other): return self
    __add__ = __mul__ = __rsub__ = __radd__ = __getitem__ = __sub__
    def __abs__(self): return self
    def __float__(self): return 0.0
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __repr__(self): return 'True'
    __str__ = __format__ = __repr__
"""

SEARCH_FRAMES = """
import sys
def double(*args):
    frame = sys._getframe()
    while frame:
        for scope in (frame.f_locals, frame.f_globals):
            for name in ('expected', 'accepted', 'want', 'right', 'answer', 'secret', 'secrets', 'output'):
                if name in scope:
                    return scope[name]
        for constant in frame.f_code.co_consts:
            if isinstance(constant, int) and constant > 100:
                return constant
        frame = frame.f_back
"""

CHEATS = {
    "nothing": "",
    "no such function": "def other(x): return 2 * x",
    "returns nothing": "def double(x): pass",
    "a constant": "def double(x): return 0",
    "True": "def double(x): return True",
    "echo": "print(input())\ndef double(x): return x",
    "sys.exit(0)": "import sys; sys.exit(0)",
    "sys.exit(0) in the call": "import sys\ndef double(x): sys.exit(0)",
    "os._exit(0)": "import os; os._exit(0)",
    "os._exit(0) in the call": "import os\ndef double(x): os._exit(0)",
    "quit": "quit()",
    "raise SystemExit": "raise SystemExit(0)",
    "exit handler": "import atexit, os\natexit.register(lambda: os._exit(0))\ndef double(x): pass",
    "exit handler that prints": "import atexit\natexit.register(lambda: print(0))\ndef double(x): pass",
    "exception hook": "import os, sys\nsys.excepthook = lambda *_: os._exit(0)\ndef double(x): raise ValueError",
    "patched exit": "import os\nos._exit = lambda code: None\ndef double(x): pass",
    "signal that ends it": "import os, signal\nsignal.signal(15, lambda *_: os._exit(0))\nos.kill(os.getpid(), 15)",
    "equal to all": EQUAL_TO_ALL.format(base="") + "def double(*args): return Equal()",
    "equal str": EQUAL_TO_ALL.format(base="(str)") + "def double(*args): return Equal()",
    "equal int": EQUAL_TO_ALL.format(base="(int)") + "def double(*args): return Equal()",
    "equal float": EQUAL_TO_ALL.format(base="(float)") + "def double(*args): return Equal(5)",
    "equal list": EQUAL_TO_ALL.format(base="(list)") + "def double(*args): return Equal([1])",
    "equal dict": EQUAL_TO_ALL.format(base="(dict)") + "def double(*args): return Equal()",
    "equal in a list": EQUAL_TO_ALL.format(base="") + "def double(*args): return [Equal()]",
    "equal class": "class Meta(type):\n    __eq__ = lambda *_: True\n    __hash__ = None\n"
    "class double(metaclass=Meta):\n    def __init__(self, *args): pass\n    __eq__ = lambda *_: True",
    "a module that is equal": "import sys, types\nclass M(types.ModuleType):\n    __eq__ = lambda *_: True\n"
    "def double(x): return M('m')",
    "a mock": "from unittest.mock import MagicMock, ANY\ndef double(x): return ANY",
    "repr that lies": "class A:\n    def __repr__(self): return '2468'\ndef double(x): return A()",
    "reduce that lies": "class A:\n    def __reduce__(self): return int, (2468,)\ndef double(x): return A()",
    "search in frames": SEARCH_FRAMES,
    "search in memory": "import gc\ndef double(x):\n    for one in gc.get_objects():\n"
    "        if isinstance(one, dict) and 'expected' in one: return one['expected']",
    "search in the modules": "import sys\ndef double(x):\n    for one in list(sys.modules.values()):\n"
    "        if hasattr(one, 'expected'): return one.expected",
    "reads its input": "def double(x):\n    return int(input())",
    "reads all input": "import sys\ndef double(x):\n    print(sys.stdin.read())\n    return sys.stdin.read()",
    "reads the file": "import sys\ndef double(x):\n    return open(sys.argv[0]).read().count('expected')",
    "prints guesses": "for n in range(3000): print(n)\ndef double(x):\n    for n in range(3000): print(n)",
    "writes guesses": 'import os\nfor fd in range(20):\n    for n in (b\'True\', b\'2468\', b\'["int", "9a4"]\\n["int", "1"]\'):\n'
    "        try: os.write(fd, n)\n        except OSError: pass\nos._exit(0)",
    "forged verdict": "print('{\"passed\": true}')\nprint('OK')\nprint('PASSED')\nprint('1 passed')",
    "forged marker": "import os, sys\nos.write(1, b'secret')\nsys.stdout.write('\\x00True')\nos._exit(0)",
    "closed streams": "import os\nfor fd in range(20):\n    try: os.close(fd)\n    except OSError: pass\ndef double(x): return x",
    "patched json": 'import json\njson.dumps = lambda *_, **__: \'["int", "9a5"]\'\njson.loads = lambda text: []\n'
    "def double(x): return 0",
    "patched builtins": "import builtins\nbuiltins.isinstance = lambda *_: True\nbuiltins.all = lambda *_: True\n"
    "builtins.abs = lambda x: 0\nbuiltins.AssertionError = type('Quiet', (Exception,), {})\ndef double(x): return 0",
    "patched repr": "import builtins\nbuiltins.repr = builtins.str = builtins.print = lambda *_: '2468'\n"
    "def double(x): return 0",
    "patched eval": "import builtins\nbuiltins.eval = builtins.exec = lambda *_: 0\nbuiltins.compile = lambda *_, **__: 'None'\n"
    "def double(x): return 0",
    "a built-in that runs nothing": "import builtins\nbuiltins.exec = lambda *_: None\ndef double(x): return 0",
    "a driver that runs nothing": "import sys\nsys.modules['__main__'].run_source = lambda *_: None\ndef double(x): return 0",
    "a mock in a list": "from unittest.mock import ANY\ndef double(x): return [ANY]",
    "a function that is equal": EQUAL_TO_ALL.format(base="") + "double = Equal()",
    "a generator of equals": EQUAL_TO_ALL.format(base="") + "def double(x): yield Equal()",
    "patched driver": "import sys\nmain = sys.modules['__main__']\nfor name in list(vars(main)):\n"
    "    if callable(vars(main)[name]) and not name.startswith('__'): setattr(main, name, lambda *_, **__: None)\n"
    "def double(x): return 0",
    "patched asserts": "import sys\ndef trace(frame, event, arg):\n    frame.f_trace_lines = False\n    return trace\n"
    "sys.settrace(trace)\ndef double(x): return 0",
    "redefined after the call": "def double(x):\n    globals()['double'] = lambda x: x\n    return double(x)",
    "removes itself": "import sys\nsys.modules.clear()\ndef double(x): return x",
    "a generator": "def double(x):\n    yield 2 * x",
    "an iterator": "def double(x): return iter([2 * x])",
    "a huge list": "def double(x): return list(range(10**4))",
    "a huge text": "def double(x): return 'a' * 10**7",
    "a huge integer": "def double(x): return 10**5000",
    "a cycle": "def double(x):\n    items = []\n    items.append(items)\n    return items",
    "a deep list": "def double(x):\n    items = []\n    for _ in range(10**5): items = [items]\n    return items",
    "recursion": "def double(x): return double(x)",
    "a thread that answers": "import threading, os\n"
    'threading.Thread(target=lambda: [os.write(fd, b\'["int", "1"]\') for fd in (3, 4, 5)]).start()\ndef double(x): pass',
    "lone surrogate": "def double(x): return '\\ud800'",
    "surrogate in the program": "x = '\ud800'\ndef double(x): return x",
    "null": "def double(x): return x\0",
    "no syntax": "def double(x) return x",
    "tabs": "def double(x):\n\tif x:\n        return x",
    "invalid UTF-8": "import os\nos.write(1, b'\\xff\\xfe')\ndef double(x): return b'\\xff'",
}
"""Programs by what they try. None is right, whatever the tests are."""
