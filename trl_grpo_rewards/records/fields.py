"""The fields of a record: each rank packs the fields of its completions, and the main process makes the records."""

import base64
import hashlib
import json
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .kinds import GroupKind, Rule
from .readable import is_json, make_readable


@dataclass(slots=True)
class CompletionFields:
    """
    The fields of one completion that go into the record of its group.

    Args:
        prompt (`str` or `list`):
            Prompt, in the format of the dataset.
        columns (`dict`):
            The other dataset columns.
        length (`int`):
            Number of tokens that the model wrote.
        is_truncated (`bool`):
            Whether the completion ends without an end token.
        text (`str` or `list`):
            Completion, in the format of the dataset. None if the record has no texts.
        ids (`bytes`):
            Token ids as [`pack_ids`] returns them. None if the record has no token ids.
        logged (`dict`, *optional*):
            What the rewards logged about the completion, by the name of the column.
        dataset_prompt (*optional*):
            Prompt of the dataset, if an image or an environment has changed it. Otherwise None.
    """

    prompt: Any
    columns: dict[str, Any]
    length: int
    is_truncated: bool
    text: Any
    ids: bytes | None
    logged: dict[str, Any] = field(default_factory=dict)
    dataset_prompt: Any = None


def pack_rows(
    inputs: list[dict],
    prompts: list,
    completions: list,
    completion_ids: list[list[int]],
    last_ids: set[int],
    has_text: bool = True,
    has_ids: bool = True,
    logged: Mapping[str, list[Any]] | None = None,
    lengths: list[int] | None = None,
) -> list[CompletionFields]:
    """
    Return the fields of each completion. Values that JSON cannot hold, such as images, are left out.

    Args:
        inputs (`list[dict]`):
            Dataset row of each completion.
        prompts (`list`):
            Prompt of each completion.
        completions (`list`):
            Completions as text or messages.
        completion_ids (`list[list[int]]`):
            Token ids of each completion.
        last_ids (`set[int]`):
            Tokens that end a completion. A completion that ends with another token was truncated.
        has_text (`bool`, *optional*, defaults to `True`):
            Whether records contain the texts of prompts and completions.
        has_ids (`bool`, *optional*, defaults to `True`):
            Whether records contain token ids.
        logged (`dict[str, list]`, *optional*):
            The columns that the rewards logged. They are texts as well.
        lengths (`list[int]`, *optional*):
            Number of tokens of each completion that the model wrote, if some are results of tools.
    """
    rows: list[CompletionFields] = []
    notes = {name: values for name, values in (logged or {}).items() if has_text and len(values) == len(inputs)}
    lengths = lengths or [len(ids) for ids in completion_ids]
    parts = zip(inputs, prompts, completions, completion_ids, lengths, strict=True)
    for place, (row, prompt, completion, ids, length) in enumerate(parts):
        prompt, asked = make_readable(prompt), make_readable(row.get("prompt"))
        columns = {name: value for name, value in row.items() if name != "prompt" and is_json(value)}
        if rows and (rows[-1].prompt, rows[-1].columns) == (prompt, columns):
            prompt, columns = rows[-1].prompt, rows[-1].columns  # one object is sent to the main process only once
        is_truncated = not ids or ids[-1] not in last_ids
        text = make_readable(completion) if has_text else None
        packed = pack_ids(ids) if has_ids else None
        mine = {name: make_readable(values[place]) for name, values in notes.items() if values[place] is not None}
        rows.append(
            CompletionFields(
                prompt, columns, length, is_truncated, text, packed, mine, None if asked == prompt else asked
            )
        )
    return rows


def pack_ids(ids: list[int]) -> bytes:
    """Return token ids as little-endian integers of four bytes each."""
    return struct.pack(f"<{len(ids)}i", *ids)


def unpack_ids(ids: str | list[int]) -> list[int]:
    """Return the token ids of a record. They are base64 of [`pack_ids`], or a list in files of earlier versions."""
    if isinstance(ids, list):
        return ids
    packed = base64.b64decode(ids)
    return list(struct.unpack(f"<{len(packed) // 4}i", packed))


def replace_nan(values: list) -> list:
    """Return a list of numbers or nested lists with None in place of NaN."""
    return [replace_nan(value) if isinstance(value, list) else None if value != value else value for value in values]


def describe_groups(
    rows: list[CompletionFields],
    scores: list[list[float | None]],
    weights: dict[str, float],
    totals: list[float | None],
    advantages: list[float],
    kinds: list[GroupKind],
    rule: Rule,
    duplicates: list[int],
    predicted: list[dict[str, Any]] | None = None,
) -> Iterator[dict[str, Any]]:
    """
    Yield the record of each group of a generation. Each record is made only when it is consumed.

    Args:
        rows (`list[CompletionFields]`):
            Completions of all groups, one group after another.
        scores (`list[list]`):
            Score of each row by each reward. None or NaN if there is no score.
        weights (`dict[str, float]`):
            Name and weight of each reward.
        totals (`list`):
            Weighted total of each row.
        advantages (`list[float]`):
            Advantage that each row is trained with.
        kinds (`list[str]`):
            `"live"` or the kind of dead group, for each group.
        rule ([`Rule`]):
            How the kinds were decided.
        duplicates (`list[int]`):
            Number of completions in each group that equal another one in the group.
        predicted (`list[dict]`, *optional*):
            What was expected of each group before it was sampled.
    """
    size = len(rows) // len(kinds)
    scores, totals = replace_nan(scores), replace_nan(totals)
    for index, kind in enumerate(kinds):
        mine = slice(index * size, (index + 1) * size)
        group = rows[mine]
        yield {
            "prompt_id": hash_prompt(group[0].prompt),
            **({"dataset_prompt_id": hash_prompt(asked)} if (asked := group[0].dataset_prompt) is not None else {}),
            "outcome": kind,
            "outcome_reward": rule.outcome_reward,
            "dead_by": rule.dead_by,
            "tolerance": rule.tolerance,
            "unscored": rule.unscored,
            "rewards": dict(zip(weights, map(list, zip(*scores[mine], strict=True)), strict=True)),
            "weights": weights,
            **summarize_totals(totals[mine]),
            "advantages": advantages[mine],
            "lengths": [row.length for row in group],
            "truncated": [row.is_truncated for row in group],
            "duplicates": duplicates[index],
            **merge_columns([row.columns for row in group]),
            **merge_logged([row.logged for row in group]),
            **(predicted[index] if predicted else {}),
            **get_texts(group),
        }


def get_texts(group: list[CompletionFields]) -> dict[str, Any]:
    """Return the prompt, the completions and the token ids of a group if its rows contain them."""
    texts: dict[str, Any] = {}
    if group[0].text is not None:
        texts |= {"prompt": group[0].prompt, "completions": [row.text for row in group]}
    ids = [base64.b64encode(row.ids).decode() for row in group if row.ids is not None]
    return {**texts, "completion_ids": ids} if ids else texts


def summarize_totals(totals: list[float | None]) -> dict[str, Any]:
    """Return the totals of a group with their mean, standard deviation and spread."""
    known = [total for total in totals if total is not None]
    if not known:
        return {"total": totals, "mean": None, "std": None, "spread": None}
    mean = sum(known) / len(known)
    deviation = math.sqrt(sum((total - mean) ** 2 for total in known) / len(known))
    return {"total": totals, "mean": mean, "std": deviation, "spread": max(known) - min(known)}


def merge_columns(columns: list[dict[str, Any]]) -> dict[str, Any]:
    """
    Return the columns of a group.

    `columns` has the columns that are the same for all rows. `row_columns` has a list for each other column, such as
    those that a rollout function adds.
    """
    shared = {name: value for name, value in columns[0].items() if all(other.get(name) == value for other in columns)}
    names = dict.fromkeys(name for row in columns for name in row)  # a row lacks what JSON cannot hold, such as NaN
    others = {name: [other.get(name) for other in columns] for name in names if name not in shared}
    return {"columns": shared, **({"row_columns": others} if others else {})}


def merge_logged(logged: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the rewards logged about the completions of a group: a list for each column, with None for nothing."""
    names = dict.fromkeys(name for row in logged for name in row)
    return {"logged": {name: [row.get(name) for row in logged] for name in names}} if names else {}


def hash_prompt(prompt: Any) -> str:
    """Return a hash of the prompt that is the same in every run."""
    return hashlib.sha256(json.dumps(prompt, sort_keys=True).encode()).hexdigest()[:16]
