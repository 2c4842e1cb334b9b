"""The score of each held-out problem in each evaluation, so that runs can be compared problem by problem."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .fields import identify_prompt, is_number
from .files import GroupWriter, append_lines, report_failure
from .logs import decode, read_text


HELD_OUT_FILE = "held_out.jsonl"  # name of the file in the output directory of a run


def write_held_out(writer: GroupWriter, step: int, records: Iterable[dict[str, Any]]) -> None:
    """Append the mean outcome of each problem in a batch of an evaluation, next to the folder of group records."""
    path = writer.folder.with_name(HELD_OUT_FILE)
    with report_failure("held-out scores", path, writer.warned):
        means = {str(identify_prompt(record)): find_outcome_mean(record) for record in records}
        problems = {problem: mean for problem, mean in means.items() if mean is not None}
        path.parent.mkdir(parents=True, exist_ok=True)
        size = path.stat().st_size if path.is_file() else 0
        append_lines(path, size, [json.dumps({"step": step, "problems": problems}).encode()])


def find_outcome_mean(record: dict[str, Any]) -> float | None:
    """Return the mean of the outcome reward, or of the total without one."""
    scores = record["rewards"].get(record.get("outcome_reward"), record["total"])
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None


def read_held_out(output_dir: str | Path, last: int) -> list[dict[str, float]]:
    """Return the scores of each evaluation until a step, by problem. Those of an earlier run may come after it."""
    steps: dict[int, dict[str, float]] = {}
    for line in read_text(Path(output_dir, HELD_OUT_FILE)).splitlines():
        row = decode(line)
        if is_evaluation(row) and row["step"] <= last:
            steps.setdefault(row["step"], {}).update(row["problems"])
    return [steps[step] for step in sorted(steps)]


def is_evaluation(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("step"), int) or not isinstance(row.get("problems"), dict):
        return False
    return all(map(is_number, row["problems"].values()))
