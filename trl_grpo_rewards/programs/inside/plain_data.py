"""Plain data as JSON without loss. Values that contain others stand in a table, so cycles and shared lists survive.

A value is written as a form: None, a bool, a text or a small integer as JSON has it, `{"int": ...}` and `{"float": ...}` for
other numbers, and `[place]` for everything that is described in the table. An entry of the table is `[kind, forms]`. Objects that can change
have a number as well: both sides keep them, and a message says what has changed since the last one; see [`sharing`].
"""

import datetime
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any


MAX_SMALL = 1 << 53
"""Integers below this are written as JSON numbers. Others are hexadecimal, which Python reads in linear time."""


MAX_ARRAY = 10_000
"""Largest size of an array that both sides share, in bytes. Each message looks whether it has changed."""


class CannotCross(Exception):
    """Raised when a value can neither be written as plain data nor be referred to."""


class Violation(Exception):
    """Raised when a message has a form that no honest process writes."""


def flatten_pairs(pairs: Any) -> "list[Any]":
    return [one for pair in dict.items(pairs) for one in pair]


def pair_up(items: "Sequence[Any]") -> "dict[Any, Any]":
    return dict(zip(items[::2], items[1::2]))


def fill_dict(found: Any, items: "list[Any]") -> None:
    found.clear()
    found.update(pair_up(items))


FACTORIES: "dict[str, Any]" = {kind.__name__: kind for kind in (list, int, dict, set, str, float, bool, tuple, deque)}


def list_default(found: Any) -> "list[Any]":
    name = getattr(found.default_factory, "__name__", "")
    return [name if FACTORIES.get(name) is found.default_factory else None, *flatten_pairs(found)]


def fill_default(found: Any, items: "list[Any]") -> None:
    found.default_factory = FACTORIES.get(items[0])
    fill_dict(found, items[1:])


def fill_list(found: Any, items: "list[Any]") -> None:
    found[:] = items


def fill_others(found: Any, items: "list[Any]") -> None:
    found.clear()
    (found.extend if isinstance(found, deque) else found.update)(items)


def list_array(array: Any) -> "list[Any]":
    """Return the contents of an array of numpy, or of one of its numbers, which has no dimensions."""
    return [sys.intern(array.dtype.str), sys.intern(array.tobytes().hex()), *array.shape]  # equal texts are one object


def make_array(kind: str, data: str, *shape: int) -> Any:
    numpy = sys.modules["numpy"]
    array = numpy.frombuffer(bytes.fromhex(data), numpy.dtype(kind)).reshape(shape)
    return array.copy() if shape else array[()]


def fill_array(found: Any, items: "list[Any]") -> None:
    array = make_array(*items)
    if array.shape == found.shape:
        found[...] = array


def list_record(record: Any) -> "list[Any]":
    """Return the name of the class of an object, and its attributes."""
    return [type(record).__name__, *flatten_pairs(vars(record))]


def fill_record(record: Any, items: "list[Any]") -> None:
    vars(record).clear()
    attributes = pair_up(items[1:]).items()
    refuse_methods(attributes)
    vars(record).update((name, one) for name, one in attributes if isinstance(name, str) and name[:2] != "__")


MUTABLE: "dict[str, Any]" = {
    "Counter": (Counter, flatten_pairs, fill_dict),
    "OrderedDict": (OrderedDict, flatten_pairs, fill_dict),
    "defaultdict": (defaultdict, list_default, fill_default),
    "dict": (dict, flatten_pairs, fill_dict),
    "list": (list, list.__iter__, fill_list),
    "deque": (deque, deque.__iter__, fill_others),
    "set": (set, set.__iter__, fill_others),
    "bytearray": (bytearray, bytearray.__iter__, fill_list),
    "array": ((), list_array, fill_array),
    "record": ((), list_record, fill_record),
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
    "items": (type({}.items()), lambda one: flatten_pairs(dict(one)), lambda *items: pair_up([*items]).items()),
    "mapping": (MappingProxyType, lambda one: flatten_pairs(dict(one)), lambda *items: pair_up([*items])),
    "Ellipsis": (type(...), lambda one: [], lambda: ...),
    "NotImplemented": (type(NotImplemented), lambda one: [], lambda: NotImplemented),
}
"""Kinds that are built from what they contain: the type, the contents, and the function that builds one from them."""


def make_named_tuple(name: str, count: int, *items: Any) -> Any:
    refuse_methods(zip(items, items[count:]))
    return namedtuple(name, items[:count])(*items[count:])


def list_named_tuple(value: Any) -> "list[Any]":
    return [type(value).__name__, len(value._fields), *value._fields, *tuple.__iter__(value)]


FIXED["ndarray"] = ((), list_array, make_array)
FIXED["namedtuple"] = ((), list_named_tuple, make_named_tuple)
FIXED["tuple"] = (tuple, tuple.__iter__, lambda *items: items)

KINDS = {kind: name for name, (kind, *_) in [*MUTABLE.items(), *FIXED.items()]}

PLAIN_METHODS = {name for kind in (str, int, float, *filter(None, KINDS)) for name in dir(kind) if name[0] != "_"}
"""Everything that a value has which crosses as plain data."""


def is_plain_method(name: str, value: Any) -> bool:
    """Return whether what an object has under a name could pass for a method of plain data."""
    array = getattr(sys.modules.get("numpy"), "ndarray", None)
    return callable(value) and (name in PLAIN_METHODS or name[:1] != "_" and hasattr(array, name))


def refuse_methods(attributes: Any) -> None:
    if any(is_plain_method(str(name), one) for name, one in attributes):
        raise Violation("data with a function in the place of a method")


def find_data_kind(value: Any) -> "str | None":
    """Return the kind of plain data that a value is, or None. An object of a subclass becomes the data that it holds."""
    if isinstance(value, tuple) and hasattr(type(value), "_fields"):
        return "namedtuple"
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes") and not value.dtype.hasobject:
        is_shared = value.shape and value.nbytes <= MAX_ARRAY and value.flags.writeable
        return "array" if is_shared else "ndarray"
    return KINDS.get(type(value)) or next((name for kind, name in KINDS.items() if isinstance(value, kind)), None)


class Writer:
    """Writes the values of one message. `refer` returns the entry of an object that crosses as a reference, or None."""

    def __init__(self, refer: "Callable[[Any, bool], Any]", shared: Any) -> None:
        self.refer, self.shared = refer, shared
        self.kept: list[Any] = []  # so that no other object gets the same id
        self.places: dict[int, int] = {}
        self.table: list[Any] = []
        self.added: list[int] = []

    def write(self, value: Any) -> Any:
        """Return the form of a value, whose contents are added to the table."""
        try:
            form = self.write_form(value)
            while len(self.table) < len(self.kept):
                self.table.append(self.describe(self.kept[len(self.table)]))
            return form
        except BaseException:
            self.take_back()
            raise

    def write_changes(self) -> "list[Any]":
        """Return what has changed in shared objects since the last message."""
        return [
            [number, [self.write(one) for one in contents]]
            for number, contents in self.shared.list_changed()
            if number not in self.added
        ]

    def take_back(self) -> None:
        """Share nothing of what was written, which will not be sent."""
        while self.added:
            self.shared.remove(self.added.pop())

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
        number = self.shared.find(value)
        if number is not None:
            return ["shared", [number]]
        found = find_data_kind(value)
        entry = self.refer(value, found is not None)
        if entry is None and found is None:
            raise CannotCross(f"an object of the class {type(value).__name__}")
        kind, *contents = entry or [found, *(MUTABLE.get(str(found)) or FIXED[str(found)])[1](value)]
        described = [kind, [self.write_form(one) for one in contents]]
        if kind in MUTABLE:
            self.added.append(self.shared.add(value, kind))
            described.append(self.added[-1])
        return described


class DataReader:
    """Reads the values of one message. `resolve` returns the object for a reference, `make_record` one of a class by name."""

    def __init__(self, table: "list[Any]", resolve: Any, shared: Any, make_record: Any) -> None:
        self.table, self.resolve, self.shared = table, resolve, shared
        self.values: list[Any] = [self] * len(table)  # itself: not read yet
        fillers, makers = [], {"record": lambda name, *items: make_record(name), "array": make_array}
        for place, (kind, items, *number) in enumerate(table):
            if number:
                self.values[place] = make(*items) if (make := makers.get(kind)) else MUTABLE[kind][0]()
                fillers.append((kind in ("defaultdict", "dict", "set", "Counter", "OrderedDict"), place, kind, items))
        for _, place, kind, items in sorted(fillers):  # what is hashed last
            MUTABLE[kind][2](self.values[place], [self.read(item) for item in items])
        for place, (kind, _, *number) in enumerate(table):
            if number:
                shared.add(self.values[place], kind, *number)

    def read(self, form: Any) -> Any:
        """Return the value of a form. What [`Writer`] does not write is an error of some class."""
        if isinstance(form, dict):
            ((kind, text),) = form.items()
            return int(text, 16) if kind == "int" else float.fromhex(text)
        if not isinstance(form, list):
            return form
        (place,) = form
        if self.values[place] is self:
            kind, items = self.table[place]
            self.values[place] = None  # an honest value does not contain itself here
            contents = [self.read(item) for item in items]
            if kind == "shared":
                self.values[place] = self.shared[contents[0]]
            else:
                self.values[place] = FIXED[kind][2](*contents) if kind in FIXED else self.resolve(kind, *contents)
        return self.values[place]
