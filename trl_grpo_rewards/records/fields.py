"""The fields of a record: each rank describes its completions, and the main process makes the record of each group."""

import base64
import hashlib
import json
import math
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .readable import copy_as_json, make_readable


class Completion(NamedTuple):
    """One completion of a generation."""

    row: dict[str, Any]
    prompt: Any  # as the model was given it; an image or an environment may have changed that of the row
    content: Any  # text or messages
    ids: list[int]
    facts: dict[str, Any]  # short values that are fields of the record
    logged: dict[str, Any]  # by rewards, by the name of the column


@dataclass(slots=True)
class CompletionFields:
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
        prompts = make_readable(one.prompt), make_readable(one.row.get("prompt"))
        if prompts != last:
            last, group = prompts, describe_prompt(*prompts, has_text)
        copies = {name: copy_as_json(value) for name, value in one.row.items() if name != "prompt"}
        mine = {name: copy for name, (copy, is_same) in copies.items() if is_same}
        columns = columns if mine == columns else mine
        own = dict(one.facts)
        if has_text:
            own["completions"] = make_readable(one.content)
        if has_ids:
            own["completion_ids"] = pack_ids(one.ids)
        logged = {name: make_readable(value) for name, value in one.logged.items() if has_text and value is not None}
        described.append(CompletionFields(group, columns, logged, own))
    return described


def describe_prompt(prompt: Any, asked: Any, has_text: bool) -> dict[str, Any]:
    """Return what a record says about a prompt. `asked` is the prompt of the dataset."""
    changed = {} if asked is None or asked == prompt else {"dataset_prompt_id": hash_prompt(asked)}
    return {"prompt_id": hash_prompt(prompt), **changed, **({"prompt": prompt} if has_text else {})}


def describe_groups(completions: list[CompletionFields], scores: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return an iterator over the records of a generation. Each is made when it is consumed, even if another one failed."""
    size = len(completions) // len(scores)
    groups = (completions[index * size : (index + 1) * size] for index in range(len(scores)))
    return map(describe_group, groups, scores)


def describe_group(completions: list[CompletionFields], scores: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a group."""
    return {
        **scores,
        **merge_columns([one.columns for one in completions]),
        **merge_logged([one.logged for one in completions]),
        **completions[0].group,
        **{name: [one.own[name] for one in completions] for name in completions[0].own},
    }


def pack_ids(ids: list[int]) -> str:
    """Return token ids as base64 of little-endian integers of four bytes each."""
    return base64.b64encode(struct.pack(f"<{len(ids)}i", *ids)).decode()


def unpack_ids(ids: str | list[int]) -> list[int]:
    """Return the token ids of a record, packed by [`pack_ids`], or a list in files of earlier versions."""
    if isinstance(ids, list):
        return ids
    packed = base64.b64decode(ids)
    return list(struct.unpack(f"<{len(packed) // 4}i", packed))


def summarize_totals(totals: list[float | None]) -> dict[str, Any]:
    """Return the totals of a group with their mean, standard deviation and spread."""
    known = [total for total in totals if total is not None]
    if not known:
        return {"total": totals, "mean": None, "std": None, "spread": None}
    mean = sum(known) / len(known)
    deviation = math.sqrt(sum((total - mean) ** 2 for total in known) / len(known))
    return {"total": totals, "mean": mean, "std": deviation, "spread": max(known) - min(known)}


def merge_columns(columns: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns of a group: those that are the same for all rows, and a list for each other one in `row_columns`."""
    shared = {name: value for name, value in columns[0].items() if all(other.get(name) == value for other in columns)}
    names = dict.fromkeys(name for row in columns for name in row)  # a row lacks what JSON cannot hold, such as NaN
    others = {name: [other.get(name) for other in columns] for name in names if name not in shared}
    return {"columns": shared, **({"row_columns": others} if others else {})}


def merge_logged(logged: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the rewards logged about the completions of a group: a list for each column, with None for nothing."""
    names = dict.fromkeys(name for row in logged for name in row)
    return {"logged": {name: [row.get(name) for row in logged] for name in names}} if names else {}


def drop_infinite(values: list) -> list:
    """Return a list of numbers or nested lists with None in place of NaN and infinity, which JSON cannot hold."""
    return [
        drop_infinite(value) if isinstance(value, list) else value if value is None or math.isfinite(value) else None
        for value in values
    ]


def hash_prompt(prompt: Any) -> str:
    """Return a hash of the prompt that is the same in every run."""
    return hashlib.sha256(json.dumps(prompt, sort_keys=True).encode()).hexdigest()[:16]
