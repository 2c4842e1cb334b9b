"""Strict JSON, read in time linear in the text."""

import json
import math
from typing import Any


MAX_LEVELS = 500
"""Maximum nesting depth of lists and objects. It is fixed here because Python's own limit depends on the version."""


def read_json(text: str) -> Any:
    """Parse a text as strict JSON, which excludes NaN and duplicate names in an object."""
    value = json.loads(
        text, object_pairs_hook=reject_duplicates, parse_constant=parse_finite, parse_float=parse_finite
    )
    level = [value]
    for _ in range(MAX_LEVELS + 1):
        level = [one for one in level if isinstance(one, (dict, list))]
        if not level:
            return value
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
    raise RecursionError(f"more than {MAX_LEVELS} levels")


def reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; raise a `ValueError` if a name occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def parse_finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number is not finite")
    return number
