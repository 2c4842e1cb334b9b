"""Strict JSON and JSON Schema. Both take time linear in the text, and load nothing from outside it."""

import json
import math
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from jsonschema_rs import Validator

MAX_LEVELS = 500
"""Maximum nesting depth of lists and objects. It is fixed here because Python's own limit depends on the version."""


def read_json(text: str) -> Any:
    """
    Parse a text as strict JSON, which excludes NaN and duplicate names in an object.

    Raises:
        `ValueError`: the text is not strict JSON, or it has a number that is not finite.
        `RecursionError`: the text has more than [`MAX_LEVELS`] levels.
    """
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


def build_validator(schema: dict[str, Any]) -> "Validator":
    """
    Build the validator of a schema. Its regular expressions match in linear time.

    Raises:
        `ValueError`: the schema is not valid, or it refers to something outside itself.
    """
    import jsonschema_rs

    try:
        return jsonschema_rs.validator_for(
            schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True, validate_formats=False
        )
    except jsonschema_rs.ValidationError as error:
        place = "".join(f"[{step!r}]" for step in error.instance_path)
        raise ValueError(f"{error.message}{place and f', at {place}'}") from None


def is_valid(value: Any, validator: "Validator") -> bool:
    try:
        return bool(validator.is_valid(value))
    except UnicodeEncodeError:  # a lone surrogate, which is not valid text
        return False
