"""Check that rewards can read every value of the dataset columns, such as the solutions."""

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, get_args

from ..expressions import Reward
from ..faults import find_readers, iterate_column, shorten_repr
from ..function_rewards import FunctionReward, find_functions
from ..texts import prompt_text
from ..traits import ReadColumn, Reading
from .findings import Findings


if TYPE_CHECKING:
    from datasets import Dataset

READING, EXAMINATION = "values of '{}', as '{}' reads them", "the dataset, as '{}' reads it"  # titles
SHOWN_VALUES = 3  # largest number of values that are shown of each kind that can be read
MISSING = ("nan", "<NA>", "NaT")  # what pandas writes as text for a missing value
DECIMAL_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,(?!\d{3}$)\d+)")
CHECKED_PROMPTS = 100  # largest number of prompts that are looked at
SHOWN_SHARE = 0.9  # share of prompts that contain their solution from which on it is a warning
SHOWN_END_SHARE = 0.1  # the same for prompts that end with it, as a few do by chance, such as "What is 0 + 7"


def check_readings(rewards: Reward, dataset: "Dataset", threshold: float = 0.05) -> list[Findings]:
    """Count the values that a reward with the trait `reads` cannot read, reads in part, or reads as several answers."""
    readers = {reader: name for reader, name in find_readers([rewards]).items() if reader[0] in dataset.column_names}
    has_prompts = "prompt" in dataset.column_names  # else an environment gives them
    prompts = [prompt_text(prompt) for prompt in iterate_column(dataset, "prompt")] if readers and has_prompts else []
    return [
        check_column([*iterate_column(dataset, column)], prompts, column, name, read, threshold)
        for (column, read), name in readers.items()
    ]


def check_examinations(rewards: Reward, dataset: "Dataset") -> list[Findings]:
    """Return what rewards with the trait `examines` find in the dataset."""
    functions = find_examiners(rewards)
    rows = [dict(row) for row in dataset] if functions else []
    examinations = ((function, function.ask_trait("examines", rows=rows)) for function in functions)
    return [Findings(EXAMINATION.format(one.name), *found) for one, found in examinations if found]


def find_examiners(rewards: Reward) -> list[FunctionReward]:
    """Return the different rewards with the trait `examines`."""
    return [*dict.fromkeys(function for function in find_functions(rewards) if "examines" in function.factory.traits)]


def check_column(
    values: list[Any], prompts: list[str], column: str, reward: str, read: ReadColumn, threshold: float
) -> Findings:
    rows: dict[str, list[int]] = defaultdict(list)
    notes: dict[str, list[int]] = defaultdict(list)
    readings = get_readings(values, reward, read)
    for row, reading in enumerate(readings):
        rows[reading.kind].append(row)
        if reading.note is not None:
            notes[reading.note].append(row)
    contradictory = find_contradictory_rows(prompts, [reading.value for reading in readings]) if prompts else []
    different = {reading.value for reading in readings}
    found = Findings(READING.format(column, reward), [f"{len(values):,} read, {len(different):,} different"])
    for title, examples in (
        ("unreadable", rows["not at all"]),
        ("read in part", rows["in part"]),
        ("with several answers", rows["several"]),
        *[("with several solutions, any of which is right", rows["any of several"])] * bool(rows["any of several"]),
        ("that differ for the same prompt", contradictory),
        *notes.items(),
    ):
        found.lines.append(f"{len(examples) / len(values):7.2%} {title}")
        most = len(values) if title in ("unreadable", "read in part") else SHOWN_VALUES
        found.lines += [f"          {shorten_repr(values[row])}" for row in examples[:most]]
    bad = rows["not at all"] + rows["in part"]
    if len(bad) > threshold * len(values):
        remedy = (
            f"A model writes only the answer, so no completion would be right. Store only the "
            f"answer{suggest_answer(values[bad[0]])}, or remove such rows."
        )
        if isinstance(values[bad[0]], dict):
            remedy = f"To compare the fields of objects, write json_fields({f'solution={column!r}' * (column != 'solution')})."
        if values[bad[0]] in (None, ""):
            remedy = "Without a solution, no completion can be judged. Remove such rows."
        elif rows["not at all"][:1] == bad[:1] and (note := readings[bad[0]].note):
            remedy = f"This one is {note}. Correct such rows, or remove them."
        place = f", the value of the prompt {shorten_repr(prompts[bad[0]])}" if prompts else ""
        found.faults.append(
            f"Reward '{reward}' reads the column '{column}', but {len(bad):,} of {len(values):,} values cannot be read "
            f"as a whole, such as {shorten_repr(values[bad[0]])}{place}. {remedy}"
        )
    elif bad:
        found.warnings.append(
            f"{len(bad):,} of {len(values):,} values of '{column}' cannot be read as a whole, such as "
            f"{shorten_repr(values[bad[0]])}. Their completions get no score or a wrong one. Correct or remove such rows."
        )
    if contradictory:
        found.warnings.append(
            f"{len(contradictory):,} rows have the prompt of another row but a different {column}. Correct or remove them."
        )
    commas = [value for value in values if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value.strip())]
    if len(commas) > threshold * len(values):
        found.warnings.append(
            f"{len(commas):,} of {len(values):,} values of '{column}' look like numbers with a decimal comma, such as "
            f"{commas[0]!r}, but a comma separates thousands or the items of a list. If they are numbers, write a point."
        )
    found.warnings += list_leak_warnings(prompts, [reading.value for reading in readings], column) if prompts else []
    return found


def list_leak_warnings(prompts: list[str], values: list[str | None], column: str) -> list[str]:
    """Return a warning if nearly all prompts contain their solutions, or some end with them."""
    remedy = "A model can copy it. If the prompts should not show it, remove it from them."
    if (shown := find_shown_solutions(prompts, values)) is not None:
        return [f"Nearly every prompt contains its {column}, such as {shorten_repr(prompts[shown])}. {remedy}"]
    ends = [row for row, text in enumerate(prompts) if ends_with_word(text, values[row])]
    if len(ends) < SHOWN_END_SHARE * len(prompts) or len(ends) < 2:
        return []
    return [
        f"{len(ends):,} of {len(prompts):,} prompts end with their {column}, such as {shorten_repr(prompts[ends[0]])}. "
        f"{remedy}"
    ]


def ends_with_word(text: str, word: str | None) -> bool:
    """Whether a text ends with a word. A question, such as "What is 0 + 7?", does not tell its answer."""
    text, word = text.rstrip(" \t\r\n.)]}*$\"'"), (word or "").strip()
    return bool(word) and text.endswith(word) and not re.match(r"[\w.,-]", text[: -len(word)][-1:])


def get_readings(values: list[Any], reward: str, read: ReadColumn) -> list[Reading]:
    """Return how a reward reads the values, and check what its trait returns."""
    readings = list(read(values))
    kinds = get_args(Reading.__annotations__["kind"])
    if len(readings) != len(values):
        raise TypeError(
            f"The trait 'reads' of reward '{reward}' must return one Reading for each value; got {len(readings)} for "
            f"{len(values)} values. Return one for every value, in their order."
        )
    for reading in readings:
        if not isinstance(reading, Reading) or reading.kind not in kinds:
            raise TypeError(
                f"The trait 'reads' of reward '{reward}' must return Readings of the kinds {', '.join(map(repr, kinds))}; "
                f"got {reading!r}. Return, for example, Reading('whole', '7')."
            )
    missing = Reading("not at all", None, "what pandas writes for a missing value")
    return [missing if value in MISSING else one for value, one in zip(values, readings, strict=True)]


def leave_out_unreadable(rewards: Reward, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for (column, read), name in find_readers([rewards]).items():
        readings = get_readings([row.get(column) for row in rows], name, read)
        rows = [row for row, one in zip(rows, readings, strict=True) if one.kind not in ("not at all", "in part")]
    return rows


def find_contradictory_rows(prompts: list[str], values: list[str | None]) -> list[int]:
    """Return the indices of rows whose prompt also occurs with another value."""
    first: dict[str, str | None] = {}
    several = {text for text, value in zip(prompts, values, strict=True) if first.setdefault(text, value) != value}
    return [row for row, text in enumerate(prompts) if text in several]


def find_shown_solutions(prompts: list[str], values: list[str | None]) -> int | None:
    """Return a row whose prompt contains its own solution and no other, if nearly all prompts contain theirs."""
    known = [row for row, value in enumerate(values[:CHECKED_PROMPTS]) if value]
    shown, others = [], 0
    for row, other in zip(known, [*known[1:], *known[:1]], strict=True):
        shown += [row] if has_word(prompts[row], values[row]) else []
        others += has_word(prompts[row], values[other])
    is_leak = len(shown) >= SHOWN_SHARE * len(known) and others <= len(known) / 2
    return shown[0] if len(known) > 1 and is_leak else None


def has_word(text: str, word: str | None) -> bool:
    """Whether a text contains a word, not as a part of another word or number."""
    return re.search(rf"(?<![\w.]){re.escape(str(word))}(?![\w]|\.\d)", text) is not None


def suggest_answer(value: Any) -> str:
    """Return the last number or the last word of a value as an example for a message, or an empty string."""
    words = re.findall(r"\d+(?:[.,]\d+)*|[^\W\d_]+", value) if isinstance(value, str) else []
    numbers = [word for word in words if word[0].isdigit()]
    return f", such as {(numbers or words)[-1]!r} for this row" if words else ""
