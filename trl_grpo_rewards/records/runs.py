"""The description of a run: its rewards, options, model and dataset, in a file next to its records."""

import json
import logging
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..files import replace_file
from .files import FOLDER


logger = logging.getLogger(__name__)

RUN_FILE = "run.json"
"""Name of the file in the output directory of a run."""

TABLES = "completions"
"""Name of the folder in the output directory in which TRL's trainer writes its tables."""

MAX_RUN_SIZE = 64 << 20
"""Largest size of the file that is read, in bytes."""


def write_run(output_dir: str | Path, run: dict[str, Any]) -> None:
    """Write the description of a run. A disk that is full or read-only is reported, and training goes on."""
    path = Path(output_dir, RUN_FILE)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as file:
            file.write(json.dumps(run, indent=2, default=str) + "\n")
    except Exception as error:  # options and columns may be anything
        logger.warning(
            f"The description of the run cannot be written to '{path}': {error}. Training continues without it. Check the "
            f"disk and the folder."
        )


def read_run(source: str | Path) -> dict[str, Any] | None:
    """Return the description of a run, or None if there is none. `source` is as for `read_records`."""
    file = find_run_folder(source) / RUN_FILE
    try:
        if not file.is_file() or file.stat().st_size > MAX_RUN_SIZE:  # it may be a pipe
            return None
        run = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return run if is_description(run) else None


def find_run_folder(source: str | Path) -> Path:
    """Return the output directory of a run. `source` is as for `read_records`."""
    source = Path(source)
    folder = source.parent if source.is_file() else source
    return folder.parent if folder.name in (FOLDER, TABLES) else folder


def is_description(run: Any) -> bool:
    """Whether this was written by [`write_run`]. Other programs also write files with the name `run.json`."""
    return (
        isinstance(run, dict)
        and isinstance(run.get("rewards"), str)
        and all(isinstance(run.get(name) or {}, dict) for name in ("dataset", "options", "job", "versions"))
        and isinstance(modules := run.get("modules") or [], list)
        and all(isinstance(name, str) for name in modules)
    )


def list_facts(run: dict[str, Any], log: Iterable[dict[str, Any]] = ()) -> dict[str, str]:
    """Return what a reader should know about a run: the values of its description and what its log says, by their titles."""
    options, job, dataset, versions = (run.get(name) or {} for name in ("options", "job", "dataset", "versions"))
    parts = [dataset.get("name"), dataset.get("config"), dataset.get("split")]
    rows = f"{count:,} rows" if isinstance(count := dataset.get("rows"), int) else ""
    facts = {
        "Rewards": run.get("rewards"),
        "Model": run.get("model"),
        "Dataset": ", ".join(filter(None, [" ".join(str(part) for part in parts if part), rows])),
        "System prompt": job.get("system_prompt"),
        "Learning rate": options.get("learning_rate"),
        "Seed": options.get("seed"),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "Started": run.get("started"),
        "Tokens": describe_savings(log, is_once="version" in run),
    }
    return {title: str(value) for title, value in facts.items() if value not in (None, "")}


def describe_savings(log: Iterable[dict[str, Any]], is_once: bool) -> str:
    """Return what a run saved in all passes, or nothing if its log does not say. Runs without a version need prompts again."""
    if not (shares := sum_tokens(log)):
        return ""
    needed, computed, skipped = shares
    return (
        f"The passes over the model computed {computed:.0%} of the tokens of TRL's batches; {needed:.0%} were needed"
        f"{', each prompt once' if is_once else ''}. Skipping dead groups saved {skipped:.0%}, and packing {round(1 - skipped - computed, 2) + 0.0:.0%}."
    )


def sum_tokens(log: Iterable[dict[str, Any]]) -> list[float]:
    """Return the needed, the computed and the skipped tokens as shares of those of TRL's batches, or an empty list."""
    sums, last = [0.0] * 4, 0
    for entry in log:
        if isinstance(entry.get("groups/tokens_padded"), (int, float)):
            # An entry counts for all steps since the last one.
            steps, last = max(entry["step"] - last, 1), entry["step"]
            for place, name in enumerate(("needed", "computed", "skipped", "padded")):
                values = (entry.get(f"groups/tokens_{name}{end}") for end in ("", "_without_gradient"))
                sums[place] += steps * sum(value for value in values if isinstance(value, (int, float)))
    return [part / sums[3] for part in sums[:3]] if sums[3] > 0 else []


HIDDEN_DIFFERENCES = ("Started", "Learning rate", "Seed", "output_dir", "run_name", "logging_dir", "hub_model_id")
"""Facts and options that differ between any two runs, and facts that are options as well."""


def list_differences(runs: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return the facts and the options that differ between runs, with their values for each run."""
    described = [
        list_facts(run) | {name: format_option(value) for name, value in (run.get("options") or {}).items()}
        for run in runs
    ]
    names = dict.fromkeys(name for one in described for name in one if name not in HIDDEN_DIFFERENCES)
    rows = [(name, [one.get(name, "–") for one in described]) for name in names]
    return [(name, values) for name, values in rows if len({*values}) > 1]


UNTRAINED = re.compile(
    "(Started|Versions|accelerator|dataloader|disable_tqdm|enable_jit_checkpoint|eval|group_records|hub|local_rank|log|"
    "logging|max_steps|num_completions|num_generations_eval|num_train_epochs|output_dir|per_device_eval|project|push|"
    "report_to|resume|run_name|save|trackio|vllm_server)(_|$)"
)
"""Names of facts and options that may change when a run is resumed: how long it trains, and what it writes."""


def describe_changes(before: dict[str, Any], now: dict[str, Any]) -> str | None:
    """Return what differs between an interrupted run and the one that continues it, if both tell it, or None."""
    rows = list_differences([before, json.loads(json.dumps(now, default=str))])
    known = [(name, values) for name, values in rows if "–" not in values and not UNTRAINED.match(name)]
    return ", ".join(f"{name} (before: {old}; now: {new})" for name, (old, new) in known) or None


def format_option(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
