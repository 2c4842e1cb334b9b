"""The shape of a record, which is checked when it is read, because a damaged file may hold anything."""

from types import NoneType
from typing import Any


NUMBER = (int, float, NoneType)

REQUIRED: dict[str, type] = {"step": int, "group": int, "rewards": dict, "columns": dict, "prompt_id": str}
"""Types of the fields that every record has."""

OPTIONAL: dict[str, Any] = {
    "weights": dict, "row_columns": dict, "logged": dict, "outcome": str, "outcome_reward": (str, NoneType),
    "dead_by": str, "unscored": str, "dataset_prompt_id": str, "tolerance": float, "mean": NUMBER, "spread": NUMBER,
    "duplicates": NUMBER,
}  # fmt: skip
"""Types of the fields that may be missing. Readers ignore all other fields."""

ROWS = ("total", "advantages", "lengths", "truncated", "completions", "completion_ids")
"""Fields with a list that has one value for each completion."""


def is_record(value: Any) -> bool:
    """Whether readers can read a value as a record: its fields have their types, and its lists have one length."""
    if not isinstance(value, dict) or not all(isinstance(value.get(name), kind) for name, kind in REQUIRED.items()):
        return False
    if ("prompt" in value) != ("completions" in value):
        return False
    if not all(isinstance(value[name], kind) for name, kind in OPTIONAL.items() if name in value):
        return False
    scores = [*value["rewards"].values(), *(value[name] for name in ROWS[:4] if name in value)]
    others = [value[name] for name in ROWS[4:] if name in value]
    others += [values for name in ("row_columns", "logged") for values in value.get(name, {}).values()]
    lists = scores + others
    return (
        all(isinstance(one, list) and len(one) == len(lists[0]) for one in lists)
        and all(isinstance(score, NUMBER) for one in scores for score in one)
        and all(isinstance(weight, NUMBER) for weight in value.get("weights", {}).values())
    )
