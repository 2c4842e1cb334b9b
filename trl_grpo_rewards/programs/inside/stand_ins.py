"""What the tests see of the program: an object for each of its classes, functions and objects, which asks the program.

The program answers every question about its own objects, so an object of it could claim to be what a test expects. That is
why a value of the tests is never shown to such an object in a comparison or in arithmetic, and why it has no method that a
text, a number or a container has. Objects that the tests make from what they use as a class are different: such tests let
the class judge, until the program hands the object over as a result.
"""

import ast
import builtins
import re
import traceback
from collections.abc import Generator
from typing import Any

from .dialogue import GIVEN, make_error
from .plain_data import is_plain_method
from .program_side import BINARY, OTHERS


SHOWN_ATTRIBUTES = {*"__name__ __qualname__ __doc__ __module__ __annotations__ __dict__ __match_args__".split()}
"""Attributes with underscores that a program is asked for. Python looks for others where an object just passes."""

FIRST_PIECES, PIECE = 16, 64
"""Number of items of an iterator that are asked for one by one, and of those that are asked for at once after that."""

ARITHMETIC = {*BINARY} - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"}
ENDING = {"__exit__", "__aexit__"}
OPENING = {"__enter__", "__iter__"}
"""Special methods that usually return the object itself. Tests call them by a statement and not by an expression."""


class Asking:
    """Something of the program, whose attributes are those of the original. `_number` is its number there."""

    _peer: Any = None
    _number = -1
    _is_made = False  # whether the tests let it judge
    _counted: Any = (None, None, 0)  # the length that it told, and the items that it gave, after how many calls

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in SHOWN_ATTRIBUTES:
            raise AttributeError(name)
        is_asked = self._is_made or self._peer.is_asked(self, name)
        value = self._peer.request("get", self, name)
        if is_plain_method(name, value) and not is_asked:
            raise AttributeError(f"an object of the program cannot stand for a value: it has no method {name!r} here")
        if isinstance(self, ProgramModule) or isinstance(self, type) and name[:1].isupper():
            self._peer.name(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):  # such as the traceback of an error
            super().__setattr__(name, value)
        else:
            self._peer.request("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        self._peer.request("delete", self, name)


class StandIn(Asking):
    """A function, a module, an iterator or an object of the program."""

    __dict__ = property(lambda self: self._peer.request("get", self, "__dict__"))

    def __copy__(self) -> Any:
        return self._peer.request("mirror", "copy", "copy", self)

    def __deepcopy__(self, memo: Any) -> Any:
        return self._peer.request("mirror", "copy", "deepcopy", self)


class ProgramFunction(StandIn):
    __doc__ = property(lambda self: self._peer.request("get", self, "__doc__"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._peer.call(self, args, kwargs)


class ProgramModule(StandIn):
    """A module of the program. The tests have what they use of it already, so a star import takes nothing."""

    __all__ = ()


class ProgramObject(StandIn):
    """An object of a class of the program. Subclasses have the special methods that the class has."""

    _is_new = False  # whether the program has handed it over for the first time


def make_special(name: str) -> Any:
    """Return a special method that asks the program, but tells it no value of the tests unless they made the object."""

    def special(self: Any, *args: Any) -> Any:
        is_made = self._is_made
        if name in BINARY and not (is_made or all(isinstance(one, StandIn) for one in args)):
            if name == "__contains__":
                raise TypeError("an object of the program cannot judge whether it contains a value")
            return NotImplemented
        if name == "__format__" and not is_made:
            return object.__format__(self, *args)
        if name in ENDING:
            # no program takes back what a test has found, what it raised itself, or what its values cause
            is_kept = self._peer.has_raised(args[1]) or not is_raised_by_tests(args[1])
            result = self._peer.request("special", name, self, *args[:2], None)  # a traceback cannot cross
            return end_later(result, is_kept) if name == "__aexit__" else result and not is_kept
        try:
            result = self._peer.request("special", name, self, *args)
        except IndexError:
            if not is_made and name == "__getitem__" and isinstance(args[0], int) and args[0] >= 0:
                check_length(self, given=args[0])
            raise
        if name == "__len__" and not is_made:
            check_length(self, told=result)
        if name == "__iter__" and not is_made and hasattr(type(self), "__len__"):
            return count_items(self, result)
        if is_made and (type(result) is type(self) if name in ARITHMETIC else name in OPENING and result is self):
            object.__setattr__(result, "_is_made", True)  # as in `Vector(1, 2) * 2 + 1` and `with Stack() as stack`
        return result

    special.__name__ = name
    return special


def check_length(found: Any, told: "int | None" = None, given: "int | None" = None) -> None:
    """Raise if an object has given fewer items than the length that it tells, and nothing else was asked in between."""
    before = found._counted if found._counted[2] == found._peer.calls else (None, None)
    told, given = before[0] if told is None else told, before[1] if given is None else given
    set_attribute = type.__setattr__ if isinstance(found, type) else object.__setattr__
    set_attribute(found, "_counted", (told, given, found._peer.calls))
    if told is not None and given is not None and given < told:
        error = ValueError(f"an object of the program with {given} items says that it has {told}")
        found._peer.mark(error)
        raise error


def count_items(found: Any, items: Any) -> "Generator[Any, Any, Any]":
    given = 0
    for item in items:
        given += 1
        yield item
    check_length(found, given=given)


SPECIALS = {**{name: make_special(name) for name in BINARY + OTHERS}, "__call__": ProgramFunction.__call__}


class ProgramClass(Asking, type):
    """The type of the classes that stand for classes of the program."""

    _origin: "tuple[str, str] | None"

    def __new__(cls, name: str, bases: Any, namespace: "dict[str, Any]") -> "ProgramClass":
        if "_number" not in namespace:
            peer = next(base._peer for base in bases if isinstance(base, ProgramClass))
            peer.stop_unjudged(f"they derive the class {name} from a class of it. Remove such rows", peer.is_used)
        return super().__new__(cls, name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls._peer.call(cls, args, kwargs, True)
        if isinstance(made, ProgramObject) and made._is_new:
            cls._peer.trust(made, cls)
        return made

    __iter__, __getitem__, __len__ = map(SPECIALS.get, ("__iter__", "__getitem__", "__len__"))

    def __bool__(cls) -> bool:
        return True


def is_raised_by_tests(error: Any) -> bool:
    """Return whether the tests raise an error by a statement that uses nothing of the program, and assert nothing."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    if not frames or isinstance(error, AssertionError) or not frames[-1].filename.startswith("tests"):
        return False
    line = re.split("[:;] ", frames[-1].line or "")[-1]
    try:
        names = {node.id for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)}
    except SyntaxError:
        return False
    return line.startswith("raise ") or names <= vars(builtins).keys()


def make_class(
    peer: Any, number: int, name: str, origin: Any, error: "str | None", specials: "tuple[str, ...]", *bases: Any
) -> type:
    parents: tuple[type, ...] = tuple(one for one in bases if isinstance(one, ProgramClass)) or (ProgramObject,)
    if error is not None and not any(issubclass(one, BaseException) for one in parents):
        parents += (type(make_error(error)),)
    namespace = {one: SPECIALS[one] for one in specials}
    return ProgramClass(
        str(name), parents, {**namespace, "__module__": GIVEN, "_peer": peer, "_number": number, "_origin": origin}
    )


def make_object(peer: Any, kind: Any, number: int, *arguments: Any, name: str = "") -> Any:
    found = kind.__new__(kind, *arguments) if issubclass(kind, BaseException) else object.__new__(kind)
    for attribute, value in (("_peer", peer), ("_number", number), ("__name__", str(name))):
        object.__setattr__(found, attribute, value)
    return found


def iterate(peer: Any, number: int) -> "Generator[Any, Any, Any]":
    """Yield the items of an iterator of the program, which gets what the tests send to it or throw into it."""
    taken, how, given = 0, "", None
    while True:
        size = 1 if taken < FIRST_PIECES or peer.are_sent else PIECE
        error, *items = peer.request("take", peer.iterators[number], size, how, given)
        how, given = "", None
        try:
            for item in items:
                given = yield item
                how = "" if given is None else "send"
        except BaseException as thrown:
            how, given = ("close", None) if isinstance(thrown, GeneratorExit) else ("throw", thrown)
        taken += len(items)
        if isinstance(error, StopIteration):
            return error.value
        if error is not None:
            peer.mark(error)
            raise error


async def end_later(ending: Any, is_kept: bool) -> bool:
    return await ending and not is_kept


async def await_value(peer: Any, number: int) -> Any:
    return peer.request("wait", peer.iterators[number])
