"""The shape of a record, which is checked when it is read, because a damaged file may hold anything."""

import re
from collections.abc import Callable
from typing import Any, get_args

from .dead_groups import DeadBy, GroupKind


MAX_NUMBER = 1e100
"""Largest number in a record. The square of a larger one may be larger than any float."""

HALF_OF_A_PAIR = re.compile("[\\ud800-\\udfff]")
"""What JSON can spell and no terminal can print: one of the two surrogates of a character."""


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


REQUIRED: dict[str, Callable[[Any], bool]] = {
    "step": is_count, "group": is_count, "rewards": is_dict, "columns": is_dict, "prompt_id": is_text,
}  # fmt: skip
"""Checks of the fields that every record has."""

OPTIONAL: dict[str, Callable[[Any], bool]] = {
    "outcome": lambda value: value in get_args(GroupKind),
    "dead_by": lambda value: value in get_args(DeadBy),
    "unscored": lambda value: value in ("term", "row"),
    "outcome_reward": is_text, "dataset_prompt_id": is_text, "prompt": is_prompt, "tolerance": is_number,
    "mean": is_score, "std": is_score, "spread": is_score, "duplicates": is_count, "weights": is_dict,
    "row_columns": is_dict, "logged": is_dict,
}  # fmt: skip
"""Checks of the fields that may be missing. Readers ignore all other fields."""

ROWS: dict[str, Callable[[Any], bool]] = {
    "total": is_score, "advantages": is_score, "lengths": is_count, "truncated": is_score, "completions": is_prompt,
    "completion_ids": is_anything,
}  # fmt: skip
"""Checks of one value in the fields with a list that has one value for each completion."""


def is_record(value: Any) -> bool:
    """Whether readers can read a value as a record: its fields are what they should be, and its lists have one length."""
    if not isinstance(value, dict) or not all(check(value.get(name)) for name, check in REQUIRED.items()):
        return False
    if ("prompt" in value) != ("completions" in value):
        return False
    if not all(check(value[name]) for name, check in OPTIONAL.items() if name in value):
        return False
    rows: list[tuple[Any, Callable[[Any], bool]]] = [(scores, is_score) for scores in value["rewards"].values()]
    rows += [(value[name], check) for name, check in ROWS.items() if name in value]
    rows += [(one, is_anything) for name in ("row_columns", "logged") for one in value.get(name, {}).values()]
    return all(map(is_number, value.get("weights", {}).values())) and all(
        isinstance(one, list) and len(one) == len(rows[0][0]) > 0 and all(map(check, one)) for one, check in rows
    )
