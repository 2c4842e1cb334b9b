"""Tries programs in a sandbox: what passes, and how the first failing case failed."""

from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from itertools import groupby

from ..sandbox.protocol import Limits, RunResult, Sandbox, Status
from .cases import CallCase, OutputCase, RowTests
from .drivers import Run, write_runs


SHOWN_CHARS = 200
"""Maximum length of an input, an expected value and an output in the description of a failure."""


@dataclass(frozen=True)
class Trial:
    """
    How a program did in the tests of one row.

    Args:
        passed (`int`):
            Number of cases that it passed.
        total (`int`):
            Number of cases.
        status (`str`, *optional*):
            How the first run that failed ended; see [`Status`]. None if all passed.
        failure (`str`, *optional*, defaults to `""`):
            Description of the first failure.
    """

    passed: int
    total: int
    status: Status | None = None
    failure: str = ""

    @property
    def share(self) -> float:
        """Share of the cases that passed."""
        return self.passed / self.total


async def try_program(program: str, tests: RowTests, sandbox: Sandbox, limits: Limits, partial: bool = False) -> Trial:
    """
    Run a program against the tests of a row.

    Args:
        program (`str`):
            Source of the program.
        tests ([`RowTests`]):
            The tests.
        sandbox ([`Sandbox`]):
            Where to run it.
        limits ([`Limits`]):
            Limits of each run.
        partial (`bool`, *optional*, defaults to `False`):
            Whether to go on after a failure. A program that exceeded its time or was refused is not run again anyway.
    """
    runs = write_runs(program, tests)
    language = () if tests.language == "python" else (tests.language,)
    passed, place, status, failure = 0, 0, None, ""
    for source, same in groupby(runs, key=lambda run: run.source):
        batch = [*same]
        async with aclosing(sandbox.run(source, [run.input for run in batch], limits, *language)) as results:
            for run in batch:
                place += 1
                result = await anext(results)
                if result.status == "finished" and run.is_passed(result.output):
                    passed += 1
                    continue
                if status is None:
                    status, failure = result.status, describe_failure(run, result, limits, place, len(runs))
                if not partial or result.status in ("timed_out", "refused"):
                    return Trial(passed, len(runs), status, failure)
    return Trial(passed, len(runs), status, failure)


def describe_failure(run: Run, result: RunResult, limits: Limits, place: int, total: int) -> str:
    """Return what was asked, what was expected and what came."""
    return f"case {place} of {total}: {'; '.join(list_facts(run, result, limits))}"


def list_facts(run: Run, result: RunResult, limits: Limits) -> Iterator[str]:
    match run.case:
        case OutputCase(input=text, output=expected):
            yield f"input {shorten(text)}"
            yield f"expected {shorten(expected)}"
        case CallCase(call=call, accepted=accepted, arguments=arguments):
            yield f"call {call}" + ("" if arguments == "[]" else f" with arguments {shorten(arguments)}")
            yield f"expected {shorten(' or '.join(map(repr, accepted)), quoted=False)}"
        case _:
            yield "weak tests"
    match result.status:
        case "timed_out":
            yield f"stopped after {limits.seconds:g} s"
        case "refused":
            yield "the jail refused a system call or a thread"
        case "flooded":
            yield f"wrote more than {limits.output_bytes:,} bytes"
        case "crashed":
            lines = result.errors.strip().splitlines()
            yield f"crashed{': ' + shorten(lines[-1], quoted=False) if lines else ''}"
        case "finished":
            yield f"wrote {shorten(result.output)}"


def shorten(text: str, quoted: bool = True) -> str:
    short = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
    return repr(short) if quoted else short
