"""Records of the groups that a run samples: a line of JSON for each, in `groups/<run>-<part>.jsonl`. Other completions are read too.

Each run, also one that resumes, writes its own files. From its first record on, it supersedes those of earlier runs from its
first step on.
"""

import itertools
import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..files import open_to_append
from .dead_groups import Rule
from .fields import is_record, tabulate, unpack_ids


FOLDER = "groups"  # folder of the records, in the output directory of the run
MAX_FILE_SIZE = 128 << 20  # bytes at which the next file is started, so that no file is too large to handle

# Start of a line. It is enough to see whether the record is superseded, so only other records are parsed in full.
RECORD_START = re.compile(
    rb'\{"run": (\d{1,9}), "step": (\d{1,18}), "group": (\d{1,18}), (?:"first_step": (\d{1,18}), )?'
)

FILE_NAME = re.compile(r"(\d{4,})-\d{4,}\.jsonl")  # the run and the part; other files are ignored
MAX_NAMED = 3  # maximum number of lines that a warning names
logger = logging.getLogger(__name__)


@contextmanager
def report_failure(what: str, path: Path, warned: set[type]) -> Iterator[None]:
    """Warn of the first error of each type that keeps something from being written, such as a full disk. Training goes on."""
    try:
        yield
    except Exception as error:  # options, columns, completions and what rewards log may be anything
        if type(error) not in warned:
            logger.warning(
                f"The {what} of the run cannot be written to '{path}': {type(error).__name__}: {error}. Training continues "
                f"without it, and what comes later is tried again. Check the disk and the folder."
            )
        warned.add(type(error))


class GroupWriter:
    """Appends the records of one run to its files, and never raises an error."""

    def __init__(self, output_dir: str | Path, first_step: int | None = None) -> None:
        self.folder = Path(output_dir, FOLDER)
        self.first_step = first_step
        self.warned: set[type] = set()
        self.run = 0
        self.part = 1
        self.size = 0
        self.step = -1
        self.count = 0

    def write(self, step: int, records: Iterable[dict[str, Any]]) -> None:
        """Append groups of a step. A step can be written in several calls."""
        if self.first_step is None:
            self.first_step = step
        if step != self.step:
            self.step = step
            self.count = 0
        with report_failure("records", self.folder, self.warned):
            self.folder.mkdir(parents=True, exist_ok=True)
            self.run = self.run or max(map(number_run, list_group_files(self.folder)), default=0) + 1
            lines = []
            for record in records:
                place = {"run": self.run, "step": step, "group": self.count, "first_step": self.first_step}
                self.count += 1
                with report_failure("record of a group", self.folder, self.warned):  # the others are written
                    lines.append(json.dumps(place | record).encode())
            self.size = append_lines(self.folder / f"{self.run:04d}-{self.part:04d}.jsonl", self.size, lines)
            if self.size >= MAX_FILE_SIZE:
                self.part += 1
                self.size = 0


def append_lines(path: Path, size: int, lines: Iterable[bytes]) -> int:
    """Append lines to a file that has this size, apart from an incomplete line of a failed write. Return the new size."""
    with open_to_append(path) as file:
        file.truncate(min(size, file.tell()))
        file.writelines(line + b"\n" for line in lines)
        file.flush()
        return file.tell()


def list_group_files(folder: Path) -> list[Path]:
    """Return the files of records in a folder, in order."""
    return [file for file in sorted(folder.glob("*-*.jsonl")) if FILE_NAME.fullmatch(file.name) and file.is_file()]


def number_run(part: Path) -> int:
    return int(part.name.partition("-")[0])


def find_record_files(source: str | Path) -> list[Path]:
    """Return the files of records in an output directory or in its folder of groups, or the file that `source` names."""
    source = Path(source)
    if source.is_file():
        return [source]
    files = list_group_files(source) or list_group_files(source / FOLDER)
    if not files:
        listed = "there is no such file or folder"
        if source.is_dir():
            names = sorted(child.name for child in source.iterdir())[:10]
            listed = f"found: {', '.join(names) or 'nothing'}"
        raise FileNotFoundError(
            f"There are no group records in '{source}' ({listed}). Pass the output_dir of a run of FilteredGRPOTrainer, "
            f"which writes them unless group_records=False, or one of its files {FOLDER}/*.jsonl."
        )
    return files


def read_records(source: str | Path) -> Iterator[dict[str, Any]]:
    """
    Yield the records of a run in the order of their steps. Records that a later run has superseded are left out.

    Args:
        source (`str` or `Path`):
            Output directory of the run, its folder of groups, or one file.
    """
    files = find_record_files(source)
    first_steps = find_first_steps(files)
    count = 0
    damaged = []
    for name, line, place in read_lines(files):
        if place and is_superseded(place, first_steps):
            continue
        record = decode_record(line) if place else None
        if record is None:
            damaged.append(name)
        else:
            count += 1
            yield record
    if count and damaged:  # an error says that there is no record
        more = f" and {len(damaged) - MAX_NAMED} more" if len(damaged) > MAX_NAMED else ""
        logger.warning(
            f"{len(damaged)} line(s) of {str(source)!r} are not complete records and are skipped: "
            f"{', '.join(damaged[:MAX_NAMED])}{more}. A killed run may leave one."
        )


class Place(NamedTuple):
    """Where the line of a record belongs."""

    run: int
    step: int
    first_step: int  # of the run


def find_first_steps(files: Iterable[Path]) -> dict[int, int]:
    """Return the first step of each run."""
    first_steps: dict[int, int] = {}
    for _, _, place in read_lines(files):
        if place:
            first_steps[place.run] = min(first_steps.get(place.run, place.first_step), place.first_step)
    return first_steps


def is_superseded(place: Place, first_steps: dict[int, int]) -> bool:
    """Whether a later run has begun at this step or before it."""
    return any(first <= place.step for run, first in first_steps.items() if run > place.run)


def read_lines(files: Iterable[Path]) -> Iterator[tuple[str, bytes, Place | None]]:
    """Yield the name of each line, the line, and its place if it may be a whole record."""
    for file in files:
        start = 0
        with file.open("rb") as lines:
            for line in lines:
                match = None
                if line.endswith((b"}\n", b"}\r\n")):
                    match = RECORD_START.match(line)
                place = None
                if match:
                    place = Place(int(match[1]), int(match[2]), int(match[4] or match[2]))
                yield f"byte {start} of {str(file)!r}", line, place
                start += len(line)


def decode_record(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, or None if the line is damaged."""
    try:
        record: dict[str, Any] = json.loads(line)
        if not is_record(record):
            return None
        if "completion_ids" in record:
            record["completion_ids"] = list(map(unpack_ids, record["completion_ids"]))
        return record
    except (ValueError, TypeError, RecursionError):
        return None


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
    if source.is_file() and has_completions(source):
        return group_rows(read_json_lines(source), source)
    return (record_to_group(record, source) for record in read_records(source))


def has_completions(source: Path) -> bool:
    """Whether the lines of a file are completions, and not records. Raise an error if they are neither."""
    found = next(read_json_lines(source), None)
    names = [*found] if isinstance(found, dict) else []
    if {"completion", "completions", "lengths"} & {*names}:
        return "completion" in names
    raise ValueError(
        f"'{source}' has no 'completion', but {', '.join(map(repr, names)) or 'nothing'}. Pass group records, a .parquet "
        f'table from TRL, or lines of JSON such as {{"prompt": "2 + 2?", "completion": "4", "solution": "4"}}.'
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
            listed = ", ".join(members[0])
            raise ValueError(f"Group {number} of '{source}' has a row without 'completion'; it has {listed}. Add it.")
        columns: dict[str, list[Any]] = {"prompt": [None], **tabulate(members)}
        columns["completions"] = columns.pop("completion")
        prompts = columns.pop("prompt")
        if prompt is not None:
            columns["prompts"] = prompts
        yield Group(columns, step if isinstance(step, int) else None)


def record_to_group(record: dict[str, Any], source: Path) -> Group:
    if "completions" not in record:
        raise ValueError(
            f"Rewards need the texts of completions, but the records of '{source}' have none, because the run had "
            f"group_records_text=False. Choose a run that records texts."
        )
    size = len(record["completions"])
    columns = {name: [value] * size for name, value in record["columns"].items()}
    columns |= record.get("row_columns", {})
    columns["prompts"] = [record["prompt"]] * size
    columns |= {name: record[name] for name in ("completions", "completion_ids") if name in record}
    rule = Rule(**{name: record[name] for name in Rule._fields if name in record})  # older records lack some
    return Group(columns, record["step"], record["rewards"], rule)
