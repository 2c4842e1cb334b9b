"""What a failure says."""

import sys
from types import ModuleType

import pytest

from trl_grpo_rewards.programs.inside.runner import describe_call, describe_error, find_failing_line, find_tests, show


@pytest.fixture(autouse=True)
def digits():
    """The process of a program has no limit of digits, and that of the tests keeps its own."""
    limit = sys.get_int_max_str_digits()
    yield
    sys.set_int_max_str_digits(limit)


def test_values_are_shown_shortened_and_never_slowly():
    assert show([1, "a"]) == "[1, 'a']" and len(show("x" * 9999)) == 203
    assert show(10**100_000) == "<int>"

    class Loud:
        def __repr__(self):
            raise ValueError

    assert show(Loud()) == "<Loud>"


def test_calls_and_errors():
    class Stack:
        pass

    assert describe_call(None) == ""
    assert describe_call(Stack, (1,), {"b": 2}, "returned", [3]) == "; the last call, Stack(1, b=2), returned [3]"
    assert describe_call(Stack, (), {}, "raised", KeyError("x")) == "; the last call, Stack(), raised KeyError: 'x'"
    assert describe_call(Stack, (), {}, "did not return") == "; the last call, Stack(), did not return"
    assert describe_error(ValueError("a\nb")) == "b" and describe_error(AssertionError()) == "AssertionError"


def test_errors_outside_the_tests_have_no_line():
    try:
        raise ValueError
    except ValueError as error:
        assert find_failing_line(error) == ""


CODE = """
import unittest
seen = []
def test_one(): seen.append("one")
def test_called(): seen.append("called")
async def test_async(): seen.append("async")
def check(candidate): seen.append(candidate)
def helper(): seen.append("helper")
class TestPlain:
    def setup_method(self, method): self.name = method.__name__
    def test_it(self): seen.append(self.name)
class Cases(unittest.TestCase):
    @classmethod
    def setUpClass(cls): seen.append("class")
    def setUp(self): seen.append("setup")
    def test_a(self): seen.append("a")
    def test_b(self):
        with self.subTest(1): self.assertEqual(1, 2)
class Empty(unittest.TestCase): pass
if __name__ == "__main__":
    test_called()
"""


def test_everything_is_found(monkeypatch):
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    exec(CODE, module.__dict__)
    errors = 0
    for test in find_tests(vars(module), "'entry'", ["test_called"]):
        try:
            result = test()
            if result is not None:
                result.close()
        except AssertionError:
            errors += 1
    assert module.seen == ["called", "one", "entry", "test_it", "class", "setup", "a", "setup"] and errors == 1
