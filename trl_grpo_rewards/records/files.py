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
from typing import Any

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
    files = find_record_files(source)
    places = find_records(source, files)
    handles = [file.open("rb") for file in files]
    try:
        for number, start in places:
            handles[number].seek(start)
            record = json.loads(handles[number].readline())
            if "completion_ids" in record:
                record["completion_ids"] = list(map(unpack_ids, record["completion_ids"]))
            yield record
    finally:
        for handle in handles:
            handle.close()


def find_records(source: str | Path, files: list[Path]) -> list[tuple[int, int]]:
    """Return the file index and the offset of each record that is not superseded, in the order of their steps."""
    places: dict[tuple[int, int], tuple[int, int, int]] = {}
    first_steps: dict[int, int] = {}
    incomplete = 0
    for number, file in enumerate(files):
        with file.open("rb") as lines:
            start = 0
            for line in lines:
                match = RECORD_START.match(line)
                if match and line.endswith(b"}\n"):
                    run, step, group = map(int, match.groups()[:3])
                    first_steps[run] = min(first_steps.get(run, step), int(match[4] or step))
                    if places.get((step, group), (0,))[0] <= run:
                        places[step, group] = (run, number, start)
                else:
                    incomplete += 1
                start += len(line)
    if incomplete:
        logger.warning(
            f"{incomplete} line(s) of '{source}' are not complete records and are skipped. A killed run may leave one."
        )
    ends = find_superseding_steps(first_steps)
    return [(file, start) for (step, _), (run, file, start) in sorted(places.items()) if step < ends[run]]


def find_superseding_steps(first_steps: dict[int, int]) -> dict[int, float]:
    """Return the step from which each run is superseded: the lowest first step of all later runs."""
    ends, lowest = {}, math.inf
    for run in sorted(first_steps, reverse=True):
        ends[run] = lowest
        lowest = min(lowest, first_steps[run])
    return ends
