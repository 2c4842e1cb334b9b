"""The process of the tests: it runs them as they are written, and writes what it found.

The program cannot reach this process. What it can do is to answer wrongly, which fails a test, or to break the rules of the
dialogue, which ends the tests as failed, whatever they would catch.
"""

import ast
import asyncio
import builtins
import functools
import inspect
import io
import json
import linecache
import os
import select
import sys
import traceback
import unittest
from collections import Counter
from collections.abc import Callable, Iterator
from types import CoroutineType, FunctionType, GeneratorType, ModuleType
from typing import Any

from . import nodes, pytest_stand_in
from .dialogue import GIVEN, READ_END, Ended, Peer, find_origin, lift_limits, make_error
from .plain_data import CannotCross, Violation, pair_up
from .prelude import MODULES, NODES, PRELUDES
from .stand_ins import (
    ProgramClass,
    ProgramFunction,
    ProgramModule,
    ProgramObject,
    StandIn,
    await_value,
    iterate,
    make_class,
    make_object,
)


SHOWN_CHARS = 200
"""Maximum length of a value in the description of a failure, in characters."""


KNOWN = {
    tuple(origin): one
    for one in [*PRELUDES["usual"].values(), *vars(builtins).values()]
    if isinstance(one, (type, FunctionType))
    for origin in [find_origin(one)]
    if origin
}
"""Objects that the tests have themselves where the program has the same ones."""


GUARDED = {*vars(builtins), *MODULES}
"""Names that a program may define and that tests do not get from it, unless they are what is tested."""


class ProgramExit(SystemExit):
    """Raised where the program called `sys.exit`. It does not end the tests as their own `sys.exit(0)` does."""

    __module__, __qualname__ = "builtins", "SystemExit"


class Sink(io.TextIOBase):
    """Standard output of the tests, which nobody reads."""

    def write(self, text: str) -> int:
        return len(text)


class TestsSide(Peer):
    """
    The end of the dialogue that holds the tests.

    Args:
        verdict (`int`):
            File descriptor for what was found.
    """

    def __init__(self, verdict: int) -> None:
        super().__init__()
        self.verdict = verdict
        self.stand_ins: dict[int, Any] = {}
        self.iterators: dict[int, Any] = {}
        self.records: dict[str, type] = {"ListNode": nodes.ListNode, "TreeNode": nodes.TreeNode}
        self.last_call: Any = None
        self.last_error: Any = None

    def request(self, do: str, *values: Any) -> Any:
        try:
            return super().request(do, *values)
        except CannotCross as error:
            self.stop_unjudged(f"the tests give the program {error}, which cannot be sent to it")
        except Violation as error:
            self.stop(failure=f"the program sent {error}")
        except (Ended, BrokenPipeError):
            self.stop(failure="the program ended during the tests", crashed=True)
        except BaseException as error:
            self.last_error = error
            raise

    def call(self, target: Any, args: Any, kwargs: Any, is_made: bool = False) -> Any:
        self.last_call = [target, args, kwargs, "did not return", None]
        try:
            value = self.request("call", target, args, kwargs, is_made)
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
        """Write what was found, and end this process."""
        os.write(self.verdict, json.dumps(found).encode())
        os._exit(0)

    def stop_unjudged(self, reason: str) -> None:
        self.stop(unjudged=reason)

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
        if isinstance(value, (GeneratorType, CoroutineType)):
            number = next((one for one, made in self.stand_ins.items() if made is value), None)
            if number is not None:
                return ["yours", number]
        if kind.__module__ in ("__main__", nodes.__name__) and not callable(value) and hasattr(value, "__dict__"):
            self.records[kind.__name__] = kind
            return ["record", kind.__name__, *(one for pair in vars(value).items() for one in pair)]
        if callable(value) and not isinstance(value, type):
            return ["function", self.register(value)]
        return ["iterator", self.register(value)] if hasattr(value, "__next__") else None

    def resolve(self, kind: str, *contents: Any) -> Any:
        if kind == "yours":
            return self.own[contents[0]]
        if kind == "error":
            error = make_error(*contents)
            return ProgramExit(*error.args) if isinstance(error, SystemExit) else error
        number = contents[0]
        if number not in self.stand_ins:
            self.stand_ins[number] = self.make_stand_in(kind, *contents)
        return self.stand_ins[number]

    def make_stand_in(self, kind: str, number: int, *about: Any) -> Any:
        if kind in ("class", "function") and (known := self.find_known(about[1])):
            return known
        if kind == "class":
            name, _, error, specials, *bases = about
            return make_class(self, number, name, error, specials, bases)
        if kind in ("iterator", "awaitable"):
            self.iterators[number] = make_object(self, StandIn, number)
            return iterate(self, number) if kind == "iterator" else await_value(self, number)
        if kind == "function":
            return make_object(self, ProgramFunction, number, name=about[0])
        if kind == "module":
            return make_object(self, ProgramModule, number)
        if kind not in ("object", "failure"):
            raise Violation(f"an object of an unknown kind {kind!r}")
        is_ours = not isinstance(about[0], ProgramClass) and kind == "object"
        return make_object(self, ProgramObject if is_ours else about[0], number, *about[1:])

    def find_known(self, origin: "list[str] | None") -> Any:
        """Return the object of the standard library that a class or function of the program is, if tests may have it."""
        if origin is None:
            return None
        error = getattr(sys.modules.get(origin[0]), origin[1], None)
        is_error = isinstance(error, type) and issubclass(error, Exception) and not origin[0].startswith("unittest")
        return KNOWN.get(tuple(origin)) or (error if is_error else None)  # those of unittest could skip a test

    def make_empty(self, kind: str, forms: "list[Any]") -> Any:
        if kind != "record":
            return None
        if forms[0] not in self.records:
            raise Violation("an object of a class of which it was given none")
        return object.__new__(self.records[forms[0]]), fill_record

    def call_own(self, target: Any, args: Any, kwargs: Any) -> Any:
        if id(target) not in self.numbers:
            raise Violation("a call of something that was not given to the program")
        return target(*args, **kwargs)

    def take_own(self, target: Any) -> Any:
        if id(target) not in self.numbers:
            raise Violation("a question about something that was not given to the program")
        return next(target)

    operations = {"call": call_own, "next": take_own, "readline": lambda self: sys.stdin.readline()}
    """Everything that the program may ask for: to call a function or to go on with an iterator that it was given, and to
    read a line of the standard input of the tests."""


def fill_record(found: Any, items: "list[Any]") -> None:
    attributes = {name: one for name, one in pair_up(items[1:]).items() if isinstance(name, str) and name[:2] != "__"}
    vars(found).clear()
    vars(found).update(attributes)


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


class Tests:
    """
    The tests of a row.

    Args:
        blocks (`list[str]`):
            Python code, each block after the other in one namespace.
        entry_point (`str`, *optional*):
            What `check(candidate)` gets, as a Python expression.
        goes_on (`bool`):
            Whether to go on after a failure.
        verdict (`int`):
            File descriptor for what was found.
    """

    def __init__(self, blocks: "list[str]", entry_point: "str | None", goes_on: bool, verdict: int) -> None:
        self.blocks, self.entry_point, self.goes_on = blocks, entry_point, goes_on
        self.trees = [ast.parse(block) for block in blocks]
        self.nodes = [node for tree in self.trees for node in ast.walk(tree)]
        self.scope = vars(sys.modules["__main__"])
        self.scope.update(PRELUDES["usual"])
        self.peer = TestsSide(verdict)
        self.passed, self.total, self.failure, self.is_crashed = 0, 0, "", False

    def run(self) -> None:
        """Run everything, write what was found, and end the process."""
        try:
            module, found = self.peer.request("load", self.list_names())
        except BaseException as error:
            self.peer.stop(failure=f"the program raised {describe_error(error)}", crashed=True)
        self.scope.update(found)
        self.is_value_used = any(not isinstance(one, (StandIn, ProgramClass)) for one in found.values())
        for name in find_classes(self.nodes):
            if isinstance(found.get(name), ProgramClass):
                type.__setattr__(found[name], "_is_trusted", True)
        sys.modules[GIVEN] = module
        self.replace_modules()
        for place, (block, tree) in enumerate(zip(self.blocks, self.trees)):
            file = f"tests{place or ''}.py"
            linecache.cache[file] = (len(block), None, block.splitlines(True), file)
            code = compile(tree, file, "exec", dont_inherit=True)
            self.attempt(functools.partial(exec, code, self.scope), is_counted=any(map(is_test, tree.body)))
        for test in self.find_tests():
            self.attempt(test)
        if select.select([READ_END], [], [], 0)[0]:
            self.peer.stop(failure="the program ended, or sent a message that nobody asked for")
        if not self.total or not (self.failure or self.is_program_used):
            self.peer.stop_unjudged("they use nothing of the program")
        self.peer.stop(passed=self.passed, total=self.total, failure=self.failure, crashed=self.is_crashed)

    @property
    def is_program_used(self) -> bool:
        """Whether the tests have asked the program for anything but its names, or got a value of it with these."""
        return self.is_value_used or self.peer.asked > 1

    def list_names(self) -> "list[str]":
        """
        Return the names that tests may have from the program.

        A program may define functions such as `sum` or `abs`. Tests get them only if they are what is tested: the entry point,
        or if the tests use no other name that could be of the program.
        """
        used = {node.id for node in self.nodes if isinstance(node, ast.Name) and not node.id.startswith("__")}
        bound = {node.id for node in self.nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
        bound |= {node.arg for node in self.nodes if isinstance(node, ast.arg)}
        bound |= {node.name for node in self.nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        bound |= {
            (alias.asname or alias.name).partition(".")[0]
            for node in self.nodes
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        entry = {ast.parse(self.entry_point).body[0].value} if self.entry_point else set()  # type: ignore[attr-defined]
        entries = {node.id for one in entry for node in ast.walk(one) if isinstance(node, ast.Name)}
        is_builtin_tested = not entries and not used - GUARDED - bound - {*NODES}
        return sorted((used if is_builtin_tested else used - GUARDED) | entries)

    def replace_modules(self) -> None:
        """Give the tests streams, pytest, and unittest without what ends the process."""
        sys.modules["pytest"] = pytest_stand_in.make_module()
        vars(unittest)["main"] = lambda *args, **kwargs: None
        sys.stdin, sys.stdout = io.StringIO(), Sink()
        for name in ("random", "numpy.random"):
            if name in sys.modules:
                self.share_seed(sys.modules[name])

    def share_seed(self, module: ModuleType) -> None:
        """Seed the program's generator whenever the tests seed theirs."""
        seed = module.seed

        def seed_both(*args: Any) -> None:
            seed(*args)
            self.peer.request("seed", module.__name__, *args)

        module.seed = seed_both  # type: ignore[attr-defined]

    def find_tests(self) -> "Iterator[Callable[[], Any]]":
        """Yield the tests that the code defines and has not called itself."""
        called = {name for tree in self.trees for name in list_called(tree.body)}
        own = [(name, one) for name, one in [*self.scope.items()] if getattr(one, "__module__", "") == "__main__"]
        for name, one in own:
            if name == "check" and isinstance(one, FunctionType) and self.entry_point and name not in called:
                yield functools.partial(self.check, one, self.entry_point)
            elif isinstance(one, FunctionType) and name.startswith("test") and name not in called:
                yield from pytest_stand_in.list_calls(one, self.scope, [])
            elif isinstance(one, type) and issubclass(one, unittest.TestCase):
                yield from list_methods(one)
            elif isinstance(one, type) and name.startswith("Test") and not issubclass(one, BaseException):
                yield from self.list_plain_methods(one)

    def check(self, function: "Callable[[Any], Any]", entry_point: str) -> Any:
        return function(eval(entry_point, self.scope))

    def list_plain_methods(self, kind: type) -> "Iterator[Callable[[], Any]]":
        for name, method in vars(kind).items():
            if name.startswith("test") and isinstance(method, FunctionType):
                owner = kind()
                for call in pytest_stand_in.list_calls(method, {**self.scope, **vars(kind)}, [owner]):
                    yield lambda call=call, owner=owner, method=method: run_with_setup(owner, method, call)  # type: ignore[misc]

    def attempt(self, test: "Callable[[], Any]", is_counted: bool = True) -> None:
        """Run a test, and count it."""
        if self.failure and not self.goes_on:
            return
        self.total += is_counted
        try:
            result = test()
            if inspect.iscoroutine(result):
                asyncio.run(result)
        except unittest.SkipTest:
            pass
        except ModuleNotFoundError as error:
            if error is not self.peer.last_error:
                self.peer.stop_unjudged(f"the tests import {error.name}, which cannot be imported")
            self.fail(error, is_counted)
            return
        except SystemExit as error:
            if type(error) is not SystemExit or error.code:  # a subclass is an error of the program
                self.fail(error, is_counted)
                return
        except BaseException as error:
            self.fail(error, is_counted)
            return
        self.passed += is_counted

    def fail(self, error: BaseException, is_counted: bool) -> None:
        self.total += not is_counted
        if not self.failure:
            self.is_crashed = error is self.peer.last_error
            self.failure = f"{find_line(error)}{describe_error(error)}{describe_call(*self.peer.last_call or [None])}"


def is_test(statement: ast.stmt) -> bool:
    """Return whether a statement can fail for what a program does: it is not a definition, an import or a docstring."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return not isinstance(statement, definitions) and any(
        isinstance(one, (ast.Assert, ast.Call)) for one in ast.walk(statement)
    )


def list_called(body: "list[Any]") -> "Iterator[str]":
    """Yield the names of the functions that are called where the code stands."""
    for statement in body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for node in ast.walk(statement):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    yield node.func.id


def list_operands(node: ast.AST) -> "Iterator[str]":
    """Yield the names that are called for the operands of an expression."""
    if isinstance(node, ast.BinOp):
        yield from list_operands(node.left)
        yield from list_operands(node.right)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield node.func.id


def find_classes(nodes_of_tests: "list[ast.AST]") -> "set[str]":
    """
    Return the names that tests use as classes of the program: the tests use attributes of their objects, change their
    items, or have operators between two of them. A function such as `Find_Max` is only called.
    """
    made = {
        ast.dump(target, annotate_fields=False).replace("Store", "Load"): node.value.func.id
        for node in nodes_of_tests
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
        for target in node.targets
    }
    found = set()
    for node in nodes_of_tests:
        if isinstance(node, ast.Attribute) or isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            owner = node.value.func if isinstance(node.value, ast.Call) else node.value
            found.add(made.get(ast.dump(owner, annotate_fields=False), getattr(owner, "id", "")))
        elif isinstance(node, (ast.BinOp, ast.Compare)):
            operands = [node.left, *(node.comparators if isinstance(node, ast.Compare) else [node.right])]
            counts = Counter(name for one in operands for name in list_operands(one))
            found |= {name for name, count in counts.items() if count > 1}
    return {name for name in found if name[:1].isupper()}


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


def find_line(error: BaseException) -> str:
    """Return the innermost line of the tests that an error passed."""
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


def run_tests(blocks: "list[str]", entry_point: "str | None", goes_on: bool) -> None:
    """Run the tests of a row against the program at the other end of the pipes, and write a verdict as JSON."""
    verdict = os.dup(1)
    os.dup2(2, 1)
    sys.modules["__main__"] = ModuleType("__main__")
    lift_limits(0)
    Tests(blocks, entry_point, goes_on, verdict).run()
