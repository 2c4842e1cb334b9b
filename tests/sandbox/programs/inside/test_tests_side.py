"""Tests run as they are written: Python itself says the same, and no object of the program sees what is expected of it."""

import random
from collections import Counter, deque
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath as Path

import pytest

from helpers.corpora import read_corpus
from helpers.judged_programs import judge_all, list_passing
from helpers.plain_python import ask_python
from trl_grpo_rewards.sandbox.programs.inside import tests_side
from trl_grpo_rewards.sandbox.programs.inside.program_side import ProgramSide


FUNCTIONS, PIECES = {}, {}
"""Ways to write each name, and pieces of tests for it. The first way is right; some of the others are, too."""

for entry in read_corpus("sandbox/programs/made_programs.txt"):
    (FUNCTIONS if entry.marks == ["function"] else PIECES).setdefault(entry.name, []).append(entry.program)

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


def test_what_the_program_may_ask_for_is_written_down():
    assert {*tests_side.TestsSide.operations} == {"call", "next", "readline"}


def test_what_the_tests_may_ask_for_is_written_down():
    assert {*ProgramSide.operations} == {*"load call special get set delete take wait mirror".split()}


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
    tests = f"from solution import f as made\nanswered = []\nfor name in {NAMES}:\n    try: answered += [name] * getattr(made(), name)('expected')\n    except (AttributeError, ValueError): pass\nassert not answered, answered"
    (verdict,) = judge_all([(program, tests)])
    assert verdict.status is None or "the program sent" in verdict.failure, verdict.failure
