"""The process of the program: it loads the program, and does to its objects what the tests ask for."""

import asyncio
import builtins
import contextlib
import enum
import functools
import importlib
import inspect
import io
import operator
import os
import sys
from types import FunctionType, ModuleType
from typing import Any

from .dialogue import GIVEN, STREAMS, Ended, Peer, find_error_name, find_origin
from .plain_data import (
    ATTRIBUTED,
    DATA_KINDS,
    EXTENDED,
    find_data_kind,
    flatten_pairs,
    is_plain_method,
    list_record,
    make_empty,
    pair_up,
)
from .program import lift_limits, load_program


def name_specials(names: str) -> "list[str]":
    return [f"__{name}__" for name in names.split()]


BINARY = name_specials(  # special methods that take a second value, which could be what a test expects
    "eq ne lt le gt ge add sub mul truediv floordiv mod pow matmul and or xor lshift rshift "
    "radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul rand ror rxor "
    "iadd isub imul itruediv ifloordiv imod iand ior ixor divmod rdivmod contains"
)

OTHERS = name_specials(  # special methods that take no such value
    "len getitem setitem delitem iter next bool str repr hash int float index abs neg pos invert round call enter exit "
    "reversed format complex aiter anext aenter aexit class_getitem"
)

MOMENT = 0.05  # seconds for which the tests let an awaitable go on before they look whether they still wait for it
ATTRIBUTED_NAMES = {one.__name__ for one in ATTRIBUTED}
UNSPELLED = {"call", "enter", "exit", "aiter", "anext", "aenter", "aexit"}  # no operator stands for them


class Theirs:
    """An object of the tests: a function that the program may call, or an iterator."""

    def __init__(self, peer: "ProgramSide", number: int, name: str = "") -> None:
        self._peer = peer
        self._number = number
        self.__name__ = name
        self.__qualname__ = name


class TheirFunction(Theirs):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._peer.request("call", self, len(args), *args, *flatten_pairs(kwargs))


class TheirIterator(Theirs):
    def __iter__(self) -> "TheirIterator":
        return self

    def __next__(self) -> Any:
        return self._peer.request("next", self)


class TheirInput(io.TextIOBase):
    """Standard input, which the tests may have replaced."""

    def __init__(self, peer: "ProgramSide") -> None:
        self.peer = peer

    def readline(self, size: Any = -1) -> str:  # type: ignore[override]
        line: str = self.peer.request("readline")
        return line

    def read(self, size: Any = -1) -> str:
        return "".join(iter(self.readline, ""))


class ProgramSide(Peer):
    def __init__(self, source: str) -> None:
        super().__init__(1)
        self.source = source
        self.made: set[int] = set()  # what classes made, by their ids
        self.loop: Any = None
        self.tasks: dict[int, Any] = {}  # of awaitables that have begun, by their ids
        self.streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for name in STREAMS}

    def refer(self, value: Any, is_plain: bool) -> "list[Any] | None":  # noqa: C901, PLR0912 - a case for each kind of value
        if isinstance(value, Theirs):
            return ["yours", value._number]
        if is_plain and id(value) not in self.made:
            return None
        if isinstance(value, type):
            return self.refer_class(value)
        if isinstance(value, BaseException):
            return self.refer_error(value)
        if self.is_record(value):
            return ["record", *list_record(value)]
        if isinstance(value, ModuleType):
            return ["module", self.register(value), value.__name__]
        if inspect.isawaitable(value):
            return ["awaitable", self.register(value)]
        if hasattr(value, "__next__") and type(value).__module__ != GIVEN:
            return ["iterator", self.register(value)]
        if isinstance(value, (FunctionType, functools.partial)) or inspect.isroutine(value):
            names = getattr(value, "__name__", ""), find_origin(value), type(value).__name__
            return ["function", self.register(value), *names]
        return ["object", self.register(value), type(value)]

    def refer_error(self, error: BaseException) -> "list[Any]":
        kind = type(error)
        is_alias = issubclass(AssertionError, kind) and id(kind) in self.numbers  # another name for `Exception`
        if kind.__module__ != builtins.__name__ or is_alias:
            return ["failure", self.register(error), kind, error.__cause__, *error.args]
        arguments = error.__reduce__()[1]  # with the name of a file
        added = (*flatten_pairs(vars(error)),) or None
        return ["error", find_error_name(type(error)), error.__cause__, added, *tuple(arguments)]

    def is_record(self, value: Any) -> bool:
        if type(value) in ATTRIBUTED:
            return not any(is_plain_method(*pair) for pair in vars(value).items())
        return type(value).__name__ in {*self.records} - ATTRIBUTED_NAMES and hasattr(value, "__dict__")

    def extend(self, value: Any) -> "list[Any] | None":
        kind = type(value)
        is_extended = kind not in DATA_KINDS and kind.__module__ != "numpy" and find_data_kind(value) in EXTENDED
        return [self.register(value), kind] if is_extended else None

    def refer_class(self, value: type) -> "list[Any]":
        is_error = issubclass(value, BaseException)
        namespaces = [vars(kind) for kind in value.__mro__ if kind is not object]
        names = (name for name in BINARY + OTHERS if any(name in namespace for namespace in namespaces))
        bases = [base for base in value.__bases__ if base is not object and not find_origin(base)]
        error = find_error_name(value) if is_error else None
        return ["class", self.register(value), value.__name__, find_origin(value), error, tuple(names), *bases]

    def resolve(self, kind: str, *contents: Any) -> Any:
        if kind == "import":
            return functools.reduce(getattr, contents[1].split("."), importlib.import_module(contents[0]))
        return super().resolve(kind, *contents)

    def make_stand_in(self, kind: str, *contents: Any) -> Any:
        return (TheirFunction if kind == "function" else TheirIterator)(self, *contents)

    def make_record(self, name: str) -> Any:
        defined = vars(sys.modules[GIVEN]).get(name)
        if isinstance(defined, type):
            self.records[name] = defined
        return make_empty(self.records.setdefault(name, type(name, (), {})))

    def send(self, message: "dict[str, Any]") -> None:
        for name, stream in self.streams.items():
            if stream.buffer.tell():
                message = {**message, name: stream.buffer.getvalue().decode(errors="replace")}
                stream.seek(0)
                stream.truncate()
        super().send(message)

    def load(self, *names: str) -> "tuple[ModuleType, dict[str, Any]]":
        """Run the program as a module, so that its main guard is closed. Return it and its objects with these names."""
        module = load_program(self.source, GIVEN, "usual")
        scope = vars(module)
        return module, {name: scope[name] for name in names if name in scope}

    def call(self, target: Any, is_made: bool, count: int, *given: Any) -> Any:
        """Call an object. What a class makes stays here, also if it is a list or a number of a class of its own."""
        value = target(*given[:count], **pair_up(given[count:]))
        is_data = isinstance(value, enum.Enum) or type(value) in DATA_KINDS or find_data_kind(value) == "namedtuple"
        if is_made and not is_data and not find_origin(type(value)):
            self.register(value)
            self.made.add(id(value))
        return value

    def call_special(self, name: str, value: Any, *args: Any) -> Any:
        """Apply a special method as Python does: by the function or the operator that stands for it."""
        plain = name.strip("_")
        if plain in UNSPELLED or name in BINARY and plain != "contains":
            return getattr(type(value), name)(value, *args)
        return (getattr(operator, plain, None) or getattr(builtins, plain))(value, *args)

    def take(self, iterator: Any, count: int, how: str, given: Any) -> "tuple[Any, ...]":
        """Return the next items, and the error that ended them. Before that, do what the tests did to a generator."""
        items: list[Any] = []
        try:
            if how == "close":
                getattr(iterator, "close", lambda: None)()
                raise StopIteration
            if how:
                items.append(getattr(iterator, how)(given))
            while len(items) < count:
                items.append(next(iterator))
        except BaseException as error:
            return (error, *items)
        return (None, *items)

    def wait(self, awaitable: Any) -> "tuple[Any, ...]":
        """Let an awaitable go on for a moment. Return its value, or nothing if it has none yet."""
        self.loop = self.loop or asyncio.new_event_loop()
        task = self.tasks.pop(id(awaitable), None) or asyncio.ensure_future(awaitable, loop=self.loop)
        self.loop.run_until_complete(asyncio.wait([task], timeout=MOMENT))
        if task.done():
            return (task.result(),)
        self.tasks[id(awaitable)] = task
        return ()

    def mirror(self, module: str, name: str, *args: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args)

    operations = {  # everything that the tests may ask for
        "load": load,
        "call": call,
        "special": call_special,
        "get": lambda self, *given: getattr(*given),
        "set": lambda self, *given: setattr(*given),
        "delete": lambda self, *given: delattr(*given),
        "take": take,
        "wait": wait,
        "mirror": mirror,
    }


def serve_program(source: str) -> None:
    """Load a program and serve the requests for it until the tests end."""
    peer = ProgramSide(source)
    sys.stdin = TheirInput(peer)
    vars(sys).update(peer.streams)
    lift_limits(0)
    with contextlib.suppress(Ended):
        while True:
            peer.send(peer.serve(peer.receive()))
    os._exit(0)
