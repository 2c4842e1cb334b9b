"""`scripts/verifiers.py` on two small folders in the shape of public sets."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.paths import SCRIPTS


SOLUTIONS = {  # the last one is labelled right although 26 is not 18
    "first": ("So she earns 9 * 2.\nA: 18", True),
    "second": ("So she earns 13 * 2.\nA: 26", False),
    "third": ("So she earns 13 * 2.\nA: 26", True),
}

PROBLEM = {
    "task_id": "Python/0",
    "prompt": "def double(n):\n",
    "canonical_solution": "    return 2 * n\n",
    "buggy_solution": "    return 3 * n\n",
    "test": "def check(double):\n    assert double(4) == 8\n\ncheck(double)",
    "entry_point": "double",
}


def write_lines(file: Path, *rows: dict) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory) -> tuple[dict, str, str]:
    """Return the JSON file by the names of the sets, the page, and what the script prints."""
    folder = tmp_path_factory.mktemp("verifiers")
    problem = {name: {"solution": text, "is_correct": right} for name, (text, right) in SOLUTIONS.items()}
    problem |= {"question": "What does she earn?", "ground_truth": "16 - 3 - 4 = 9, and 9 * 2 = 18.\nA: 18"}
    write_lines(folder / "one/grade_school_math/data/example_model_solutions.jsonl", problem)
    pack = "two/evaluation/create/humaneval-x/data/python/data/humanevalpack.jsonl"
    write_lines(folder / pack, PROBLEM)
    ruling = {"set": "gsm8k-models", "row": "0/third", "label": False, "reason": "26 is not 18 <b>"}
    write_lines(folder / "rulings.jsonl", ruling)
    command = [sys.executable, SCRIPTS / "verifiers.py", folder / "one", folder / "two", "--output", folder / "table"]
    command += ["--adjudicated", folder / "rulings.jsonl", "--only", "gsm8k-models", "--only", "humaneval-pack"]
    command += ["--judges", "this package", "--judges", "verifiers", "--judges", "one process"]
    printed = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout
    table = json.loads((folder / "table.json").read_text("utf-8"))
    return {one["name"]: one for one in table["sets"]}, (folder / "table.md").read_text("utf-8"), printed


def test_counts_both_kinds_of_errors_by_both_kinds_of_labels(outcome):
    sets, *_ = outcome
    judge = sets["gsm8k-models"]["judges"]["this package"]
    assert judge["raw"]["false_pays"] == {"count": 0, "of": 1, "low": 0.0, "high": 0.793451}
    assert judge["raw"]["false_refusals"] == {"count": 1, "of": 2, "low": 0.094531, "high": 0.905469}
    assert judge["adjudicated"]["false_refusals"]["count"] == 0
    assert (judge["adjudicated"]["false_pays"]["of"], judge["adjudicated"]["false_refusals"]["of"]) == (2, 1)


def test_lists_each_disagreement_with_its_ruling(outcome):
    sets, page, _ = outcome
    [row] = sets["gsm8k-models"]["disagreements"]
    fields = ("row", "gold", "answer", "label", "adjudicated")
    assert [row[name] for name in fields] == ["0/third", "18", "26", True, False]
    assert row["verdicts"] == {"this package": False}
    assert "0/third" in page and "26 is not 18 &lt;b&gt;" in page


def test_programs_are_judged_in_the_jail_and_in_one_process(outcome):
    sets, *_ = outcome
    judges = sets["humaneval-pack"]["judges"]
    assert {name: judge["verdicts"] for name, judge in judges.items()} == {"this package": "10", "one process": "10"}
    assert sets["humaneval-pack"]["standing"] == "equal"


def test_names_judges_that_are_not_installed(outcome):
    sets, page, _ = outcome
    reason = sets["gsm8k-models"]["not_run"].get("verifiers", "")
    assert "verifiers/legacy/rubrics/math_rubric.py" in reason
    assert f"Not run: verifiers: {reason}." in page


def test_the_table_has_the_adjudicated_figures(outcome):
    _, page, printed = outcome
    assert (
        "| GSM8K, solutions of four models | 1, 2 | this package 0 | this package 0 |" in printed and printed in page
    )


def test_a_folder_without_a_set_is_an_error(script, tmp_path):
    ended = script("verifiers.py", tmp_path)
    assert ended.returncode == 1
    assert "No folder has a set" in ended.stderr and "--fetch" in ended.stderr
