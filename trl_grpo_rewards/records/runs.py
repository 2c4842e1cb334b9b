"""A run without its groups: its description, its log, and where both are. Runs of TRL's own trainer have a log and tables of completions."""

import json
import logging
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..files import replace_file
from .dead_groups import is_dead, kind_of_group
from .fields import drop_infinite, hash_prompt, is_number, is_record, make_readable, summarize_totals
from .files import FOLDER, Group, append_lines, match_files, read_groups


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


EXACT = 1e-4
"""Largest relative error of a weighted sum of mean scores that equals a mean total."""


def has_records(source: Path) -> bool:
    """Whether a folder has group records, or a file may be one of them."""
    return source.suffix == ".jsonl" if source.is_file() else bool(match_files(source) or match_files(source / FOLDER))


def find_output_dir(source: Path) -> Path:
    """Return the output directory of a run, also for a checkpoint and its state."""
    folder = find_run_folder(source.resolve())
    return folder.parent if re.fullmatch(r"checkpoint-\d+", folder.name) else folder


def find_run(source: Path) -> Path:
    """Return what a run is read from: records, also those next to a checkpoint, or a log. Raise an error without both."""
    for place in (source, find_output_dir(source)):
        if has_records(place):
            return place
    is_other = source.is_file() and source.suffix != ".json"
    log, files = ([], []) if is_other else (read_log(source), list_log_files(source))
    if any("reward" in entry and entry["step"] for entry in log):
        return source
    names = dict.fromkeys(name for entry in log for name in entry if name not in ("step", "epoch"))
    remedy = "Pass the output_dir of a run, a checkpoint, or a trainer_state.json."
    if names and names.keys().isdisjoint(("reward", "eval_reward")):
        listed = ", ".join(map(repr, [*names][:5]))
        found = f"'{files[0]}' is the log of another trainer, with {listed} and without 'reward'"
    elif files:
        found = f"'{files[0]}' has no logged step of training, or is cut off"
        remedy = "Train for at least logging_steps steps, or pass an earlier checkpoint."
    else:
        children = sorted(source.iterdir()) if source.is_dir() else []
        runs = [one for one in children if one.is_dir() and (has_records(one) or list_log_files(one))]
        listed = ", ".join(one.name for one in (runs or children)[:10])
        state = "is neither a log nor a record" if is_other else "is empty" if source.is_dir() else "does not exist"
        found = f"'{source}' {f'contains {listed}' if listed else state}"
        remedy = f"Pass one of these, such as {runs[0]}." if runs else remedy
    error = ValueError if files else FileNotFoundError
    raise error(f"A report needs a run of GRPOTrainer or of FilteredGRPOTrainer, but {found}. {remedy}")


def read_steps(source: Path, log: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any], list[dict[str, Any]]]]:
    """Yield each entry of training with the first step that it is about, and records of the groups in TRL's table."""
    folder, weights = find_output_dir(source) / TABLES, find_weights(log)
    evaluated = {entry["step"] for entry in log if any(name.startswith("eval_") for name in entry)}
    last, texts = 0, list[Any]()
    for entry in log:
        if "reward" in entry and entry["step"] > last:
            groups = read_table(folder / f"completions_{entry['step']:05d}.parquet")
            before, texts = texts, [(group.columns.get("prompts"), group.columns["completions"]) for group in groups]
            is_new = texts != before and entry["step"] not in evaluated  # whose evaluation overwrites the table
            records = [describe_logged_group(*one, entry, weights) for one in enumerate(groups)] if is_new else []
            yield last + 1, entry, [*filter(is_record, records)]
            last = entry["step"]


def read_table(file: Path) -> list[Group]:
    try:
        return [*read_groups(file)] if file.is_file() and file.stat().st_size <= MAX_LOG_SIZE else []
    except (OSError, ValueError) as error:
        logger.warning(f"The table '{file}' cannot be read: {error}. The report leaves it out.")
        return []


def list_means(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the mean score of each reward in an entry of the log."""
    return {name[8:-5]: entry[name] for name in entry if name.startswith("rewards/") and name.endswith("/mean")}


def find_weights(log: list[dict[str, Any]]) -> dict[str, float]:
    """Return the weights of the rewards if they give all mean totals exactly. A log does not contain them."""
    rows = [{**list_means(entry), "": entry["reward"]} for entry in log if "reward" in entry]
    known = [[*row.values()] for row in rows if row.keys() == rows[0].keys() and all(map(is_number, row.values()))]
    if not known or len(known[0]) < 2:
        return {}
    *means, totals = np.array(known, dtype=float).T
    used = [mean.any() for mean in means]  # a reward that is always 0 may have any weight
    weights, _, rank, _ = np.linalg.lstsq(np.transpose(means), totals, rcond=EXACT)
    error = np.abs(weights @ means - totals).max() / max(*np.abs(totals), 1.0)
    pairs = zip(rows[0], np.where(used, weights.round(4), 1.0).tolist(), strict=False)
    return dict(pairs) if rank == sum(used) and error <= EXACT else {}


def describe_logged_group(
    place: int, group: Group, entry: dict[str, Any], weights: dict[str, float]
) -> dict[str, Any]:
    """Return the record of a group in a table. The first reward in the table decides which completions are right."""
    scores = {name: drop_infinite(values) for name, values in group.columns.items() if name in list_means(entry)}
    columns = {name: make_readable(values) for name, values in group.columns.items() if name not in scores}
    texts, prompts, advantages = (columns.pop(name, None) for name in ("completions", "prompts", "advantage"))
    factors, rows = [weights.get(name, 1.0) for name in scores], [*zip(*scores.values(), strict=True)]
    paid = [sum(map(math.prod, zip(factors, (score or 0.0 for score in row), strict=True))) for row in rows]
    totals = [total if weights and {*row} != {None} else None for total, row in zip(paid, rows, strict=True)]
    outcomes, dead = next(iter(scores.values()), []), all(map(is_dead, [totals] if weights else scores.values()))
    return {
        "step": entry["step"], "group": place, "prompt_id": hash_prompt(prompts and prompts[0]), "rewards": scores,
        "prompt": prompts[0] if prompts else "", "completions": texts, "weights": weights, "columns": {}, "logged": columns,
        "outcome": kind_of_group(dead, totals if weights else outcomes, outcomes), "advantages": advantages or totals,
        "duplicates": sum(texts.count(one) > 1 for one in texts), **summarize_totals(totals),
    }  # fmt: skip
