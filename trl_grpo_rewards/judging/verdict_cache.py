"""Verdicts kept in a folder, which several processes may share."""

import contextlib
import json
import logging
from pathlib import Path
from typing import Any

from ..whole_files import replace_file


logger = logging.getLogger(__name__)


class VerdictCache:
    """A folder, which is created if needed, with a file for each verdict."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder).expanduser()
        self.has_warned = False
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
        """Keep a verdict. If it cannot be written, one warning is logged."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(path) as file:
                file.write(json.dumps(verdict))
        except OSError as error:
            self._warn_once(error)

    def _warn_once(self, error: OSError) -> None:
        if not self.has_warned:
            logger.warning(
                f"Verdicts cannot be written to the cache '{self.folder}': {error}. They count, but they are not kept, so "
                f"the judge will be asked for them again. Free disk space, or make the folder writable."
            )
        self.has_warned = True

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"
