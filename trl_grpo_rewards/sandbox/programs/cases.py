"""The tests of one row as values, and whether what a program gave back passes them. Nothing of the program is evaluated."""

import asyncio
import functools
import json
import math
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from ...texts import read_json
from ..protocol import Limits, RunResult, Sandbox, Status
from . import inside
from .inside.program import convert
from .python_tests import PythonTests, UnreadableTests, find_use


INTEGER = re.compile(r"[+-]?[0-9]+")
WRITTEN_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
PRINTED_TOLERANCE = 1e-6  # of two numbers with a decimal point, absolute or relative: most contests print six digits
MAX_NUMBER_CHARS = 400  # of a number that is compared by its value: the largest float has 309 digits
SHOWN_CHARS = 200  # of an input, an expected value or an output in the description of a failure
SPACED_BRACKETS = re.compile(r" ?([][(){},]) ?")  # next to which spaces make no difference
STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?')  # in JSON; the last quote may be missing, so that time is linear
DEPTHS = {"[": 1, "{": 1, "]": -1, "}": -1}
# Largest length of an answer, in characters and as a multiple of what is expected. Equal numbers may have texts of
# different lengths: `0` has three characters with its separator, and `-1.2345678901234567e-07` has 25.
SPARE_CHARS = 1000
CHARS_RATIO = 10
SPARE_LEVELS = 10  # number of levels by which an answer may be nested more deeply than what is expected
INSIDE_FOLDER = Path(inside.__file__).parent  # what runs in the sandbox
PACKAGE = "sandbox.programs.inside"  # its name there
MODULES = tuple(sorted(f"{PACKAGE}.{file.stem}" for file in INSIDE_FOLDER.glob("[a-z]*.py")))  # may be loaded early

# What goes before the source for a back end that has not loaded the modules: they travel with it.
LOADER = """
import importlib.machinery, sys
SOURCES = {sources!a}
class Loader:
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=not SOURCES[name]) if name in SOURCES else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(SOURCES[module.__name__], module.__name__, "exec"), module.__dict__)
sys.meta_path.insert(0, Loader())
"""


@dataclass(frozen=True)
class OutputCase:
    """A run of the program as a script: what it reads from standard input, and what it must write."""

    input: str
    output: str
    function: ClassVar[None] = None

    def is_right(self, output: str) -> bool:
        """Return whether an output has the expected words. Numbers with a point or an exponent may differ by 1e-6."""
        words = output.split()
        expected = self.output.split()
        if len(words) == len(expected) and all(map(is_right_word, words, expected)):
            return True
        # only whitespace may differ, which is cheap to see before it is looked at
        may_differ = any(one in self.output for one in "[({") and "".join(words) == "".join(expected)
        return may_differ and len({SPACED_BRACKETS.sub(r"\1", " ".join(one)) for one in (words, expected)}) == 1

    def describe(self) -> str:
        return f"input {shorten(self.input)!r}; expected {shorten(self.output)!r}"

    def show(self, output: str) -> str:
        return f"wrote {shorten(output)!r}"


@dataclass(frozen=True)
class CallCase:
    """A call of a function of the program. The program sees the arguments and never the accepted values."""

    function: str  # its name, or that of a method of the class `Solution`
    input: str  # JSON text of the list of arguments
    accepted: tuple[Any, ...]  # values that pass, as plain JSON values
    in_place: bool = False  # whether a function that returns None is judged by its first argument after the call
    output: ClassVar[str] = ""  # as the result is no longer than the limit allows

    def is_right(self, output: str) -> bool:
        """Return whether an answer is an accepted value by Python's `==`, as JSON holds both. Floats may be close."""
        accepted = [convert(one) for one in self.accepted]
        longest = [self.input, *map(json.dumps, accepted)]  # None is answered with the first argument
        is_short = len(output) <= SPARE_CHARS + CHARS_RATIO * max(map(len, longest))
        if not is_short or measure_depth(output) > SPARE_LEVELS + max(map(measure_depth, longest)):
            return False
        try:
            match read_json(output):
                case {"value": None, "first": first} if self.in_place:
                    return any(is_same_data(first, one) for one in accepted)
                case {"value": value}:
                    return any(is_same_data(value, one) for one in accepted)
        except (ValueError, RecursionError):
            pass
        return False

    def describe(self) -> str:
        expected = shorten(" or ".join(map(repr, self.accepted)))
        return f"call {self.function}({shorten(self.input.strip()[1:-1])}); expected {expected}"

    def show(self, output: str) -> str:
        try:
            return f"returned {shorten(repr(json.loads(output[:10_000])['value']))}"
        except (ValueError, LookupError, TypeError, RecursionError):
            return f"returned {shorten(repr(output))}"


Case: TypeAlias = OutputCase | CallCase | PythonTests


@dataclass(frozen=True)
class RowTests:
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class ProgramVerdict:
    passed: int
    total: int  # of the cases: Python tests are one, or several parts if a program goes on after a failure
    status: Status | None = None  # how the first run that failed ended; None if all passed
    failure: str = ""  # description of the first failure

    @property
    def share(self) -> float:
        return self.passed / self.total


def keeps_apart(sandbox: Sandbox) -> bool:
    """Return whether a back end can join the tests and the program by nothing but pipes."""
    return hasattr(sandbox, "run_joined")


def list_importable(sandbox: Sandbox) -> Collection[str] | None:
    """Return the modules that tests may import besides the standard library, or None if only the back end knows."""
    return getattr(sandbox, "importable", None)


def write_call(module: str, function: str, *arguments: Any) -> str:
    """Return the source of a call of a function inside, in ASCII."""
    return f"from {PACKAGE}.{module} import {function}\n{function}({', '.join(map(ascii, arguments))})\n"


@functools.cache
def write_loader() -> str:
    sources = {f"{PACKAGE}.{file.stem}": file.read_text(encoding="utf-8") for file in INSIDE_FOLDER.glob("[a-z]*.py")}
    return LOADER.format(sources={"sandbox": "", "sandbox.programs": "", PACKAGE: "", **sources})


def bundle(source: str, sandbox: Sandbox | None = None) -> str:
    """Return a source with the modules that it needs, unless the back end has loaded them."""
    return source if {*MODULES} <= {*getattr(sandbox, "modules", ())} else f"{write_loader()}\n{source}"


async def go_on(result: RunResult) -> None:
    """Let a program run its next case at once."""


async def try_program(
    program: str,
    tests: RowTests,
    sandbox: Sandbox,
    limits: Limits,
    partial: bool = False,
    pause: Callable[[RunResult], Awaitable[None]] = go_on,
) -> ProgramVerdict:
    """
    Run a program against the tests of a row. For a share, a failure does not end it, unless it took too long. It pauses
    after each case.
    """
    match tests.cases:
        case (PythonTests() as python,):
            return await try_python_tests(program, python, sandbox, limits, partial)
    total = len(tests.cases)
    place = 0
    passed = 0
    first = ProgramVerdict(0, len(tests.cases))
    async with aclosing(run_cases(program, tests, sandbox, limits)) as results:
        async for case, result in results:
            place += 1
            await pause(result)
            is_finished = result.status == "finished"
            if is_finished and await asyncio.to_thread(case.is_right, result.output):
                passed += 1
                continue
            if first.status is None:
                came = case.show(result.output) if is_finished else describe_end(result, limits)
                failure = f"case {place} of {total}: {case.describe()}; {came}"
                first = ProgramVerdict(0, total, result.status, failure)
            if not partial or result.status in ("timed_out", "refused"):
                break
    return replace(first, passed=passed)


async def run_cases(
    program: str, tests: RowTests, sandbox: Sandbox, limits: Limits
) -> AsyncGenerator[tuple[OutputCase | CallCase, RunResult], None]:
    """Run a program once for each case. Cases of the same function are one request. Nothing that is sent is expected."""
    cases = [case for case in tests.cases if not isinstance(case, PythonTests)]
    for function, same in groupby(cases, key=lambda case: case.function):
        batch = [*same]
        largest = max(len(case.output) for case in batch)
        roomy = replace(limits, output_bytes=max(limits.output_bytes, 2 * largest))  # what is expected must fit
        source = bundle(write_call("program", "run_once", program, function), sandbox)
        async with aclosing(sandbox.run(source, [case.input for case in batch], roomy)) as results:
            for case in batch:
                yield case, await anext(results)


async def try_python_tests(
    program: str, case: PythonTests, sandbox: Sandbox, limits: Limits, partial: bool
) -> ProgramVerdict:
    tests = write_call("runner", "run_tests", asdict(case) | asdict(find_use(case)), partial)
    pair = tests, write_call("program_side", "serve_program", program)
    if keeps_apart(sandbox):
        first, second = await sandbox.run_joined(*(bundle(one, sandbox) for one in pair), limits)  # type: ignore[attr-defined]
    else:
        source = bundle(write_call("runner", "run_side_by_side", *pair))
        async with aclosing(sandbox.run(source, [""], limits)) as results:
            first = await anext(results)
        second = replace(first, status="finished")
    return judge_tests(first, second, limits, partial)


def judge_tests(tests: RunResult, program: RunResult, limits: Limits, partial: bool) -> ProgramVerdict:
    """Return what the process of the tests found. It may have found that they cannot be run."""
    try:
        verdict = dict(json.loads(tests.output))
    except (ValueError, TypeError):
        verdict = {}
    if "unjudged" in verdict:
        error = UnreadableTests(
            f"Tests must be Python code that can run apart from the program; {verdict['unjudged']}."
        )
        error.is_doubtful = verdict["doubtful"]
        raise error
    passed = verdict.get("passed", 0)
    total = verdict.get("total", 0)
    failure = verdict.get("failure", "")
    if tests.status == "finished" and not failure and 0 < total == passed:
        return ProgramVerdict(total, total) if partial else ProgramVerdict(1, 1)
    stopped = next((one for one in (program, tests) if one.status not in ("finished", "crashed")), None)
    if stopped is not None:
        status = stopped.status
        failure = describe_end(stopped, limits)
    else:
        status = "crashed" if verdict.get("crashed") or tests.status == "crashed" else "finished"
        failure = failure or describe_end(tests, limits)
    passed, total = (passed, max(total, passed + 1)) if partial else (0, 1)
    return ProgramVerdict(passed, total, status, failure)


def describe_end(result: RunResult, limits: Limits) -> str:
    match result.status:
        case "timed_out":
            return f"stopped after {limits.seconds:g} s"
        case "refused":
            return "the jail refused a system call or a thread"
        case "flooded":
            return f"wrote more than {limits.output_bytes:,} bytes"
    lines = result.errors.strip().splitlines()
    return f"crashed{': ' + shorten(lines[-1]) if lines else ''}"


def list_required(tests: RowTests) -> set[str]:
    calls = {case.function for case in tests.cases if isinstance(case, CallCase)}
    return calls.union(*(find_use(case).own for case in tests.cases if isinstance(case, PythonTests)))


def shorten(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."


def is_right_word(word: str, expected: str) -> bool:
    if word == expected:
        return True
    if not all(len(one) <= MAX_NUMBER_CHARS and WRITTEN_NUMBER.fullmatch(one) for one in (word, expected)):
        return False
    if INTEGER.fullmatch(expected):
        return not INTEGER.fullmatch(word) and abs(Fraction(word) - int(expected)) <= PRINTED_TOLERANCE
    return math.isfinite(float(expected)) and is_close(float(word), float(expected))


def is_close(number: float, expected: float) -> bool:
    return abs(number - expected) <= PRINTED_TOLERANCE * max(1.0, abs(expected))


def measure_depth(text: str) -> int:
    """Return how deeply the brackets of a JSON text are nested. Brackets in strings do not count."""
    levels = (DEPTHS[one] for one in STRINGS.sub("", text) if one in DEPTHS)
    return max(accumulate(levels), default=0)


def is_same_data(found: Any, expected: Any) -> bool:
    """Return whether a converted value equals the expected one, which decides what is looked at."""
    match expected:
        case list():
            return isinstance(found, list) and len(found) == len(expected) and all(map(is_same_data, found, expected))
        case dict():
            is_same = isinstance(found, dict) and found.keys() == expected.keys()
            return is_same and all(is_same_data(found[key], one) for key, one in expected.items())
        case int() | float():
            return isinstance(found, (int, float)) and is_equal_number(found, expected)
    return type(found) is type(expected) and bool(found == expected)


def is_equal_number(found: float, expected: float) -> bool:
    if found == expected or (isinstance(found, int) and isinstance(expected, int)):
        return found == expected
    if isinstance(expected, float):
        return abs(found) <= sys.float_info.max and is_close(found, expected)
    return abs(Fraction(found) - expected) <= PRINTED_TOLERANCE
