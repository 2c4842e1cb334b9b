"""Reads the value of a column with tests: JSON, Python literals, or LiveCodeBench's packed texts.

A packed text is base64 of a zlib stream, which contains the pickle of a string. The pickle is not loaded: its opcodes are
listed, and it must consist of one string. So it can neither run anything nor take more memory than its size.
"""

import ast
import base64
import pickletools
import re
import zlib
from itertools import islice
from typing import Any

from ..strict_json import read_json
from .cases import UnreadableTests


MAX_LITERAL_CHARS = 1_000_000
"""Maximum length of a column that is read as Python literals, in characters. JSON may be longer, and is read faster."""

MAX_UNPACKED_BYTES = 200_000_000
"""Maximum size of packed tests, in bytes after unpacking. LiveCodeBench's largest ones have tens of millions."""

PACKED = re.compile(r"e[AFJN][A-Za-z0-9+/]{8,}={0,2}")
"""Base64 of a zlib stream, which begins with one of four headers."""

PASSIVE_CODES = ("PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP")
"""Opcodes in the pickle of a string that are not the string."""

MAX_CODES = 6
"""Number of opcodes that are read. The pickle of a string has at most five."""


def parse_column(value: Any) -> Any:
    """Return the value that a text stands for, or the value itself."""
    if isinstance(value, str) and PACKED.fullmatch(value):
        value = unpack_text(value)
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return read_json(value)
    except (ValueError, RecursionError) as error:
        try:
            if len(value) > MAX_LITERAL_CHARS:
                raise error
            return ast.literal_eval(value.strip())
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            raise UnreadableTests(
                f"Tests in a text must be JSON; this one cannot be read: {error}. It begins with {value[:100]!r}. "
                f"Correct the column."
            ) from None


def unpack_text(text: str) -> str:
    """Return the string in a packed text."""
    try:
        stream = zlib.decompressobj()
        pickled = stream.decompress(base64.b64decode(text), MAX_UNPACKED_BYTES)
        if not stream.eof:
            raise ValueError(f"it is incomplete, or has more than {MAX_UNPACKED_BYTES:,} bytes")
        codes = [(code.name, argument) for code, argument, _ in islice(pickletools.genops(pickled), MAX_CODES)]
        match [(name, argument) for name, argument in codes if name not in PASSIVE_CODES]:
            case [(name, str(found))] if "UNICODE" in name and len(codes) < MAX_CODES:
                return found
        raise ValueError(f"its pickle has the opcodes {', '.join(name for name, _ in codes)}")
    except (ValueError, zlib.error) as error:
        raise UnreadableTests(
            f"Packed tests must be base64 of a zlib stream with the pickle of one string; this one cannot be read: "
            f"{error}. It begins with {text[:50]!r}. Correct the column."
        ) from None


def describe(value: Any) -> str:
    """Return a description of a value for an error."""
    if isinstance(value, dict):
        return f"a dict with {', '.join(map(repr, [*value][:8])) or 'nothing'}"
    if isinstance(value, list):
        return f"a list of {len(value)}, which begins with {describe(value[0])}" if value else "an empty list"
    return f"{type(value).__name__} {str(value)[:100]!r}"
