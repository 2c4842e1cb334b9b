"""JSON objects in completions and in the values of a dataset column."""

import json
import re
from typing import Any

from ..strict_json import read_json
from ..traits import Kind, Reading
from .solutions import list_solutions


FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)


def read_object(value: Any) -> dict[str, Any] | None:
    """Return the object that a column contains, or that a text is, alone or in a code fence."""
    if isinstance(value, str):
        text = value.strip()
        fenced = FENCE.fullmatch(text)
        try:
            value = read_json(fenced[1] if fenced else text)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def read_objects(values: list[Any]) -> list[Reading]:
    """Return how each value of the column `solution` is read."""
    readings = []
    for value in values:
        found = [read_object(one) for one in list_solutions(value)]
        kind: Kind = "not at all" if None in found else "any of several" if len(found) > 1 else "whole"
        readings.append(Reading(kind, " or ".join(json.dumps(one, sort_keys=True, default=str) for one in found)))
    return readings
