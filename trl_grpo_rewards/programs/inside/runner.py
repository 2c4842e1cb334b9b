"""Runs the tests of a row as they are written, in a process of their own, and writes what it found."""

import asyncio
import builtins
import contextlib
import functools
import importlib
import inspect
import io
import itertools
import linecache
import os
import re
import select
import signal
import sys
import traceback
import unittest
from collections.abc import Callable, Iterator
from pathlib import PurePath
from types import FunctionType, ModuleType
from typing import Any

from . import pytest_stand_in
from .dialogue import GIVEN, READ_END, WRITE_END, lift_limits, reserve_output
from .prelude import PACKAGES, PRELUDES
from .stand_ins import ProgramClass, ProgramFunction, StandIn
from .tests_side import TestsSide


SHOWN_CHARS = 200  # of a value in the description of a failure

BUILTINS = {**vars(builtins), **PRELUDES["tests"]}
"""What tests have without an import. It is made once, because to copy it in each process takes time."""


class Sink(io.TextIOBase):
    """Standard output of the tests, which nobody reads."""

    def write(self, text: str) -> int:
        return len(text)


class Tests:
    """The tests of a row: the fields of [`cases.PythonTests`] and [`python_tests.Use`]."""

    def __init__(self, tests: "dict[str, Any]", goes_on: bool, verdict: int) -> None:
        self.tests, self.goes_on, self.text = tests, goes_on, "\n".join(tests["blocks"])
        self.scope = vars(sys.modules["__main__"])
        self.scope["__builtins__"] = BUILTINS
        self.peer = TestsSide(verdict)
        self.peer.members = {*tests["members"]}
        self.peer.names_stop = tests["names_stop"]
        self.peer.are_sent = re.search(r"\.(send|throw|close)\b", self.text) is not None
        self.passed, self.total, self.failure, self.is_crashed = 0, 0, "", False

    def run(self) -> None:
        try:
            module, found = self.peer.request("load", *self.tests["names"])
        except BaseException as error:
            self.peer.stop(failure=f"the program raised {describe_error(error)}", crashed=True)
        self.scope.update(found)
        for name, one in [*found.items(), ("", module)]:
            self.peer.name(None, name, one)
        self.peer.has_values = any(not isinstance(one, (StandIn, ProgramClass)) for one in found.values())
        for name, attributes in self.tests["modules"].items():
            with contextlib.suppress(ImportError):
                library = importlib.import_module(PACKAGES.get(name, name))
                if all(hasattr(library, one) for one in attributes):
                    self.scope[name] = library
        classes = (found.get(name) for name in self.tests["classes"])
        self.peer.trusted.update(one._number for one in classes if isinstance(one, ProgramClass))
        sys.modules[GIVEN] = module
        self.replace_modules()
        for place, (block, is_test) in enumerate(zip(self.tests["blocks"], self.tests["are_tests"])):
            file = f"tests{place or ''}.py"
            linecache.cache[file] = (len(block), None, block.splitlines(True), file)
            code = compile(block, file, "exec", dont_inherit=True)
            self.attempt(functools.partial(exec, code, self.scope), is_test)
        for test in find_tests(self.scope, self.tests["entry_point"], self.tests["called"]):
            self.attempt(test)
        if select.select([READ_END], [], [], 0)[0]:
            self.peer.stop(failure="the program ended, or sent a message that nobody asked for")
        if not self.total or not (self.failure or self.peer.is_used):
            self.peer.stop_unjudged("they use nothing of the program. Correct them, or remove such rows")
        self.peer.stop(passed=self.passed, total=self.total, failure=self.failure, crashed=self.is_crashed)

    def replace_modules(self) -> None:
        sys.modules["pytest"] = pytest_stand_in.make_module()
        vars(unittest)["main"] = lambda *args, **kwargs: None
        sys.stdin, sys.stdout = io.StringIO(), Sink()
        for module, name in (("random", "seed"), ("numpy.random", "seed"), ("sys", "setrecursionlimit")):
            if module.partition(".")[0] in sys.modules and name in self.text:
                self.mirror(importlib.import_module(module), name)

    def mirror(self, module: ModuleType, name: str) -> None:
        """Let a call of a function happen in the process of the program as well."""
        function = getattr(module, name)

        def call_both(*args: Any) -> None:
            function(*args)
            self.peer.request("mirror", module.__name__, name, *args)

        setattr(module, name, call_both)

    def attempt(self, test: "Callable[[], Any]", is_counted: bool = True) -> None:
        if self.failure and not self.goes_on:
            return
        self.total += is_counted
        try:
            result = test()
            if inspect.iscoroutine(result):
                asyncio.run(result)
        except unittest.SkipTest:
            pass
        except BaseException as error:
            is_of_program = self.peer.has_raised(error)
            if type(error) not in self.peer.raised and (obstacle := explain_unjudged(error, self.text)):
                self.peer.stop_unjudged(obstacle)
            if is_of_program or type(error) is not SystemExit or error.code:
                self.total += not is_counted
                if not self.failure:
                    call = describe_call(*self.peer.last_call or [None])
                    self.failure = f"{find_failing_line(error)}{describe_error(error)}{call}"
                    self.is_crashed = is_of_program
                return
        self.passed += is_counted


def find_tests(
    scope: "dict[str, Any]", entry_point: "str | None", called: "list[str]"
) -> "Iterator[Callable[[], Any]]":
    """Yield the tests in a namespace, without the functions that the code has called itself."""
    own = [(name, one) for name, one in [*scope.items()] if getattr(one, "__module__", "") == "__main__"]
    for name, one in own:
        if isinstance(one, FunctionType) and name not in called:
            if name == "check" and entry_point:
                yield functools.partial(lambda test: test(eval(entry_point, scope)), one)
            elif name.startswith("test"):
                yield from list_calls(one, scope, [])
        elif isinstance(one, type) and issubclass(one, unittest.TestCase):
            yield from list_methods(one)
        elif isinstance(one, type) and name.startswith("Test"):
            yield from list_plain_methods(one, scope)
    for name, one in [*scope.items()]:
        if name.startswith("test") and isinstance(one, functools.partial):
            yield one


class Result(unittest.TestResult):
    """Keeps the first error itself instead of its text."""

    error: Any = None

    def _exc_info_to_string(self, err: Any, test: Any) -> str:
        self.error = self.error or err[1]
        return ""


def list_methods(kind: "type[unittest.TestCase]") -> "Iterator[Callable[[], Any]]":
    """Yield the tests of a class of unittest. The class is set up before the first of them."""
    suite = [*unittest.defaultTestLoader.loadTestsFromTestCase(kind)]
    for case in suite:

        def run(case: Any = case) -> None:
            if case is suite[0]:
                kind.setUpClass()
            result = Result()
            case.run(result)
            if case is suite[-1]:
                kind.tearDownClass()
            if not result.wasSuccessful():
                raise result.error or AssertionError("unexpected success")

        yield run


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


def run_with_setup(owner: Any, method: Any, call: "Callable[[], Any]") -> Any:
    for name in ("setup_method", "setUp"):
        if hasattr(owner, name):
            setup = getattr(owner, name)
            setup(*[method] * (setup.__code__.co_argcount - 1))
    return call()


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
            known[name] = pytest_stand_in.Capture()
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


def explain_unjudged(error: BaseException, tests: str) -> str:
    """Return why tests that raise an error themselves cannot be judged here, or nothing if they can."""
    missing = PurePath(str(getattr(error, "filename", None) or getattr(error, "name", None) or ""))
    if missing.name and not re.search(rf"(?:[\"'/]|import +|from +){re.escape(missing.name)}\b", tests):
        return ""  # the program may have chosen it
    if isinstance(error, ModuleNotFoundError):
        return f"{error}. Name installed packages that they need, such as packages=('numpy',), or correct the tests"
    if isinstance(error, pytest_stand_in.NotHere):
        return f"they use {error} of pytest, which is not supported. Remove such rows"
    if isinstance(error, OSError) and (error.filename or isinstance(error, FileNotFoundError)):
        return f"they fail with {describe_error(error)} in the sandbox. Remove such rows"
    return ""


def show(value: Any) -> str:
    """Return a value as Python shows it, shortened. Integers of more than 4300 digits are not shown: that takes long."""
    lift_limits(4300)
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    lift_limits(0)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."


def describe_error(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1][:SHOWN_CHARS]


def find_failing_line(error: BaseException) -> str:
    lines = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith("tests")]
    return f"{(lines[-1].line or '').strip()[:SHOWN_CHARS]!r}: " if lines else ""


def describe_call(target: Any, args: Any = (), kwargs: Any = None, end: str = "", outcome: Any = None) -> str:
    """Return which call of the program was the last one, and how it ended."""
    if target is None:
        return ""
    shown = [*map(show, args), *(f"{name}={show(one)}" for name, one in kwargs.items())]
    name = target.__name__ if isinstance(target, (type, ProgramFunction)) else type(target).__name__
    result = describe_error(outcome) if end == "raised" else show(outcome) if end == "returned" else ""
    return f"; the last call, {name}({', '.join(shown)[:SHOWN_CHARS]}), {end} {result}".rstrip()


def run_tests(tests: "dict[str, Any]", goes_on: bool) -> None:
    """Run the tests of a row against the program at the other end of the pipes, and write a verdict as JSON."""
    verdict = reserve_output()
    sys.modules["__main__"] = ModuleType("__main__")
    lift_limits(0)
    Tests(tests, goes_on, verdict).run()


def run_side_by_side(tests: str, program: str) -> None:
    """Run two sources that talk, for a server that cannot. The program could reach the process of the tests."""
    to_tests, to_program = os.pipe(), os.pipe()
    second = start_source(program, to_program[0], to_tests[1], is_quiet=True)
    first = start_source(tests, to_tests[0], to_program[1], is_quiet=False)
    for end in to_tests + to_program:
        os.close(end)
    status = os.waitpid(first, 0)[1]
    os.kill(second, signal.SIGKILL)
    sys.exit(int(status != 0))


def start_source(source: str, reading: int, writing: int, is_quiet: bool) -> int:
    """Run a source in another process, which has these ends of the pipes. Return its number."""
    process = os.fork()
    if process:
        return process
    try:
        high = [os.dup2(end, place) for place, end in enumerate((reading, writing), 64)]  # above their places
        for end, place in zip(high, (READ_END, WRITE_END)):
            os.dup2(end, place)
        os.closerange(WRITE_END + 1, 256)
        if is_quiet:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})
    finally:
        os._exit(1)
