"""
JSON and JSON Schema within bounds: whatever a text is, reading it ends soon and stays on this machine.

[jsonschema](https://python-jsonschema.readthedocs.io) does the work, less what a text could make slow: expressions run
under a timeout, items are compared by hash, and all ends at a deadline: references can take exponential time.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from .expressions import occurs


SECONDS = 1.0
"""Time of computing for one text."""

DEADLINE: ContextVar[float] = ContextVar("DEADLINE")


def read_json(text: str) -> Any:
    """
    The value that a text is in strict JSON: no NaN, no name twice in an object.

    Raises:
        `ValueError`, `RecursionError`: the text is none, or holds a number or a depth that Python cannot read.
    """
    return json.loads(text, object_pairs_hook=once, parse_constant=finite, parse_float=finite)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number is not finite")
    return number


def fits(value: Any, validator: Any) -> bool:
    """Whether a value is valid; one that cannot be checked in time, or is nested too deep to be checked, is not."""
    DEADLINE.set(time.thread_time() + SECONDS)
    try:
        return validator.is_valid(value)
    except (TimeoutError, RecursionError, OverflowError):
        return False


def validator(schema: dict[str, Any]) -> Any:
    """jsonschema's validator of a schema, with its slow parts replaced."""
    from jsonschema.validators import Draft202012Validator, extend, validator_for
    from referencing import Registry

    kind = validator_for(schema, default=Draft202012Validator)
    keywords = {**kind.VALIDATORS, "pattern": pattern, "uniqueItems": different}
    return extend(kind, {name: in_time(keywords[name]) for name in keywords})(schema, registry=Registry())


def time_left() -> float:
    left = DEADLINE.get() - time.thread_time()
    if left <= 0:
        raise TimeoutError
    return left


def in_time(keyword: Callable) -> Callable:
    def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        time_left()
        return keyword(validator, value, instance, schema)

    return checked


def pattern(validator: Any, expression: str, instance: Any, schema: Any) -> Iterator:
    from jsonschema import ValidationError

    if validator.is_type(instance, "string") and not occurs(expression, instance, time_left()):
        yield ValidationError("the expression does not match")


def different(validator: Any, wanted: bool, instance: Any, schema: Any) -> Iterator:
    from jsonschema import ValidationError

    if wanted and validator.is_type(instance, "array") and len({*map(hashed, instance)}) < len(instance):
        yield ValidationError("items are equal")


def hashed(value: Any) -> Any:
    """The value as one that is hashed, and equal where JSON's are: 1 is 1.0 and not true."""
    if isinstance(value, dict):
        return frozenset((name, hashed(item)) for name, item in value.items())
    return tuple(map(hashed, value)) if isinstance(value, list) else (value, isinstance(value, bool))


def fault(schema: dict[str, Any]) -> str | None:
    """What is wrong with a schema, or cannot be bounded in it, and what to do; None where nothing is."""
    from jsonschema import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    kind = validator_for(schema, default=None if "$schema" in schema else Draft202012Validator)
    if kind is None:
        return f"its '$schema' is {schema['$schema']!r}, which is no draft that jsonschema knows. Leave it out"
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        return f"{error.message} at {error.json_path}. Correct it"
    root = Registry().resolver_with_root(Resource.from_contents(schema, default_specification=DRAFT202012))
    for name, value in entries(schema):
        if name == "patternProperties":
            return "'patternProperties' cannot be checked in bounded time. Use 'propertyNames' with a 'pattern'"
        if name == "$ref" and isinstance(value, str):
            try:
                found = root.lookup(value) if value.startswith("#") else None
            except Unresolvable:
                found = None
            if found is None:
                return f"it refers to {value!r}, which is not in it. Put that into '$defs'"
    return None


def entries(schema: Any) -> Iterator[tuple[str, Any]]:
    """All names in a schema and what stands under them."""
    if isinstance(schema, Mapping):
        yield from schema.items()
    for part in schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ():
        yield from entries(part)
