r"""Compare the verdicts of `instructions` with published ones, by constraint, and time the checks.

    python scripts/compare_instructions.py IFEval/data IFBench/data IFBench/eval

The folders contain JSON Lines as the programs of IFEval and IFBench write them: files with `prompt`,
`instruction_id_list` and `kwargs`, and files with `prompt`, `response` and `follow_instruction_list`. A file of verdicts
is read loosely if its name contains "loose". Prints the agreement for each constraint and, with `--details`, each
difference.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trl_grpo_rewards.constraints.rows import list_verdicts, read_constraints
from trl_grpo_rewards.constraints.table import CONSTRAINTS, UnreadableConstraint


class Labelled(NamedTuple):
    """A response with one constraint of its row and the published verdict."""

    name: str
    arguments: dict[str, Any] | None
    prompt: str
    response: str
    loose: bool
    verdict: bool


def read_lines(folders: list[Path]) -> list[tuple[Path, dict[str, Any]]]:
    """Return the objects of all JSON Lines files. Lines that are not JSON are left out."""
    rows = []
    for file in sorted(file for folder in folders for file in folder.rglob("*.jsonl")):
        for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                rows.append((file, json.loads(line)))
            except ValueError:
                continue
    return rows


def read_labelled(folders: list[Path]) -> Iterator[Labelled]:
    rows = read_lines(folders)
    arguments = {row["prompt"].strip(): row["kwargs"] for _, row in rows if "kwargs" in row}
    for file, row in rows:
        given = row.get("kwargs") or arguments.get(row.get("prompt", "").strip())
        if "follow_instruction_list" in row and given is not None:
            for each in zip(row["instruction_id_list"], given, row["follow_instruction_list"], strict=True):
                yield Labelled(*each[:2], row["prompt"], row["response"], "loose" in file.name, each[2])


def judge_one(one: Labelled) -> bool | None:
    """Return the verdict of `instructions`, or None if the constraint cannot be read."""
    try:
        constraints = read_constraints([one.name], [one.arguments])
    except UnreadableConstraint:
        return None
    return list_verdicts(one.response, constraints, one.loose, one.prompt)[0]


def time_checks(labelled: list[Labelled]) -> tuple[int, float]:
    """Return the number of strict checks without the detection of languages, and their CPU time in seconds."""
    known = [one for one in labelled if one.name in CONSTRAINTS and CONSTRAINTS[one.name].package != "langdetect"]
    checks = [(one, read_constraints([one.name], [one.arguments])) for one in known]
    start = time.process_time()
    for one, constraints in checks:
        list_verdicts(one.response, constraints, prompt=one.prompt)
    return len(checks), time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="folders with JSON Lines")
    parser.add_argument("--details", action="store_true", help="print each difference")
    options = parser.parse_args()
    labelled = [*read_labelled(options.folders)]
    if not labelled:
        parser.error("the folders must contain files with follow_instruction_list and kwargs; none was found")
    verdicts = [judge_one(one) for one in labelled]
    counts = Counter(one.name for one in labelled)
    different = defaultdict(list)
    for one, verdict in zip(labelled, verdicts, strict=True):
        if verdict != one.verdict:
            different[one.name].append((one, verdict))
    print("| constraint | verdicts | equal | only published | only here | unreadable |\n|---|---|---|---|---|---|")
    for name, count in sorted(counts.items()):
        ours = Counter(verdict for _, verdict in different[name])
        equal = count - ours.total()
        print(f"| `{name}` | {count} | {equal / count:.3f} | {ours[False]} | {ours[True]} | {ours[None]} |")
    total = sum(map(len, different.values()))
    print(f"| all | {len(labelled)} | {1 - total / len(labelled):.4f} | | | |")
    for one, verdict in (pair for pairs in different.values() for pair in pairs if options.details):
        given = {name: value for name, value in (one.arguments or {}).items() if value is not None}
        reading = "loose" if one.loose else "strict"
        print(f"\n{one.name} {given}, {reading}: published {one.verdict}, here {verdict}\n{one.response[:300]!r}")
    number, seconds = time_checks(labelled)
    print(f"\n{number / seconds:,.0f} checks a second on one core, without the detection of languages")


if __name__ == "__main__":
    main()
