"""Verdicts kept in a folder, which several processes may share."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any


class VerdictCache:
    """
    A folder with a file for each verdict.

    Args:
        folder (`str`):
            Path of the folder, which is created if needed.

    Raises:
        `ValueError`: the folder cannot be created.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder).expanduser()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"The folder of a judge's cache cannot be created: cache={folder!r}, {error.strerror}. "
                f"Choose a path that you can write to."
            ) from None

    def read(self, key: str) -> Any:
        """Return the verdict with this key, or None if there is none or it cannot be read."""
        with contextlib.suppress(OSError, ValueError, RecursionError):
            return json.loads(self._path(key).read_text())
        return None

    def write(self, key: str, verdict: dict[str, Any]) -> None:
        path = self._path(key)
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}-{id(verdict)}")
        unfinished.write_text(json.dumps(verdict))
        unfinished.replace(path)  # in one step, so that no process reads half of it

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"
