"""The end of the dialogue in the process of the tests: what they see of the program, and what each may ask the other for."""

import ast
import asyncio
import builtins
import contextlib
import functools
import io
import itertools
import json
import operator
import os
import re
import sys
import traceback
import types
import unittest.case
from collections.abc import Generator
from typing import Any

from . import program, pytest_stand_in
from .dialogue import GIVEN, STREAMS, Ended, Peer, find_origin, make_error, restore_error
from .plain_data import (
    ATTRIBUTED,
    EXTENDED,
    FIXED,
    MUTABLE,
    CannotCross,
    Violation,
    flatten_pairs,
    is_plain_method,
    list_record,
    make_empty,
    pair_up,
)
from .program_side import BINARY, OTHERS


# Attributes with underscores that a program is asked for. Python looks for others where an object just passes.
SHOWN_ATTRIBUTES = {
    *"__name__ __qualname__ __doc__ __module__ __annotations__ __dict__ __match_args__ __notes__ __code__ "
    "__defaults__ __kwdefaults__ __func__ __self__ __dataclass_fields__ __slots__".split()
}
FIRST_PIECES = 16  # number of items of an iterator that are asked for one by one
PIECE = 64  # number of items that are asked for at once after that
ARITHMETIC = {*BINARY} - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"}
UNARY = ("__neg__", "__pos__", "__abs__", "__invert__")
ENDING = {"__exit__", "__aexit__"}
SELF_RETURNING = {"__enter__", "__iter__"}  # they usually return the object itself; tests call them by a statement
READING = {"__len__", "__iter__", "__next__", "__getitem__"}  # special methods that do not change an object
# Functions of the tests that the program may call. Other objects with `__call__` may have more than that.
CALLABLES = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    functools.partial,
    operator.itemgetter,
    operator.attrgetter,
    operator.methodcaller,
)
# Errors by which tests of unittest are skipped or stopped.
SKIPS = tuple(one for one in vars(unittest.case).values() if isinstance(one, type) and issubclass(one, Exception))

KNOWN = {  # objects that the tests have themselves where the program has the same ones
    origin: one
    for one in [*program.PRELUDES["usual"].values(), *vars(builtins).values()]
    if isinstance(one, types.FunctionType) or isinstance(one, type) and not issubclass(one, BaseException)
    for origin in [find_origin(one)]
    if origin
}

REFERENCES = {"class", "object", "failure", "function", "module", "extended"}  # entries that stand for something in it


class ProgramExit(SystemExit):
    """Raised where the program called `sys.exit`. It does not end the tests as their own `sys.exit(0)` does."""

    __module__ = "builtins"
    __qualname__ = "SystemExit"


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


def ask_annotations(found: Any) -> "dict[str, Any]":
    """Return annotations without the texts among them, which `typing` would evaluate in the process of the tests."""
    annotations = found._peer.request("get", found, "__annotations__")
    return {name: one for name, one in dict.items(annotations) if not isinstance(one, str)}


class ProgramFunction(StandIn):
    _kind = ""  # the name of its class
    __class__ = property(
        lambda self: {"function": types.FunctionType, "method": types.MethodType}.get(self._kind, type(self))
    )
    __doc__ = property(lambda self: self._peer.request("get", self, "__doc__"))
    __annotations__ = property(ask_annotations)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._peer.call(self, args, kwargs)


class ProgramModule(StandIn):
    """A module of the program. The tests have what they use of it already, so a star import takes nothing."""

    __all__ = ()

    def __getattr__(self, name: str) -> Any:
        known = self._peer.found.get(name) if self is self._peer.module else None
        return known if isinstance(known, type) else super().__getattr__(name)


class ProgramObject(StandIn):
    """An object of a class of the program. Subclasses have the special methods that the class has."""

    _is_new = False  # whether the program has handed it over for the first time


def make_special(name: str) -> Any:
    """Return a special method that asks the program, but tells it no value of the tests unless they made the object."""

    def special(self: Any, *args: Any) -> Any:
        if name in BINARY and not is_told(self, name, args):
            if name == "__contains__":
                raise TypeError("an object of the program cannot judge whether it contains a value")
            return NotImplemented
        if name == "__format__" and not self._is_made:
            return object.__format__(self, *args)
        return ask_exit(self, name, *args[:2]) if name in ENDING else ask_special(self, name, args)

    special.__name__ = name
    return special


def ask_exit(found: Any, name: str, *error: Any) -> Any:
    """Ask an `__exit__`. No program takes back what a test has found, what it raised itself, or what its values cause."""
    is_answer = found._peer.has_raised(error[1])
    is_kept = is_answer or not is_raised_by_tests(error[1])
    hiding = contextlib.suppress(*[BaseException] * (is_kept and not is_answer and error[1] is not None))
    result = False
    with hiding:  # an error that would take the place of what a test has found
        result = found._peer.request("special", name, found, *error, None)  # a traceback cannot cross
    return end_later(result, is_kept, hiding) if name == "__aexit__" else result and not is_kept


def ask_special(found: Any, name: str, args: Any) -> Any:
    """Ask the program for the result of a special method, and check the lengths and items that an object tells."""
    is_made = found._is_made
    try:
        result = found._peer.request("special", name, found, *args)
    except IndexError:
        if not is_made and name == "__getitem__" and isinstance(args[0], int) and args[0] >= 0:
            check_length(found, given=args[0])
        raise
    if name == "__len__" and not is_made:
        check_length(found, told=result)
    if name == "__iter__" and not is_made and has_method(type(found), "__len__"):
        return count_items(found, result)
    if is_made and (type(result) is type(found) if name in ARITHMETIC else name in SELF_RETURNING and result is found):
        object.__setattr__(result, "_is_made", True)  # as in `Vector(1, 2) * 2 + 1` and `with Stack() as stack`
    return result


def is_told(found: Any, name: str, args: Any) -> bool:
    """Return whether an object may see the other value of an operator: one of the program, or the 0 with which `sum` begins."""
    is_start = name == "__radd__" and type(args[0]) is int and not args[0]
    return found._is_made or is_start or all(isinstance(one, StandIn) for one in args)


def mix_operator(name: str, base: type) -> Any:
    """Return an operator of data of a class of the program: its own for its own objects, and that of plain data for others."""
    special = SPECIALS[name]
    plain = getattr(base, name, None)

    def mixed(self: Any, *args: Any) -> Any:
        return special(self, *args) if plain is None or is_told(self, name, args) else plain(self, *args)

    return mixed


def has_method(kind: type, name: str) -> bool:
    """Return whether the objects of a class have a special method. The class itself may have another one."""
    return any(name in vars(one) for one in kind.__mro__)


def check_length(found: Any, told: "int | None" = None, given: "int | None" = None) -> None:
    """Raise if an object gives fewer items than the length that it told. It is asked again if it may have changed since."""
    last_told, last_given, calls = found._counted
    is_current = calls == found._peer.calls
    if given is None and is_current:
        given = last_given
    elif told is None and last_told is not None:
        told = last_told if is_current else found._peer.request("special", "__len__", found)
    set_attribute = type.__setattr__ if isinstance(found, type) else object.__setattr__
    set_attribute(found, "_counted", (told, given, found._peer.calls))
    if told is not None and given is not None and given < told:
        error = ValueError(f"an object of the program with {given} items says that it has {told}")
        found._peer.mark(error)
        raise error


def count_items(found: Any, items: Any) -> "Generator[Any, Any, Any]":
    count = 0
    for item in items:
        count += 1
        yield item
    check_length(found, given=count)


async def end_later(ending: Any, is_kept: bool, hiding: Any) -> bool:
    with hiding:
        return await ending and not is_kept
    return False


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


SPECIALS = {**{name: make_special(name) for name in BINARY + OTHERS}, "__call__": ProgramFunction.__call__}


class ProgramClass(Asking, type):
    """The type of the classes that stand for classes of the program."""

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

    __iter__, __len__ = map(SPECIALS.get, ("__iter__", "__len__"))
    __doc__ = property(lambda cls: cls._peer.request("get", cls, "__doc__"))
    __annotations__ = property(ask_annotations)

    def __getitem__(cls, item: Any) -> Any:
        parts = item if isinstance(item, tuple) else (item,)
        are_types = all(isinstance(one, type) or type(one).__module__ in ("typing", "types") for one in parts)
        is_generic = are_types and has_method(cls, "__class_getitem__")  # as in `Stack[int]`
        return cls if is_generic else SPECIALS["__getitem__"](cls, item)

    def __bool__(cls) -> bool:
        return True


class TestsSide(Peer):
    """The end of the dialogue that holds the tests. It writes what was found to a file descriptor."""

    def __init__(self, verdict: int, tests: "dict[str, Any]", are_sent: bool) -> None:
        super().__init__(0)
        self.verdict = verdict
        self.tests = tests
        self.are_sent = are_sent  # whether they send to generators
        self.last_call: Any = None
        self.calls = 0  # that may change something of the program
        self.raised: set[type] = set()  # classes of the errors of the program
        # By their numbers, see `name`
        self.named = set[int]()
        self.makers = set[int]()
        self.trusted = set[int]()
        self.names: dict[int, set[str]] = {}  # of classes, by which the tests have them
        self.module: Any = None
        self.extended: dict[tuple[type, type], type] = {}  # see `extend_class`
        self.found: dict[str, Any] = {}  # what the module had when it was loaded
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
            if isinstance(error, StopIteration) and not (is_next or self.tests["names_stop"]):
                error = RuntimeError("the program raised StopIteration")  # it would end `all(map(...))` of the tests
            self.mark(error)
            raise error from error.__cause__

    def read(self, message: "dict[str, Any]", forms: "list[Any]") -> "list[Any]":
        """Read values. What the program hands over is a result, also if the tests have it by a name."""
        values = super().read(message, forms)
        table = message["table"]
        if any(entry[0] in REFERENCES for entry in table):
            forms = [*forms, *(form for _, contents in message["changes"] for form in contents)]
            for kind, items, *_ in table:  # what an object is an object of is not handed over
                forms += [] if kind == "class" else items[2:] if kind in ("object", "failure", "extended") else items
            entries = [table[form[0]] for form in forms if isinstance(form, list)]
            for number in [items[0] for kind, items, *_ in entries if kind in REFERENCES]:
                for numbers in (self.named, self.makers, self.trusted):
                    numbers.discard(number)
        return values

    def load(self, names: "list[str]") -> "tuple[Any, dict[str, Any]]":
        """Load the program. Return its module, and the objects with these names that it has."""
        loaded = self.request("load", *names)
        if type(loaded) is not tuple or [*map(type, loaded)] != [ProgramModule, dict]:
            self.stop(failure="the program sent something other than its module and its names")
        module, found = loaded
        for name in found:
            if type(name) is not str or name not in names:
                self.stop(failure="the program sent a name that the tests did not ask for")
        self.module = module
        self.found = found
        for name, one in [("", module), *found.items()]:
            self.name(None, name, one)
        self.has_values = any(not isinstance(one, (StandIn, ProgramClass)) for one in found.values())
        return module, found

    def name(self, owner: Any, name: str, value: Any) -> None:
        """
        Note that the tests have something by a name. A class with a capital makes objects that have their methods, and what
        the tests use as a class is trusted. Another name for it may be a function that they test, so it ends both.
        """
        if not isinstance(value, Asking) or owner is not None and owner._number not in self.named:
            return
        self.named.add(value._number)
        if isinstance(value, ProgramClass):
            names = self.names.setdefault(value._number, set())
            names.add(name)
            are_classes = names <= {*self.tests["classes"]}
            is_maker = name[:1].isupper() and (are_classes or len(names) == 1)
            for numbers, is_one in ((self.makers, is_maker), (self.trusted, are_classes and owner is None)):
                (numbers.add if is_one else numbers.discard)(value._number)

    def trust(self, made: Any, kind: Any) -> None:
        """Note that the tests have made an object."""
        if kind._number in self.makers:
            self.named.add(made._number)
        if kind._number in self.trusted:
            object.__setattr__(made, "_is_made", True)

    def is_asked(self, owner: Any, name: str) -> bool:
        """Return whether the tests mean the program by a method that plain data have, too."""
        is_known = getattr(type(owner), "_number", -1) in self.trusted and name in self.tests["members"]
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
        for name in STREAMS:
            printed = message.pop(name, None)
            stream = getattr(sys, name)
            if isinstance(printed, str) and (name == "stdout" or isinstance(stream, io.StringIO)):  # which tests read
                stream.write(printed)
        return message

    def stop(self, **found: Any) -> None:
        os.write(self.verdict, json.dumps(found).encode())
        os._exit(0)

    def stop_unjudged(self, reason: str, is_doubtful: bool = False) -> None:
        self.stop(unjudged=reason, doubtful=is_doubtful)

    def refer(self, value: Any, is_plain: bool) -> "list[Any] | None":  # noqa: C901 - a case for each kind of value
        kind = type(value)
        if issubclass(kind, Asking):
            return ["yours", value._number]
        if is_plain or kind.__module__ in (__name__, pytest_stand_in.__name__):
            return None
        if isinstance(value, BaseException):
            return self.refer_error(value)
        if callable(value) and (origin := find_origin(value)):
            return ["import", *origin]
        if isinstance(value, (types.GeneratorType, types.CoroutineType)):
            numbers = [number for number, made in self.stand_ins.items() if made is value]
            if numbers:
                return ["yours", numbers[0]]
        is_own = (
            kind in ATTRIBUTED or kind.__module__ in ("__main__", program.__name__) and not hasattr(kind, "__next__")
        )
        if is_own and hasattr(value, "__dict__") and not has_methods(kind):
            self.records[kind.__name__] = kind
            return ["record", *list_record(value)]
        if isinstance(value, CALLABLES):
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
            return self.make_class(number, *about)
        if kind == "function":
            function = self.make_object(ProgramFunction, number, name=about[0])
            object.__setattr__(function, "_kind", about[2])
            return function
        if kind == "module":
            return self.make_object(ProgramModule, number)
        if kind in ("iterator", "awaitable"):
            original = self.make_object(StandIn, number)
            return self.iterate(original) if kind == "iterator" else self.await_value(original)
        if kind == "extended":
            return self.make_extended(number, *about)
        if kind not in ("object", "failure"):
            raise Violation(f"an object of an unknown kind {kind!r}")
        is_ours = not isinstance(about[0], ProgramClass) and kind == "object"
        found = self.make_object(ProgramObject if is_ours else about[0], number, *about[2:])
        return restore_error(found, about[1], None) if kind == "failure" else found

    def find_known(self, origin: "tuple[str, str] | None") -> Any:
        """Return the object of the standard library that a class or function of the program is, if tests may have it."""
        if origin is None:
            return None
        error = vars(sys.modules.get(origin[0], types)).get(origin[1])
        return KNOWN.get(origin) or (error if is_plain_error(error) else None)

    def make_class(
        self, number: int, name: str, origin: Any, error: "str | None", specials: "tuple[str, ...]", *bases: Any
    ) -> type:
        parents: tuple[type, ...] = tuple(one for one in bases if isinstance(one, ProgramClass)) or (ProgramObject,)
        if error is not None and not any(issubclass(one, BaseException) for one in parents):
            parents += (type(make_error(error)),)
        namespace = {one: SPECIALS[one] for one in specials}
        return ProgramClass(str(name), parents, {**namespace, "__module__": GIVEN, "_peer": self, "_number": number})

    def make_extended(self, number: int, kind: Any, data_kind: str, *contents: Any) -> Any:
        """Return data of a class of the program. They decide as plain data do, and the class is asked for the rest."""
        base, _, *build = MUTABLE.get(data_kind) or FIXED[data_kind]
        if data_kind not in EXTENDED or not isinstance(kind, ProgramClass):
            raise Violation(f"data of an unknown kind {data_kind!r}")
        if number not in self.stand_ins:
            data = [build[0](*contents)] if build else []
            self.stand_ins[number] = self.make_object(self.extend_class(kind, base or tuple), number, *data)
        return self.stand_ins[number]

    def extend_class(self, kind: Any, base: type) -> type:
        """Return a class of plain data whose objects have what a class of the program has, but no other value."""
        if (kind, base) not in self.extended:
            methods = {name: mix_operator(name, base) for name in (*ARITHMETIC, *UNARY) if has_method(kind, name)}
            methods.update((name, SPECIALS[name]) for name in ("__repr__", "__str__"))
            fixed = {
                "_peer": self,
                "_number": kind._number,
                "__module__": GIVEN,
                "__dict__": vars(StandIn)["__dict__"],
            }
            self.extended[kind, base] = ProgramClass(kind.__name__, (base, kind), {**methods, **fixed})
        return self.extended[kind, base]

    def make_object(self, kind: Any, number: int, *arguments: Any, name: str = "") -> Any:
        found = kind.__new__(kind, *arguments)
        for attribute, value in (("_peer", self), ("_number", number), ("__name__", str(name))):
            object.__setattr__(found, attribute, value)
        return found

    def iterate(self, original: StandIn) -> "Generator[Any, Any, Any]":
        """Yield the items of an iterator of the program, which gets what the tests send to it or throw into it."""
        how = ""
        sent = None
        sizes = itertools.repeat(1 if self.are_sent else PIECE)
        for size in itertools.chain([1] * FIRST_PIECES, sizes):
            error, *items = self.request("take", original, size, how, sent)
            how = ""
            sent = None
            try:
                for item in items:
                    sent = yield item
                    how = "" if sent is None else "send"
            except GeneratorExit:
                how = "close"
                sent = None
            except BaseException as thrown:
                how = "throw"
                sent = thrown
            if isinstance(error, StopIteration):
                return error.value
            if error is not None:
                self.mark(error)
                raise error
        return None

    async def await_value(self, awaitable: StandIn) -> Any:
        while not (values := self.request("wait", awaitable)):
            await asyncio.sleep(0)  # so that the tests may give up
        return values[0]

    def make_record(self, name: str) -> Any:
        if name not in self.records:
            raise Violation("an object of a class that the tests never passed to it")
        return make_empty(self.records[name])

    def check_own(self, target: Any) -> Any:
        if id(target) not in self.numbers:
            raise Violation("a question about something that was not given to the program")
        return target

    # Everything that the program may ask for: to call a function or to go on with an iterator that it was given, and
    # to read a line of the standard input of the tests.
    operations = {
        "call": lambda self, own, count, *given: self.check_own(own)(*given[:count], **pair_up(given[count:])),
        "next": lambda self, own: next(self.check_own(own)),
        "readline": lambda self: sys.stdin.readline(),
    }


def has_methods(kind: type) -> bool:
    """Return whether a class has methods of its own. The program could not call them."""
    attributes = [value for base in kind.__mro__ if base.__module__ == "__main__" for value in vars(base).items()]
    methods = (name for name, value in attributes if callable(value) or isinstance(value, property))
    return any(name[:2] != "__" or name == "__call__" for name in methods)


def is_plain_error(kind: Any) -> bool:
    """
    Return whether a class is an error that tests see as any other: not one that ends or skips them, and not one that would
    catch their own findings under another name.
    """
    is_error = isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(AssertionError, kind)
    return is_error and not issubclass(kind, (*SKIPS, CannotCross, Violation, Ended))
