"""What a back end is: it runs a program as a process, with text on standard input, and returns what the program wrote."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias


Status: TypeAlias = Literal["finished", "crashed", "timed_out", "refused", "flooded"]
"""
How a run ended. The program returned or called `exit(0)` (`"finished"`); it raised an error, was killed, or ended with
another status (`"crashed"`); it exceeded its time (`"timed_out"`); the jail ended it, for example because of too many
threads or a signal to another process (`"refused"`); or it wrote more than it may (`"flooded"`).
"""


@dataclass(frozen=True)
class Limits:
    """
    The limits of one run.

    Args:
        seconds (`float`, *optional*, defaults to `2.0`):
            CPU time in seconds. A program that waits instead of computing is stopped after as long.
        memory_mb (`int`, *optional*, defaults to `1024`):
            Address space in megabytes, the interpreter's own included.
        output_bytes (`int`, *optional*, defaults to `1_000_000`):
            Largest size of each of the two output streams, in bytes.
    """

    seconds: float = 2.0
    memory_mb: int = 1024
    output_bytes: int = 1_000_000


WAITING = 5.0
"""Wall time that a run may take where idle time cannot be told from a loaded machine, as a multiple of its CPU time."""

LOADED = 20.0
"""Wall time that a run may take on a loaded machine, as a multiple of its CPU time, so that no honest program fails."""


@dataclass(frozen=True)
class RunResult:
    """
    The result of one run.

    Args:
        status (`str`):
            How the run ended; see [`Status`].
        output (`str`):
            Standard output, cut at the limit. Invalid UTF-8 is replaced.
        errors (`str`):
            The end of standard error.
        seconds (`float`, *optional*):
            CPU time in seconds, if the back end measures it.
        elapsed (`float`, *optional*):
            Wall time in seconds from the start of the run to its end, if the back end measures it. Time in a queue does
            not count.
    """

    status: Status
    output: str
    errors: str
    seconds: float | None = None
    elapsed: float | None = None


class SandboxFailed(Exception):
    """Raised when a back end could not run a program, although it works in general. The program gets no score."""


class SandboxMissing(OSError):
    """Raised when a back end cannot work on this machine. Nothing is run."""


class Sandbox(Protocol):
    """
    A back end. A batch opens it, runs programs concurrently in one event loop, and closes it.

    A back end may also have `async def run_joined(first, second, limits) -> tuple[RunResult, RunResult]`. It runs two
    programs at once, each in a process of its own, that can reach each other by two pipes and in no other way: each reads
    from descriptor 3 what the other one writes to descriptor 4. The standard input of both is empty, each has its own limits,
    and `second` is stopped when `first` ends. With another back end, the caller runs both in one program.
    """

    def run(self, program: str, inputs: Sequence[str], limits: Limits) -> AsyncGenerator[RunResult, None]:
        """
        Run a program once for each input, in order. The caller closes the iterator when it needs no more results.

        Args:
            program (`str`):
                Source of the program.
            inputs (`list[str]`):
                Standard input of each run. No run may see the input of another one.
            limits ([`Limits`]):
                Limits of each run.

        Raises:
            [`SandboxFailed`]: the back end could not run the program.
            [`SandboxMissing`]: the back end cannot work on this machine.
        """
        ...

    def check_ready(self) -> None:
        """
        Check that the back end can work.

        Raises:
            [`SandboxMissing`]: it cannot work on this machine.
            `ValueError`: its server cannot be reached.
        """
        ...

    async def close(self) -> None:
        """Close what the batch has opened, such as connections."""
        ...
