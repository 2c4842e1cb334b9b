"""What the jail says of programs and their tests."""

import asyncio
from collections.abc import Iterable
from typing import Any

from trl_grpo_rewards.programs.cases import MODULES, ProgramVerdict, RowTests, try_program
from trl_grpo_rewards.programs.formats import read_tests
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.protocol import Limits


def judge_all(
    jobs: Iterable[tuple], seconds: float = 5.0, packages: tuple[str, ...] = (), partial: bool = False
) -> list[ProgramVerdict]:
    """Return the verdict on each program with its tests, and with the entry point of these if there is one."""

    def read(tests: Any, *names: str) -> RowTests:
        companions = {"entry_point": names[0]} if names else {}
        return tests if isinstance(tests, RowTests) else read_tests(tests, companions, packages=packages)

    async def run() -> list[ProgramVerdict]:
        sandbox = get_local_sandbox(None, MODULES, packages)
        limits = Limits(seconds, memory_mb=4096 if packages else 1024)
        rows = [(program, read(*tests)) for program, *tests in jobs]
        return await asyncio.gather(*(try_program(*row, sandbox, limits, partial) for row in rows))

    return asyncio.run(run())


def list_passing(jobs: Iterable[tuple], seconds: float = 5.0, packages: tuple[str, ...] = ()) -> list[bool]:
    """Return whether each program passes."""
    return [trial.status is None for trial in judge_all(jobs, seconds, packages)]


def count_passed(program: str, tests: Any, packages: tuple[str, ...] = ()) -> int:
    """Return how many cases a program passes."""
    return judge_all([(program, tests)], packages=packages, partial=True)[0].passed
