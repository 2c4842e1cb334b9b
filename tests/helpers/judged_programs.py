"""What the jail, or a back end that protects nothing, says of programs and their tests."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.programs.cases import MODULES, ProgramVerdict, RowTests, try_program
from trl_grpo_rewards.sandbox.programs.formats import read_tests
from trl_grpo_rewards.sandbox.protocol import Limits, RunResult


class PlainSandbox:
    """A back end that runs each program as a process of this user, as a server that cannot join two programs would."""

    def __init__(self, python: str = sys.executable) -> None:
        self.python = python

    async def run(self, program: str, inputs: Sequence[str], limits: Limits) -> AsyncGenerator[RunResult, None]:
        for text in inputs:
            yield await asyncio.to_thread(self.run_once, program, text, limits)

    def run_once(self, program: str, text: str, limits: Limits) -> RunResult:
        with tempfile.NamedTemporaryFile("wb", suffix=".py") as file:
            file.write(program.encode(errors="surrogatepass"))
            file.flush()
            command = [self.python, "-I", file.name]
            try:
                process = subprocess.run(command, input=text.encode(errors="replace"), capture_output=True, timeout=20)
            except subprocess.TimeoutExpired:
                return RunResult("timed_out", "", "")
        output, errors = (one.decode(errors="replace") for one in (process.stdout, process.stderr))
        return RunResult("crashed" if process.returncode else "finished", output, errors)

    def check_ready(self) -> None:
        pass

    async def close(self) -> None:
        pass


def run_plainly(source: str, text: str = "", python: str = sys.executable) -> str | None:
    """Return the standard output of a process, or None if it crashes or takes too long."""
    result = PlainSandbox(python).run_once(source, text, Limits())
    return result.output if result.status == "finished" else None


def judge_all(
    jobs: Iterable[tuple],
    seconds: float = 5.0,
    packages: tuple[str, ...] = (),
    partial: bool = False,
    sandbox: PlainSandbox | None = None,
) -> list[ProgramVerdict]:
    """Return the verdict on each program with its tests, and with the entry point of these if there is one."""

    def read(tests: Any, *names: str) -> RowTests:
        companions = {"entry_point": names[0]} if names else {}
        return tests if isinstance(tests, RowTests) else read_tests(tests, companions, packages=packages)

    async def run() -> list[ProgramVerdict]:
        place = sandbox or get_local_sandbox(MODULES, packages)
        limits = Limits(seconds, memory_mb=4096 if packages else 1024)
        rows = [(program, read(*tests)) for program, *tests in jobs]
        return await asyncio.gather(*(try_program(*row, place, limits, partial) for row in rows))

    return asyncio.run(run())


def list_passing(jobs: Iterable[tuple], **options: Any) -> list[bool]:
    """Return whether each program passes."""
    return [trial.status is None for trial in judge_all(jobs, **options)]


def count_passed(program: str, tests: Any, **options: Any) -> int:
    """Return how many cases a program passes."""
    return judge_all([(program, tests)], partial=True, **options)[0].passed
