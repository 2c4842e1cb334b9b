"""Completions that were sampled before, read group by group from group records, TRL's tables or lines of JSON."""

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .dead_groups import Rule
from .files import read_records


@dataclass
class Group:
    """The completions of one prompt."""

    columns: dict[str, list]  # what rewards are called with, one value for each completion
    step: int | None = None
    recorded: dict[str, list] = field(default_factory=dict)  # the scores of the run, by the name of the reward
    rule: Rule = Rule()

    @property
    def size(self) -> int:
        return len(self.columns["completions"])


def read_groups(source: str | Path) -> Iterator[Group]:
    """Yield the groups of a run, its records, a table of TRL (`.parquet`), or lines of JSON, whose equal prompts are a group."""
    source = Path(source)
    if source.suffix == ".parquet":
        return group_rows(read_parquet(source), source)
    if source.is_file() and "completion" in read_first_line(source):
        return group_rows(read_json_lines(source), source)
    return (record_to_group(record, source) for record in read_records(source))


def read_first_line(source: Path) -> dict[str, Any]:
    with source.open(encoding="utf-8") as lines:
        line = next(lines, "")
    try:
        found = json.loads(line)
        if isinstance(found, dict) and {"completion", "completions", "lengths"} & {*found}:
            return found
    except ValueError:
        found = None
    problem = f"begins with {line[:80]!r}, which is not a completion"
    if isinstance(found, dict) and found:
        problem = f"has no 'completion', but {', '.join(map(repr, found))}"
    raise ValueError(
        f"'{source}' {problem}. Pass group records, a .parquet table from TRL, or lines of JSON such as "
        f'{{"prompt": "2 + 2?", "completion": "4", "solution": "4"}}.'
    )


def read_json_lines(source: Path) -> Iterator[dict[str, Any]]:
    with source.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                if line.strip():
                    yield json.loads(line)
            except ValueError:
                raise ValueError(
                    f"Line {number} of '{source}' is {line[:80]!r}, which is not JSON. Write one row on each line."
                ) from None


def read_parquet(source: Path) -> Iterator[dict[str, Any]]:
    from pyarrow.parquet import ParquetFile

    for batch in ParquetFile(source).iter_batches():
        yield from batch.to_pylist()


def group_rows(rows: Iterable[dict[str, Any]], source: Path) -> Iterator[Group]:
    """Yield each sequence of rows that have the same step and prompt as a group."""
    groups = itertools.groupby(rows, key=lambda row: (row.get("step"), row.get("prompt")))
    for number, ((step, prompt), iterator) in enumerate(groups):
        members = list(iterator)
        if any("completion" not in row for row in members):
            raise ValueError(
                f"In '{source}', group {number} has a row without 'completion'; it has {', '.join(members[0])}."
                f" Add the completion."
            )
        others = dict.fromkeys(name for row in members for name in row if name not in ("prompt", "completion"))
        columns = {name: [row.get(name) for row in members] for name in others}
        columns["completions"] = [row["completion"] for row in members]
        prompts = {} if prompt is None else {"prompts": [prompt] * len(members)}
        yield Group(columns | prompts, step if isinstance(step, int) else None)


def record_to_group(record: dict[str, Any], source: Path) -> Group:
    if "completions" not in record:
        raise ValueError(
            f"Rewards need the texts of completions, but the records of '{source}' have none, because the run had "
            f"group_records_text=False. Choose a run that records texts."
        )
    size = len(record["completions"])
    columns = {name: [value] * size for name, value in record["columns"].items()} | record.get("row_columns", {})
    columns |= {"prompts": [record["prompt"]] * size}
    columns |= {name: record[name] for name in ("completions", "completion_ids") if name in record}
    rule = Rule(**{name: record[name] for name in Rule._fields if name in record})  # older records lack some
    return Group(columns, record["step"], record["rewards"], rule)
