"""Objects of the program never see what is expected of them, unless the tests let their class judge."""

from collections import Counter, deque
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath as Path

import pytest

from helpers.judged_programs import judge_all


PLAIN = (str, bytes, int, float, complex, tuple, list, dict, set, frozenset)
PLAIN += (Decimal, Fraction, Counter, deque, date, Path)
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
