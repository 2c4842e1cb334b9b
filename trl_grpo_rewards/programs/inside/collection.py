"""Finds the tests that code has defined: `check`, functions and methods named `test...`, and classes of unittest."""

import functools
import inspect
import itertools
import unittest
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from .pytest_stand_in import Capture


def find_tests(
    scope: "dict[str, Any]", entry_point: "str | None", called: "list[str]"
) -> "Iterator[Callable[[], Any]]":
    """Yield the tests in a namespace, without the functions that the code has called itself."""
    own = [(name, one) for name, one in [*scope.items()] if getattr(one, "__module__", "") == "__main__"]
    for name, one in own:
        if isinstance(one, FunctionType) and name not in called:
            if name == "check" and entry_point:
                yield functools.partial(check, one, entry_point, scope)
            elif name.startswith("test"):
                yield from list_calls(one, scope, [])
        elif isinstance(one, type) and issubclass(one, unittest.TestCase):
            yield from list_methods(one)
        elif isinstance(one, type) and name.startswith("Test"):
            yield from list_plain_methods(one, scope)
    for name, one in [*scope.items()]:
        if name.startswith("test") and isinstance(one, functools.partial):
            yield one


def check(function: "Callable[[Any], Any]", entry_point: str, scope: "dict[str, Any]") -> Any:
    return function(eval(entry_point, scope))


def list_methods(kind: "type[unittest.TestCase]") -> "Iterator[Callable[[], Any]]":
    """Yield the tests of a class of unittest. The class is set up before the first of them."""
    suite = [*unittest.defaultTestLoader.loadTestsFromTestCase(kind)]
    for place, case in enumerate(suite):

        def run(case: Any = case, place: int = place) -> None:
            if place == 0:
                kind.setUpClass()
            result = Result()
            case.run(result)
            if place == len(suite) - 1:
                kind.tearDownClass()
            if result.error is not None:
                raise result.error

        yield run


class Result(unittest.TestResult):
    """Keeps the first error itself instead of its text."""

    error: Any = None

    def addError(self, test: Any, err: Any) -> None:
        self.error = self.error or err[1]

    addFailure = addError

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.error = self.error or err[1]

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.error = AssertionError("unexpected success")


def run_with_setup(owner: Any, method: Any, call: "Callable[[], Any]") -> Any:
    for name in ("setup_method", "setUp"):
        if hasattr(owner, name):
            setup = getattr(owner, name)
            setup(*[method] * (setup.__code__.co_argcount - 1))
    return call()


def list_plain_methods(kind: type, scope: "dict[str, Any]") -> "Iterator[Callable[[], Any]]":
    """Yield the tests of a class that is not one of unittest, each with an object of its own."""
    known = {name: inspect.getattr_static(kind, name) for name in dir(kind)}
    for name, method in known.items():
        if name.startswith("Test") and isinstance(method, type):
            yield from list_plain_methods(method, scope)
        elif name.startswith("test") and isinstance(method, (FunctionType, staticmethod)):
            owner, is_static = kind(), isinstance(method, staticmethod)
            function = getattr(owner, name) if is_static else method
            for call in list_calls(function, {**scope, **known}, [] if is_static else [owner]):
                yield functools.partial(run_with_setup, owner, function, call)


def list_calls(test: Any, scope: "dict[str, Any]", owner: "list[Any]") -> "Iterator[Callable[[], None]]":
    """Yield the calls of a test function: one for each set of its parameters, with its fixtures."""
    for chosen in itertools.product(*getattr(test, "parameters", [])):
        known = {name: value for one in chosen for name, value in one.items()}
        yield functools.partial(call_with_fixtures, test, scope, owner, known)


def call_with_fixtures(test: Any, scope: "dict[str, Any]", owner: "list[Any]", known: "dict[str, Any]") -> Any:
    """Call a function. Its arguments are known values or the values of fixtures, by the names of its parameters."""
    code = test.__code__
    names = code.co_varnames[len(owner) : code.co_argcount + code.co_kwonlyargcount]
    optional = code.co_argcount - len(test.__defaults__ or ())
    endings = []
    for place, name in enumerate(names, len(owner)):
        if name in known or place >= optional:
            continue
        maker = scope.get(name)
        if name == "capsys":
            known[name] = Capture()
        elif getattr(maker, "is_fixture", False):
            known[name] = call_with_fixtures(maker, scope, [], known)
            if hasattr(known[name], "__next__"):
                endings.append(known[name])
                known[name] = next(known[name])
        else:
            raise LookupError(f"there is no fixture {name!r}")
    try:
        return test(*owner, **{name: known[name] for name in names if name in known})
    finally:
        for ending in endings:
            next(ending, None)
