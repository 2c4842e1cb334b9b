"""What a worker does while programs run: it looks at their processes, stops those that exceed a limit, and reaps them.

The end of a process is noticed by its signal, which is blocked and waited for, so no kernel is too old for it.
"""

import contextlib
import json
import os
import select
import signal
import time
from typing import Any

from .execution import ENTERED
from .protocol import LOADED, WAITING


SLICE_SECONDS = 0.02
"""Interval between looks at a running program, in seconds."""

MAX_THREADS = 64
"""Number of threads that a program may have at the same time."""


class Run:
    """A fork of the worker, and the descriptor by which it tells whether it has entered the jail."""

    def __init__(self, process: int, mark: int) -> None:
        self.process, self.mark = process, mark
        self.code: int | None = None
        self.stopped: str | None = None
        self.seconds = self.busy = 0.0

    def has_ended(self, flags: int = os.WNOHANG) -> bool:
        """Return whether the process has ended, and reap it if so."""
        if self.code is None:
            process, status, usage = os.wait4(self.process, flags)
            if process:
                self.code = os.waitstatus_to_exitcode(status)
                self.seconds = usage.ru_utime + usage.ru_stime
        return self.code is not None

    def look(self, seconds: float) -> tuple[float, bool]:
        """Stop the process if it exceeds a limit. Return how long it was busy since the last look, and if that is known."""
        used = time.clock_gettime(~self.process << 3 | 2)  # its CPU clock
        threads = list_threads(self.process)
        waits = [wait for thread in threads[:MAX_THREADS] if (wait := read_wait(self.process, thread)) is not None]
        if used > seconds:
            stop([self], "timed_out")
        elif len(threads) > MAX_THREADS:
            stop([self], "refused")
        before, self.busy = self.busy, used + sum(waits)
        return self.busy - before, bool(waits)

    def describe(self, seconds: float) -> dict[str, Any]:
        """Return how the run ended, for the process that asked for it."""
        assert self.code is not None
        mark = os.read(self.mark, 1 << 12)
        os.close(self.mark)
        if mark != ENTERED and self.stopped != "finished":
            layer, reason = json.loads(mark) if mark else ("a fork", f"it ended with status {self.code} at its start")
            return {"status": "failed", "layer": layer, "reason": reason}
        status = self.stopped or name_status(self.code, self.seconds >= seconds)
        return {"status": status, "seconds": self.seconds}


def list_threads(process: int) -> list[str]:
    """Return the threads of a process, or none if the system hides them."""
    with contextlib.suppress(OSError):
        return os.listdir(f"/proc/{process}/task")
    return []


def read_wait(process: int, thread: str) -> float | None:
    """Return how long a thread has waited for a processor, in seconds, or None if the system does not say."""
    try:
        with open(f"/proc/{process}/task/{thread}/schedstat", "rb") as file:
            computed, waited, _ = map(int, file.read().split())
    except (OSError, ValueError):
        return None
    return waited / 1e9 if computed else None


def watch(runs: list[Run], seconds: float, control: "select.poll") -> None:
    """
    Wait until the first of some runs ends, which ends the others. The control is quiet as long as somebody waits for them.

    Each may compute for some seconds, and all together may be idle as long: time in which none computes or waits for a
    processor. A waiting thread is noticed late, so idle time can be taken back.
    """
    start = last = time.monotonic()
    idle = 0.0
    while True:
        signal.sigtimedwait([signal.SIGCHLD], SLICE_SECONDS)
        if runs[0].has_ended():
            break
        if control.poll(0):
            os._exit(0)  # nobody waits for the result any more; the forks end with this process
        looks = [run.look(seconds) for run in runs if not run.has_ended()]
        now = time.monotonic()
        idle, last = max(0.0, idle + now - last - sum(busy for busy, _ in looks)), now
        patience = seconds if any(is_known for _, is_known in looks) else WAITING * seconds
        if idle > patience or now - start > LOADED * seconds:
            stop(runs, "timed_out")
    stop(runs, "finished")


def stop(runs: list[Run], status: str) -> None:
    """Kill the runs that have not ended, and say why: `"finished"` if another one has. That may be what ends them, too."""
    running = [run for run in runs if not run.has_ended()]
    for run in running:
        os.kill(run.process, signal.SIGKILL)
    for run in running:
        run.has_ended(0)
        if status != "finished" or run.code == -signal.SIGKILL:  # otherwise it ended by itself, and its end counts
            run.stopped = status


def name_status(code: int, is_late: bool) -> str:
    """Return the status of a run that was not stopped by its worker."""
    if code in (-signal.SIGKILL, -signal.SIGXCPU) and is_late:
        return "timed_out"
    if code == -signal.SIGSYS:
        return "refused"
    return "crashed" if code else "finished"
