"""The two ends of the pipes between the tests and the program: requests, replies, and objects that have numbers."""

import builtins
import json
import os
import select
import sys
import threading
from collections.abc import Callable
from typing import Any

from .plain_data import ATTRIBUTED, DataReader, SharedObjects, Violation, Writer, pair_up, refuse_methods
from .program import ListNode, TreeNode


GIVEN = "solution"  # name of the module that the program is loaded as. Tests may import from it.
# File descriptors of the two pipes in each process
READ_END = 3
WRITE_END = 4
STREAMS = ("stdout", "stderr")  # what the program writes to them is sent with its messages
MAX_MESSAGE = 8 << 20  # bytes, which is checked before the message is read
ERROR_CHARS = 300  # of an error about a value that cannot cross
ENCODE = json.JSONEncoder(separators=(",", ":")).encode


class Ended(Exception):
    """Raised when the other process has closed its pipes or has ended."""


def find_error_name(kind: type) -> str:
    """Return the name of the closest built-in class of an error."""
    names = (one.__name__ for one in kind.__mro__ if vars(builtins).get(one.__name__) is one)
    return str(next(names))


def find_origin(value: Any) -> "tuple[str, str] | None":
    """Return the module and the name under which a class or function can be imported, or None."""
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module in ("__main__", GIVEN):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None


class Peer:
    """One end of the dialogue. A subclass says which requests it serves, and how objects of its own cross."""

    operations: "dict[str, Callable[..., Any]]" = {}

    refer: "Callable[[Any, bool], list[Any] | None]"  # returns the entry of an object that crosses as a reference, or None
    make_stand_in: "Callable[..., Any]"  # returns what stands for an object of the other side
    make_record: "Callable[[str], Any]"  # returns an object of a class by its name
    make_extended: "Callable[..., Any]"  # returns plain data of a class of the other side

    def __init__(self, first: int) -> None:
        self.received = bytearray()
        self.asked = 0
        self.lock = threading.RLock()
        self.shared = SharedObjects(first)
        self.own: list[Any] = []
        self.stand_ins: dict[int, Any] = {}
        self.numbers: dict[int, int] = {}
        self.records: dict[str, type] = {one.__name__: one for one in (ListNode, TreeNode, *ATTRIBUTED)}

    def register(self, value: Any) -> int:
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.own)
            self.own.append(value)
        return self.numbers[id(value)]

    def extend(self, value: Any) -> "list[Any] | None":
        """Return the number and the class of plain data of a class of its own, or None."""
        return None

    def request(self, do: str, *values: Any) -> Any:
        """Ask the other side to do something, and return the value or raise the error that it replies."""
        with self.lock:
            self.shared.forget_oldest()
            writer = Writer(self)
            forms = [writer.write(value) for value in values]
            changed = {"changes": writer.write_changes(), "table": writer.table, "released": self.shared.release()}
            reply = self.ask({"do": do, "forms": forms, **changed})
            (value,) = self.read(reply, [reply["form"]])
        if reply.get("failed"):
            raise value
        return value

    def read(self, message: "dict[str, Any]", forms: "list[Any]") -> "list[Any]":
        """Return the values of forms in a message, and change what it says has changed."""
        try:
            reader = DataReader(message["table"], self)
            for number, contents in message["changes"]:
                self.shared.apply(number, [reader.read(form) for form in contents])
            values = [reader.read(form) for form in forms]
            for number in message.get("released", ()):
                self.shared.remove(number)
            return values
        except Exception as error:
            raise Violation(f"a message that cannot be read: {type(error).__name__}") from None

    def resolve(self, kind: str, *contents: Any) -> Any:
        if kind == "yours":
            return self.own[contents[0]]
        if kind == "error":
            name, cause, attributes, *arguments = contents
            return restore_error(make_error(name, *arguments), cause, attributes)
        if contents[0] not in self.stand_ins:
            self.stand_ins[contents[0]] = self.make_stand_in(kind, *contents)
        return self.stand_ins[contents[0]]

    def ask(self, message: "dict[str, Any]") -> "dict[str, Any]":
        """Send a request, and serve the requests of the other side until its reply comes."""
        if self.received or select.select([READ_END], [], [], 0)[0]:
            self.receive()
            raise Violation("a message that nobody asked for")
        number = self.asked = self.asked + 1
        self.send({**message, "number": number})
        while True:
            reply = self.receive()
            if "do" in reply:
                self.send(self.serve(reply))
            elif reply.get("number") == number and isinstance(reply.get("table"), list) and "form" in reply:
                return reply
            else:
                raise Violation("a reply to another request")

    def serve(self, message: "dict[str, Any]") -> "dict[str, Any]":
        self.shared.forget_oldest()
        operation = self.operations.get(str(message["do"]))
        if operation is None or not isinstance(message.get("forms"), list):
            raise Violation("an unknown request")
        values = self.read(message, message["forms"])
        reply: dict[str, Any] = {"number": message.get("number")}
        try:
            value = operation(self, *values)
        except BaseException as error:
            value = error
            reply["failed"] = True
        writer = Writer(self)
        try:
            reply["form"] = writer.write(value)
        except Exception as error:  # what the value itself raised, or no way to refer to it
            writer = Writer(self)
            reply["form"] = writer.write(RuntimeError(str(error)[:ERROR_CHARS]))
            reply["failed"] = True
        changes = writer.write_changes()
        return {**reply, "changes": changes, "table": writer.table, "released": self.shared.release()}

    def refer_error(self, error: BaseException) -> "list[Any]":
        return ["error", find_error_name(type(error)), None, None, *error.args]

    def send(self, message: "dict[str, Any]") -> None:
        rest = memoryview(ENCODE(message).encode() + b"\n")
        while rest:
            rest = rest[os.write(WRITE_END, rest) :]

    def receive(self) -> "dict[str, Any]":
        while not self.received.endswith(b"\n"):
            part = os.read(READ_END, 1 << 16)
            if not part:
                raise Ended
            self.received += part
            if len(self.received) > MAX_MESSAGE:
                raise Violation("a message that is too long")
            if b"\n" in part[:-1]:
                raise Violation("two messages at once")
        line = bytes(self.received)
        self.received = bytearray()
        try:
            message = json.loads(line)
            if isinstance(message, dict):
                return message
        except (ValueError, RecursionError):
            pass
        raise Violation("a message that is not JSON")


def make_error(name: str, *arguments: Any) -> BaseException:
    """Return the built-in error of a name, or a RuntimeError where the arguments do not fit."""
    kind = vars(builtins)[name]
    if not issubclass(kind, BaseException):
        raise Violation("an error of a class that is not one")
    try:
        error: BaseException = kind(*arguments)
        return error
    except TypeError:
        return RuntimeError(*arguments)


def restore_error(error: BaseException, cause: Any, attributes: Any) -> BaseException:
    """Give an error its cause, and what was added to it, such as notes."""
    error.__cause__ = cause
    pairs = pair_up(attributes or ()).items()
    refuse_methods(pairs)
    vars(error).update((name, one) for name, one in pairs if name == "__notes__" or name[:2] != "__")
    return error
