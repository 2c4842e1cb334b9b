"""A run without its groups: its description, its log, and where both are. Runs of TRL's own trainer have a log and tables of completions."""

import json
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..files import replace_file
from ..scores import Score
from .costs import describe_costs, describe_savings
from .dead_groups import GroupKind, Rule, find_kind
from .fields import drop_infinite, hash_prompt, is_number, is_record, make_readable, summarize_totals
from .files import FOLDER, Group, append_lines, list_group_files, read_groups, report_failure
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
    if folder.name in (FOLDER, TABLES):
        return folder.parent
    return folder


def is_description(run: Any) -> bool:
    """Whether this was written by [`write_run`]. Other programs also write files with the name `run.json`."""
    if not isinstance(run, dict) or not isinstance(run.get("rewards"), str):
        return False
    modules = run.get("modules") or []
    if not isinstance(modules, list) or not all(isinstance(name, str) for name in modules):
        return False
    return all(isinstance(run.get(name) or {}, dict) for name in ("dataset", "options", "job", "versions"))


def list_facts(run: dict[str, Any], log: Sequence[dict[str, Any]] = ()) -> dict[str, str]:
    """Return what a reader should know about a run: the values of its description and what its log says, by their titles."""
    options = run.get("options") or {}
    versions = run.get("versions") or {}
    facts = {
        "Rewards": run.get("rewards"),
        "Model": run.get("model"),
        "Dataset": format_dataset(run.get("dataset") or {}),
        "System prompt": (run.get("job") or {}).get("system_prompt"),
        "Prompt template": options.get("prompt_template"),
        "Learning rate": options.get("learning_rate"),
        "Seed": options.get("seed"),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "Started": run.get("started"),
        "Time": describe_costs(log),
        "Tokens": describe_savings(log, is_once="version" in run),
    }
    return {title: str(value) for title, value in facts.items() if value not in (None, "")}


def format_dataset(dataset: dict[str, Any]) -> str:
    names = " ".join(str(dataset[part]) for part in ("name", "config", "split") if dataset.get(part))
    count = dataset.get("rows")
    rows = f"{count:,} rows" if isinstance(count, int) else ""
    return ", ".join(filter(None, [names, rows]))


# Facts and options that differ between any two runs, and facts that are options as well.
HIDDEN_DIFFERENCES = ("Started", "Learning rate", "Seed", "output_dir", "run_name", "logging_dir", "hub_model_id")


SEEDS = ("seed", "data_seed")  # options of random numbers
MIN_SEEDS = 3  # smallest number of runs of one setting that are drawn as a band


def list_differences(runs: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return the facts and the options that differ between runs, with their values for each run."""
    described = [*map(describe_setting, runs)]
    names = dict.fromkeys(chain.from_iterable(described))
    rows = {name: [values.get(name, "–") for values in described] for name in names}
    return [(name, values) for name, values in rows.items() if len({*values}) > 1]


def list_seeds(runs: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Return the places of runs that differ only in their seed, in a list for each setting that has enough of them."""
    settings: dict[str, dict[str, list[int]]] = {}
    for place, run in enumerate(runs):
        values = describe_setting(run)
        seed = " ".join(values.pop(name, "") for name in SEEDS)
        settings.setdefault(json.dumps(values, sort_keys=True), {}).setdefault(seed, []).append(place)
    return [[*chain.from_iterable(places.values())] for places in settings.values() if len(places) >= MIN_SEEDS]


def describe_setting(run: dict[str, Any]) -> dict[str, str]:
    """Return the facts and the options of a run, without those that differ between any two runs."""
    described = list_facts(run) | format_options(run)
    return {name: value for name, value in described.items() if name not in HIDDEN_DIFFERENCES}


def format_options(run: dict[str, Any]) -> dict[str, str]:
    return {name: format_option(value) for name, value in (run.get("options") or {}).items()}


def format_option(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str)


LOG_FILE = "log.jsonl"  # name of the file in the output directory of a run
TRAINER_STATE_FILE = "trainer_state.json"  # in which transformers saves the log; older runs have no other
SWIFT_FILE = "logging.jsonl"  # ms-swift writes it in the output directory


class LogWriter:
    def __init__(self, output_dir: str | Path) -> None:
        self.path = Path(output_dir, LOG_FILE)
        self.size = 0
        self.warned: set[type] = set()

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
    states = sorted(folder.glob(f"checkpoint-*/{TRAINER_STATE_FILE}"), key=number_checkpoint, reverse=True)
    events = sorted([*folder.glob(f"{EVENTS}*"), *folder.glob(f"runs/*/{EVENTS}*")])
    candidates = [folder / LOG_FILE, folder / TRAINER_STATE_FILE, *states, folder / SWIFT_FILE, *events]
    return [file for file in candidates if file.is_file() and file.stat().st_size <= MAX_LOG_SIZE]


def number_checkpoint(state: Path) -> int:
    number = state.parent.name.split("-")[-1]
    if number.isdigit():
        return int(number)
    return -1


def is_log_name(file: Path) -> bool:
    return file.suffix in (".json", ".jsonl", ".csv") or file.name.startswith(EVENTS)


def read_log(source: str | Path) -> list[dict[str, Any]]:
    """Return the entries of a run's log in the order of time, under the names of today's TRL."""
    return next(filter(None, map(read_entries, list_log_files(source))), [])


def read_planned(source: str | Path) -> int | None:
    """Return the `max_steps` of the state that transformers has saved, or None."""
    states = (
        decode(read_text(file))
        for file in list_log_files(source)
        if file.name == TRAINER_STATE_FILE and read_entries(file)
    )
    return next((state.get("max_steps") for state in states), None)


SAVE_LOG = 'Path("log.json").write_text(json.dumps(trainer.state.log_history))'
EXACT = 1e-4  # largest relative error of a weighted sum of mean scores that equals a mean total


def has_records(source: Path) -> bool:
    """Whether a folder has group records, or a file may be one of them."""
    if not source.is_file():
        return bool(list_group_files(source) or list_group_files(source / FOLDER))
    if source.suffix != ".jsonl":
        return False
    with source.open(encoding="utf-8", errors="replace") as lines:
        row = decode(next(lines, ""))
    return not isinstance(row, dict) or bool({"group", "prompt_id", "completion", "completions"} & row.keys())


def find_output_dir(source: Path) -> Path:
    """Return the output directory of a run, also for a checkpoint and its state."""
    folder = find_run_folder(source.resolve())
    if re.fullmatch(r"checkpoint-\d+", folder.name):
        return folder.parent
    return folder


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


def describe_content(source: Path, files: Sequence[Path], log: Iterable[dict[str, Any]]) -> str:
    """Return what there is in place of a run with records or a log of training."""
    if files:
        names = dict.fromkeys(chain.from_iterable(log))
        listed = [repr(name) for name in names if name not in ("step", "epoch")][:5]
        return f"'{files[0]}' has no logged step of training with 'reward', but {', '.join(listed) or 'nothing'}"
    if source.is_dir():
        children = sorted(child.name for child in source.iterdir())[:10]
        return f"'{source}' contains {', '.join(children) or 'nothing'}"
    return f"'{source}' is neither a folder nor a log"


def read_steps(source: Path, log: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any], list[dict[str, Any]]]]:
    """Yield each entry of training with the first step that it is about, and records of the groups in TRL's table."""
    folder = find_output_dir(source) / TABLES
    weights = find_weights(log)
    evaluated = {entry["step"] for entry in log if is_evaluation(entry)}
    last_step = 0
    last_texts: list[Any] = []
    for entry in log:
        step = entry["step"]
        if "reward" in entry and step > last_step:
            groups = read_table(folder / f"completions_{step:05d}.parquet")
            texts = [(group.columns.get("prompts"), group.columns["completions"]) for group in groups]
            if texts == last_texts or step in evaluated:  # an evaluation overwrites the table
                groups = []
            records = [describe_logged_group(place, group, entry, weights) for place, group in enumerate(groups)]
            yield last_step + 1, entry, [*filter(is_record, records)]
            last_texts = texts
            last_step = step


def is_evaluation(entry: dict[str, Any]) -> bool:
    return any(name.startswith("eval_") for name in entry)


def read_table(file: Path) -> list[Group]:
    try:
        if file.is_file() and file.stat().st_size <= MAX_LOG_SIZE:
            return [*read_groups(file)]
        return []
    except (OSError, ValueError) as error:
        logger.warning(f"The table '{file}' cannot be read: {error}. The report leaves it out.")
        return []


def list_means(entry: dict[str, Any]) -> dict[str, Any]:
    return {name[8:-5]: entry[name] for name in entry if name.startswith("rewards/") and name.endswith("/mean")}


def find_weights(log: list[dict[str, Any]]) -> dict[str, float]:
    """Return the weights of the rewards if they give all mean totals exactly. A log does not contain them."""
    rows = [{**list_means(entry), "": entry["reward"]} for entry in log if "reward" in entry]
    complete = [[*row.values()] for row in rows if row.keys() == rows[0].keys() and all(map(is_number, row.values()))]
    if complete:
        return solve_weights([*rows[0]][:-1], np.array(complete, dtype=float))
    return {}


def solve_weights(names: Sequence[str], values: np.ndarray) -> dict[str, float]:
    """Return the weights of mean scores that give the mean totals, in the last column, or nothing if there are none."""
    if not names:
        return {}
    *means, totals = values.T
    used = [mean.any() for mean in means]  # a reward that is always 0 may have any weight
    weights, _, rank, _ = np.linalg.lstsq(np.transpose(means), totals, rcond=EXACT)
    error = np.abs(weights @ means - totals).max() / max(*np.abs(totals), 1.0)
    if rank != sum(used) or not error <= EXACT:
        return {}
    return dict(zip(names, np.where(used, weights.round(4), 1.0).tolist(), strict=True))


def describe_logged_group(
    place: int, group: Group, entry: dict[str, Any], weights: dict[str, float]
) -> dict[str, Any]:
    """Return the record of a group in a table. The first reward in the table decides which completions are right."""
    means = list_means(entry)
    scores = {name: drop_infinite(values) for name, values in group.columns.items() if name in means}
    columns = {name: make_readable(values) for name, values in group.columns.items() if name not in scores}
    texts = columns.pop("completions", None)
    prompts = columns.pop("prompts", None)
    advantages = columns.pop("advantage", None)
    totals = weigh_rows(scores, weights)
    return {
        "step": entry["step"],
        "group": place,
        "prompt_id": hash_prompt(prompts and prompts[0]),
        "rewards": scores,
        "prompt": prompts[0] if prompts else "",
        "completions": texts,
        "weights": weights,
        "columns": {},
        "logged": columns,
        "outcome": find_logged_kind(scores, totals if weights else None),
        "advantages": advantages or totals,
        "duplicates": sum(texts.count(text) > 1 for text in texts),
        **summarize_totals(totals),
    }


def weigh_rows(scores: dict[str, list[Score]], weights: dict[str, float]) -> list[Score]:
    """Return the total of each completion, in which None counts as 0, as for TRL. Without weights, it is not known."""
    rows = [*zip(*scores.values(), strict=True)]
    if not weights:
        return [None] * len(rows)
    factors = [weights.get(name, 1.0) for name in scores]
    totals = [sum(factor * (score or 0.0) for factor, score in zip(factors, row, strict=True)) for row in rows]
    return [None if {*row} == {None} else total for row, total in zip(rows, totals, strict=True)]


def find_logged_kind(scores: dict[str, list[Score]], totals: list[Score] | None) -> GroupKind:
    """Return the kind of a group. Without totals, it is dead if the completions have the same score by each reward."""
    columns = [*scores.values()]
    outcomes = columns[0] if columns else []
    if totals is not None:
        return find_kind(Rule(), totals, outcomes)
    return find_kind(Rule(dead_by="each"), outcomes, outcomes, columns, [1.0] * len(columns))


def weigh(scores: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """Return the total of a completion, in which None counts as 0, as for TRL."""
    if {*scores} == {None}:
        return None
    return sum(weight * (score or 0.0) for score, weight in zip(scores, weights, strict=True))


def count_duplicates(texts: Sequence[Any]) -> int:
    return sum(texts.count(text) > 1 for text in texts)
