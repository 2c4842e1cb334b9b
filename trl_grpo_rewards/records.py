"""One line of JSON for every group that was sampled: written while a run goes on, and read whatever became of it.

A run, also one that goes on from a checkpoint, writes files of its own: `groups/<run>-<part>.jsonl`, a new part after
[`PART`] bytes. Each step is written at once, so that a run that is killed loses no more than the step in flight.
"""

import hashlib
import json
import logging
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any


FOLDER = "groups"
"""Where a run keeps its records, in its output directory."""

PART = 128 << 20
"""Bytes from which on a file is followed by another."""

PLACE = re.compile(rb'\{"run": (\d+), "step": (\d+), "group": (\d+), ')
"""How a line begins, so that what counts can be told without reading all of it."""

logger = logging.getLogger(__name__)


class GroupWriter:
    """
    Appends records to the files of one run, of which there may be earlier ones.

    Args:
        output_dir (`str` or `Path`):
            Output directory of the run.
    """

    def __init__(self, output_dir: str | Path) -> None:
        self.folder = Path(output_dir, FOLDER)
        self.run, self.part = 0, 1
        self.step, self.count = -1, 0

    def write(self, step: int, records: list[dict[str, Any]]) -> None:
        """Append the groups of a step, or some more of them."""
        first = self.count if step == self.step else 0
        self.step, self.count = step, first + len(records)
        if not self.run:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.run = max((int(file.stem.split("-")[0]) for file in self.folder.glob("*-*.jsonl")), default=0) + 1
        lines = (
            json.dumps({"run": self.run, "step": step, "group": first + place, **record})
            for place, record in enumerate(records)
        )
        with (self.folder / f"{self.run:04d}-{self.part:04d}.jsonl").open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))
            self.part += file.tell() >= PART


def sampled(inputs: list[dict], prompts: list, completions: list, completion_ids: list[list[int]]) -> list[dict]:
    """Of each completion what a record has of it, without what JSON cannot hold, such as images."""
    return [
        {
            "prompt": readable(prompt),
            "completion": readable(completion),
            "completion_ids": ids,
            "columns": {name: value for name, value in row.items() if name != "prompt" and is_json(value)},
        }
        for row, prompt, completion, ids in zip(inputs, prompts, completions, completion_ids, strict=True)
    ]


def listed(values: list) -> list:
    """Numbers, or lists of them, with None for NaN."""
    return [listed(value) if isinstance(value, list) else None if value != value else value for value in values]


def described(
    rows: list[dict],
    scores: list[list[float | None]],
    weights: dict[str, float],
    totals: list[float | None],
    advantages: list[float],
    outcomes: list[str],
    outcome_reward: str,
    last_ids: set[int],
    text: bool = True,
) -> list[dict[str, Any]]:
    """
    The records of all groups of a generation.

    Args:
        rows (`list[dict]`):
            What [`sampled`] gives, group after group.
        scores (`list[list]`):
            Of each row the score of each reward, None where there is none.
        weights (`dict[str, float]`):
            Name and weight of each reward.
        totals (`list`):
            Weighted total of each row.
        advantages (`list[float]`):
            What each row is trained on with.
        outcomes (`list[str]`):
            Of each group `"live"`, or which kind of dead it is.
        outcome_reward (`str`):
            Name of the reward by which that is said.
        last_ids (`set[int]`):
            Tokens that end a completion; without one it was truncated.
        text (`bool`, *optional*, defaults to `True`):
            Whether to keep prompts and completions.
    """
    size = len(rows) // len(outcomes)
    records = []
    for index, outcome in enumerate(outcomes):
        mine = slice(index * size, (index + 1) * size)
        group, ids = rows[mine], [row["completion_ids"] for row in rows[mine]]
        record = {
            "prompt_id": prompt_id(group[0]["prompt"]),
            "outcome": outcome,
            "outcome_reward": outcome_reward,
            "rewards": dict(zip(weights, map(list, zip(*scores[mine], strict=True)), strict=True)),
            "weights": weights,
            **moments(totals[mine]),
            "advantages": advantages[mine],
            "lengths": [len(one) for one in ids],
            "truncated": [not one or one[-1] not in last_ids for one in ids],
            "duplicates": sum(ids.count(one) > 1 for one in ids),
            **columns_of([row["columns"] for row in group]),
        }
        if text:
            record |= {"prompt": group[0]["prompt"], "completions": [row["completion"] for row in group]}
        records.append(record | {"completion_ids": ids})
    return records


def moments(totals: list[float | None]) -> dict[str, Any]:
    known = [total for total in totals if total is not None]
    if not known:
        return {"total": totals, "mean": None, "std": None, "spread": None}
    mean = sum(known) / len(known)
    deviation = math.sqrt(sum((total - mean) ** 2 for total in known) / len(known))
    return {"total": totals, "mean": mean, "std": deviation, "spread": max(known) - min(known)}


def columns_of(columns: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns of a group, once where all its rows agree; else row by row, as a rollout function's own may be."""
    alike = {name: value for name, value in columns[0].items() if all(other.get(name) == value for other in columns)}
    others = {name: [other.get(name) for other in columns] for name in columns[0] if name not in alike}
    return {"columns": alike, **({"row_columns": others} if others else {})}


def prompt_id(prompt: Any) -> str:
    """The same for the same prompt, in every run."""
    return hashlib.sha256(json.dumps(prompt, sort_keys=True).encode()).hexdigest()[:16]


def readable(value: Any) -> Any:
    """The value as JSON has it, with the name of its type for what it has not."""
    return (
        value if is_json(value) else json.loads(json.dumps(value, default=lambda other: f"<{type(other).__name__}>"))
    )


def is_json(value: Any) -> bool:
    """Whether JSON holds the value as it is."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_json, value))
    return value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))


def record_files(source: str | Path) -> list[Path]:
    """
    Files of records in an output directory, in its folder of groups, or the one that is named.

    Raises:
        `FileNotFoundError`: there are none.
    """
    source = Path(source)
    if source.is_file():
        return [source]
    files = sorted(source.glob("*-*.jsonl")) or sorted(source.glob(f"{FOLDER}/*-*.jsonl"))
    if not files:
        there = (
            ", ".join(sorted(child.name for child in source.iterdir())[:10]) if source.is_dir() else "no such folder"
        )
        raise FileNotFoundError(
            f"There are no group records in '{source}' (there is: {there or 'nothing'}). Name the output_dir of a run "
            f"with group_records=True, or one of its files {FOLDER}/*.jsonl."
        )
    return files


def read_records(source: str | Path) -> Iterator[dict[str, Any]]:
    """
    The records of a run in the order of their steps, each step and group once: that of the last attempt.

    Args:
        source (`str` or `Path`):
            Output directory of the run, its folder of groups, or one file.
    """
    places: dict[tuple[int, int], tuple[int, int, int]] = {}
    files = record_files(source)
    torn = 0
    for number, file in enumerate(files):
        with file.open("rb") as lines:
            start = 0
            for line in lines:
                place = PLACE.match(line)
                if place and line.endswith(b"}\n"):
                    run, step, group = map(int, place.groups())
                    if places.get((step, group), (0,))[0] <= run:
                        places[step, group] = (run, number, start)
                else:
                    torn += 1
                start += len(line)
    if torn:
        logger.warning(
            f"{torn} line(s) of '{source}' are no whole records, as a run that is killed leaves one; skipped."
        )
    handles = [file.open("rb") for file in files]
    try:
        for _, (_, number, start) in sorted(places.items()):
            handles[number].seek(start)
            yield json.loads(handles[number].readline())
    finally:
        for handle in handles:
            handle.close()
