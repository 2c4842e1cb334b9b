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
from fractions import Fraction
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
    from jsonschema.exceptions import UnknownType
    from referencing.exceptions import Unresolvable

    DEADLINE.set(time.thread_time() + SECONDS)
    try:
        return validator.is_valid(value)
    except (TimeoutError, RecursionError, OverflowError, Unresolvable, UnknownType):  # the last in draft 3
        return False


def validator(schema: dict[str, Any]) -> Any:
    """jsonschema's validator of a schema, with its slow parts replaced."""
    from jsonschema.validators import Draft202012Validator, extend, validator_for
    from referencing import Registry

    kind = validator_for(schema, default=Draft202012Validator)
    ours = {"pattern": pattern, "uniqueItems": different, "multipleOf": multiple, "divisibleBy": multiple}
    keywords = {name: in_time(ours.get(name, keyword)) for name, keyword in kind.VALIDATORS.items()}
    schema = {name: part for name, part in schema.items() if name != "$schema"}  # "#" would bring the slow ones back
    return extend(kind, keywords)(schema, registry=Registry())


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


def multiple(validator: Any, unit: float, instance: Any, schema: Any) -> Iterator:
    from jsonschema import ValidationError

    if validator.is_type(instance, "number") and (exact(instance) / exact(unit)).denominator != 1:
        yield ValidationError("the number is no multiple")


def exact(number: float) -> Fraction:
    """The number that is written: 1.15 as a float is another."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def hashed(value: Any) -> Any:
    """The value as one that is hashed, and equal where JSON's are: 1 is 1.0 and not true."""
    if isinstance(value, dict):
        return frozenset((name, hashed(item)) for name, item in value.items())
    return tuple(map(hashed, value)) if isinstance(value, list) else (value, isinstance(value, bool))


SCHEMAS = """additionalItems additionalProperties allOf anyOf contains disallow else extends if items not oneOf prefixItems
propertyNames then type unevaluatedItems unevaluatedProperties""".split()
"""Keywords under which a schema stands, or a list of some; `type` and `disallow` in draft 3."""

NAMED = ("$defs", "definitions", "dependencies", "dependentSchemas", "properties")
"""Keywords under which schemas stand by names of the user's."""


def fault(schema: dict[str, Any]) -> str | None:
    """What is wrong with a schema, or cannot be bounded in it, and what to do; None where nothing is."""
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    kind = validator_for(schema, default=None if "$schema" in schema else Draft202012Validator)
    if kind is None:
        return f"its '$schema' is {schema['$schema']!r}, which is no draft that jsonschema knows. Leave it out"
    if wrong := invalid(schema, kind):
        return wrong  # before anything is looked up in it
    root = Registry().resolver_with_root(Resource.from_contents(schema, default_specification=DRAFT202012))
    return next(filter(None, faults(schema, kind, root)), None)


def faults(schema: dict[str, Any], kind: Any, root: Any) -> Iterator[str | None]:
    """What is wrong with each part of a schema, and with what they refer to."""
    parts, seen = [schema], set()
    while parts:
        if id(part := parts.pop()) in seen:
            continue
        seen.add(id(part))
        yield unbounded(part)
        yield changed(part, kind) if part is not schema else None
        if "$ref" in part:
            found = referred(part["$ref"], root)
            if found is None:
                yield f"it refers to {part['$ref']!r}, which is no schema in it. Put that into '$defs'"
            yield invalid(found, kind)
            parts += [found] if isinstance(found, Mapping) else []
        parts += inner(part)


def invalid(schema: Any, kind: Any) -> str | None:
    from jsonschema import SchemaError

    try:
        kind.check_schema(schema)
    except SchemaError as error:
        return f"{error.message} at {error.json_path}. Correct it"
    return None


def unbounded(part: Mapping) -> str | None:
    if "patternProperties" in part:
        return "'patternProperties' cannot be checked in bounded time. Use 'propertyNames' with a 'pattern'"
    for name in ("$dynamicRef", "$recursiveRef"):
        if name in part:
            return f"it has {name!r}, whose target cannot be known beforehand. Use '$ref'"
    return None


def changed(part: Mapping, kind: Any) -> str | None:
    """What is wrong with a part within a schema that reads as another, with references or keywords of its own."""
    if "$schema" in part or kind.ID_OF(part):
        return "it has a '$schema' or an '$id' below its root. Leave that out, and refer by '#/$defs/...'"
    return None


def referred(name: Any, root: Any) -> Any:
    """The schema that a reference names; None where there is none."""
    from referencing.exceptions import Unresolvable

    try:
        found = root.lookup(name).contents
    except (Unresolvable, ValueError, TypeError, AttributeError):  # the last are of names that are no address
        return None
    return found if isinstance(found, (Mapping, bool)) else None


def inner(part: Mapping) -> Iterator[Mapping]:
    """The schemas directly in a schema; what stands in `const` or `default` is none, nor is the name of a property."""
    values = [part[name] for name in SCHEMAS if name in part]
    values += [one for name in NAMED if isinstance(part.get(name), Mapping) for one in part[name].values()]
    for value in values:
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Mapping))
