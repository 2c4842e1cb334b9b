"""Write files in folders that others may write to: nobody reads half a file, and no link leads elsewhere."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[TextIO]:
    """Open a new file for UTF-8. When it is complete, it takes the place of another file, or of a link, with this name."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with unfinished.open("x", encoding="utf-8", newline="\n") as file:
            yield file
        os.replace(unfinished, path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == str(unfinished):
            error.filename = str(path)
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise


def open_to_append(path: Path) -> BinaryIO:
    """Open a file at its end. Raises `OSError` if it is a link, where the system can tell."""

    def open_itself(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)

    return open(path, "ab", opener=open_itself)
