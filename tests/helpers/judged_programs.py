"""What the jail says of programs and their tests."""

import asyncio
from collections.abc import Iterable

from trl_grpo_rewards.programs.drivers import MODULES
from trl_grpo_rewards.programs.formats import read_tests
from trl_grpo_rewards.programs.row_verdicts import ProgramVerdict, try_program
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.protocol import Limits


def judge_all(jobs: Iterable[tuple], seconds: float = 5.0, packages: tuple[str, ...] = ()) -> list[ProgramVerdict]:
    """Return the verdict on each program with its tests, and with the entry point of these if there is one."""

    async def run() -> list[ProgramVerdict]:
        sandbox = get_local_sandbox(None, MODULES, packages)
        limits = Limits(seconds, memory_mb=4096 if packages else 1024)
        rows = [
            (program, read_tests(tests, {"entry_point": names[0]} if names else {}, packages=packages))
            for program, tests, *names in jobs
        ]
        return await asyncio.gather(*(try_program(*row, sandbox, limits) for row in rows))

    return asyncio.run(run())


def list_passing(jobs: Iterable[tuple], seconds: float = 5.0, packages: tuple[str, ...] = ()) -> list[bool]:
    """Return whether each program passes."""
    return [trial.status is None for trial in judge_all(jobs, seconds, packages)]
