"""Runs programs without any protection, as a server that cannot run two programs that talk would."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence

from trl_grpo_rewards.programs.cases import ProgramVerdict, RowTests, try_program
from trl_grpo_rewards.sandbox.protocol import Limits, RunResult


class PlainSandbox:
    """A back end that runs each program as a process of this user."""

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


def attempt(program: str, tests: RowTests, python: str = sys.executable) -> ProgramVerdict:
    return asyncio.run(try_program(program, tests, PlainSandbox(python), Limits(), partial=True))


def count_passed(program: str, tests: RowTests, python: str = sys.executable) -> int:
    """Return how many cases a program passes."""
    return attempt(program, tests, python).passed
