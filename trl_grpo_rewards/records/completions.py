"""Completions that were sampled before, group by group, from whatever file holds them."""

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .files import read_records
from .kinds import TOLERANCE


@dataclass
class Group:
    """
    The completions of one prompt.

    Args:
        columns (`dict[str, list]`):
            What rewards are called with, a value for each completion: `prompts`, `completions`, `completion_ids` where
            they are known, and those of the dataset.
        step (`int`, *optional*):
            Step of the run in which they were sampled.
        recorded (`dict[str, list]`):
            Scores that they got then, by the names of rewards.
        dead_by (`str`):
            What is equal in a dead group of the run: the weighted `"total"`, the `"outcome"` reward, or `"each"` reward.
        tolerance (`float`):
            Largest difference that counts as equal.
    """

    columns: dict[str, list]
    step: int | None = None
    recorded: dict[str, list] = field(default_factory=dict)
    dead_by: str = "total"
    tolerance: float = TOLERANCE

    @property
    def size(self) -> int:
        return len(self.columns["completions"])


def read_groups(source: str | Path) -> Iterator[Group]:
    """
    Groups of completions from a file or folder.

    Args:
        source (`str` or `Path`):
            The output directory of a run, or its records; TRL's table of completions (`.parquet`), which has no columns
            of the dataset; or lines of JSON, each with a `completion`, its `prompt` and other columns, in which a group
            is a run of equal prompts.

    Raises:
        `ValueError`: it is none of these, or has no completions.
        `FileNotFoundError`: it does not exist.
    """
    source = Path(source)
    if source.suffix == ".parquet":
        return rows_in_groups(parquet_rows(source), source)
    if source.is_file() and "completion" in first_line(source):
        return rows_in_groups(json_rows(source), source)
    return (of_record(record, source) for record in read_records(source))


def first_line(source: Path) -> dict[str, Any]:
    with source.open() as lines:
        line = next(lines, "")
    try:
        found = json.loads(line)
        if isinstance(found, dict) and {"completion", "completions", "lengths"} & {*found}:
            return found
    except ValueError:
        pass
    raise ValueError(
        f"'{source}' begins with {line[:80]!r}, which is no completion. Name group records, a .parquet table of TRL's, or "
        f'lines of JSON such as {{"prompt": "2 + 2?", "completion": "4", "solution": "4"}}.'
    )


def json_rows(source: Path) -> Iterator[dict[str, Any]]:
    with source.open() as lines:
        for number, line in enumerate(lines, start=1):
            try:
                if line.strip():
                    yield json.loads(line)
            except ValueError:
                raise ValueError(
                    f"Line {number} of '{source}' is {line[:80]!r}, which is no JSON. Write a row on each line."
                ) from None


def parquet_rows(source: Path) -> Iterator[dict[str, Any]]:
    from pyarrow.parquet import ParquetFile

    for batch in ParquetFile(source).iter_batches():
        yield from batch.to_pylist()


def rows_in_groups(rows: Iterable[dict[str, Any]], source: Path) -> Iterator[Group]:
    for number, ((step, prompt), members) in enumerate(
        itertools.groupby(rows, key=lambda row: (row.get("step"), row.get("prompt")))
    ):
        members = list(members)
        if any("completion" not in row for row in members):
            raise ValueError(
                f"In '{source}' group {number} has a row without 'completion'; it has {', '.join(members[0])}. Add it."
            )
        others = dict.fromkeys(name for row in members for name in row if name not in ("prompt", "completion"))
        columns = {name: [row.get(name) for row in members] for name in others}
        columns["completions"] = [row["completion"] for row in members]
        prompts = {} if prompt is None else {"prompts": [prompt] * len(members)}
        yield Group(columns | prompts, step if isinstance(step, int) else None)


def of_record(record: dict[str, Any], source: Path) -> Group:
    if "completions" not in record:
        raise ValueError(
            f"The records of '{source}' have no texts, since the run had group_records_text=False, and rewards read "
            f"texts. Take the records of a run that keeps them."
        )
    size = len(record["completions"])
    columns = {name: [value] * size for name, value in record["columns"].items()} | record.get("row_columns", {})
    columns |= {"prompts": [record["prompt"]] * size}
    columns |= {name: record[name] for name in ("completions", "completion_ids") if name in record}
    rule = {name: record[name] for name in ("dead_by", "tolerance") if name in record}  # not in older records
    return Group(columns, record["step"], record["rewards"], **rule)
