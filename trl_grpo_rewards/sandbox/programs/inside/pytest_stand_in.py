"""The part of pytest that tests of programs use, for a process that may not import it."""

import contextlib
import io
import itertools
import math
import re
import sys
import unittest
from collections import namedtuple
from collections.abc import Callable
from types import ModuleType
from typing import Any


class NotHere(BaseException):
    """Raised for a part of pytest that is not supported. Tests that need it are not judged."""


class Raises(contextlib.AbstractContextManager):
    """What `pytest.raises` gives. It has the error as its value, once it has been raised."""

    def __init__(self, kinds: Any, match: "str | None" = None) -> None:
        self.kinds = kinds
        self.pattern = match
        self.value = None
        self.type: Any = None

    def match(self, pattern: str) -> bool:
        assert re.search(pattern, str(self.value)), f"{pattern!r} does not match {str(self.value)!r}"
        return True

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        assert kind is not None, f"{self.kinds} was not raised"
        if not issubclass(kind, self.kinds):
            return False
        self.type = kind
        self.value = error
        return self.pattern is None or self.match(self.pattern)


def raises(kinds: Any, *call: Any, match: "str | None" = None, **kwargs: Any) -> Any:
    context = Raises(kinds, match)
    if not call:
        return context
    with context as raised:
        call[0](*call[1:], **kwargs)
    return raised


class Approx:
    """A number, or a sequence or dict of numbers, that equals what is close to it."""

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # arrays of numpy leave the comparison to this class

    def __init__(self, expected: Any, rel: Any = None, abs: Any = None, nan_ok: bool = False) -> None:
        self.expected = expected
        self.options = rel, abs, nan_ok

    def __eq__(self, found: Any) -> bool:
        expected = self.expected
        if isinstance(expected, dict):
            is_same = isinstance(found, dict) and found.keys() == expected.keys()
            return is_same and all(found[key] == Approx(one, *self.options) for key, one in expected.items())
        if hasattr(expected, "__array__") and hasattr(expected, "tolist"):
            expected = expected.tolist()
            if hasattr(found, "tolist"):
                found = found.tolist()
        if isinstance(expected, (list, tuple)):
            found = [*itertools.islice(found, len(expected) + 1)] if hasattr(found, "__len__") else []
            return len(found) == len(expected) and all(
                one == Approx(other, *self.options) for one, other in zip(found, expected)
            )
        if isinstance(expected, bool) and not isinstance(found, bool):
            return False
        return bool(found == expected or self.is_close(found))

    def is_close(self, found: Any) -> bool:
        rel, abs_tolerance, nan_ok = self.options
        try:
            if math.isnan(self.expected) and math.isnan(found):
                return bool(nan_ok)
            if math.isinf(self.expected):
                return False
            default = 1e-6 if abs_tolerance is None else 0.0
            relative = default if rel is None else rel
            tolerance = max(relative * abs(self.expected), 1e-12 if abs_tolerance is None else abs_tolerance)
            return bool(abs(found - self.expected) <= tolerance)
        except TypeError:
            return False

    def __repr__(self) -> str:
        return f"approx({self.expected!r})"


def fail(reason: str = "", pytrace: bool = True) -> None:
    raise AssertionError(reason)


def skip_test(reason: str = "", **options: Any) -> None:
    raise unittest.SkipTest(reason)


class Param:
    def __init__(self, *values: Any, **options: Any) -> None:
        self.values = values


class Mark:
    """`pytest.mark`. Only `parametrize` changes how a test runs."""

    def parametrize(self, names: Any, rows: Any, **options: Any) -> "Callable[..., Any]":
        listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
        sets: list[dict[str, Any]] = []
        for row in rows:
            values = row.values if isinstance(row, Param) else row if len(listed) > 1 else [row]
            sets.append(dict(zip(listed, values)))

        def mark(test: Any) -> Any:
            test.parameters = [*getattr(test, "parameters", []), sets]
            return test

        return mark

    def __getattr__(self, name: str) -> Any:
        if name in ("skip", "skipif", "xfail", "usefixtures"):
            raise NotHere(f"mark.{name}")
        return lambda *args, **kwargs: (
            args[0] if len(args) == 1 and callable(args[0]) and not kwargs else lambda test: test
        )


def fixture(function: Any = None, **options: Any) -> Any:
    if {*options} - {"name"} and options not in ({"scope": "function"}, {"autouse": False}):
        raise NotHere(f"fixture({', '.join(options)})")
    if function is None:
        return fixture
    function.is_fixture = True
    return function


class Capture:
    """The fixture `capsys`: what was printed since it was last read."""

    def __init__(self) -> None:
        self.readouterr()

    def readouterr(self) -> Any:
        captured = Captured(
            *(one.getvalue() if isinstance(one, io.StringIO) else "" for one in (sys.stdout, sys.stderr))
        )
        sys.stdout = io.StringIO()
        sys.stderr = io.StringIO()
        return captured


Captured = namedtuple("Captured", "out err")


def make_module() -> ModuleType:
    """Return the module that tests import as `pytest`."""
    module = ModuleType("pytest")
    functions = {
        "raises": raises,
        "approx": Approx,
        "fail": fail,
        "skip": skip_test,
        "param": Param,
        "fixture": fixture,
    }
    vars(module).update(functions, mark=Mark(), main=lambda *args, **kwargs: 0, __getattr__=refuse)
    return module


def refuse(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotHere(name)
