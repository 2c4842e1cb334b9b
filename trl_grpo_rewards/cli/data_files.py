"""Files with problems: how they are read, and what is wrong with those that cannot be."""

import contextlib
import csv
import json
import re
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ..demo import arithmetic, programs, requests


if TYPE_CHECKING:
    from datasets import Dataset

BUNDLED: "dict[str, Callable[..., Dataset]]" = {
    "demo.arithmetic": arithmetic,
    "demo.programs": programs,
    "demo.requests": requests,
}
"""Functions that return the bundled datasets, by the names of these."""

FORMATS = {"csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "parquet": "parquet", "arrow": "arrow"}
"""The format of the files with each ending."""

READ_LINES = 100
"""Number of lines of a CSV file that show how its columns are separated."""

LARGE = 50_000_000
"""Number of bytes from which on reading takes long enough for a progress bar."""


def find_ending(name: str) -> str:
    """Return the ending of a file, without that of its compression."""
    return Path(name.removesuffix(".gz")).suffix[1:].lower()


def name_format(name: str | None, data_files: Sequence[str] | str | None) -> tuple[str | None, Sequence[str] | None]:
    """Return the format of files as the name of their dataset, if the name is a file, or is missing next to files."""
    data_files = [data_files] if isinstance(data_files, str) else data_files  # a recipe may name one
    if name is not None and find_ending(name) in FORMATS and not Path(name).exists():
        raise ValueError(f"There is no file {name!r} in {Path.cwd()}. Correct --dataset_name.")
    for file in (data_files or ()) if name in (None, *FORMATS) else ():
        if not re.search(r"://|[*?\[]", file) and not Path(file).exists():
            raise ValueError(f"There is no file {file!r} in {Path.cwd()}. Correct --data_files.")
    files = [name] if name is not None and Path(name).is_file() else data_files
    if not files or (name is not None and files is data_files):
        return name, data_files
    ending = find_ending(files[0])
    if ending not in FORMATS:
        raise ValueError(
            f"The format of a file must be known by its ending, but {files[0]!r} has none of "
            f"{', '.join(f'.{one}' for one in FORMATS)}. Save it in one of these formats, or correct its ending."
        )
    return FORMATS[ending], files


def find_separator(file: str) -> tuple[str, bool]:
    """Return what separates the columns of a CSV file, and whether spaces follow it, by its first lines."""
    with open(file, errors="replace") as lines:
        heads, *others = [*islice(filter(str.strip, lines), READ_LINES)] or [""]
    separator = max(",;\t|", key=heads.count)
    return separator, f"{separator} " in heads or any(f'{separator} "' in line for line in others)


def find_unreadable(file: str) -> str | None:
    """Return what keeps a local text file from being read, and what to do, or None."""
    try:
        with open(file, encoding="utf-8") as lines:
            for _ in lines:
                pass
    except UnicodeDecodeError:
        return f"A file must be text in UTF-8, but {file} has another encoding. Save it as UTF-8."
    except OSError:
        return None
    return None if Path(file).stat().st_size else f"A file must have rows, but {file} has no rows. Add prompts to it."


def check_csv(file: str, separator: str, has_spaces: bool) -> None:
    """Check that a file is no JSON Lines, and has no more fields than heads: pandas would take the first as an index."""
    with open(file, errors="replace") as lines:
        if lines.readline().lstrip("\ufeff ").startswith(("{", "[{")):
            raise ValueError(
                f"A CSV file must begin with the names of its columns, but {file} contains JSON. Rename it to "
                f"{Path(file).stem}.jsonl, or read it with --dataset_name json --data_files {file}."
            )
    if (long := find_long_row(file, separator, has_spaces, count=2)) is not None:
        raise ValueError(long)


def find_long_row(file: str, separator: str, has_spaces: bool, count: int | None = None) -> str | None:
    """Return which of the first rows of a CSV file has more fields than its heads, and what to do, or None."""
    csv.field_size_limit(sys.maxsize)
    with contextlib.suppress(OSError, csv.Error), open(file, newline="", errors="replace") as lines:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=has_spaces)
        heads = next(filter(None, rows), [])
        for row in islice(rows, count):
            if len(row) > len(heads):
                fields = f"the {len(heads)} fields" if len(heads) > 1 else "the one field"
                return (
                    f"Each row of a CSV file must have {fields} of its first line, but line {rows.line_num} of {file} has "
                    f"{len(row)}. Put texts that contain {separator!r} in double quotes, or name all columns in the first line."
                )
    return None


def find_broken_line(file: str) -> str:
    """Return which line of a JSON Lines file is not JSON, or an empty text."""
    with contextlib.suppress(OSError), open(file, errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                json.loads(line.strip() or "null")
            except json.JSONDecodeError:
                return f"line {number} of {file} is not JSON: {line.strip()[:60]!r}" if line.strip()[:1] != "[" else ""
    return ""


def describe_broken_files(kind: str, files: Sequence[str], cause: str) -> str:
    """Return what keeps files from being read, and what to do, or else the cause that was raised."""
    plain = [file for file in files if kind in ("csv", "json") and not file.endswith(".gz")]
    found = [*map(find_unreadable, plain)]
    if "corresponds to no data" in cause:  # what datasets says of a CSV file with only a header
        found.append(f"A dataset must have rows, but {', '.join(files)} has no rows. Add prompts to it.")
    elif kind == "csv":
        found += [find_long_row(file, *find_separator(file)) for file in plain if Path(file).is_file()]
    broken = next(filter(None, map(find_broken_line, plain)), cause) if kind == "json" else cause
    found.append(f"The files {', '.join(files)} cannot be read as {kind}: {broken}. Correct the files.")
    return next(filter(None, found))


def is_small(files: Sequence[str] | None) -> bool:
    """Whether all files are local and small."""
    paths = [Path(file) for file in files or ()]
    return bool(paths) and all(path.is_file() for path in paths) and sum(path.stat().st_size for path in paths) < LARGE
