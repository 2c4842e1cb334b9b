"""What `check`, `score` and `report` share: exit codes, tables, text that fits a screen, and JSON."""

import contextlib
import json
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from ..score_tables import make_visible


FINE = 0
"""Exit code of a command that found no fault."""

FAULTY = 1
"""Exit code of a command that found a fault, such as a reward that raises an error."""

MISUSED = 2
"""Exit code of a command that cannot work with its options or files. argparse uses the same one."""

CLOSED = 141
"""Exit code of a command whose output nobody reads any more. A shell reports the same one for a process that SIGPIPE ended."""

EXIT_CODES = """exit codes:
  0    no fault was found
  1    a fault was found, or a reward raised an error
  2    the command cannot work with its options or files
  130  the command was interrupted
  141  the reader of the output closed it, as in `| head -1`"""
"""The exit codes, as `--help` shows them."""

GAP = "  "
"""Space between the columns of a table."""


def measure_screen() -> tuple[int, int]:
    """Return the columns and the lines of the terminal, without the line of the prompt. A file counts as 80 by 24."""
    columns, lines = shutil.get_terminal_size((80, 24))
    return max(columns, 60), max(lines, 20) - 1


def make_printable(text: str) -> str:
    """Return the text in one line. Characters that would control the terminal are escaped."""
    return make_visible(" ".join(text.split()))


def count_columns(text: str) -> int:
    """Return the width of a text on a terminal, where wide characters take two columns and accents none."""
    marks = sum(unicodedata.combining(char) > 0 for char in text)
    return len(text) - marks + sum(unicodedata.east_asian_width(char) in "WF" for char in text)


def shorten(text: str, columns: int, *, keep_end: bool = False) -> str:
    """Return the text if it fits into the columns, and otherwise its start or its end with an ellipsis."""
    if count_columns(text) <= columns:
        return text
    kept = text
    while kept and count_columns(kept) > columns - 3:
        kept = kept[1:] if keep_end else kept[:-1]
    return f"...{kept}" if keep_end else f"{kept}..."


def pad(text: str, columns: int, alignment: str) -> str:
    space = " " * (columns - count_columns(text))
    return text + space if alignment == "<" else space + text


def format_table(rows: Sequence[Sequence[str]], alignments: str, columns: int) -> str:
    """
    Return a table that fits into the columns.

    Args:
        rows (`list[list[str]]`):
            The titles of the table, and its rows.
        alignments (`str`):
            `<` or `>` for each column of the table. Columns of numbers (`>`) are never shortened.
        columns (`int`):
            Width of the screen.
    """
    cells = [[make_printable(cell) for cell in row] for row in rows]
    widths = [max(map(count_columns, column)) for column in zip(*cells, strict=True)]
    texts = [place for place, alignment in enumerate(alignments) if alignment == "<"]
    room = columns - sum(widths) - len(GAP) * (len(widths) - 1)
    while room < 0 and max(widths[place] for place in texts) > 8:
        widths[max(texts, key=lambda place: widths[place])] -= 1
        room += 1
    lines = [
        GAP.join(
            pad(shorten(cell, width) if place in texts else cell, width, alignments[place])
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def wrap(text: str, columns: int, most_lines: int | None = None) -> list[str]:
    """Return the text in lines that fit into the columns. The last one of `most_lines` lines ends with `...`."""
    return textwrap.wrap(
        make_printable(text),
        columns,
        subsequent_indent=GAP,
        break_on_hyphens=False,
        max_lines=most_lines,
        placeholder=" ...",
    )


def fit_texts(texts: Sequence[str], columns: int, lines: int, rest: str) -> list[str]:
    """Return the lines of the texts that fit on the screen. If not all do, the last line says where the rest is."""
    wrapped = [wrap(text, columns) for text in texts]
    if sum(map(len, wrapped)) <= lines:
        return [line for one in wrapped for line in one]
    kept, shown = wrap(texts[0], columns, lines - 1), 1
    while shown < len(texts) and len(kept) + len(wrapped[shown]) < lines:
        kept += wrapped[shown]
        shown += 1
    return [*kept, f"... and {len(texts) - shown} more: {rest}" if shown < len(texts) else f"... {rest}"]


def count(number: int, noun: str) -> str:
    """Return a number of things, such as `1 fault` or `2,000 groups`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


@contextlib.contextmanager
def keep_stdout_for_json(is_json: bool) -> Iterator[None]:
    """Send what imported modules and rewards print to standard error if standard output is for JSON."""
    with contextlib.redirect_stdout(sys.stderr) if is_json else contextlib.nullcontext():
        yield


def end(text: str, code: int) -> NoReturn:
    """End the process with a text on standard error."""
    print(make_visible(text), file=sys.stderr)
    sys.exit(code)


def flush_output(text: str = "") -> None:
    """Write a text and everything before it to standard output. End the process without a traceback if that fails."""
    try:
        print(text, end="", flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries again when it exits
        if isinstance(error, BrokenPipeError):
            sys.exit(CLOSED)
        end(
            f"error: Standard output cannot be written: {error.strerror}. Free some space, or use another file.",
            MISUSED,
        )


def print_json(value: dict[str, Any]) -> None:
    """Print a value as JSON. NaN, which JSON does not have, must be None."""
    print(json.dumps(value, indent=2, allow_nan=False))
