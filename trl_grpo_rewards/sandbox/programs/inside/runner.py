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
from .dialogue import GIVEN, READ_END, WRITE_END
from .program import PACKAGE_ALIASES, PRELUDES, lift_limits, reserve_output
from .tests_side import ProgramClass, ProgramFunction, StandIn, TestsSide


MOST_CHARS = 200  # of a value in the description of a failure
LOOKING = {  # functions of the library that look into an object
    "dataclasses": "asdict astuple fields replace is_dataclass",
    "inspect": "getsource isabstract",
    "typing": "get_type_hints",
}
BUILTINS = {**vars(builtins), **PRELUDES["tests"]}  # what tests have without import; a copy in each process takes time


class Sink(io.TextIOBase):
    """Standard output of the tests, which nobody reads."""

    def write(self, text: str) -> int:
        return len(text)


def run_tests(tests: "dict[str, Any]", goes_on: bool) -> None:
    """Run tests and write a verdict as JSON. They are the fields of [`cases.PythonTests`] and [`python_tests.Use`]."""
    text = "\n".join(tests["blocks"])
    peer = TestsSide(reserve_output(), tests, are_sent=re.search(r"\.(send|throw|close)\b", text) is not None)
    main = sys.modules["__main__"] = ModuleType("__main__")
    lift_limits(0)
    try:
        module, found = peer.load(tests["names"])
    except BaseException as error:
        peer.stop(failure=f"the program raised {describe_error(error)}", crashed=True)
    sys.modules[GIVEN] = module
    vars(main).update({**found, "__builtins__": BUILTINS, **dict(find_libraries(tests["modules"]))})
    replace_modules(peer, text)
    verdict = run_each(peer, list_tests(tests, vars(main)), text, goes_on)
    if verdict["failure"] and peer.shared.has_forgotten:
        peer.stop_unjudged("they share more lists with it than are compared after each call. Remove such rows", True)
    if select.select([READ_END], [], [], 0)[0]:
        peer.stop(failure="the program ended, or sent a message that nobody asked for")
    if not verdict["total"] or not (verdict["failure"] or peer.is_used):
        peer.stop_unjudged("they use nothing of the program. Correct them, or remove such rows")
    peer.stop(**verdict)


def run_each(peer: TestsSide, tests: "Iterator[Any]", text: str, goes_on: bool) -> "dict[str, Any]":
    """Run tests, up to the first failure or all. Return how many there are and have passed, and the first failure."""
    total = 0
    passed = 0
    failure = ""
    is_crashed = False
    for test, is_counted in tests:
        if failure and not goes_on:
            break
        error = run_test(peer, test, text)
        if error is None:
            passed += is_counted
            total += is_counted
        elif peer.has_raised(error) or type(error) is not SystemExit or error.code:
            total += 1
            if not failure:
                call = describe_call(*peer.last_call or [None])
                failure = f"{find_failing_line(error)}{describe_error(error)}{call}"
                is_crashed = peer.has_raised(error)
        del error  # and what its frames have
    return {"passed": passed, "total": total, "failure": failure, "crashed": is_crashed}


def run_test(peer: TestsSide, test: Any, text: str) -> Any:
    """Return the error that a test raises. All ends if it cannot be judged here."""
    try:
        result = test()
        if inspect.iscoroutine(result):
            asyncio.run(result)
    except unittest.SkipTest:
        pass
    except BaseException as error:
        if type(error) not in peer.raised and (obstacle := explain_unjudged(error, text)):
            peer.stop_unjudged(obstacle)
        return error
    return None


def find_libraries(modules: "dict[str, list[str]]") -> "Iterator[tuple[str, ModuleType]]":
    """Yield the modules of the library that tests use without an import, if these have what the tests use of them."""
    for name, attributes in modules.items():
        with contextlib.suppress(ImportError):
            library = importlib.import_module(PACKAGE_ALIASES.get(name, name))
            if all(hasattr(library, one) for one in attributes):
                yield name, library


def replace_modules(peer: TestsSide, text: str) -> None:
    """Give tests our pytest, no input and output, and functions that also happen in the process of the program."""
    sys.modules["pytest"] = pytest_stand_in.make_module()
    vars(unittest)["main"] = lambda *args, **kwargs: None
    sys.stdin = io.StringIO()
    sys.stdout = Sink()
    for module, name in (("random", "seed"), ("numpy.random", "seed"), ("sys", "setrecursionlimit")):
        if module.partition(".")[0] in sys.modules and name in text:
            function = getattr(importlib.import_module(module), name)

            def call_both(*args: Any, module: str = module, name: str = name, function: Any = function) -> None:
                function(*args)
                peer.request("mirror", module, name, *args)

            setattr(importlib.import_module(module), name, call_both)
    for module, names in LOOKING.items():
        for name in names.split():
            if name in text:
                library = importlib.import_module(module)
                setattr(library, name, call_there(peer, getattr(library, name)))


def call_there(peer: TestsSide, function: Any) -> Any:
    """Return a function of the library that is called where the object is that it looks into."""

    @functools.wraps(function)
    def call(found: Any, *args: Any, **kwargs: Any) -> Any:
        is_theirs = isinstance(found, (StandIn, ProgramClass))
        return peer.call(call, (found, *args), kwargs) if is_theirs else function(found, *args, **kwargs)

    return call


def list_tests(tests: "dict[str, Any]", scope: "dict[str, Any]") -> "Iterator[tuple[Callable[[], Any], bool]]":
    """Yield the blocks of code, each with whether it counts, and the tests that they define."""
    for place, (block, is_test) in enumerate(zip(tests["blocks"], tests["are_tests"])):
        file = f"tests{place or ''}.py"
        linecache.cache[file] = (len(block), None, block.splitlines(True), file)
        code = compile(block, file, "exec", dont_inherit=True)
        yield functools.partial(exec, code, scope), is_test
    for test in find_tests(scope, tests["entry_point"], tests["called"]):
        yield test, True


def find_tests(
    scope: "dict[str, Any]", entry_point: "str | None", called: "list[str]"
) -> "Iterator[Callable[[], Any]]":
    """Yield the tests in a namespace, without the functions that the code has called itself."""
    defined = [(name, value) for name, value in [*scope.items()] if getattr(value, "__module__", "") == "__main__"]
    for name, value in defined:
        if isinstance(value, type):
            yield from list_methods(name, value, scope)
        elif isinstance(value, FunctionType) and name not in called:
            if name == "check" and entry_point:
                yield functools.partial(lambda test: test(eval(entry_point, scope)), value)
            elif name.startswith("test"):
                yield from list_calls(value, scope, [])
    items = [*scope.items()]
    yield from (value for name, value in items if name.startswith("test") and isinstance(value, functools.partial))


class CaseResult(unittest.TestResult):
    """Keeps the first error itself instead of its text."""

    error: Any = None

    def _exc_info_to_string(self, err: Any, test: Any) -> str:
        self.error = self.error or err[1]
        return ""


def list_methods(name: str, kind: Any, scope: "dict[str, Any]") -> "Iterator[Callable[[], Any]]":
    """Yield the tests of a class. One of unittest is set up before the first of them."""
    if not issubclass(kind, unittest.TestCase):
        yield from list_plain_methods(kind, scope) if name.startswith("Test") else ()
        return
    suite = [*unittest.defaultTestLoader.loadTestsFromTestCase(kind)]
    for case in suite:

        def run(case: Any = case) -> None:
            if case is suite[0]:
                kind.setUpClass()
            result = CaseResult()
            case.run(result)
            if case is suite[-1]:
                kind.tearDownClass()
            if not result.wasSuccessful():
                raise result.error or AssertionError("unexpected success")

        yield run


def list_plain_methods(kind: type, scope: "dict[str, Any]") -> "Iterator[Callable[[], Any]]":
    """Yield the tests of a class that is not one of unittest, each with an object of its own."""
    attributes = {name: inspect.getattr_static(kind, name) for name in dir(kind)}
    for name, method in attributes.items():
        if name.startswith("Test") and isinstance(method, type):
            yield from list_plain_methods(method, scope)
        elif name.startswith("test") and isinstance(method, (FunctionType, staticmethod)):
            owner = kind()
            function = getattr(method, "__func__", method)
            for call in list_calls(function, {**scope, **attributes}, [owner] if function is method else []):
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
        arguments = {name: value for values in chosen for name, value in values.items()}
        yield functools.partial(call_with_fixtures, test, scope, owner, arguments)


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
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}..."


def describe_error(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1][:MOST_CHARS]


def find_failing_line(error: BaseException) -> str:
    lines = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith("tests")]
    return f"{(lines[-1].line or '').strip()[:MOST_CHARS]!r}: " if lines else ""


def describe_call(target: Any, args: Any = (), kwargs: Any = None, end: str = "", outcome: Any = None) -> str:
    """Return which call of the program was the last one, and how it ended."""
    if target is None:
        return ""
    shown = [*map(show, args), *(f"{name}={show(one)}" for name, one in kwargs.items())]
    name = target.__name__ if isinstance(target, (type, ProgramFunction)) else type(target).__name__
    result = describe_error(outcome) if end == "raised" else show(outcome) if end == "returned" else ""
    return f"; the last call, {name}({', '.join(shown)[:MOST_CHARS]}), {end} {result}".rstrip()


def run_side_by_side(tests: str, program: str) -> None:
    """Run two sources that talk, for a server that cannot. The program could reach the process of the tests."""
    to_tests = os.pipe()
    to_program = os.pipe()
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
