"""Runs programs without any protection, to test what is sent to a sandbox and how its output is judged."""

import subprocess
import sys
import tempfile

from trl_grpo_rewards.programs.cases import RowTests
from trl_grpo_rewards.programs.drivers import Run, write_runs


def run_plainly(run: Run, seconds: float = 20.0) -> str | None:
    """Return the standard output of a process, or None if it crashes or takes too long."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="ascii") as file:
        file.write(run.source)
        file.flush()
        try:
            process = subprocess.run(
                [sys.executable, "-I", "-S", file.name],
                input=run.input.encode(errors="replace"),
                capture_output=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return None
    return process.stdout.decode(errors="replace") if process.returncode == 0 else None


def count_passed(program: str, tests: RowTests) -> int:
    """Return how many cases a program passes."""
    outputs = ((run, run_plainly(run)) for run in write_runs(program, tests))
    return sum(output is not None and run.is_passed(output) for run, output in outputs)
