"""No cheat is paid by any kind of test."""

import pytest

from helpers.corpora import CHEATS
from trl_grpo_rewards import code


VALUES = {3: 6, 10: 20, 1234: 2468}

KINDS = {
    "inputs": {"inputs": [f"{one}\n" for one in VALUES], "outputs": [f"{one}\n" for one in VALUES.values()]},
    "calls": {"inputs": [[one] for one in VALUES], "outputs": [*VALUES.values()], "fn_name": "double"},
    "asserts": [f"assert double({one}) == {other}" for one, other in VALUES.items()],
    "unittest": "import unittest\nclass Doubling(unittest.TestCase):\n    def test_double(self):\n        for one in (3, 10, 1234):\n            self.assertEqual(double(one), one + one)\n",
    "several": "import pytest\nfrom solution import double\nVALUES = (3, 10, 1234)\ndef test_loop():\n    for i in range(1, 9):\n        assert double(i) == 2 * i\ndef same(x, y):\n    assert abs(x - y) < 1e-6\ndef test_helper():\n    for one in VALUES: same(double(one), 2 * one)\ndef test_close():\n    for one in VALUES: assert double(one) == pytest.approx(2 * one)",
}  # fmt: skip
RIGHT = "def double(x):\n    return 2 * x\nif __name__ == '__main__':\n    print(double(int(input())))"


def score(programs, kind):
    completions = [f"```python\n{program}\n```" for program in programs]
    is_partial = kind == "several"  # of these, each counts alone
    return code(timeout=0.5, partial=is_partial)(completions=completions, tests=[KINDS[kind]] * len(programs))


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_program_is_paid(kind):
    assert score([RIGHT], kind) == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_cheat_is_paid(kind):
    scores = score(CHEATS.values(), kind)
    assert {name: one for name, one in zip(CHEATS, scores, strict=True) if one != 0.0} == {}
