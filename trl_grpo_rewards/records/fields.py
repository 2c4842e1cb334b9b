"""The fields of a record: made from completions, as values that JSON can hold, and checked when they are read again."""

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, get_args

import numpy as np

from .dead_groups import DeadBy, GroupKind


MAX_LEVELS = 100  # maximum nesting depth of lists and dicts. Python has a limit of its own, which ends the run.
MAX_SIZE = 1 << 26  # characters; a list that contains another twice, at many levels, exceeds any memory
ITEM_SIZE = 256  # characters that an item of a list or dict counts for besides, since many take time
MAX_BITS = 2048  # bits of an integer: 617 digits; Python's own limit can be as low as 640


def make_readable(value: Any) -> Any:
    """Return a copy of the value that JSON can hold, with the type of what it cannot. It never fails and takes limited time."""
    return copy_as_json(value)[0]


def copy_as_json(value: Any) -> tuple[Any, bool]:
    """Return the copy of [`make_readable`], and whether it is the same as the value: read from JSON, it is equal."""
    copier = Copier()
    try:
        return copier.copy(value, MAX_LEVELS), copier.is_same
    except OverflowError:
        return f"<{type(value).__name__}>", False


class Copier:
    """Copies one value. It calls no method that a subclass may have changed. Raises `OverflowError` above [`MAX_SIZE`]."""

    def __init__(self) -> None:
        self.is_same, self.size = True, 0

    def copy(self, value: Any, levels: int) -> Any:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, int) and int.bit_length(value) <= MAX_BITS:
            return int.__int__(value)
        if issubclass(kind, float):
            number = float.__float__(value)
            return number if math.isfinite(number) else self._replace(json.dumps(number))
        if issubclass(kind, str):
            text = str.__str__(value)
            readable = text.encode(errors="backslashreplace").decode()  # instead of half of a surrogate pair
            return self._count(text, len(text)) if readable == text else self._replace(readable)
        if issubclass(kind, dict) and levels:
            items = self._count(dict.items(value), ITEM_SIZE * dict.__len__(value))
            return {self._name(key, levels - 1): self.copy(item, levels - 1) for key, item in items}
        if issubclass(kind, (list, tuple)) and levels:
            base = list if issubclass(kind, list) else tuple
            self.is_same &= base is list
            items = self._count(base.__iter__(value), ITEM_SIZE * base.__len__(value))
            return [self.copy(item, levels - 1) for item in items]
        return self._replace(f"<{kind.__name__}>")

    def _name(self, key: Any, levels: int) -> str:
        """Return the text for a key of a dict."""
        self.is_same &= issubclass(type(key), str)
        name = self.copy(key, levels)
        return name if isinstance(name, str) else json.dumps(name)

    def _replace(self, text: str) -> Any:
        self.is_same = False
        return self._count(text, len(text))

    def _count(self, value: Any, size: int) -> Any:
        self.size += size
        if self.size > MAX_SIZE:
            raise OverflowError
        return value


class Completion(NamedTuple):
    """One completion of a generation."""

    row: dict[str, Any]
    prompt: Any  # as the model was given it; an image or an environment may have changed that of the row
    content: Any  # text or messages
    ids: list[int]
    facts: dict[str, Any]  # short values that are fields of the record
    logged: dict[str, Any]  # by rewards, by the name of the column


class CompletionFields(NamedTuple):
    """What a record says about one completion."""

    group: dict[str, Any]  # the same for all completions of a group
    columns: dict[str, Any]
    logged: dict[str, Any]
    own: dict[str, Any]  # in the record, each is a list with one value for each completion


def describe_completions(
    completions: Iterable[Completion], has_text: bool = True, has_ids: bool = True
) -> list[CompletionFields]:
    """Return what records say about completions. Columns that JSON cannot hold, such as images, are left out."""
    described: list[CompletionFields] = []
    last, group = None, dict[str, Any]()
    columns: dict[str, Any] = {}  # pickle sends an object only once, so completions of one prompt share them
    for one in completions:
        prompt, asked = prompts = make_readable(one.prompt), make_readable(one.row.get("prompt"))
        if prompts != last:
            last, group = prompts, {"prompt_id": hash_prompt(prompt)}
            group |= {} if asked is None or asked == prompt else {"dataset_prompt_id": hash_prompt(asked)}
            group |= {"prompt": prompt} if has_text else {}
        copies = {name: copy_as_json(value) for name, value in one.row.items() if name != "prompt"}
        mine = {name: copy for name, (copy, is_same) in copies.items() if is_same}
        columns = columns if mine == columns else mine
        own = dict(one.facts)
        if has_text:
            own["completions"] = make_readable(one.content)
        if has_ids:
            own["completion_ids"] = base64.b64encode(np.array(one.ids, "<i4").tobytes()).decode()
        logged = {name: make_readable(value) for name, value in one.logged.items() if has_text and value is not None}
        described.append(CompletionFields(group, columns, logged, own))
    return described


def describe_groups(completions: list[CompletionFields], scores: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return an iterator over the records of a generation. Each is made when it is consumed."""
    size = len(completions) // len(scores)
    groups = (completions[index * size : (index + 1) * size] for index in range(len(scores)))
    return map(describe_group, groups, scores)


def describe_group(completions: list[CompletionFields], scores: dict[str, Any]) -> dict[str, Any]:
    columns, logged, own = (tabulate(part) for part in list(zip(*completions, strict=True))[1:])
    shared = {name: values[0] for name, values in columns.items() if all(one == values[0] for one in values)}
    others = {name: values for name, values in columns.items() if name not in shared}
    parts = {"row_columns": others, "logged": logged}
    found = {name: part for name, part in parts.items() if part}
    return {**scores, "columns": shared, **found, **completions[0].group, **own}


def tabulate(rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return a list of values for each name, with None for rows without it."""
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(chain.from_iterable(rows))}


def unpack_ids(ids: str | list[int]) -> list[int]:
    """Return the token ids of a record, or a list in files of earlier versions."""
    if isinstance(ids, list):
        return ids
    unpacked: list[int] = np.frombuffer(base64.b64decode(ids), "<i4").tolist()
    return unpacked


def summarize_totals(totals: list[float | None]) -> dict[str, Any]:
    """Return the totals of a group with their mean, standard deviation and spread."""
    known = [total for total in totals if total is not None]
    if not known:
        return {"total": totals, "mean": None, "std": None, "spread": None}
    mean = sum(known) / len(known)
    deviation = math.sqrt(sum((total - mean) ** 2 for total in known) / len(known))
    return {"total": totals, "mean": mean, "std": deviation, "spread": max(known) - min(known)}


def drop_infinite(values: list) -> list:
    """Return a list of numbers or nested lists with None in place of NaN and infinity, which JSON cannot hold."""
    return [
        drop_infinite(value) if isinstance(value, list) else value if value is None or math.isfinite(value) else None
        for value in values
    ]


def hash_prompt(prompt: Any) -> str:
    """Return a hash of the prompt that is the same in every run."""
    return hashlib.sha256(json.dumps(prompt, sort_keys=True).encode()).hexdigest()[:16]


def identify_prompt(record: dict[str, Any]) -> str | None:
    """Return a hash of the prompt and its columns. The prompts of an environment may differ only in their columns."""
    prompt_id, columns = record.get("prompt_id"), record.get("columns")
    if prompt_id is None or not columns:
        return prompt_id
    return hashlib.sha256(f"{prompt_id}{json.dumps(columns, sort_keys=True)}".encode()).hexdigest()[:16]


MAX_NUMBER = 1e100  # largest number in a record. The square of a larger one may be larger than any float.
HALF_OF_A_PAIR = re.compile("[\\ud800-\\udfff]")  # JSON can spell half of a character; terminals cannot


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) <= MAX_NUMBER  # not of NaN


def is_score(value: Any) -> bool:
    return value is None or is_number(value)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value <= MAX_NUMBER


def is_text(value: Any) -> bool:
    return isinstance(value, str) and not HALF_OF_A_PAIR.search(value)


def is_prompt(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(message, dict) for message in value))


def is_dict(value: Any) -> bool:
    return isinstance(value, dict)


def is_anything(value: Any) -> bool:
    return True


REQUIRED = {"step", "group", "rewards", "columns", "prompt_id"}  # other fields may be missing or unknown

CHECKS: dict[str, Callable[[Any], bool]] = {
    "step": is_count, "group": is_count, "rewards": is_dict, "columns": is_dict, "prompt_id": is_text,
    "outcome": lambda value: value in get_args(GroupKind),
    "dead_by": lambda value: value in get_args(DeadBy),
    "unscored": lambda value: value in ("term", "row"),
    "outcome_reward": is_text, "dataset_prompt_id": is_text, "prompt": is_prompt, "tolerance": is_number,
    "mean": is_score, "std": is_score, "spread": is_score, "duplicates": is_count, "row_columns": is_dict, "logged": is_dict,
    "weights": lambda value: is_dict(value) and all(map(is_number, value.values())),
}  # fmt: skip

# Checks of one value in the fields with a list that has one value for each completion.
ROWS: dict[str, Callable[[Any], bool]] = {
    "total": is_score, "advantages": is_score, "lengths": is_count, "truncated": is_score, "completions": is_prompt,
    "completion_ids": is_anything,
}  # fmt: skip


def is_record(value: Any) -> bool:
    """Whether readers can read a value as a record: its fields are what they should be, and its lists have one length."""
    if not isinstance(value, dict) or not value.keys() >= REQUIRED or ("prompt" in value) != ("completions" in value):
        return False
    if not all(check(value[name]) for name, check in CHECKS.items() if name in value):
        return False
    rows: list[tuple[Any, Callable[[Any], bool]]] = [(scores, is_score) for scores in value["rewards"].values()]
    rows += [(value[name], check) for name, check in ROWS.items() if name in value]
    rows += [(one, is_anything) for name in ("row_columns", "logged") for one in value.get(name, {}).values()]
    return all(
        isinstance(one, list) and len(one) == len(rows[0][0]) > 0 and all(map(check, one)) for one, check in rows
    )
