"""JSON and JSON Schema: strict, in time that grows with the text alone, and without a look outside."""

import json
import math
from typing import Any


LEVELS = 500
"""Lists and objects within one another; Python's own bound differs from version to version."""


def read_json(text: str) -> Any:
    """
    The value that a text is in strict JSON: no NaN, no name twice in an object.

    Raises:
        `ValueError`, `RecursionError`: the text is none, or holds a number or a depth that is not read.
    """
    value = json.loads(text, object_pairs_hook=once, parse_constant=finite, parse_float=finite)
    level = [value]
    for _ in range(LEVELS + 1):
        level = [one for one in level if isinstance(one, (dict, list))]
        if not level:
            return value
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
    raise RecursionError(f"more than {LEVELS} levels")


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number is not finite")
    return number


def validator(schema: dict[str, Any]) -> Any:
    """
    The validator of a schema, whose expressions take linear time.

    Raises:
        `ValueError`: it is no schema, or refers to what it does not hold.
    """
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(
            schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True, validate_formats=False
        )
    except jsonschema_rs.ValidationError as error:
        place = "".join(f"[{step!r}]" for step in error.instance_path)
        raise ValueError(f"{error.message}{place and f', at {place}'}") from None


def fits(value: Any, validator: Any) -> bool:
    try:
        return validator.is_valid(value)
    except UnicodeEncodeError:  # half a surrogate pair is no text
        return False
