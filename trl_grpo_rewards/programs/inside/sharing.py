"""Objects that can change and that both sides have: lists, sets, dicts, and objects of the tests' own classes.

Each has a number on both sides. Before a message is sent, the side that sends it looks which of them have changed and tells
the other one. So what the tests do to a list of the program happens there, too, and the other way round.
"""

import operator
from collections import OrderedDict
from typing import Any

from .plain_data import MUTABLE, Violation


MAX_OBJECTS = 64
MAX_ITEMS = 20_000
"""Maximum number of shared objects, and of items in them. Beyond it, both sides stop sharing the oldest objects."""


class SharedObjects:
    """The shared objects of one side, whose own numbers are even or odd, as the first one is."""

    def __init__(self, first: int) -> None:
        self.next, self.items = first, 0
        self.entries: OrderedDict[int, list[Any]] = OrderedDict()
        self.numbers: dict[int, int] = {}

    def add(self, value: Any, kind: str, number: "int | None" = None) -> int:
        """Share an object. Its number is new, or the one that the other side has given it."""
        if number is None:
            number, self.next = self.next, self.next + 2
        if type(number) is not int or number in self.entries:
            raise Violation("a number that is taken")
        contents = [*MUTABLE[kind][1](value)]
        self.entries[number] = [value, kind, contents, len(contents)]
        self.numbers[id(value)] = number
        self.items += len(contents)
        return number

    def remove(self, number: int) -> None:
        value, _, _, size = self.entries.pop(number)
        del self.numbers[id(value)]
        self.items -= size

    def forget_oldest(self) -> None:
        """Stop sharing the oldest objects where there are many. Both sides call this before each request."""
        while len(self.entries) > MAX_OBJECTS or self.items > MAX_ITEMS:
            self.remove(next(iter(self.entries)))

    def find(self, value: Any) -> "int | None":
        return self.numbers.get(id(value))

    def __getitem__(self, number: int) -> Any:
        return self.entries[number][0]

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
        """Change an object as the other side has."""
        value, kind, *_ = entry = self.entries[number]
        MUTABLE[kind][2](value, contents)
        entry[2] = [*MUTABLE[kind][1](value)]
