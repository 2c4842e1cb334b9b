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
        self.seconds = self.used = 0.0
        self.kilobytes, self.is_ending = 0, False

    def has_ended(self, flags: int = os.WNOHANG) -> bool:
        """Return whether the process has ended, and reap it if so."""
        if self.code is None:
            process, status, usage = os.wait4(self.process, flags)
            if process:
                self.code = os.waitstatus_to_exitcode(status)
                self.seconds, self.kilobytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss
        return self.code is not None

    def look(self, seconds: float) -> tuple[float, bool | None]:
        """Stop the process if it exceeds a limit. Return how long it computed since the last look, and if it could, if known."""
        before, self.used = self.used, time.clock_gettime(~self.process << 3 | 2)  # its CPU clock
        threads = read_threads(self.process)
        if self.used > seconds:
            stop([self], "timed_out")
        elif len(threads) > MAX_THREADS:
            stop([self], "refused")
        return self.used - before, any(state == "R" for state, *_ in threads) if threads else None

    def describe(self, seconds: float, is_large: bool) -> dict[str, Any]:
        """Return how the run ended, for the process that asked for it. A large run may be what used up the memory."""
        assert self.code is not None
        mark = os.read(self.mark, 1 << 12)
        os.close(self.mark)
        if mark != ENTERED and self.stopped != "finished":
            layer, reason = json.loads(mark) if mark else ("a fork", f"it ended with status {self.code} at its start")
            return {"status": "failed", "layer": layer, "reason": reason}
        status = self.stopped or name_status(self.code, self.seconds >= seconds, is_large)
        return {"status": status, "seconds": self.seconds}


def read_threads(process: int) -> list[list[str]]:
    """Return what the system says of the threads of a process, which begins with their states, or nothing if it hides it."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task")[: MAX_THREADS + 1]:
            with contextlib.suppress(OSError), open(f"/proc/{process}/task/{thread}/stat", errors="replace") as file:
                found.append(file.read().rpartition(") ")[2].split())
    return found


def watch(runs: list[Run], seconds: float, control: "select.poll") -> None:
    """Wait until the first run ends, which ends the others. Time in which none computes or waits for a processor is idle."""
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
        is_idle = not any(is_running for _, is_running in looks)
        idle, last = idle + is_idle * max(0.0, now - last - sum(used for used, _ in looks)), now
        patience = WAITING * seconds if all(is_running is None for _, is_running in looks) else seconds
        if idle > patience or now - start > LOADED * seconds:
            stop(runs, "timed_out")
    stop(runs, "finished")


def stop(runs: list[Run], status: str) -> None:
    """Kill the runs that have not ended, and say why: `"finished"` if another one has. That may be what ends them, too."""
    running = [run for run in runs if not run.has_ended()]
    for run in running:
        threads = read_threads(run.process)
        run.is_ending = bool(threads) and all(int(one[6]) & 4 for one in threads)  # PF_EXITING: its end came before
        os.kill(run.process, signal.SIGKILL)
    for run in running:
        run.has_ended(0)
        if status != "finished" or run.code == -signal.SIGKILL and not run.is_ending:  # otherwise its own end counts
            run.stopped = status


def name_status(code: int, is_late: bool, is_large: bool) -> str:
    """Return the status of a run that was not stopped by its worker. One that was `"killed"` says nothing of the program."""
    if code in (-signal.SIGKILL, -signal.SIGXCPU) and is_late:
        return "timed_out"
    if code == -signal.SIGKILL and not is_large:  # which no program can send itself
        return "killed"
    if code == -signal.SIGSYS:
        return "refused"
    return "crashed" if code else "finished"
