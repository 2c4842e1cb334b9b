"""Plain data as JSON without loss, and the objects that can change and that both sides have."""

import array
import copyreg
import datetime
import functools
import operator
import sys
import uuid
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque, namedtuple
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType, SimpleNamespace
from typing import Any


MAX_SMALL = 1 << 53  # larger integers are hexadecimal, which Python reads in linear time
MAX_ARRAY = 10_000  # bytes of an array that both sides share: each message looks whether it has changed
# What is shared at most: beyond it, both sides stop sharing the oldest objects.
MAX_SHARED_OBJECTS = 1_000
MAX_SHARED_ITEMS = 20_000


class CannotCross(Exception):
    """Raised when a value can neither be written as plain data nor be referred to."""


class Violation(Exception):
    """Raised when a message has a form that no honest process writes."""


def make_empty(kind: Any) -> Any:
    """Return an object of a class without a call of its `__init__`."""
    return (kind if kind in ATTRIBUTED else object).__new__(kind)


def flatten_pairs(pairs: Any) -> "list[Any]":
    return [one for pair in dict.items(pairs) for one in pair]


def pair_up(items: "Sequence[Any]") -> "dict[Any, Any]":
    return dict(zip(items[::2], items[1::2]))


FACTORIES: "dict[str, Any]" = {kind.__name__: kind for kind in (list, int, dict, set, str, float, bool, tuple, deque)}


# Classes of the library whose objects are what their attributes are, so that they cross as records do.
ATTRIBUTED = (SimpleNamespace, UserDict, UserList, UserString, ChainMap)


def list_default(found: Any) -> "list[Any]":
    name = getattr(found.default_factory, "__name__", "")
    is_known = FACTORIES.get(name) is found.default_factory
    return [name if is_known else found.default_factory, *flatten_pairs(found)]


def list_array(numbers: Any) -> "list[Any]":
    """Return the contents of an array of numpy, or of one of its numbers, which has no dimensions."""
    # equal texts are one object
    return [sys.intern(numbers.dtype.str), sys.intern(numbers.tobytes().hex()), *numbers.shape]


def make_array(kind: str, data: str, *shape: int) -> Any:
    numpy = sys.modules["numpy"]
    numbers = numpy.frombuffer(bytes.fromhex(data), numpy.dtype(kind)).reshape(shape)
    return numbers.copy() if shape else numbers[()]


def list_record(record: Any) -> "list[Any]":
    return [type(record).__name__, *flatten_pairs(vars(record))]


MUTABLE: "dict[str, Any]" = {  # kinds that are made empty and filled later: the type, and what it contains
    "Counter": (Counter, flatten_pairs),
    "OrderedDict": (OrderedDict, flatten_pairs),
    "defaultdict": (defaultdict, list_default),
    "dict": (dict, flatten_pairs),
    "list": (list, list.__iter__),
    "deque": (deque, lambda one: [one.maxlen, *deque.__iter__(one)]),
    "numbers": (array.array, lambda one: [one.typecode, *one]),
    "set": (set, set.__iter__),
    "bytearray": (bytearray, bytearray.__iter__),
    "array": ((), list_array),
    "record": ((), list_record),
}


MAKERS: "dict[str, Any]" = {  # of kinds that are not made empty
    "array": make_array,
    "deque": lambda length, *items: deque(maxlen=length),
    "numbers": lambda code, *items: array.array(code),
}


def fill(kind: str, found: Any, items: "list[Any]") -> None:
    """Let an object that can change contain other things."""
    if kind == "array":
        numbers = make_array(*items)
        if numbers.shape == found.shape:
            found[...] = numbers
    elif kind == "record":
        vars(found).clear()
        attributes = pair_up(items[1:])
        refuse_methods(attributes.items())
        vars(found).update(
            (name, one) for name, one in attributes.items() if isinstance(name, str) and name[:2] != "__"
        )
    elif kind == "numbers":
        found[:] = array.array(items[0], items[1:])
    elif kind in ("list", "bytearray"):
        found[:] = items
    elif kind == "deque":
        found.clear()
        found.extend(items[1:])
    else:
        if kind == "defaultdict":
            factory, *items = items
            found.default_factory = FACTORIES.get(factory) if isinstance(factory, str) else factory
        found.clear()
        found.update(items if kind == "set" else pair_up(items))


def list_arguments(kind: Any, value: Any) -> "Sequence[Any]":
    """Return what the constructor of a kind gets to build a value again."""
    function, arguments, *_ = kind.__reduce_ex__(value, 2)
    return [*arguments][function is vars(copyreg)["__newobj__"] :]


def make_named_tuple(name: str, count: int, *items: Any) -> Any:
    refuse_methods(zip(items, items[count:]))
    return namedtuple(name, items[:count])(*items[count:])


def list_named_tuple(value: Any) -> "list[Any]":
    return [type(value).__name__, len(value._fields), *value._fields, *tuple.__iter__(value)]


BUILT: "tuple[Any, ...]" = (complex, range, slice, Fraction, Decimal, PurePosixPath)
BUILT += (datetime.timedelta, datetime.timezone, datetime.datetime, datetime.date, datetime.time)

# Kinds that are built from what they contain: the type, the contents, and the function that builds one from them.
FIXED: "dict[str, Any]" = {
    "frozenset": (frozenset, frozenset.__iter__, lambda *items: frozenset(items)),
    "bytes": (bytes, lambda one: [bytes.hex(one)], bytes.fromhex),
    "memoryview": (memoryview, lambda one: [one.hex()], lambda text: memoryview(bytes.fromhex(text))),
    "UUID": (uuid.UUID, lambda one: [one.hex], uuid.UUID),
    **{kind.__name__: (kind, functools.partial(list_arguments, kind), kind) for kind in BUILT},
    "keys": (type({}.keys()), list, lambda *items: dict.fromkeys(items).keys()),
    "values": (type({}.values()), list, lambda *items: dict(enumerate(items)).values()),
    "items": (type({}.items()), lambda one: flatten_pairs(dict(one)), lambda *items: pair_up(items).items()),
    "mapping": (MappingProxyType, lambda one: flatten_pairs(dict(one)), lambda *items: pair_up(items)),
    "Ellipsis": (type(...), lambda one: [], lambda: ...),
    "NotImplemented": (type(NotImplemented), lambda one: [], lambda: NotImplemented),
    "ndarray": ((), list_array, make_array),
    "namedtuple": ((), list_named_tuple, make_named_tuple),
    "tuple": (tuple, tuple.__iter__, lambda *items: items),
    "int": (int, lambda one: [int.__index__(one)], operator.index),
    "float": (float, lambda one: [float.__float__(one)], float.__float__),
    "str": (str, lambda one: [str.__str__(one)], str.__str__),
}

# Kinds that keep the class of the program that derives from them: the data cross, and the class is asked for the rest.
EXTENDED = {*"int float str bytes tuple namedtuple frozenset list dict set Counter OrderedDict".split()}

DATA_KINDS = {kind: name for name, (kind, *_) in [*MUTABLE.items(), *FIXED.items()]}
# Everything that a value has which crosses as plain data.
PLAIN_METHODS = {name for kind in (str, int, float, *filter(None, DATA_KINDS)) for name in dir(kind) if name[0] != "_"}


def is_plain_method(name: str, value: Any) -> bool:
    """Return whether what an object has under a name could pass for a method of plain data."""
    numbers = getattr(sys.modules.get("numpy"), "ndarray", None)
    return callable(value) and (name in PLAIN_METHODS or name[:1] != "_" and hasattr(numbers, name))


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
    return DATA_KINDS.get(type(value)) or next(
        (name for kind, name in DATA_KINDS.items() if isinstance(value, kind)), None
    )


# References to an object that nobody has but what lists it.
UNHELD = [sys.getrefcount(entry[0]) for entry in [[object()]]][0]


class SharedObjects:
    """The shared objects of one side, whose own numbers are even or odd, as the first one is."""

    def __init__(self, first: int) -> None:
        self.next = first
        self.items = 0
        self.has_forgotten = False
        self.entries: OrderedDict[int, list[Any]] = OrderedDict()
        self.numbers: dict[int, int] = {}

    def add(self, value: Any, kind: str, number: "int | None" = None, is_listed: bool = False) -> int:
        """Share an object, which may also have a number of its class. Its own is new, or what the other side has given it."""
        if number is None:
            number = self.next
            self.next += 2
        if type(number) is not int or number in self.entries:
            raise Violation("a number that is taken")
        contents = [*MUTABLE[kind][1](value)]
        self.entries[number] = [value, kind, contents, len(contents), UNHELD + is_listed]
        self.numbers[id(value)] = number
        self.items += len(contents)
        return number

    def remove(self, number: int) -> None:
        value, _, _, size, _ = self.entries.pop(number)
        self.numbers.pop(id(value), None)
        self.items -= size

    def forget_oldest(self) -> None:
        """Stop sharing the oldest objects where there are many. Both sides call this before each request."""
        while len(self.entries) > MAX_SHARED_OBJECTS or self.items > MAX_SHARED_ITEMS:
            self.remove(next(iter(self.entries)))
            self.has_forgotten = True

    def release(self) -> "list[int]":
        """Stop sharing the objects that nobody on this side has any more, and return their numbers for the other side."""
        released = [number for number, entry in self.entries.items() if sys.getrefcount(entry[0]) <= entry[4]]
        for number in released:
            self.remove(number)
        return released

    def list_changed(self) -> "list[tuple[int, list[Any]]]":
        """Return the numbers and the contents of the objects that have changed since this was asked."""
        changed = []
        for number, entry in self.entries.items():
            contents = [*MUTABLE[entry[1]][1](entry[0])]
            if len(contents) != len(entry[2]) or not all(map(operator.is_, contents, entry[2])):
                entry[2] = contents
                changed.append((number, contents))
        return changed

    def apply(self, number: int, contents: "list[Any]") -> None:
        value, kind, *_ = entry = self.entries[number]
        fill(kind, value, contents)
        entry[2] = [*MUTABLE[kind][1](value)]


class Writer:
    """Writes the values of one message of a [`dialogue.Peer`], which says how objects of its side cross."""

    def __init__(self, peer: Any) -> None:
        self.refer = peer.refer
        self.extend = peer.extend
        self.shared = peer.shared
        self.kept: list[Any] = []  # so that no other object gets the same id
        self.places: dict[int, int] = {}
        self.table: list[Any] = []
        self.added: list[int] = []

    def write(self, value: Any) -> Any:
        """Return the form of a value, whose contents are added to the table. What cannot cross leaves nothing shared."""
        try:
            form = self.write_form(value)
            while len(self.table) < len(self.kept):
                self.table.append(self.describe(self.kept[len(self.table)]))
            return form
        except BaseException:
            while self.added:
                self.shared.remove(self.added.pop())
            raise

    def write_changes(self) -> "list[Any]":
        return [
            [number, [self.write(one) for one in contents]]
            for number, contents in self.shared.list_changed()
            if number not in self.added
        ]

    def is_plain(self, value: Any) -> bool:
        return self.extend(value) is None and self.refer(value, True) is None

    def write_form(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind in (int, float) or isinstance(value, (int, float, str)) and self.is_plain(value):
            if isinstance(value, str):
                return str.__str__(value)
            if isinstance(value, float):
                return {"float": float.hex(value)}
            number = int.__index__(value)
            return number if -MAX_SMALL < number < MAX_SMALL else {"int": format(number, "x")}
        if id(value) not in self.places:
            self.places[id(value)] = len(self.kept)
            self.kept.append(value)
        return [self.places[id(value)]]

    def describe(self, value: Any) -> "list[Any]":
        number = self.shared.numbers.get(id(value))
        if number is not None:
            return ["shared", [number]]
        found = find_data_kind(value)
        entry = self.refer(value, found is not None)
        if entry is None and found is None:
            raise CannotCross(f"an object of the class {type(value).__name__}")
        extended = None if entry else self.extend(value)
        found = "tuple" if extended and found == "namedtuple" else found  # its class is asked for the names
        kind, *contents = entry or [found, *(MUTABLE.get(str(found)) or FIXED[str(found)])[1](value)]
        if extended and kind not in MUTABLE:
            contents = [*extended, kind, *contents]
            kind = "extended"
        described = [kind, [self.write_form(one) for one in contents]]
        if kind in MUTABLE:
            self.added.append(self.shared.add(value, kind, is_listed=bool(extended)))
            described.append(self.added[-1])
            described += [[self.write_form(one) for one in extended]] if extended else []
        return described


class DataReader:
    def __init__(self, table: "list[Any]", peer: Any) -> None:
        self.table = table
        self.resolve = peer.resolve
        self.shared = peer.shared
        self.values: list[Any] = [self] * len(table)  # itself: not read yet
        makers = {**MAKERS, "record": lambda name, *items: peer.make_record(name)}
        fillers = []
        for place, (kind, items, *number) in enumerate(table):
            if number[1:]:
                self.values[place] = peer.make_extended(*map(self.read, number[1]), kind)
            elif number:
                self.values[place] = make(*items) if (make := makers.get(kind)) else MUTABLE[kind][0]()
            if number:
                fillers.append((kind in ("defaultdict", "dict", "set", "Counter", "OrderedDict"), place, kind, items))
        for _, place, kind, items in sorted(fillers):  # what is hashed last
            fill(kind, self.values[place], [self.read(item) for item in items])
        for place, (kind, _, *number) in enumerate(table):
            if number:
                self.shared.add(self.values[place], kind, number[0], bool(number[1:]))

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
                self.values[place] = self.shared.entries[contents[0]][0]
            else:
                self.values[place] = FIXED[kind][2](*contents) if kind in FIXED else self.resolve(kind, *contents)
        return self.values[place]
