"""JSON objects in completions and in the values of a dataset column."""

import json
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from ..texts import read_json
from ..traits import Kind, Reading
from .solutions import list_solutions


FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)


def read_object(value: Any) -> dict[str, Any] | None:
    """Return the object that a column contains, or that a text is, alone or in a code fence."""
    try:
        if isinstance(value, Mapping):  # with what libraries that read tables make of texts and numbers
            value = json.dumps(value, default=write_plainly)
        fenced = FENCE.fullmatch(text := value.strip())
        found = read_json(fenced[1] if fenced else text)
    except (AttributeError, TypeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def write_plainly(value: Any) -> Any:
    """Return what JSON can hold of a date, a decimal number, or a value or an array of numpy."""
    if isinstance(value, date):  # pyarrow reads texts that look like dates
        return value.isoformat().removesuffix("T00:00:00")
    return float(value) if isinstance(value, Decimal) else value.tolist()


def read_objects(values: list[Any]) -> list[Reading]:
    readings = []
    for value in values:
        found = [read_object(one) for one in list_solutions(value)]
        kind: Kind = "not at all" if None in found else "any of several" if len(found) > 1 else "whole"
        readings.append(Reading(kind, " or ".join(json.dumps(one, sort_keys=True) for one in found)))
    return readings
