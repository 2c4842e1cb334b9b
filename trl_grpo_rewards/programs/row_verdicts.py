"""Tries programs in a sandbox: what is sent for each case, what passes, and how the first failing case failed."""

import asyncio
import functools
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from ..sandbox.protocol import Limits, RunResult, Sandbox, Status
from . import inside
from .cases import CallCase, OutputCase, PythonTests, RowTests, UnreadableTests
from .comparison import is_right_output, is_right_value
from .python_tests import find_use


FOLDER, PACKAGE = Path(inside.__file__).parent, "programs.inside"
"""The folder of the package that runs in the sandbox, and its name there."""

MODULES = tuple(sorted(f"{PACKAGE}.{file.stem}" for file in FOLDER.glob("[a-z]*.py")))
"""Modules that a back end on this machine may load in advance."""

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
"""What goes before the source for a back end that has not loaded the modules: they travel with it."""

SHOWN_CHARS = 200  # maximum length of an input, an expected value and an output in the description of a failure


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
    """Return whether a back end can run the tests and the program so that they only reach each other through pipes."""
    return hasattr(sandbox, "run_joined")


def write_call(module: str, function: str, *arguments: Any) -> str:
    """Return the source of a call of a function inside, in ASCII."""
    return f"from {PACKAGE}.{module} import {function}\n{function}({', '.join(map(ascii, arguments))})\n"


@functools.cache
def write_loader() -> str:
    sources = {f"{PACKAGE}.{file.stem}": file.read_text(encoding="utf-8") for file in FOLDER.glob("[a-z]*.py")}
    return LOADER.format(sources={"programs": "", PACKAGE: "", **sources})


def bundle(source: str, sandbox: Sandbox | None = None) -> str:
    """Return a source with the modules that it needs, unless the back end has loaded them."""
    return source if {*MODULES} <= {*getattr(sandbox, "modules", ())} else f"{write_loader()}\n{source}"


async def try_program(
    program: str, tests: RowTests, sandbox: Sandbox, limits: Limits, partial: bool = False
) -> ProgramVerdict:
    """Run a program against the tests of a row. For a share, a failure does not end it, unless it took too long."""
    match tests.cases:
        case (PythonTests() as python,):
            return await try_python_tests(program, python, sandbox, limits, partial)
    total, place, passed, first = len(tests.cases), 0, 0, ProgramVerdict(0, len(tests.cases))
    async with aclosing(run_cases(program, tests, sandbox, limits)) as results:
        async for case, result in results:
            place += 1
            if result.status == "finished" and await asyncio.to_thread(is_right, result.output, case):
                passed += 1
                continue
            if first.status is None:
                why = describe_failure(case, result, limits)
                first = ProgramVerdict(0, total, result.status, f"case {place} of {total}: {why}")
            if not partial or result.status in ("timed_out", "refused"):
                break
    return replace(first, passed=passed)


async def run_cases(
    program: str, tests: RowTests, sandbox: Sandbox, limits: Limits
) -> AsyncGenerator[tuple[OutputCase | CallCase, RunResult], None]:
    """Run a program once for each case. Cases with the same source are one request. Nothing that is sent is expected."""
    cases = [case for case in tests.cases if not isinstance(case, PythonTests)]
    for function, same in groupby(cases, key=lambda case: case.function if isinstance(case, CallCase) else None):
        batch = [*same]
        largest = max(len(case.output) if isinstance(case, OutputCase) else 0 for case in batch)
        roomy = replace(limits, output_bytes=max(limits.output_bytes, 2 * largest))  # what is expected must fit
        inputs = [case.input if isinstance(case, OutputCase) else case.arguments for case in batch]
        source = (
            write_call("calls", "run_script", program)
            if function is None
            else write_call("calls", "answer_call", program, function)
        )
        async with aclosing(sandbox.run(bundle(source, sandbox), inputs, roomy)) as results:
            for case in batch:
                yield case, await anext(results)


def is_right(output: str, case: OutputCase | CallCase) -> bool:
    return is_right_output(output, case.output) if isinstance(case, OutputCase) else is_right_value(output, case)


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
    verdict = read_object(tests.output)
    if "unjudged" in verdict:
        error = UnreadableTests(
            f"Tests must be Python code that can run apart from the program; {verdict['unjudged']}."
        )
        error.is_doubtful = verdict["doubtful"]
        raise error
    passed, total, failure = verdict.get("passed", 0), verdict.get("total", 0), verdict.get("failure", "")
    if tests.status == "finished" and not failure and 0 < total == passed:
        return ProgramVerdict(total, total) if partial else ProgramVerdict(1, 1)
    stopped = next((one for one in (program, tests) if one.status not in ("finished", "crashed")), None)
    if stopped is not None:
        status, failure = stopped.status, describe_end(stopped, limits)
    else:
        status = "crashed" if verdict.get("crashed") or tests.status == "crashed" else "finished"
        failure = failure or describe_end(tests, limits)
    passed, total = (passed, max(total, passed + 1)) if partial else (0, 1)
    return ProgramVerdict(passed, total, status, failure)


def read_object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def describe_failure(case: OutputCase | CallCase, result: RunResult, limits: Limits) -> str:
    if isinstance(case, OutputCase):
        asked, expected = f"input {shorten(case.input)!r}", repr(shorten(case.output))
        came = f"wrote {shorten(result.output)!r}"
    else:
        asked = f"call {case.function}({shorten(case.arguments.strip()[1:-1])})"
        expected = shorten(" or ".join(map(repr, case.accepted)))
        came = f"returned {shorten(show_value(result.output))}"
    return f"{asked}; expected {expected}; {came if result.status == 'finished' else describe_end(result, limits)}"


def show_value(output: str) -> str:
    """Return the value that a call wrote, as Python shows it."""
    try:
        return repr(read_object(output[:10_000])["value"])
    except (KeyError, RecursionError):
        return repr(output)


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


def shorten(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
