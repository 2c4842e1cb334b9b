"""The fields of a record: made from completions, as values that JSON can hold, and checked when they are read again."""

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from types import NoneType
from typing import Any, NamedTuple, get_args

import numpy as np

from .dead_groups import DeadBy, GroupKind


MAX_NESTING = 100  # maximum nesting depth of lists and dicts. Python has a limit of its own, which ends the run.
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
        return copier.copy(value, MAX_NESTING), copier.is_same
    except OverflowError:
        return f"<{type(value).__name__}>", False


class Copier:
    """Copies one value. It calls no method that a subclass may have changed. Raises `OverflowError` above [`MAX_SIZE`]."""

    def __init__(self) -> None:
        self.is_same = True
        self.size = 0

    def copy(self, value: Any, levels: int) -> Any:
        kind = type(value)
        if kind in (NoneType, bool):
            return value
        if issubclass(kind, int) and int.bit_length(value) <= MAX_BITS:
            return int.__int__(value)
        if issubclass(kind, float):
            return self._copy_float(float.__float__(value))
        if issubclass(kind, str):
            return self._copy_text(str.__str__(value))
        if issubclass(kind, dict) and levels:
            return self._copy_dict(value, levels - 1)
        if issubclass(kind, (list, tuple)) and levels:
            return self._copy_list(value, levels - 1)
        return self._replace(f"<{kind.__name__}>")

    def _copy_float(self, number: float) -> Any:
        if math.isfinite(number):
            return number
        return self._replace(json.dumps(number))

    def _copy_text(self, text: str) -> Any:
        readable = text.encode(errors="backslashreplace").decode()  # instead of half of a surrogate pair
        if readable == text:
            return self._count(text, len(text))
        return self._replace(readable)

    def _copy_dict(self, value: dict, levels: int) -> dict[str, Any]:
        items = self._count(dict.items(value), ITEM_SIZE * dict.__len__(value))
        return {self._name(key, levels): self.copy(item, levels) for key, item in items}

    def _copy_list(self, value: list | tuple, levels: int) -> list:
        base: Any = list if issubclass(type(value), list) else tuple
        self.is_same &= base is list
        items = self._count(base.__iter__(value), ITEM_SIZE * base.__len__(value))
        return [self.copy(item, levels) for item in items]

    def _name(self, key: Any, levels: int) -> str:
        """Return the text for a key of a dict."""
        self.is_same &= issubclass(type(key), str)
        name = self.copy(key, levels)
        if isinstance(name, str):
            return name
        return json.dumps(name)

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
    model_input: str = ""  # the tokens of the prompt as text, special ones included


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
    last_prompts = None
    group: dict[str, Any] = {}
    columns: dict[str, Any] = {}  # pickle sends an object only once, so completions of one prompt share them
    for completion in completions:
        prompts = make_readable(completion.prompt), make_readable(completion.row.get("prompt")), completion.model_input
        if prompts != last_prompts:
            last_prompts = prompts
            group = describe_prompts(*prompts, has_text=has_text)
        row_columns = copy_columns(completion.row)
        if row_columns != columns:
            columns = row_columns
        own = dict(completion.facts)
        logged = {}
        if has_text:
            own["completions"] = make_readable(completion.content)
            logged = {name: make_readable(value) for name, value in completion.logged.items() if value is not None}
        if has_ids:
            ids = np.array(completion.ids, "<i4")
            own["completion_ids"] = base64.b64encode(ids.tobytes()).decode()
        described.append(CompletionFields(group, columns, logged, own))
    return described


def describe_prompts(prompt: Any, dataset_prompt: Any, model_input: str, *, has_text: bool) -> dict[str, Any]:
    """Return the fields about a prompt, about that of the dataset and the text of its tokens if they differ."""
    fields = {"prompt_id": hash_prompt(prompt)}
    if dataset_prompt is not None and dataset_prompt != prompt:
        fields["dataset_prompt_id"] = hash_prompt(dataset_prompt)
    if has_text:
        fields["prompt"] = prompt
        if model_input not in ("", prompt):
            fields["model_input"] = model_input
    return fields


def copy_columns(row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that JSON can hold unchanged, without the prompt."""
    copies = {name: copy_as_json(value) for name, value in row.items() if name != "prompt"}
    return {name: copy for name, (copy, is_same) in copies.items() if is_same}


def describe_groups(completions: list[CompletionFields], scores: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return an iterator over the records of a generation. Each is made when it is consumed."""
    size = len(completions) // len(scores)
    groups = (completions[index * size : (index + 1) * size] for index in range(len(scores)))
    return map(describe_group, groups, scores)


def describe_group(completions: list[CompletionFields], scores: dict[str, Any]) -> dict[str, Any]:
    _, *parts = zip(*completions, strict=True)
    columns, logged, own = map(tabulate, parts)
    shared = {}
    for name, values in columns.items():
        if all(value == values[0] for value in values):
            shared[name] = values[0]
    others = {name: values for name, values in columns.items() if name not in shared}
    record = {**scores, "columns": shared}
    if others:
        record["row_columns"] = others
    if logged:
        record["logged"] = logged
    return {**record, **completions[0].group, **own}


def tabulate(rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return a list of values for each name, with None for rows without it."""
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in names}


def unpack_ids(ids: str | list[int]) -> list[int]:
    """Return the token ids of a record, or a list in files of earlier versions."""
    if isinstance(ids, list):
        return ids
    unpacked: list[int] = np.frombuffer(base64.b64decode(ids), "<i4").tolist()
    return unpacked


def summarize_totals(totals: list[float | None]) -> dict[str, Any]:
    """Return the totals of a group with their mean, standard deviation and spread."""
    scored = [total for total in totals if total is not None]
    if not scored:
        return {"total": totals, "mean": None, "std": None, "spread": None}
    mean = sum(scored) / len(scored)
    deviation = math.sqrt(sum((total - mean) ** 2 for total in scored) / len(scored))
    return {"total": totals, "mean": mean, "std": deviation, "spread": max(scored) - min(scored)}


def drop_infinite(values: list) -> list:
    """Return a list of numbers or nested lists with None in place of NaN and infinity, which JSON cannot hold."""
    return [drop_infinite(value) if isinstance(value, list) else drop_if_infinite(value) for value in values]


def drop_if_infinite(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return value


def hash_prompt(prompt: Any) -> str:
    """Return a hash of the prompt that is the same in every run."""
    text = json.dumps(prompt, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
    if not isinstance(value, str):
        return False
    return not HALF_OF_A_PAIR.search(value)


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
    "outcome_reward": is_text, "dataset_prompt_id": is_text, "prompt": is_prompt, "model_input": is_text,
    "tolerance": is_number,
    "mean": is_score, "std": is_score, "spread": is_score, "duplicates": is_count, "row_columns": is_dict, "logged": is_dict,
    "weights": lambda value: is_dict(value) and all(map(is_number, value.values())),
}  # fmt: skip

# Checks of one value in the fields with a list that has one value for each completion.
ROW_CHECKS: dict[str, Callable[[Any], bool]] = {
    "total": is_score, "advantages": is_score, "lengths": is_count, "truncated": is_score, "completions": is_prompt,
    "completion_ids": is_anything,
}  # fmt: skip


def is_record(value: Any) -> bool:
    """Whether readers can read a value as a record: its fields are what they should be, and its lists have one length."""
    if not isinstance(value, dict) or not value.keys() >= REQUIRED or ("prompt" in value) != ("completions" in value):
        return False
    if not all(check(value[name]) for name, check in CHECKS.items() if name in value):
        return False
    rows = list_row_checks(value)
    return all(
        isinstance(values, list) and len(values) == len(rows[0][0]) > 0 and all(map(check, values))
        for values, check in rows
    )


def list_row_checks(record: dict[str, Any]) -> list[tuple[Any, Callable[[Any], bool]]]:
    """Return what must be a list with one value for each completion, and how a value is checked."""
    rows: list[tuple[Any, Callable[[Any], bool]]] = [(scores, is_score) for scores in record["rewards"].values()]
    rows += [(record[name], check) for name, check in ROW_CHECKS.items() if name in record]
    for name in ("row_columns", "logged"):
        rows += [(values, is_anything) for values in record.get(name, {}).values()]
    return rows
