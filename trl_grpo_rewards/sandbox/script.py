"""What a fork of the worker does: it enters the [`jail`], runs a program as Python runs a script, and ends."""

import atexit
import contextlib
import os
import signal
import sys
import threading
import traceback
import types
from typing import Any

from . import jail


PROGRAM_NAME = "program.py"


def run_in_jail(
    files: list[int], ends: list[int], mark: int, ruleset: int, worker: int, limits: dict[str, Any]
) -> None:
    """
    Run a program in this process, and end it.

    Args:
        files (`list[int]`):
            File descriptors of the program and of its standard streams.
        ends (`list[int]`):
            The ends of pipes that the program gets as descriptors 3 and 4, if it is joined to another one.
        mark (`int`):
            Descriptor by which the worker learns that the process has entered the jail.
        ruleset, worker, limits:
            As in [`jail.enter`].
    """
    code = 1
    try:
        with open(files[0], "rb", closefd=False) as file:
            source = file.read()
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        kept = [*files[1:], *ends, mark]
        jail.enter(ruleset, kept, worker, **limits)
        os.write(len(kept) - 1, b"1")  # the worker now knows that whatever happens is the doing of the program
        os.close(len(kept) - 1)
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
