"""A worker of the local back end: it forks a process for each run, which enters the [`jail`] and runs a program there.

A worker never sees a program or its input. Each request comes with the file descriptors of four files in memory: the
program and the standard streams. The fork reads and writes them itself, so nothing of one run is in the memory of the
next. Modules that programs often import are already loaded, so that a run costs little more than the fork.
"""

import _sitebuiltins
import atexit
import builtins
import contextlib
import gc
import importlib
import json
import os
import platform
import select
import signal
import socket
import sys
import threading
import time
import traceback
import types
from typing import Any

from . import jail, landlock
from .filters import build_template
from .protocol import WAITING


SLICE_SECONDS = 0.02
"""Interval between looks at a running program."""

MAX_THREADS = 64
"""Number of threads that a program may have at the same time."""

PROGRAM_NAME = "program.py"

PRELOADED = (
    "abc array bisect calendar cmath collections.abc copy ctypes dataclasses datetime decimal enum fractions functools "
    "hashlib heapq itertools json math numbers operator queue random re statistics string textwrap typing uuid"
)
"""Modules that programs often import. Those that need shared libraries from outside the interpreter's are among them."""


def main() -> None:
    """Answer the requests of the process that started this one, until either ends."""
    control = socket.socket(fileno=0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = int(sys.argv[1])
    os.environ.clear()
    os.chdir("/")
    with contextlib.suppress(OSError):  # if memory runs out, a program must be killed, not the training process
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    if (missing := jail.find_missing_layer()) is not None:
        control.send(json.dumps({"missing": missing}).encode())
        return
    ruleset = landlock.build_ruleset(landlock.list_library())
    preload()
    watched = select.poll()
    watched.register(control, select.POLLIN)
    try:
        watched.register(os.pidfd_open(parent), select.POLLIN)
    except ProcessLookupError:
        return
    control.send(b"{}")
    while True:
        if any(descriptor != control.fileno() for descriptor, _ in watched.poll()):
            return
        message, files, _, _ = socket.recv_fds(control, 1 << 10, 4)
        if not message:
            return
        control.send(json.dumps(run(json.loads(message), files, ruleset, watched)).encode())


def preload() -> None:
    """Import what programs often need, and make their forks cheap."""
    for module in PRELOADED.split():
        importlib.import_module(module)
    for name in ("exit", "quit"):  # the module `site` makes them, which is not loaded
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    build_template(platform.machine())
    sys.argv[:] = [PROGRAM_NAME]
    sys.orig_argv[:] = [sys.executable, PROGRAM_NAME]
    gc.collect()
    gc.freeze()


def run(limits: dict[str, Any], files: list[int], ruleset: int, watched: "select.poll") -> dict[str, Any]:
    """Run a program in a fork, and return how it ended."""
    worker = os.getpid()
    read_mark, write_mark = os.pipe()
    fork = os.fork()
    if fork == 0:
        run_in_jail(limits, files, ruleset, write_mark, worker)
    for file in (write_mark, *files):
        os.close(file)
    descriptor = os.pidfd_open(fork)
    watched.register(descriptor, select.POLLIN)
    stopped = watch(fork, descriptor, limits["seconds"], watched)
    watched.unregister(descriptor)
    _, code, usage = os.wait4(fork, 0)
    has_entered = os.read(read_mark, 1) != b""
    os.close(read_mark)
    os.close(descriptor)
    seconds = usage.ru_utime + usage.ru_stime
    status = stopped or name_status(os.waitstatus_to_exitcode(code), seconds >= limits["seconds"])
    return {"status": status if has_entered else "failed", "seconds": seconds}


def watch(fork: int, descriptor: int, seconds: float, watched: "select.poll") -> str | None:
    """Wait until a fork ends. Return why it was killed, or None if it ended by itself."""
    end = time.monotonic() + WAITING * seconds
    while True:
        events = watched.poll(1000 * SLICE_SECONDS)
        if any(ready == descriptor for ready, _ in events):
            return None
        is_late = time.monotonic() > end or time.clock_gettime(~fork << 3 | 2) > seconds  # its CPU clock
        if events or is_late or count_threads(fork) > MAX_THREADS:
            os.kill(fork, signal.SIGKILL)
            if events:  # nobody waits for the result any more
                os._exit(0)
            return "timed_out" if is_late else "refused"


def count_threads(process: int) -> int:
    """Return the number of threads of a process, or 0 if the system hides it."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[17])
    except OSError:
        return 0


def name_status(code: int, is_late: bool) -> str:
    """Return the status of a run that was not stopped by its worker."""
    if code in (-signal.SIGKILL, -signal.SIGXCPU) and is_late:
        return "timed_out"
    if code == -signal.SIGSYS:
        return "refused"
    return "crashed" if code else "finished"


def run_in_jail(limits: dict[str, Any], files: list[int], ruleset: int, mark: int, worker: int) -> None:
    """Run a program in this process, and end it."""
    code = 1
    try:
        with open(files[0], "rb") as file:
            source = file.read()
        for stream, file_of_stream in enumerate(files[1:]):
            os.dup2(file_of_stream, stream)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        jail.enter(ruleset, mark, worker, **limits)
        os.write(jail.KEPT, b"1")  # the worker now knows that whatever happens is the doing of the program
        os.close(jail.KEPT)
        code = execute(source)
    finally:
        os._exit(code)


def execute(source: bytes) -> int:
    """Run a program as Python runs a script, and return its exit code."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    code = 0
    try:
        exec(compile(source, PROGRAM_NAME, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        code = report(error)
    for finish in (join_threads, atexit._run_exitfuncs, sys.stdout.flush):
        try:
            finish()
        except BaseException as error:
            code = report(error) or 1
    return code


def join_threads() -> None:
    """Wait for the threads that a script waits for at its end."""
    while threads := [one for one in threading.enumerate() if not one.daemon and one is not threading.main_thread()]:
        threads[0].join()


def report(error: BaseException) -> int:
    """Write an error to standard error as Python does, and return the exit code."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        text = str(error.code) + "\n"
    else:
        trace = error.__traceback__
        text = "".join(traceback.format_exception(type(error), error, trace and trace.tb_next))
    with contextlib.suppress(BaseException):
        sys.stderr.write(text)
        sys.stderr.flush()
    return 1
