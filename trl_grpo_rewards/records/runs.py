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
from .costs import describe_costs, describe_savings
from .dead_groups import Rule, find_kind
from .fields import drop_infinite, hash_prompt, is_number, is_record, make_readable, summarize_totals
from .files import FOLDER, Group, append_lines, list_parts, read_groups, report_failure
from .logs import EVENTS, MAX_LOG_SIZE, decode, read_entries, read_text


logger = logging.getLogger(__name__)
RUN_FILE = "run.json"  # name of the file in the output directory of a run
TABLES = "completions"  # name of the folder in the output directory in which TRL's trainer writes its tables
MAX_RUN_SIZE = 64 << 20  # largest size of the file that is read, in bytes


def write_run(output_dir: str | Path, run: dict[str, Any]) -> None:
    path = Path(output_dir, RUN_FILE)
    with report_failure("description", path, set()):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as file:
            file.write(json.dumps(run, indent=2, default=str) + "\n")


def read_run(source: str | Path) -> dict[str, Any] | None:
    """Return the description of a run, or None if there is none. `source` is as for `read_records`."""
    file = find_run_folder(source) / RUN_FILE
    if not file.is_file() or file.stat().st_size > MAX_RUN_SIZE:  # it may be a pipe
        return None
    run = decode(read_text(file))
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


def list_facts(run: dict[str, Any], log: Sequence[dict[str, Any]] = ()) -> dict[str, str]:
    """Return what a reader should know about a run: the values of its description and what its log says, by their titles."""
    options, job, dataset, versions = (run.get(name) or {} for name in ("options", "job", "dataset", "versions"))
    names = " ".join(str(dataset[part]) for part in ("name", "config", "split") if dataset.get(part))
    rows = f"{count:,} rows" if isinstance(count := dataset.get("rows"), int) else ""
    facts = {
        "Rewards": run.get("rewards"),
        "Model": run.get("model"),
        "Dataset": ", ".join(filter(None, [names, rows])),
        "System prompt": job.get("system_prompt"),
        "Learning rate": options.get("learning_rate"),
        "Seed": options.get("seed"),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "Started": run.get("started"),
        "Time": describe_costs(log),
        "Tokens": describe_savings(log, is_once="version" in run),
    }
    return {title: str(value) for title, value in facts.items() if value not in (None, "")}


# Facts and options that differ between any two runs, and facts that are options as well.
HIDDEN_DIFFERENCES = ("Started", "Learning rate", "Seed", "output_dir", "run_name", "logging_dir", "hub_model_id")


def list_differences(runs: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return the facts and the options that differ between runs, with their values for each run."""
    described = [
        list_facts(run) | {name: format_option(value) for name, value in (run.get("options") or {}).items()}
        for run in runs
    ]
    names = dict.fromkeys(name for one in described for name in one if name not in HIDDEN_DIFFERENCES)
    rows = [(name, [one.get(name, "–") for one in described]) for name in names]
    return [(name, values) for name, values in rows if len({*values}) > 1]


def format_option(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


LOG_FILE = "log.jsonl"  # name of the file in the output directory of a run
STATE_FILE = "trainer_state.json"  # transformers saves the log in it, with each checkpoint; older runs have no other
SWIFT_FILE = "logging.jsonl"  # ms-swift writes it in the output directory


class LogWriter:
    def __init__(self, output_dir: str | Path) -> None:
        self.path, self.size, self.warned = Path(output_dir, LOG_FILE), 0, set[type]()

    def start(self, entries: Iterable[dict[str, Any]]) -> None:
        """Replace the file with the entries of a run up to the checkpoint that it resumes from."""
        with report_failure("log", self.path, self.warned):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(self.path) as file:
                self.size = file.write("".join(encode_entry(entry).decode() + "\n" for entry in entries))

    def write(self, entry: dict[str, Any]) -> None:
        with report_failure("log", self.path, self.warned):
            self.size = append_lines(self.path, self.size, [encode_entry(entry)])


def encode_entry(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, default=str).encode()  # in ASCII


def list_log_files(source: str | Path) -> list[Path]:
    """Return the files with the log of a run, the best first. `source` is as for `read_records`, a checkpoint or a log."""
    if Path(source).is_file() and is_log_name(Path(source)):
        return [Path(source)]
    folder = find_run_folder(source)
    states = [*folder.glob(f"checkpoint-*/{STATE_FILE}")]
    states.sort(key=lambda file: int(number) if (number := file.parent.name.split("-")[-1]).isdigit() else -1)
    events = sorted([*folder.glob(f"{EVENTS}*"), *folder.glob(f"runs/*/{EVENTS}*")])
    candidates = [folder / LOG_FILE, folder / STATE_FILE, *reversed(states), folder / SWIFT_FILE, *events]
    return [file for file in candidates if file.is_file() and file.stat().st_size <= MAX_LOG_SIZE]


def is_log_name(file: Path) -> bool:
    return file.suffix in (".json", ".jsonl", ".csv") or file.name.startswith(EVENTS)


def read_log(source: str | Path) -> list[dict[str, Any]]:
    """Return the entries of a run's log in the order of time, under the names of today's TRL."""
    return next(filter(None, map(read_entries, list_log_files(source))), [])


def read_planned(source: str | Path) -> int | None:
    """Return the `max_steps` of the state that transformers has saved, or None."""
    states = (
        decode(read_text(file)) for file in list_log_files(source) if file.name == STATE_FILE and read_entries(file)
    )
    return next((state.get("max_steps") for state in states), None)


SAVE_LOG = 'Path("log.json").write_text(json.dumps(trainer.state.log_history))'
EXACT = 1e-4  # largest relative error of a weighted sum of mean scores that equals a mean total


def has_records(source: Path) -> bool:
    """Whether a folder has group records, or a file may be one of them."""
    if not source.is_file():
        return bool(list_parts(source) or list_parts(source / FOLDER))
    if source.suffix != ".jsonl":
        return False
    with source.open(encoding="utf-8", errors="replace") as lines:
        row = decode(next(lines, ""))
    return not isinstance(row, dict) or bool({"group", "prompt_id", "completion", "completions"} & row.keys())


def find_output_dir(source: Path) -> Path:
    """Return the output directory of a run, also for a checkpoint and its state."""
    folder = find_run_folder(source.resolve())
    return folder.parent if re.fullmatch(r"checkpoint-\d+", folder.name) else folder


def find_run(source: Path) -> Path:
    """Return what a run is read from: records, also those next to a checkpoint, or a log. Raise an error without both."""
    for place in (source, find_output_dir(source)):
        if has_records(place):
            return place
    is_log = is_log_name(source) or not source.is_file()
    log = read_log(source) if is_log else []
    if any("reward" in entry and entry["step"] for entry in log):
        return source
    files = list_log_files(source) if is_log else []
    raise (ValueError if files else FileNotFoundError)(
        f"A report needs a run of GRPOTrainer or of FilteredGRPOTrainer, but {describe_found(source, files, log)}. Pass the "
        f"output_dir of a run that has trained for at least logging_steps steps, one of its checkpoints, or a "
        f"trainer_state.json. If there is none, save the log in Python: {SAVE_LOG}"
    )


def describe_found(source: Path, files: list[Path], log: list[dict[str, Any]]) -> str:
    """Return what there is instead of a run."""
    if files:
        names = dict.fromkeys(repr(name) for entry in log for name in entry if name not in ("step", "epoch"))
        found = ", ".join([*names][:5]) or f"nothing{explain(files[0])}"
        return f"'{files[0]}' has no logged step of training with 'reward', but {found}"
    if source.is_dir():
        return f"'{source}' contains {', '.join(sorted(one.name for one in source.iterdir())[:10]) or 'nothing'}"
    return f"'{source}' is neither a folder nor a log"


def explain(file: Path) -> str:
    """Return why the log of a tracker may seem empty."""
    if file.name.startswith(EVENTS):
        return " (event files need the package tensorboard)"
    if file.suffix == ".csv":
        return " (a CSV needs a column 'Step' or 'train/global_step', and 'train/reward')"
    return ""


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
    outcomes = next(iter(scores.values()), [])
    rule, known = (Rule(), totals) if weights else (Rule(dead_by="each"), outcomes)
    return {
        "step": entry["step"], "group": place, "prompt_id": hash_prompt(prompts and prompts[0]), "rewards": scores,
        "prompt": prompts[0] if prompts else "", "completions": texts, "weights": weights, "columns": {}, "logged": columns,
        "outcome": find_kind(rule, known, outcomes, [*scores.values()], factors), "advantages": advantages or totals,
        "duplicates": sum(texts.count(one) > 1 for one in texts), **summarize_totals(totals),
    }  # fmt: skip
