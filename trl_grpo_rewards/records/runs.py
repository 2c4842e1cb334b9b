"""The description of a run: its rewards, options, model and dataset, in a file next to its records."""

import json
import logging
import os
from pathlib import Path
from typing import Any

from .files import FOLDER


logger = logging.getLogger(__name__)

RUN_FILE = "run.json"
"""Name of the file in the output directory of a run."""


def write_run(output_dir: str | Path, run: dict[str, Any]) -> None:
    """Write the description of a run. A disk that is full or read-only is reported, and training goes on."""
    path = Path(output_dir, RUN_FILE)
    unfinished = path.with_suffix(".unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(run, indent=2, default=str) + "\n", encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        logger.warning(f"The description of the run cannot be written to '{path}': {error}. Training continues.")


def read_run(source: str | Path) -> dict[str, Any] | None:
    """Return the description of a run, or None if there is none. `source` is as for `read_records`."""
    source = Path(source)
    folder = source.parent if source.is_file() else source
    path = (folder.parent if folder.name == FOLDER else folder) / RUN_FILE
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return run if is_description(run) else None


def is_description(run: Any) -> bool:
    """Whether this was written by [`write_run`]. Other programs also write files with the name `run.json`."""
    return (
        isinstance(run, dict)
        and isinstance(run.get("rewards"), str)
        and all(isinstance(run.get(name) or {}, dict) for name in ("dataset", "options", "job", "versions"))
    )


def list_facts(run: dict[str, Any]) -> dict[str, str]:
    """Return what a reader should know about a run: the values of a description, by their titles."""
    options, job, dataset, versions = (run.get(name) or {} for name in ("options", "job", "dataset", "versions"))
    parts = [dataset.get("name"), dataset.get("config"), dataset.get("split")]
    rows = "" if dataset.get("rows") is None else f"{dataset['rows']:,} rows"
    facts = {
        "Rewards": run.get("rewards"),
        "Model": run.get("model"),
        "Dataset": ", ".join(filter(None, [" ".join(filter(None, parts)), rows])),
        "System prompt": job.get("system_prompt"),
        "Learning rate": options.get("learning_rate"),
        "Seed": options.get("seed"),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "Started": run.get("started"),
    }
    return {title: str(value) for title, value in facts.items() if value not in (None, "")}
