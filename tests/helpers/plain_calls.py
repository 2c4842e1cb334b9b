"""Runs what calls a function inside the sandbox, without any protection, to test it and how its answers are judged."""

import subprocess
import sys
from pathlib import Path

from trl_grpo_rewards.programs.cases import CallCase, RowTests
from trl_grpo_rewards.programs.comparison import is_right_output, is_right_value
from trl_grpo_rewards.programs.inside import calls


SOURCE = Path(calls.__file__).read_text(encoding="utf-8")


def run_plainly(call: str, text: str, python: str = sys.executable) -> str | None:
    """Return the standard output of one call of `inside/calls.py`, or None if the process crashes."""
    process = subprocess.run(
        [python, "-I", "-c", f"{SOURCE}\n{call}\n"],
        input=text.encode(errors="replace"),
        capture_output=True,
        timeout=60,
    )
    return process.stdout.decode(errors="replace") if process.returncode == 0 else None


def count_passed(program: str, tests: RowTests, python: str = sys.executable) -> int:
    """Return how many inputs and calls a program passes."""
    passed = 0
    for case in tests.cases:
        if isinstance(case, CallCase):
            call = f"answer_call({ascii(program)}, {ascii(tests.imports)}, {ascii(case.function)})"
            output = run_plainly(call, case.arguments, python)
            passed += output is not None and is_right_value(output, case)
        else:
            output = run_plainly(f"run_script({ascii(program)})", case.input, python)
            passed += output is not None and is_right_output(output, case.output)
    return passed
