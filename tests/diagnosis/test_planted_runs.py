"""A few of the short real runs of `scripts/measure_warnings.py`. All of them are run by hand."""

import json
import subprocess
import sys

import pytest

from helpers.paths import SCRIPTS


JUDGE = """
import json, sys
from pathlib import Path

scripts, folder, name = sys.argv[1:]
sys.path.insert(0, scripts)
import measure_warnings

measure_warnings.run_all(Path(folder), "first", name)
(plan,) = [plan for plan in measure_warnings.PLANS if plan.name == name]
judged = measure_warnings.judge_run(plan, Path(folder) / name)
is_soon = (judged.delay or 0) <= measure_warnings.SOON
is_healthy = "1 healthy runs, 60 steps" in measure_warnings.write_tables([judged])
found = {"steps": judged.steps, "last": [*judged.last], "is_soon": is_soon, "is_healthy": is_healthy}
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "warnings"),
    [
        ("first-unpaid-tiny-ours-103", ["unpaid"]),
        ("first-never_right-tiny-trl-104", ["dead"]),
        ("first-high_rate-tiny-ours-105", ["broken"]),
        ("first-healthy-tiny-trl-12", []),
    ],
)
def test_a_planted_fault_is_named_and_a_healthy_run_is_quiet(name, warnings, tmp_path):
    # The script registers rewards of its own, whose names other tests use, too.
    command = [sys.executable, "-c", JUDGE, str(SCRIPTS), str(tmp_path), name]
    judged = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    assert judged["steps"] == 60 and judged["last"][:1] == warnings
    assert judged["is_soon"] and judged["is_healthy"] is not bool(warnings)
