"""A program hands its tests the names that they ask for. Another name in its reply is a failure of the program."""

import builtins
import textwrap

import pytest

from trl_grpo_rewards import code
from trl_grpo_rewards.sandbox.programs.inside.program import PRELUDES


FORGERY = """
from sandbox.programs.inside import dialogue as d

class Forger(d.Writer):
    def write(self, value):
        is_reply = type(value) is tuple and len(value) == 2 and type(value[1]) is dict
        if is_reply and not sent:
            sent.append(1)
            value = forge(*value)
        return super().write(value)

sent, d.Writer = [], Forger
"""
WRONG = "def f(*a): return 0"
RIGHT = "def f(a): return a + 1"
ASSERT = "assert f(5) == 6"
LOOP = "for i, (given, wanted) in enumerate(zip([5, 6], [6, 7])):\n    assert abs(f(given) - wanted) < 1e-9"
CHECK = "def check(candidate):\n    assert candidate(5) == 6\n    assert sorted({candidate(5)}) == [6]\n\ncheck(f)"
LIBRARY = "import math\nimport numpy as np\n" + ASSERT + "\nassert math.isclose(f(5), 6) and np.allclose(f(5), 6)"
NAMED = "def test_f():\n    assert f(5) == 6"
ANY = "type('Any', (), {name: lambda *a: True for name in ('__eq__', '__bool__', '__call__', '__iter__')})()"
FORGED = {  # what is added to the reply, by the tests that it attacks
    "zip": (LOOP, "zip=lambda *a: []"), "enumerate": (LOOP, "enumerate=lambda *a: []"), "range": (LOOP, "range=lambda *a: []"),
    "abs": (LOOP, "abs=lambda *a: 0"), "max": (LOOP, "max=lambda *a: 0"), "sorted": (CHECK, f"sorted=lambda *a: {ANY}"),
    "set": (CHECK, f"set={ANY}"), "str": (ASSERT, f"str={ANY}"), "is_same_list": (ASSERT, "is_same_list=lambda *a: True"),
    "isclose": (LIBRARY, "isclose=lambda *a: True"), "math": (LIBRARY, f"math={ANY}"), "np": (LIBRARY, f"np={ANY}"),
    "builtins": (LIBRARY, "__builtins__={'__import__': lambda *a: f}"), "__import__": (LIBRARY, f"__import__=lambda *a: {ANY}"),
    "__name__": (NAMED, "__name__='x'"), "check": (CHECK, "check=lambda *a: True"), "test_f": (NAMED, "test_f=lambda: None"),
}  # fmt: skip
TESTS = [*dict.fromkeys(tests for tests, _ in FORGED.values())]


def forge(program, reply):
    """Return a program that changes its reply to the request to load."""
    return f"{FORGERY}\ndef forge(module, found):\n    {reply}\n\n{program}"


def score(programs, tests):
    completions = [f"```python\n{program}\n```" for program in programs]
    return code(packages=("numpy",))(completions=completions, tests=[tests] * len(programs))


def test_the_tests_are_passed_by_a_right_program_and_by_its_unchanged_reply():
    unchanged = forge(RIGHT, "return module, found")
    for tests in TESTS:
        assert score([RIGHT, unchanged, WRONG, forge(WRONG, "return module, found")], tests) == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("tests", TESTS)
def test_no_forged_name_is_paid_or_hides_the_tests(tests):
    replies = [f"found.update({added}); return module, found" for own, added in FORGED.values() if own == tests]
    assert score([forge(WRONG, reply) for reply in replies], tests) == [0.0] * len(replies)


def test_a_right_program_that_sends_another_name_fails():
    """A law for every name of Python, of the library and of the tests' own module."""
    names = {
        *vars(builtins),
        *PRELUDES["tests"],
        "__builtins__",
        "__file__",
        "__loader__",
        "__spec__",
        "g",
        "F",
        "f ",
        "",
    }
    assert {"zip", "Counter", "__name__", "__import__"} <= names and "f" not in names
    replies = [f"found[{name!r}] = found['f']; return module, found" for name in sorted(names)]
    assert score([forge(RIGHT, reply) for reply in replies], ASSERT) == [0.0] * len(replies)


@pytest.mark.parametrize(
    "reply",
    [
        "return f, found", "return found, module", "return [module, found]", "return module, [*found.items()]", "return None",
        "return (module, found, found)", "return module, type('D', (dict,), {})(found)", "return iter((module, found))",
        "found[f] = f; return module, found", "found[1] = f; return module, found", "return module, {b'f': f}",
        "import math; return math, found", "return module, None", "raise KeyError('f')", "return type(module)('x'), found",
    ],
)  # fmt: skip
def test_a_reply_of_another_form_is_a_failure_of_the_program(reply):
    right, wrong = score([forge(RIGHT, reply), forge(WRONG, reply)], ASSERT + "\n" + LOOP)
    assert wrong == 0.0 and right in (0.0, 1.0)


def test_a_program_may_define_what_is_asked_for_by_a_name_of_python():
    tests = "assert sum([1, 2]) == 3"
    assert score(["def sum(items): return items[0] + items[1]", "def sum(items): return 4"], tests) == [1.0, 0.0]
    shadowing = textwrap.dedent("def abs(x): return 0\ndef zip(*a): return []\n" + WRONG)
    assert score([shadowing], LOOP) == [0.0]
