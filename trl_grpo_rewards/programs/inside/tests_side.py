"""The end of the dialogue in the process of the tests: what they may ask for, and what they get.

The program cannot reach this process. What it can do is to answer wrongly, which fails a test, or to break the rules of the
dialogue, which ends the tests as failed, whatever they would catch.
"""

import builtins
import functools
import json
import operator
import os
import sys
import types
import unittest.case
from typing import Any

from . import prelude, pytest_stand_in, stand_ins
from .dialogue import Ended, Peer, find_origin
from .plain_data import CannotCross, Violation, flatten_pairs, list_record, pair_up
from .program_side import BINARY
from .stand_ins import Asking, ProgramClass, ProgramFunction, ProgramModule, ProgramObject, StandIn


FUNCTIONS: "tuple[Any, ...]" = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)
FUNCTIONS += (types.MethodDescriptorType, types.MethodWrapperType)
FUNCTIONS += (operator.itemgetter, operator.attrgetter, operator.methodcaller)
"""Functions of the tests that the program may call. Other objects with `__call__` may have more than that."""

SKIPS = tuple(one for one in vars(unittest.case).values() if isinstance(one, type) and issubclass(one, Exception))
"""Errors by which tests of unittest are skipped or stopped."""

KNOWN = {
    origin: one
    for one in [*prelude.PRELUDES["usual"].values(), *vars(builtins).values()]
    if isinstance(one, types.FunctionType) or isinstance(one, type) and not issubclass(one, BaseException)
    for origin in [find_origin(one)]
    if origin
}
"""Objects that the tests have themselves where the program has the same ones."""

READING = {"__len__", "__iter__", "__next__", "__getitem__"}
"""Special methods that do not change an object."""

REFERENCES = {"class", "object", "failure", "function", "module"}
"""Kinds of entries that stand for something of the program."""


class ProgramExit(SystemExit):
    """Raised where the program called `sys.exit`. It does not end the tests as their own `sys.exit(0)` does."""

    __module__, __qualname__ = "builtins", "SystemExit"


class TestsSide(Peer):
    """The end of the dialogue that holds the tests. It writes what was found to a file descriptor."""

    def __init__(self, verdict: int) -> None:
        super().__init__(0)
        self.verdict = verdict
        self.iterators: dict[int, Any] = {}
        self.last_call: Any = None
        self.calls = 0  # that may change something of the program
        self.raised: set[type] = set()  # classes of the errors of the program
        self.members: set[str] = set()  # attributes that the tests use of what they have by a name
        self.named, self.makers, self.trusted = set[int](), set[int](), set[int]()  # see `name`, by their numbers
        self.names_stop = self.are_sent = False  # whether they speak of StopIteration, and send to generators
        self.has_values = False  # whether the program has given them values by its names

    @property
    def is_used(self) -> bool:
        """Whether the tests have anything of the program but its functions and classes, so that it may lead them."""
        return self.has_values or self.asked > 1

    def request(self, do: str, *values: Any) -> Any:
        self.calls += do in ("call", "set", "delete") or do == "special" and values[0] not in READING
        try:
            return super().request(do, *values)
        except CannotCross as error:
            if do == "special" and values[0] in BINARY and values[0] != "__contains__":
                return NotImplemented
            if do == "special":  # a value of another kind than the program's would have taken it
                self.stop(failure=f"the tests give {error} to an object of the program")
            self.stop_unjudged(f"they give it {error}, which cannot be sent to it. Remove such rows", self.is_used)
        except Violation as error:
            self.stop(failure=f"the program sent {error}")
        except (Ended, BrokenPipeError):
            self.stop(failure="the program ended during the tests", crashed=True)
        except BaseException as error:
            is_next = do == "special" and values[0] == "__next__"
            if isinstance(error, StopIteration) and not (is_next or self.names_stop):
                error = RuntimeError("the program raised StopIteration")  # it would end `all(map(...))` of the tests
            self.mark(error)
            raise error from None

    def read(self, message: "dict[str, Any]", forms: "list[Any]") -> "list[Any]":
        """Read values. What the program hands over is a result, also if the tests have it by a name."""
        values = super().read(message, forms)
        table = message["table"]
        if any(entry[0] in REFERENCES for entry in table):
            forms = [*forms, *(form for _, contents in message["changes"] for form in contents)]
            for kind, items, *_ in table:  # what an object is an object of is not handed over
                forms += [] if kind == "class" else items[2:] if kind in ("object", "failure") else items
            for kind, items, *_ in (table[form[0]] for form in forms if isinstance(form, list)):
                for numbers in (self.named, self.makers, self.trusted) if kind in REFERENCES else ():
                    numbers.discard(items[0])
        return values

    def name(self, owner: Any, name: str, value: Any) -> None:
        """Note that the tests have something by a name. A class with a capital makes objects that have their methods."""
        if isinstance(value, Asking) and (owner is None or owner._number in self.named):
            self.named.add(value._number)
            if isinstance(value, ProgramClass) and name[:1].isupper():
                self.makers.add(value._number)

    def trust(self, made: Any, kind: Any) -> None:
        """Note that the tests have made an object."""
        if kind._number in self.makers:
            self.named.add(made._number)
        if kind._number in self.trusted:
            object.__setattr__(made, "_is_made", True)

    def is_asked(self, owner: Any, name: str) -> bool:
        """Return whether the tests mean the program by a method that plain data have, too."""
        is_known = getattr(type(owner), "_number", -1) in self.trusted and name in self.members
        return owner._number in self.named or is_known

    def mark(self, error: BaseException) -> None:
        self.raised.add(type(error))
        error.__of_program__ = True  # type: ignore[attr-defined]

    def has_raised(self, error: "BaseException | None") -> bool:
        return getattr(error, "__of_program__", False)

    def call(self, target: Any, args: Any, kwargs: Any, is_made: bool = False) -> Any:
        self.last_call = [target, args, kwargs, "did not return", None]
        try:
            value = self.request("call", target, is_made, len(args), *args, *flatten_pairs(kwargs))
        except BaseException as error:
            self.last_call[3:] = "raised", error
            raise
        self.last_call[3:] = "returned", value
        return value

    def receive(self) -> "dict[str, Any]":
        message = super().receive()
        printed = message.pop("printed", None)
        if isinstance(printed, str):
            sys.stdout.write(printed)
        return message

    def stop(self, **found: Any) -> None:
        os.write(self.verdict, json.dumps(found).encode())
        os._exit(0)

    def stop_unjudged(self, reason: str, is_doubtful: bool = False) -> None:
        self.stop(unjudged=reason, doubtful=is_doubtful)

    def refer(self, value: Any, is_plain: bool) -> "list[Any] | None":
        kind = type(value)
        if isinstance(kind, ProgramClass) or kind is ProgramClass or isinstance(value, StandIn):
            return ["yours", value._number]
        if is_plain or kind.__module__ in (__name__, pytest_stand_in.__name__):
            return None
        if isinstance(value, BaseException):
            return self.refer_error(value)
        if callable(value) and find_origin(value):
            return ["import", *(find_origin(value) or ())]
        if isinstance(value, (types.GeneratorType, types.CoroutineType)):
            number = next((one for one, made in self.stand_ins.items() if made is value), None)
            if number is not None:
                return ["yours", number]
        if (
            kind.__module__ in ("__main__", "types", prelude.__name__)
            and hasattr(value, "__dict__")
            and not has_methods(kind)
        ):
            self.records[kind.__name__] = kind
            return ["record", *list_record(value)]
        if isinstance(value, FUNCTIONS):
            return ["function", self.register(value), getattr(value, "__name__", "")]
        is_iterator = hasattr(value, "__next__") and not hasattr(value, "write")  # a stream has more than lines
        return ["iterator", self.register(value)] if is_iterator else None

    def resolve(self, kind: str, *contents: Any) -> Any:
        is_new = contents[0] not in self.stand_ins
        found = super().resolve(kind, *contents)
        if kind == "error" and isinstance(found, SystemExit):
            return ProgramExit(*found.args)
        if isinstance(found, ProgramObject):  # what the program hands over is a result, also if tests made it
            for flag, value in (("_is_made", False), ("_is_new", is_new)):
                object.__setattr__(found, flag, value)
        return found

    def make_stand_in(self, kind: str, number: int, *about: Any) -> Any:
        if kind in ("class", "function") and (known := self.find_known(about[1])):
            return known
        if kind == "class":
            return stand_ins.make_class(self, number, *about)
        if kind in ("iterator", "awaitable"):
            self.iterators[number] = stand_ins.make_object(self, StandIn, number)
            return stand_ins.iterate(self, number) if kind == "iterator" else stand_ins.await_value(self, number)
        if kind == "function":
            return stand_ins.make_object(self, ProgramFunction, number, name=about[0])
        if kind == "module":
            return stand_ins.make_object(self, ProgramModule, number)
        if kind not in ("object", "failure"):
            raise Violation(f"an object of an unknown kind {kind!r}")
        is_ours = not isinstance(about[0], ProgramClass) and kind == "object"
        return stand_ins.make_object(self, ProgramObject if is_ours else about[0], number, *about[1:])

    def find_known(self, origin: "tuple[str, str] | None") -> Any:
        """Return the object of the standard library that a class or function of the program is, if tests may have it."""
        if origin is None:
            return None
        error = vars(sys.modules.get(origin[0], types)).get(origin[1])
        return KNOWN.get(origin) or (error if is_plain_error(error) else None)

    def make_record(self, name: str) -> Any:
        if name not in self.records:
            raise Violation("an object of a class that the tests never passed to it")
        return object.__new__(self.records[name])

    def call_own(self, target: Any, count: int, *given: Any) -> Any:
        return self.check_own(target)(*given[:count], **pair_up(given[count:]))

    def take_own(self, target: Any) -> Any:
        return next(self.check_own(target))

    def check_own(self, target: Any) -> Any:
        if id(target) not in self.numbers:
            raise Violation("a question about something that was not given to the program")
        return target

    operations = {"call": call_own, "next": take_own, "readline": lambda self: sys.stdin.readline()}
    """Everything that the program may ask for: to call a function or to go on with an iterator that it was given, and to
    read a line of the standard input of the tests."""


def has_methods(kind: type) -> bool:
    """Return whether a class has methods of its own. The program could not call them."""
    own = [one for base in kind.__mro__ if base.__module__ == "__main__" for one in vars(base).items()]
    methods = (name for name, one in own if callable(one) or isinstance(one, property))
    return any(name[:2] != "__" or name == "__call__" for name in methods)


def is_plain_error(kind: Any) -> bool:
    """Return whether a class is an error that tests see as any other: not one that ends or skips them."""
    is_error = isinstance(kind, type) and issubclass(kind, Exception)
    return is_error and not issubclass(kind, (*SKIPS, CannotCross, Violation, Ended))
