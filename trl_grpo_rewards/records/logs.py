"""Logs of any run of a GRPO trainer, as entries with the metric names of today's TRL: of transformers, ms-swift or a tracker."""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any


MAX_LOG_SIZE = 1 << 30  # largest size of a log that is read, in bytes. An entry has about 2,000.
EVENTS = "events.out.tfevents"  # beginning of the name of a TensorBoard file
STEPS = ("step", "train/global_step", "global_step", "global_step/max_steps", "Step", "_step")  # the best first
OLD_NAMES = {"completion_length": "completions/mean_length"}  # TRL 0.14 to 0.16
OLD_REWARD = re.compile("rewards/[^/]+")  # TRL 0.14 to 0.16 log only the mean, without this word


def read_entries(file: Path) -> list[dict[str, Any]]:
    """Return the entries of a log in the order of its steps. A file that cannot be read has none."""
    kinds = {".csv": read_csv, ".jsonl": read_lines_of_json}
    read = read_events if file.name.startswith(EVENTS) else kinds.get(file.suffix, read_json_log)
    placed = [(step, row) for row in read(file) if (step := find_logged_step(row)) is not None]
    if read in (read_csv, read_events) or any(is_tracked(row) for _, row in placed):
        return [*map(rename_old, merge_rows(placed))]
    return [
        rename_old({name: row[name] for name in row if name not in STEPS} | {"step": step}) for step, row in placed
    ]


def merge_rows(placed: Iterable[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return an entry of training and one of evaluation for each step. The rows of a tracker may be parts of both."""
    entries: dict[tuple[int, bool], dict[str, Any]] = {}
    for step, row in placed:
        for name, value in row.items():
            if name not in STEPS:
                bare = name.removeprefix("train/").replace("eval/", "eval_", 1)
                entries.setdefault((step, bare.startswith("eval_")), {"step": step})[bare] = value
    return [entries[place] for place in sorted(entries)]


def read_text(file: Path) -> str:
    """Return the text of a file, or nothing if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def decode(text: str) -> Any:
    """Return the value of a JSON text, or None for an incomplete line."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# --- kinds of files


def read_json_log(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of `log_history`, or of a list."""
    value = decode(read_text(file))
    entries = value.get("log_history") if isinstance(value, dict) else value
    yield from (entry for entry in entries if isinstance(entry, dict)) if isinstance(entries, list) else ()


def read_lines_of_json(file: Path) -> Iterator[dict[str, Any]]:
    yield from (row for row in map(decode, read_text(file).splitlines()) if isinstance(row, dict))


def read_csv(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a CSV of Weights & Biases, or of TensorBoard, which has the metric in its name."""
    for row in csv.DictReader(read_text(file).splitlines()):
        named = {name.rpartition(" - ")[2]: text for name, text in row.items() if name}
        if row.keys() == {"Wall time", "Step", "Value"}:
            named = {"Step": row["Step"], name_exported_metric(file): row["Value"]}
        known = {name: number for name, text in named.items() if (number := read_cell(text)) is not None}
        yield {name: value for name, value in known.items() if not name.endswith(("__MIN", "__MAX"))}


def name_exported_metric(file: Path) -> str:
    """Return the metric in the name of a file of TensorBoard, such as `run-x-tag-train_reward.csv`."""
    return file.stem.rpartition("tag-")[2].replace("train_", "train/", 1).replace("eval_", "eval/", 1)


def read_cell(text: Any) -> float | int | None:
    with suppress(TypeError, ValueError):
        number = float(text)
        return int(number) if number.is_integer() and abs(number) < 1e15 else number
    return None


def read_events(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the scalars of a TensorBoard file, which needs the package `tensorboard`."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        return
    events = EventAccumulator(str(file), size_guidance={"scalars": 0})  # 0: all of them
    events.Reload()
    for tag in events.Tags()["scalars"]:
        yield from ({"step": event.step, tag: event.value} for event in events.Scalars(tag))


# --- names


def find_logged_step(row: dict[str, Any]) -> int | None:
    """Return the step of an entry. ms-swift writes it as `1/200`."""
    for name in STEPS:
        value = row.get(name)
        number = read_cell(value.partition("/")[0]) if isinstance(value, str) else value
        if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
            return number
        if isinstance(number, float) and number.is_integer():
            return int(number)
    return None


def is_tracked(row: dict[str, Any]) -> bool:
    return any(name.startswith(("train/", "eval/")) for name in row)


def rename_old(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry under the names of today's TRL. Logs of other trainers, which have no `reward`, stay as they are."""
    return (
        {rename(name): value for name, value in entry.items()} if {"reward", "eval_reward"} & entry.keys() else entry
    )


def rename(name: str) -> str:
    prefix = "eval_" if name.startswith("eval_") else ""
    bare = name.removeprefix(prefix)
    bare = OLD_NAMES.get(bare, bare)
    return prefix + (f"{bare}/mean" if OLD_REWARD.fullmatch(bare) else bare)
