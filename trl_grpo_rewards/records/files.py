"""Records of the groups that a run samples: one line of JSON for each group, in files under `output_dir/groups`.

Each run, including one that resumes from a checkpoint, writes its own files: `groups/<run>-<part>.jsonl`. A new part
starts after [`MAX_FILE_SIZE`] bytes. A run supersedes the records of earlier runs from its first step on. It does so
with its first record, so a run that is killed before it has sampled anything supersedes nothing.
"""

import json
import logging
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from .fields import unpack_ids


FOLDER = "groups"
"""Folder of the records, in the output directory of the run."""

MAX_FILE_SIZE = 128 << 20
"""Size in bytes at which a file is closed and the next one is started, so that no file grows too large to handle."""

RECORD_START = re.compile(rb'\{"run": (\d+), "step": (\d+), "group": (\d+), (?:"first_step": (\d+), )?')
"""Start of a line. It is enough to see whether the record is superseded, so only other records are parsed in full."""

logger = logging.getLogger(__name__)


class GroupWriter:
    """
    Appends the records of one run to its files.

    If writing fails, one warning is logged. Later calls remove the incomplete line and try again.

    Args:
        output_dir (`str` or `Path`):
            Output directory of the run.
        first_step (`int`, *optional*):
            First step of the run. Earlier records of this step and of later ones are superseded. Defaults to the first
            step that is written.
    """

    def __init__(self, output_dir: str | Path, first_step: int | None = None) -> None:
        self.folder = Path(output_dir, FOLDER)
        self.first_step = first_step
        self.run, self.part, self.size = 0, 1, 0
        self.step, self.count = -1, 0
        self.has_warned = False

    def write(self, step: int, records: Iterable[dict[str, Any]]) -> None:
        """Append groups of a step. A step can be written in several calls."""
        if self.first_step is None:
            self.first_step = step
        if step != self.step:
            self.step, self.count = step, 0
        try:
            self._append(records)
        except OSError as error:
            if not self.has_warned:
                logger.warning(
                    f"Group records cannot be written to '{self.folder}': {error}. Training continues without these "
                    f"records, and every later step tries again. Free disk space, make the folder writable, or set "
                    f"group_records=False."
                )
            self.has_warned = True

    def _append(self, records: Iterable[dict[str, Any]]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.run:
            self.run = max((int(file.stem.split("-")[0]) for file in self.folder.glob("*-*.jsonl")), default=0) + 1
        with (self.folder / f"{self.run:04d}-{self.part:04d}.jsonl").open("ab") as file:
            file.truncate(min(self.size, file.tell()))  # a failed write may have left an incomplete line
            for group, record in enumerate(records, start=self.count):
                place = {"run": self.run, "step": self.step, "group": group, "first_step": self.first_step}
                file.write(json.dumps(place | record).encode() + b"\n")
                self.count = group + 1
            file.flush()
            self.size = file.tell()
        if self.size >= MAX_FILE_SIZE:
            self.part, self.size = self.part + 1, 0


def find_record_files(source: str | Path) -> list[Path]:
    """
    Return the files of records in an output directory or in its folder of groups, or the file that `source` names.

    Raises:
        `FileNotFoundError`: there are no records.
    """
    source = Path(source)
    if source.is_file():
        return [source]
    files = sorted(source.glob("*-*.jsonl")) or sorted(source.glob(f"{FOLDER}/*-*.jsonl"))
    if not files:
        names = sorted(child.name for child in source.iterdir()) if source.is_dir() else ["no such folder"]
        raise FileNotFoundError(
            f"There are no group records in '{source}' (found: {', '.join(names[:10]) or 'nothing'}). Pass the "
            f"output_dir of a run with group_records=True, or one of its files {FOLDER}/*.jsonl."
        )
    return files


def read_records(source: str | Path) -> Iterator[dict[str, Any]]:
    """
    Yield the records of a run in the order of their steps. Records that a later run has superseded are left out.

    Args:
        source (`str` or `Path`):
            Output directory of the run, its folder of groups, or one file.
    """
    reader = RecordReader(source)
    _, records = reader.read_new()
    if incomplete := reader.count_incomplete():
        logger.warning(
            f"{incomplete} line(s) of '{source}' are not complete records and are skipped. A killed run may leave one."
        )
    yield from records


class RecordReader:
    """
    Reads the records of a run, also while the run goes on.

    Args:
        source (`str` or `Path`):
            As for [`read_records`].
    """

    def __init__(self, source: str | Path) -> None:
        self.source = source
        self.places: dict[tuple[int, int], tuple[int, Path, int]] = {}
        self.first_steps: dict[int, int] = {}
        self.ends: dict[Path, int] = {}
        self.incomplete = 0
        self.seen: list[tuple[Path, int]] = []

    def read_new(self) -> tuple[bool, Iterator[dict[str, Any]]]:
        """
        Return whether the records of earlier calls are still those of the run, and the records that are new.

        All records are new if a later run has superseded some, or if files were replaced.

        Raises:
            `FileNotFoundError`: there are no records.
        """
        files = find_record_files(self.source)
        is_replaced = any(file not in files or file.stat().st_size < end for file, end in self.ends.items())
        if is_replaced:
            self.places, self.first_steps, self.ends, self.incomplete = {}, {}, {}, 0
        for file in files:
            self._scan(file)
        ends = find_superseding_steps(self.first_steps)
        found = [(file, start) for (step, _), (run, file, start) in sorted(self.places.items()) if step < ends[run]]
        is_continued = not is_replaced and found[: len(self.seen)] == self.seen
        new = found[len(self.seen) :] if is_continued else found
        self.seen = found
        return is_continued, load_records(new)

    def count_incomplete(self) -> int:
        """Return the number of lines that are not records, including a last line that is not written yet."""
        return self.incomplete + sum(file.stat().st_size > end for file, end in self.ends.items())

    def _scan(self, file: Path) -> None:
        """Note the place of each record after those that are already known. The last line may still be written."""
        with file.open("rb") as lines:
            start = lines.seek(self.ends.get(file, 0))
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                match = RECORD_START.match(line)
                if match and line.endswith(b"}\n"):
                    run, step, group = map(int, match.groups()[:3])
                    self.first_steps[run] = min(self.first_steps.get(run, step), int(match[4] or step))
                    if self.places.get((step, group), (0,))[0] <= run:
                        self.places[step, group] = (run, file, start)
                else:
                    self.incomplete += 1
                start += len(line)
        self.ends[file] = start


def load_records(places: Iterable[tuple[Path, int]]) -> Iterator[dict[str, Any]]:
    """Yield the record at each place, which is a file and an offset in bytes."""
    handles: dict[Path, BinaryIO] = {}
    try:
        for file, start in places:
            if file not in handles:
                handles[file] = file.open("rb")
            handles[file].seek(start)
            record = json.loads(handles[file].readline())
            if "completion_ids" in record:
                record["completion_ids"] = list(map(unpack_ids, record["completion_ids"]))
            yield record
    finally:
        for handle in handles.values():
            handle.close()


def find_superseding_steps(first_steps: dict[int, int]) -> dict[int, float]:
    """Return the step from which each run is superseded: the lowest first step of all later runs."""
    ends, lowest = {}, math.inf
    for run in sorted(first_steps, reverse=True):
        ends[run] = lowest
        lowest = min(lowest, first_steps[run])
    return ends
