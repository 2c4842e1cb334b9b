"""Reads runs without group records, such as those of TRL's own trainer, from their log and TRL's tables of completions."""

import logging
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .completions import Group, read_groups
from .dead_groups import is_dead, kind_of_group
from .fields import drop_infinite, hash_prompt, summarize_totals
from .files import FOLDER, match_files
from .logs import MAX_LOG_SIZE, decode, list_log_files, read_log
from .readable import make_readable
from .runs import TABLES, find_run_folder
from .shapes import is_number, is_record


EXACT = 1e-4
"""Largest relative error of a weighted sum of mean scores that equals a mean total."""

logger = logging.getLogger(__name__)


def has_records(source: Path) -> bool:
    """Whether a folder has group records, or a file may be one of them."""
    return source.suffix == ".jsonl" if source.is_file() else bool(match_files(source) or match_files(source / FOLDER))


def find_output_dir(source: Path) -> Path:
    """Return the output directory of a run, also for a checkpoint and its state."""
    folder = find_run_folder(source.resolve())
    return folder.parent if re.fullmatch(r"checkpoint-\d+", folder.name) else folder


def find_run(source: Path) -> Path:
    """Return what a run is read from: records, also those next to a checkpoint, or a log. Raise an error without both."""
    if has_records(source) or has_records(find_output_dir(source)):
        return source if has_records(source) else find_output_dir(source)
    is_other = source.is_file() and source.suffix not in (".json", ".parquet")
    log = [] if is_other else read_log(source)
    names = dict.fromkeys(name for entry in log for name in entry if name not in ("step", "epoch"))
    if any("reward" in entry and entry["step"] for entry in log):
        return source
    remedy = "Pass the output_dir of a run, a checkpoint, or a trainer_state.json."
    if not (files := [] if is_other else list_log_files(source)):
        children = sorted(source.iterdir()) if source.is_dir() else []
        runs = [one for one in children if one.is_dir() and (has_records(one) or list_log_files(one))]
        listed = ", ".join(one.name for one in (runs or children)[:10])
        found = f"contains {listed}" if listed else "is empty" if source.is_dir() else "does not exist"
        if is_other or any(find_output_dir(source).glob(f"{TABLES}/*.parquet")):
            found = "is neither a log nor a record" if is_other else "has tables of completions, but no log"
            remedy += " A checkpoint has the log."
        found, remedy = f"'{source}' {found}", f"Pass one of these, such as {runs[0]}." if runs else remedy
    elif names.keys().isdisjoint(("reward", "eval_reward")) and names:
        listed = ", ".join(map(repr, [*names][:5]))
        found = f"'{files[0]}' is the log of another trainer, with {listed} and without 'reward'"
    elif isinstance(state := decode(files[0].read_text(encoding="utf-8", errors="replace")), dict) or names:
        found, remedy = f"'{files[0]}' has no logged step of training", "Train for at least logging_steps steps."
    elif state is not None:
        found = f"'{files[0]}' is not the state of a trainer"
    else:
        found, remedy = f"'{files[0]}' is cut off or is not JSON", "Pass an earlier checkpoint."
    error = FileNotFoundError if not files else ValueError
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
            records = [describe_group(*one, entry, weights) for one in enumerate(groups)] if is_new else []
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


def describe_group(place: int, group: Group, entry: dict[str, Any], weights: dict[str, float]) -> dict[str, Any]:
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
