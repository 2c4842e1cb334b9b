"""Check that rewards, dataset, configuration, model and chat template fit together, and that rewards can read all values."""

import re
from collections import defaultdict
from dataclasses import replace
from typing import Any

from ..dataset_rows import get_column_type, iterate_column
from ..errors import SOLUTION_COLUMNS, shorten_repr
from ..expressions import Reward
from ..faults import find_decimal_commas, find_doubts, find_faults, find_leaks, find_readers
from ..function_rewards import find_answer_column, find_functions, find_outcomes
from ..texts import prompt_text
from ..traits import Findings, ReadColumn, Reading
from .row_shapes import suggest_for


UNREAD = "No reward reads the column '{}'."
SHOWN_VALUES = 3  # largest number of values that are shown of each kind that can be read
TITLES = {  # of values that are not read as a whole
    "not at all": "unreadable",
    "in part": "read in part",
    "several": "with several answers",
    "any of several": "with several solutions, any of which is right",
}
MISSING = ("nan", "<NA>", "NaT")  # what pandas writes as text for a missing value


def check_contract(rewards: Reward, dataset: Any, config: Any = None, tokenizer: Any = None) -> Findings:
    """Check prompts, dataset columns, their types, lengths in tokens, and weights."""
    names = dataset.column_names
    functions = [*find_functions(rewards)]
    column = find_answer_column(rewards, names)
    solution = column if find_outcomes(rewards) or column in SOLUTION_COLUMNS else "solution"
    faults = [str(fault) for fault in find_faults(dataset, rewards, config, solution)]
    found = Findings("rewards, dataset and configuration", faults=faults)
    if not len(dataset):
        return found
    kinds = [f"{name} ({get_column_type(dataset, name)})" for name in sorted(rewards.columns) if name in names]
    suggestion, column = suggest_for(dataset, rewards)
    columns = ", ".join(kinds) or "none"
    found.lines += [f"{rewards}", f"{len(dataset):,} prompts; columns that the rewards read: {columns}", suggestion]
    read = rewards.columns.union(*(one.find_columns(names) for one in functions))
    is_judged = any(one.is_outcome or one.asks for one in functions) and rewards.columns.issubset(names)
    if column and column not in read and not is_judged:
        found.warnings.append(f"{UNREAD.format(column)} {suggestion}")
    found.warnings += find_doubts(dataset, rewards, config, tokenizer, solution)
    return found


def check_readiness(rewards: Reward) -> Findings:
    """Check that nothing keeps the rewards from working on this machine, such as a missing key."""
    found = Findings("what the rewards need on this machine")
    for reward in find_functions(rewards):
        try:
            fact = reward.ask_trait("ready")
            found.lines.extend([f"{reward}: {fact}"] if fact else [])
        except (ImportError, OSError, ValueError) as error:
            found.faults.append(str(error))
    return found


def check_readings(rewards: Reward, dataset: Any, threshold: float = 0.05) -> list[Findings]:
    """Count the values that a reward with the trait `reads` cannot read, reads in part, or reads as several answers."""
    readers = {reader: name for reader, name in find_readers([rewards]).items() if reader[0] in dataset.column_names}
    has_prompts = "prompt" in dataset.column_names  # else an environment gives them
    prompts = [prompt_text(prompt) for prompt in iterate_column(dataset, "prompt")] if readers and has_prompts else []
    return [
        check_column([*iterate_column(dataset, column)], prompts, column, name, read, threshold)
        for (column, read), name in readers.items()
    ]


def check_examinations(rewards: Reward, dataset: Any) -> list[Findings]:
    functions = dict.fromkeys(one for one in find_functions(rewards) if "examines" in one.factory.traits)
    rows = [dict(row) for row in dataset] if functions else []
    examined = ((one.name, one.ask_trait("examines", rows=rows)) for one in functions)
    return [replace(found, title=f"the dataset, as '{name}' reads it") for name, found in examined if found]


def check_column(
    values: list[Any], prompts: list[str], column: str, reward: str, read: ReadColumn, threshold: float
) -> Findings:
    readings = get_readings(values, read)
    rows: dict[str | None, list[int]] = defaultdict(list)  # by their kind, and by their note
    known: dict[str, set[str | None]] = defaultdict(set)
    for row, reading in enumerate(readings):
        rows[reading.kind].append(row)
        rows[reading.note].append(row)
    for prompt, reading in zip(prompts, readings, strict=False):
        known[prompt].add(reading.value)
    contradictory = [row for row, prompt in enumerate(prompts) if len(known[prompt]) > 1]
    read_values = [reading.value for reading in readings]
    found = Findings(f"values of '{column}', as '{reward}' reads them")
    found.lines.append(f"{len(values):,} read, {len({*read_values}):,} different")
    shown = {title: rows[kind] for kind, title in TITLES.items() if rows[kind] or kind != "any of several"}
    shown["that differ for the same prompt"] = contradictory
    shown |= {reading.note: rows[reading.note] for reading in readings if reading.note}
    for title, examples in shown.items():
        found.lines.append(f"{len(examples) / len(values):7.2%} {title}")
        most = len(values) if title in ("unreadable", "read in part") else SHOWN_VALUES
        found.lines += [f"          {shorten_repr(values[row])}" for row in examples[:most]]
    bad = rows["not at all"] + rows["in part"]
    count = f"{len(bad):,} of {len(values):,} values"
    if len(bad) > threshold * len(values):
        place = f", the value of the prompt {shorten_repr(prompts[bad[0]])}" if prompts else ""
        found.faults.append(
            f"Reward '{reward}' reads the column '{column}', but {count} cannot be read as a whole, such as "
            f"{shorten_repr(values[bad[0]])}{place}. {suggest_correction(values[bad[0]], column, readings[bad[0]])}"
        )
    elif bad:
        found.warnings.append(
            f"{count} of '{column}' cannot be read as a whole, such as {shorten_repr(values[bad[0]])}. Their completions "
            f"get no score or a wrong one. Correct or remove such rows."
        )
    if contradictory:
        found.warnings.append(
            f"{len(contradictory):,} rows have the prompt of another row but a different {column}. Correct or remove them."
        )
    found.warnings += [*find_decimal_commas(values, column, threshold), *find_leaks(prompts, read_values, column)]
    return found


def suggest_correction(value: Any, column: str, reading: Reading) -> str:
    """Return what to do with values such as this one, which cannot be read as a whole."""
    if value in (None, ""):
        return "Without a solution, no completion can be judged. Remove such rows."
    if reading.kind == "not at all" and reading.note:
        return f"This one is {reading.note}. Correct such rows, or remove them."
    if isinstance(value, dict) or str(value).startswith('{"'):
        named = "" if column == "solution" else f"solution={column!r}"
        return f"To compare the fields of objects, write json_fields({named})."
    words = re.findall(r"\d+(?:[.,]\d+)*|[^\W\d_]+", str(value))
    numbers = [word for word in words if word[0].isdigit()]
    example = f", such as {(numbers or words)[-1]!r} for this row" if words else ""
    return f"A model writes only the answer, so no completion would be right. Store only the answer{example}, or remove such rows."


def get_readings(values: list[Any], read: ReadColumn) -> list[Reading]:
    missing = Reading("not at all", None, "what pandas writes for a missing value")
    return [missing if value in MISSING else one for value, one in zip(values, read(values), strict=True)]


def leave_out_unreadable(rewards: Reward, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for column, read in find_readers([rewards]):
        readings = get_readings([row.get(column) for row in rows], read)
        rows = [row for row, one in zip(rows, readings, strict=True) if one.kind not in ("not at all", "in part")]
    return rows
