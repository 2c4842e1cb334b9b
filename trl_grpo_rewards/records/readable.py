"""Values of any type as JSON can hold them. What a model, a dataset or a reward makes must never end a run."""

import json
import math
from typing import Any


MAX_LEVELS = 100
"""Maximum nesting depth of lists and dicts. Python has a limit of its own, which ends the run."""

MAX_SIZE = 1 << 26
"""Maximum number of characters. Lists that contain the same list twice, at many levels, are larger than any memory."""

ITEM_SIZE = 256
"""Number of characters that an item of a list or dict counts for in addition to its own, since many items take time."""

MAX_BITS = 2048
"""Maximum size of an integer, in bits. It has 617 digits, and Python's own limit can be set as low as 640 digits."""


def make_readable(value: Any) -> Any:
    """Return a copy of the value that JSON can hold, with the type of what it cannot. It never fails and takes limited time."""
    return copy_as_json(value)[0]


def copy_as_json(value: Any) -> tuple[Any, bool]:
    """Return the copy of [`make_readable`], and whether it is the same as the value: read from JSON, it is equal."""
    copier = Copier()
    try:
        return copier.copy(value, MAX_LEVELS), copier.is_same
    except ValueTooLarge:
        return name_type(value), False


def name_type(value: Any) -> str:
    return f"<{type(value).__name__}>"


class ValueTooLarge(Exception):
    """Raised when a value has more than [`MAX_SIZE`] characters."""


class Copier:
    """Copies one value. It calls no method that a subclass may have changed."""

    def __init__(self) -> None:
        self.is_same = True
        self.size = 0

    def copy(self, value: Any, levels: int) -> Any:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, int) and int.bit_length(value) <= MAX_BITS:
            return int.__int__(value)
        if issubclass(kind, float):
            number = float.__float__(value)
            return number if math.isfinite(number) else self._replace(json.dumps(number))
        if issubclass(kind, str):
            return self._copy_text(str.__str__(value))
        if issubclass(kind, dict) and levels:
            self._count(ITEM_SIZE * dict.__len__(value))
            return {self._name(key, levels - 1): self.copy(item, levels - 1) for key, item in dict.items(value)}
        if issubclass(kind, (list, tuple)) and levels:
            base = list if issubclass(kind, list) else tuple
            self.is_same &= base is list
            self._count(ITEM_SIZE * base.__len__(value))
            return [self.copy(item, levels - 1) for item in base.__iter__(value)]
        return self._replace(name_type(value))

    def _copy_text(self, text: str) -> str:
        self._count(len(text))
        try:
            text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which other programs cannot read
            return self._replace(text.encode(errors="backslashreplace").decode())
        return text

    def _name(self, key: Any, levels: int) -> str:
        """Return the text for a key of a dict."""
        self.is_same &= issubclass(type(key), str)
        name = self.copy(key, levels)
        return name if isinstance(name, str) else json.dumps(name)

    def _replace(self, text: str) -> str:
        self.is_same = False
        self._count(len(text))
        return text

    def _count(self, size: int) -> None:
        self.size += size
        if self.size > MAX_SIZE:
            raise ValueTooLarge
