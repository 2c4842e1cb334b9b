"""All tests that code defines are found, and those that it has called itself are not run again."""

import sys
from types import ModuleType

from trl_grpo_rewards.programs.inside.runner import find_tests


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
