"""The log of a run: a line of JSON for each entry, which is there while the run goes on and after it was killed."""

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..files import replace_file
from .files import append_lines
from .runs import find_run_folder


logger = logging.getLogger(__name__)

LOG_FILE = "log.jsonl"
"""Name of the file in the output directory of a run."""

STATE_FILE = "trainer_state.json"
"""Name of the file in which transformers saves the log with each checkpoint. Runs without a [`LOG_FILE`] have it."""

MAX_LOG_SIZE = 1 << 30
"""Largest size of a log that is read, in bytes. An entry has about 2,000."""


class LogWriter:
    """Writes the log of a run. What cannot be written is reported once, and training goes on."""

    def __init__(self, output_dir: str | Path) -> None:
        self.path = Path(output_dir, LOG_FILE)
        self.size = 0
        self.has_warned = False

    def start(self, entries: Iterable[dict[str, Any]]) -> None:
        """Replace the file with the entries of a run up to the checkpoint that it resumes from."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(self.path) as file:
                self.size = file.write("".join(encode_entry(entry).decode() + "\n" for entry in entries))
        except Exception as error:  # rewards log anything
            self._warn(error)

    def write(self, entry: dict[str, Any]) -> None:
        try:
            self.size = append_lines(self.path, self.size, [encode_entry(entry)])
        except Exception as error:  # rewards log anything
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if not self.has_warned:
            logger.warning(
                f"The log of the run cannot be written to '{self.path}': {error}. Training continues, and later "
                f"entries are tried again. Check the disk and the folder."
            )
        self.has_warned = True


def encode_entry(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, default=str).encode()  # in ASCII


def list_log_files(source: str | Path) -> list[Path]:
    """Return the files with the log of a run, the best first. `source` is as for `read_records`, a checkpoint or its state."""
    if Path(source).suffix == ".json" and Path(source).is_file():
        return [Path(source)]
    folder = find_run_folder(source)
    states = [*folder.glob(f"checkpoint-*/{STATE_FILE}")]
    states.sort(key=lambda file: int(number) if (number := file.parent.name.split("-")[-1]).isdigit() else -1)
    candidates = [folder / LOG_FILE, folder / STATE_FILE, *reversed(states)]
    return [file for file in candidates if file.is_file() and file.stat().st_size <= MAX_LOG_SIZE]


def read_log(source: str | Path) -> list[dict[str, Any]]:
    """Return the entries of a run's log in the order of time: the file of [`LogWriter`], or that of transformers."""
    log: list[dict[str, Any]] = read_state(source).get("log_history", [])
    return log


def read_state(source: str | Path) -> dict[str, Any]:
    """Return the state that transformers has saved, or just a log as its `log_history`. A file without entries is skipped."""
    for file in list_log_files(source):
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        state = {"log_history": [*map(decode, text.splitlines())]} if file.name == LOG_FILE else decode(text)
        entries = state.get("log_history") if isinstance(state, dict) else None
        log = [entry for entry in entries if is_entry(entry)] if isinstance(entries, list) else []
        if log:
            return {**state, "log_history": log}
    return {}


def is_entry(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("step"), int) and value["step"] >= 0


def decode(text: str) -> Any:
    """Return the value of a JSON text, or None for an incomplete line."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
