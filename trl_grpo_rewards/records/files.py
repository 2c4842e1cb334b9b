"""Records of the groups that a run samples: a line of JSON for each, in `groups/<run>-<part>.jsonl`.

Each run, also one that resumes, writes its own files. From its first record on, it supersedes those of earlier runs from its
first step on.
"""

import json
import logging
import math
import re
import struct
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..files import open_to_append
from .fields import unpack_ids
from .shapes import is_record


FOLDER = "groups"
"""Folder of the records, in the output directory of the run."""

MAX_FILE_SIZE = 128 << 20
"""Size in bytes at which a file is closed and the next one is started, so that no file grows too large to handle."""

RECORD_START = re.compile(
    rb'\{"run": (\d{1,9}), "step": (\d{1,18}), "group": (\d{1,18}), (?:"first_step": (\d{1,18}), )?'
)
"""Start of a line. It is enough to see whether the record is superseded, so only other records are parsed in full."""

FILE_NAME = re.compile(r"(\d{4,})-\d{4,}\.jsonl")
"""Name of a file of records: the run and the part. Other files in the folder, such as copies, are ignored."""

MAX_NAMED = 3
"""Maximum number of lines that a warning names."""

logger = logging.getLogger(__name__)


class GroupWriter:
    """Appends the records of one run to its files, and never raises an error. `lost` counts groups without a record."""

    def __init__(self, output_dir: str | Path, first_step: int | None = None) -> None:
        self.folder = Path(output_dir, FOLDER)
        self.first_step = first_step
        self.run, self.part, self.size = 0, 1, 0
        self.step, self.count = -1, 0
        self.lost = 0
        self.warned: set[type] = set()

    def write(self, step: int, records: Iterable[dict[str, Any]]) -> None:
        """Append groups of a step. A step can be written in several calls."""
        if self.first_step is None:
            self.first_step = step
        if step != self.step:
            self.step, self.count = step, 0
        first, lines = self.count, self._encode(records)
        try:
            self._append(lines)
        except Exception as error:
            self.lost += self.count - first + sum(1 for _ in lines)
            self._warn(
                error,
                f"Group records cannot be written to '{self.folder}': {error}. Training continues without these "
                f"records, and every later step tries again. Free disk space, make the folder writable, or set "
                f"group_records=False.",
            )

    def lose(self, groups: int, error: Exception) -> None:
        """Count groups whose records cannot be made."""
        self.lost += groups
        self._warn(
            error,
            f"The record of a group cannot be made: {type(error).__name__} in {find_place(error)}. Training continues "
            f"without the records of such groups. Please report this error.",
        )

    def _warn(self, error: Exception, text: str) -> None:
        """Log the first error of each type."""
        if type(error) not in self.warned:
            logger.warning(text)
        self.warned.add(type(error))

    def _encode(self, records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
        """Yield the line of each record without its end. Groups are counted, also those that have no record."""
        iterator = iter(records)
        while True:
            place = {"run": self.run, "step": self.step, "group": self.count, "first_step": self.first_step}
            try:
                line = json.dumps(place | next(iterator)).encode()
            except StopIteration:
                return
            except Exception as error:  # whatever the record is made from
                self.count += 1
                self.lose(1, error)
                continue
            self.count += 1
            yield line

    def _append(self, lines: Iterable[bytes]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.run:
            self.run = max((int(match[1]) for _, match in match_files(self.folder)), default=0) + 1
        self.size = append_lines(self.folder / f"{self.run:04d}-{self.part:04d}.jsonl", self.size, lines)
        if self.size >= MAX_FILE_SIZE:
            self.part, self.size = self.part + 1, 0


def append_lines(path: Path, size: int, lines: Iterable[bytes]) -> int:
    """Append lines to a file that has this size, apart from an incomplete line of a failed write. Return the new size."""
    with open_to_append(path) as file:
        file.truncate(min(size, file.tell()))
        file.writelines(line + b"\n" for line in lines)
        file.flush()
        return file.tell()


def find_place(error: Exception) -> str:
    """Return the function that raised an error."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].name}, line {frames[-1].lineno} of {frames[-1].filename}"


def match_files(folder: Path) -> list[tuple[Path, re.Match[str]]]:
    """Return the files of records in a folder, in order, with the matches of their names."""
    matches = [(file, FILE_NAME.fullmatch(file.name)) for file in sorted(folder.glob("*-*.jsonl"))]
    return [(file, match) for file, match in matches if match and file.is_file()]


def find_record_files(source: str | Path) -> list[Path]:
    """Return the files of records in an output directory or in its folder of groups, or the file that `source` names."""
    source = Path(source)
    if source.is_file():
        return [source]
    files = [file for file, _ in match_files(source) or match_files(source / FOLDER)]
    if not files:
        names = sorted(child.name for child in source.iterdir()) if source.is_dir() else []
        listed = (
            f"found: {', '.join(names[:10]) or 'nothing'}" if source.is_dir() else "there is no such file or folder"
        )
        raise FileNotFoundError(
            f"There are no group records in '{source}' ({listed}). Pass the "
            f"output_dir of a run of FilteredGRPOTrainer, which writes them unless group_records=False, or one of its "
            f"files {FOLDER}/*.jsonl."
        )
    return files


def read_records(source: str | Path) -> Iterator[dict[str, Any]]:
    """
    Yield the records of a run in the order of their steps. Records that a later run has superseded are left out.

    Args:
        source (`str` or `Path`):
            Output directory of the run, its folder of groups, or one file.
    """
    places, damaged = find_records(find_record_files(source))
    count = 0
    for count, record in enumerate(load_records(places, damaged), 1):  # noqa: B007
        yield record
    if count:  # an error says that there is no record
        warn_of_damage(source, damaged)


def find_records(files: Iterable[Path]) -> tuple[list[tuple[Path, int]], list[tuple[Path, int]]]:
    """Return the files and offsets of the records, in the order of steps, and of the lines that are not complete."""
    places: dict[tuple[int, int], tuple[int, Path, int]] = {}
    first_steps: dict[int, int] = {}
    damaged = []
    for file in files:
        start = 0
        with file.open("rb") as lines:
            for line in lines:
                match = RECORD_START.match(line)
                if match and line.endswith((b"}\n", b"}\r\n")):
                    run, step, group = map(int, match.groups()[:3])
                    first_steps[run] = min(first_steps.get(run, step), int(match[4] or step))
                    if places.get((step, group), (0,))[0] <= run:
                        places[step, group] = (run, file, start)
                else:
                    damaged.append((file, start))
                start += len(line)
    ends = find_superseding_steps(first_steps)
    return [(file, start) for (step, _), (run, file, start) in sorted(places.items()) if step < ends[run]], damaged


def load_records(places: Iterable[tuple[Path, int]], damaged: list[tuple[Path, int]]) -> Iterator[dict[str, Any]]:
    """Yield the record at each place. Places of lines that are not records are skipped and added to `damaged`."""
    handles: dict[Path, BinaryIO] = {}
    try:
        for file, start in places:
            if file not in handles:
                handles[file] = file.open("rb")
            handles[file].seek(start)
            if (record := decode_record(handles[file].readline())) is not None:
                yield record
            else:
                damaged.append((file, start))
    finally:
        for handle in handles.values():
            handle.close()


def decode_record(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, or None if the line is damaged."""
    try:
        record: dict[str, Any] = json.loads(line)
        if not is_record(record):
            return None
        if "completion_ids" in record:
            record["completion_ids"] = list(map(unpack_ids, record["completion_ids"]))
        return record
    except (ValueError, TypeError, RecursionError, struct.error):
        return None


def warn_of_damage(source: str | Path, places: list[tuple[Path, int]]) -> None:
    """Log how many lines are not records, and where the first ones are."""
    if places:
        named = ", ".join(f"byte {start} of {str(file)!r}" for file, start in places[:MAX_NAMED])
        more = f" and {len(places) - MAX_NAMED} more" if len(places) > MAX_NAMED else ""
        logger.warning(
            f"{len(places)} line(s) of {str(source)!r} are not complete records and are skipped: {named}{more}. A killed run "
            f"may leave one."
        )


def find_superseding_steps(first_steps: dict[int, int]) -> dict[int, float]:
    """Return the step from which each run is superseded: the lowest first step of all later runs."""
    ends, lowest = {}, math.inf
    for run in sorted(first_steps, reverse=True):
        ends[run] = lowest
        lowest = min(lowest, first_steps[run])
    return ends
