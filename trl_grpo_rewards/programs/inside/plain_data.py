"""Plain data as JSON without loss. Values that contain others stand in a table, so cycles and shared lists survive.

A value is written as a form: None, a bool, a text or a small integer as JSON has it, `{"int": ...}` and `{"float": ...}` for
other numbers, and `[place]` for everything that is described in the table. An entry of the table is `[kind, forms]`.
"""

import datetime
import sys
from collections import Counter, OrderedDict, deque, namedtuple
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any


MAX_SMALL = 1 << 53
"""Integers below this are written as JSON numbers. Others are hexadecimal, which Python reads in linear time."""


class CannotCross(Exception):
    """Raised when a value can neither be written as plain data nor be referred to."""


class Violation(Exception):
    """Raised when a message has a form that no honest process writes."""


def flatten(pairs: Any) -> "list[Any]":
    return [one for pair in dict.items(pairs) for one in pair]


def pair_up(items: "list[Any]") -> "dict[Any, Any]":
    return dict(zip(items[::2], items[1::2]))


def fill_dict(found: Any, items: "list[Any]") -> None:
    found.clear()
    found.update(pair_up(items))


def fill_list(found: Any, items: "list[Any]") -> None:
    found[:] = items


def fill_others(found: Any, items: "list[Any]") -> None:
    found.clear()
    (found.extend if isinstance(found, deque) else found.update)(items)


MUTABLE: "dict[str, Any]" = {
    "Counter": (Counter, flatten, fill_dict),
    "OrderedDict": (OrderedDict, flatten, fill_dict),
    "dict": (dict, flatten, fill_dict),
    "list": (list, list.__iter__, fill_list),
    "deque": (deque, deque.__iter__, fill_others),
    "set": (set, set.__iter__, fill_others),
    "bytearray": (bytearray, bytearray.__iter__, fill_list),
}
"""Kinds that are made empty and filled later: the type, what it contains, and how an object is filled."""

FIXED: "dict[str, Any]" = {
    "frozenset": (frozenset, frozenset.__iter__, lambda *items: frozenset(items)),
    "bytes": (bytes, lambda one: [bytes.hex(one)], bytes.fromhex),
    "complex": (complex, lambda one: [one.real, one.imag], complex),
    "range": (range, lambda one: [one.start, one.stop, one.step], range),
    "slice": (slice, lambda one: [one.start, one.stop, one.step], slice),
    "Fraction": (Fraction, lambda one: [one.numerator, one.denominator], Fraction),
    "Decimal": (Decimal, lambda one: [str(one)], Decimal),
    "timedelta": (datetime.timedelta, lambda one: [one.days, one.seconds, one.microseconds], datetime.timedelta),
    "timezone": (datetime.timezone, lambda one: [one.utcoffset(None)], datetime.timezone),
    "datetime": (
        datetime.datetime,
        lambda one: [*one.timetuple()[:6], one.microsecond, one.tzinfo],
        datetime.datetime,
    ),
    "date": (datetime.date, lambda one: one.timetuple()[:3], datetime.date),
    "time": (
        datetime.time,
        lambda one: [one.hour, one.minute, one.second, one.microsecond, one.tzinfo],
        datetime.time,
    ),
    "path": (PurePosixPath, lambda one: [str(one)], PurePosixPath),
    "keys": (type({}.keys()), list, lambda *items: dict.fromkeys(items).keys()),
    "values": (type({}.values()), list, lambda *items: dict(enumerate(items)).values()),
    "items": (type({}.items()), lambda one: flatten(dict(one)), lambda *items: pair_up([*items]).items()),
    "mapping": (MappingProxyType, lambda one: flatten(dict(one)), lambda *items: pair_up([*items])),
    "Ellipsis": (type(...), lambda one: [], lambda: ...),
    "NotImplemented": (type(NotImplemented), lambda one: [], lambda: NotImplemented),
}
"""Kinds that are built from what they contain: the type, the contents, and the function that builds one from them."""


def make_named_tuple(name: str, count: int, *items: Any) -> Any:
    return namedtuple(name, items[:count])(*items[count:])


def list_array(array: Any) -> "list[Any]":
    """Return the contents of an array of numpy, or of one of its numbers, which has no dimensions."""
    return [array.dtype.str, array.tobytes().hex(), *array.shape]


def make_array(kind: str, data: str, *shape: int) -> Any:
    numpy = sys.modules["numpy"]
    array = numpy.frombuffer(bytes.fromhex(data), numpy.dtype(kind)).reshape(shape)
    return array.copy() if shape else array[()]


FIXED["ndarray"] = ((), list_array, make_array)
FIXED["namedtuple"] = (
    (),
    lambda one: [type(one).__name__, len(one._fields), *one._fields, *tuple.__iter__(one)],
    make_named_tuple,
)
FIXED["tuple"] = (tuple, tuple.__iter__, lambda *items: items)


KINDS = {kind: name for name, (kind, *_) in [*MUTABLE.items(), *FIXED.items()]}


def find_kind(value: Any) -> "str | None":
    """Return the kind of plain data that a value is, or None. An object of a subclass becomes the data that it holds."""
    if isinstance(value, tuple) and hasattr(type(value), "_fields"):
        return "namedtuple"
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes") and not value.dtype.hasobject:
        return "ndarray"
    return KINDS.get(type(value)) or next((name for kind, name in KINDS.items() if isinstance(value, kind)), None)


class Writer:
    """
    Writes the values of one message.

    Args:
        refer (`Callable`):
            Gets an object and whether it is plain data. Returns the entry for an object that crosses as a reference, or
            None for plain data that crosses by value.
        known (`list`, *optional*):
            Objects at the first places of the table, which the other side has as well.
    """

    def __init__(self, refer: "Callable[[Any, bool], Any]", known: "list[Any]" = ()) -> None:  # type: ignore[assignment]
        self.refer, self.first = refer, len(known)
        self.kept: list[Any] = [*known]  # so that no other object gets the same id
        self.places = {id(one): place for place, one in enumerate(known)}
        self.table: list[Any] = []

    def write(self, value: Any) -> Any:
        """Return the form of a value, whose contents are added to the table."""
        form, done = self.write_form(value), len(self.table)
        while done < len(self.kept) - self.first:
            self.table.append(self.describe(self.kept[self.first + done]))
            done += 1
        return form

    def write_form(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if isinstance(value, int) and (kind is int or not self.is_reference(value)):
            number = int.__index__(value)
            return number if -MAX_SMALL < number < MAX_SMALL else {"int": format(number, "x")}
        if isinstance(value, float) and (kind is float or not self.is_reference(value)):
            return {"float": float.hex(value)}
        if isinstance(value, str) and not self.is_reference(value):
            return str.__str__(value)
        if id(value) not in self.places:
            self.places[id(value)] = len(self.kept)
            self.kept.append(value)
        return [self.places[id(value)]]

    def is_reference(self, value: Any) -> bool:
        return self.refer(value, True) is not None

    def describe(self, value: Any) -> "list[Any]":
        kind = find_kind(value)
        entry = self.refer(value, kind is not None)
        if entry is not None:
            return [entry[0], [self.write_form(one) for one in entry[1:]]]
        if kind is None:
            raise CannotCross(f"an object of the class {type(value).__name__}")
        contents = (MUTABLE.get(kind) or FIXED[kind])[1](value)
        return [kind, [self.write_form(one) for one in contents]]


class Reader:
    """
    Reads the values of one message.

    Args:
        table (`list`):
            The entries after those of `known`.
        resolve (`Callable`):
            Returns the object for an entry that is a reference: its kind, and what it contains.
        known (`list`, *optional*):
            Objects at the first places of the table.
        empty (`Callable`, *optional*):
            Returns an empty object and the function that fills it for an entry of a kind of its own, or None.
    """

    def __init__(self, table: "list[Any]", resolve: Any, known: "list[Any]" = (), empty: Any = None) -> None:  # type: ignore[assignment]
        self.resolve = resolve
        self.values: list[Any] = [*known, *[self] * len(table)]  # itself: not read yet
        self.entries = [None] * len(known) + table
        fillers = []
        for place, (kind, items) in enumerate(table, len(known)):
            made = (MUTABLE[kind][0](), MUTABLE[kind][2]) if kind in MUTABLE else empty and empty(kind, items)
            if made:
                self.values[place] = made[0]
                fillers.append((kind in ("dict", "set", "Counter", "OrderedDict"), *made, items))
        for *_, found, fill, items in sorted(fillers, key=lambda one: one[0]):  # what is hashed last
            fill(found, [self.read(item) for item in items])

    def read(self, form: Any) -> Any:
        """
        Return the value of a form.

        Raises:
            [`Violation`]: the form or an entry that it needs is not one that [`Writer`] writes.
        """
        if isinstance(form, dict):
            ((kind, text),) = form.items()
            return int(text, 16) if kind == "int" else float.fromhex(text)
        if not isinstance(form, list):
            return form
        (place,) = form
        if self.values[place] is self:
            kind, items = self.entries[place]
            self.values[place] = None  # an honest value does not contain itself here
            contents = [self.read(item) for item in items]
            self.values[place] = FIXED[kind][2](*contents) if kind in FIXED else self.resolve(kind, *contents)
        return self.values[place]
