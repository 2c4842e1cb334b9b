"""What `check`, `score` and `report` share: exit codes, tables, text that fits a screen, and JSON."""

import contextlib
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..score_tables import make_visible


FINE = 0
"""Exit code of a command that found no fault."""

FAULTY = 1
"""Exit code of a command that found a fault, such as a reward that raises an error."""

MISUSED = 2
"""Exit code of a command that cannot work with its options or files. argparse uses the same one."""

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C or SIGTERM interrupted."""

CLOSED = 141
"""Exit code of a command whose output nobody reads any more. A shell reports the same one for a process that SIGPIPE ended."""

EXIT_CODES = """exit codes:
  0    no fault was found
  1    a fault was found, or a reward raised an error
  2    the command cannot work with its options or files
  130  the command was interrupted
  141  the reader of the output closed it, as in `| head -1`"""
"""The exit codes, as `--help` shows them."""

CONSOLE = Console(width=1_000_000, height=1000, color_system=None, force_jupyter=False)
"""Lays tables out. All that rich would guess is given, so that variables such as TERM and FORCE_COLOR change nothing."""

TITLE_WIDTH = 10
"""Maximum number of columns for the title of a column of numbers. A longer title takes several lines."""


def measure_screen() -> tuple[int, int]:
    """Return the columns and the lines of the terminal, without the line of the prompt. A file counts as 80 by 24."""
    columns, lines = shutil.get_terminal_size((80, 24))
    return max(columns, 60), max(lines, 20) - 1


def make_printable(text: str) -> str:
    """Return the text in one line. Characters that would control the terminal are escaped."""
    return make_visible(" ".join(text.split()))


def cut(text: str, columns: int, *, keep_end: bool = False) -> str:
    """Return the text if it fits into the columns, and otherwise its start or its end with an ellipsis."""
    if cell_len(text) <= columns:
        return text
    if keep_end:
        return f"...{chop_cells(text[::-1], columns - 3)[0][::-1]}"
    return f"{chop_cells(text, columns - 3)[0]}..."


def build_table(rows: Sequence[Sequence[str]], alignments: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title, alignment in zip(map(make_printable, rows[0]), alignments, strict=False):
        if alignment == "<":
            table.add_column(Text(title), overflow="fold")
        else:
            table.add_column(Text("\n".join(textwrap.wrap(title, TITLE_WIDTH))), justify="right", no_wrap=True)
    for row in rows[1:]:
        table.add_row(*(Text(make_printable(cell)) for cell in row))
    return table


def fit_columns(rows: list[list[str]], alignments: str, columns: int, least: int) -> tuple[list[list[str]], int]:
    """Return the rows without the last cells that do not fit, but with the first ones, and the columns that are left."""
    while True:
        left = columns - CONSOLE.measure(build_table(rows, alignments)).maximum
        if left >= 0 or len(rows[0]) <= least:
            return rows, max(left, 0)
        rows = [row[:-1] for row in rows]


def format_table(rows: Sequence[Sequence[str]], alignments: str, columns: int) -> str:
    """Return a table that fits into the columns: `<` aligns texts, which may take several lines, and `>` numbers."""
    with CONSOLE.capture() as captured:
        CONSOLE.print(build_table(rows, alignments), width=columns)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def fit_texts(texts: Sequence[str], columns: int, lines: int, rest: str) -> list[str]:
    """Return the lines of the texts that fit on the screen. If not all do, the last line says where the rest is."""
    options: dict[str, Any] = {"subsequent_indent": "  ", "break_on_hyphens": False}
    wrapped = [line for text in texts for line in textwrap.wrap(make_printable(text), columns, **options)]
    return wrapped if len(wrapped) <= lines else [*wrapped[: lines - 1], f"... and more: {rest}"]


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
