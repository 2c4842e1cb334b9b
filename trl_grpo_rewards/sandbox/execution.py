"""What a fork of the worker does: it enters the [`jail`], runs a program as Python runs a script, and ends."""

import atexit
import contextlib
import io
import json
import linecache
import os
import signal
import sys
import threading
import traceback
import types
from typing import Any

from . import jail


PROGRAM_NAME = "program.py"

ENTERED = b"1"
"""What a process that has entered the jail tells the worker. One that has not tells which layer failed and why."""

OPEN = open
STREAMS = ["/dev/stdin", "/dev/stdout", "/dev/stderr"]
"""Names that programs give to their descriptors 0 to 2."""


def run_in_jail(
    files: list[int], ends: list[int], mark: int, ruleset: int | None, worker: int, limits: dict[str, Any]
) -> None:
    """Run a program in this process, and end it. The mark tells the worker that it entered the jail, or what failed."""
    code = 1
    try:
        source = os.pread(files[0], os.fstat(files[0]).st_size, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        kept = [*files[1:], *ends, mark]
        jail.enter(ruleset, kept, worker, **limits)
        os.write(len(kept) - 1, ENTERED)  # the worker now knows that whatever happens is the doing of the program
        os.close(len(kept) - 1)
        code = execute(source)
    except jail.LayerFailed as error:
        os.write(len(kept) - 1, json.dumps(error.args).encode())
    finally:
        os._exit(code)


def execute(source: bytes) -> int:
    """Run a program as Python runs a script, and return its exit code."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__file__ = PROGRAM_NAME
    lines = source.decode(errors="replace").splitlines(keepends=True)
    linecache.cache[PROGRAM_NAME] = len(source), None, lines, PROGRAM_NAME  # for `inspect` and tracebacks
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


class Null(io.BytesIO):
    """The null device: it takes everything and contains nothing."""

    def write(self, data: Any) -> int:
        return len(data)


def open_file(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
    """Open a file as `open` does. The standard streams and the null device can be opened by their names."""
    name = os.fspath(file) if isinstance(file, os.PathLike) else file
    if name == os.devnull:
        return Null() if "b" in mode else io.TextIOWrapper(Null(), write_through=True)
    if isinstance(name, str) and name in STREAMS:
        file = os.dup(STREAMS.index(name))
    return OPEN(file, mode, *arguments, **options)


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
