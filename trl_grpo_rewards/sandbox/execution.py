"""What a fork of the worker does: it enters the [`jail`], runs a program as Python runs a script, and ends.

Before that, the worker loads what programs import: the whole standard library is there, and the named packages.
"""

import _sitebuiltins
import atexit
import builtins
import contextlib
import ctypes
import importlib
import io
import json
import linecache
import os
import pkgutil
import selectors
import signal
import sys
import threading
import traceback
import types
import zoneinfo
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from . import jail


PROGRAM_NAME = "program.py"

ENTERED = b"1"
"""What a process that has entered the jail tells the worker. One that has not tells which layer failed and why."""

OPEN = open
STREAMS = ["/dev/stdin", "/dev/stdout", "/dev/stderr"]
"""Names that programs give to their descriptors 0 to 2."""

PRELOADED = (
    "abc array bisect calendar cmath collections.abc copy ctypes dataclasses datetime decimal enum fractions functools "
    "hashlib heapq itertools json math numbers operator queue random re statistics string textwrap typing uuid"
)
"""Modules that programs often import."""

UNIMPORTED, SHALLOW = {"antigravity"}, {"idlelib", "turtledemo"}
"""Modules of the library that open a browser or a window when they, or modules inside them, are imported."""

DEPTH = 3  # how deep modules of the library are nested that a program can import where it cannot open files

FIND_UNLOADABLE = b"""
import ctypes, glob, sys
for path in (path for folder in sys.path for path in glob.glob(folder + "/*.so")):
    try:
        ctypes.CDLL(path)
    except OSError:
        print(path)
"""
"""The first program of each worker. It writes which extension modules need files that the jail hides."""


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


def prepare_interpreter() -> None:
    """Give programs what the interpreter gives a script, and what stands in for what the jail forbids."""
    for module in PRELOADED.split():
        importlib.import_module(module)
    for name in ("exit", "quit"):  # the module `site` makes them, which is not loaded
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    builtins.open = io.open = open_file
    selectors.DefaultSelector = selectors.PollSelector  # type: ignore[misc, assignment]  # needs fewer system calls
    sys.argv[:] = [PROGRAM_NAME]
    sys.orig_argv[:] = [sys.executable, PROGRAM_NAME]


def import_all(names: Iterable[str], depth: int = 0) -> None:
    """Import modules that can be imported, with the modules inside them to a depth."""
    for name in names:
        with contextlib.suppress(BaseException):
            module = importlib.import_module(name)
            inside = pkgutil.iter_modules(getattr(module, "__path__", ())) if depth else ()
            parts = (part.name for part in inside if not part.name.startswith(("__", "test", "conftest")))
            import_all([f"{name}.{part}" for part in parts], depth - 1)


class PackageFinder:
    """Finds named packages and no others, so that they do without optional packages that happen to be installed."""

    def __init__(self, names: Iterable[str], path: list[str]) -> None:
        self.names, self.path = {*names}, path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, self.path) if name in self.names else None


def import_packages(packages: dict[str, Any]) -> None:
    """Import packages that [`packages.describe_packages`] describes. Those that others need may be missing."""
    if packages["named"]:
        sys.meta_path.append(PackageFinder([*packages["named"], *packages["needed"]], packages["path"]))
    for name in packages["named"]:
        importlib.import_module(name)
    import_all(packages["needed"])


def load_extensions(paths: Iterable[str]) -> None:
    """Load libraries for good, so that programs can import the modules inside them."""
    for path in paths:
        with contextlib.suppress(OSError):
            ctypes.CDLL(path)


def import_everything(packages: dict[str, Any]) -> None:
    """Import the whole library and packages with the modules inside them, for programs that cannot open files."""
    import_all([*packages["named"], *packages["needed"]], depth=1)
    import_all(SHALLOW)
    import_all(sorted(sys.stdlib_module_names - UNIMPORTED - SHALLOW), DEPTH)


def list_readable(packages: dict[str, Any]) -> list[str]:
    modules = [sys.modules[name] for name in (*packages["named"], *packages["needed"]) if name in sys.modules]
    paths = {path for one in modules for path in getattr(one, "__path__", None) or [getattr(one, "__file__", None)]}
    found = {os.path.realpath(path) for path in (*paths, *packages["folders"], *zoneinfo.TZPATH) if path}
    return [*jail.list_library(), *sorted(path for path in found if os.path.exists(path))]
