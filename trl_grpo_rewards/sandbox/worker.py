"""A worker of the local back end: it forks a process for each run, which enters the [`jail`] and runs a program there."""

import _sitebuiltins
import atexit
import builtins
import contextlib
import ctypes
import gc
import importlib
import io
import json
import linecache
import os
import pkgutil
import platform
import select
import selectors
import signal
import socket
import sys
import threading
import time
import traceback
import types
import zoneinfo
from collections.abc import Iterable
from dataclasses import asdict
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from . import jail
from .filters import build_template
from .protocol import LOADED, WAITING, Limits


IDLE_SECONDS = 1.0  # at which an idle worker looks whether the process that started it is still there
PROGRAM_ENVIRONMENT = {
    "HOME": "/",
    "USER": "user",
    "OMP_NUM_THREADS": "1",
}  # threads of libraries would count as theirs
TRIAL = Limits(seconds=10.0, output_bytes=1 << 20)  # of a worker's first program, which enters the jail
SLICE_SECONDS = 0.02  # interval between looks at a running program, in seconds
MAX_THREADS = 64  # number of threads that a program may have at the same time
PROGRAM_NAME = "program.py"
ENTERED = b"1"  # from a process in the jail; one that is not tells which layer failed and why
OPEN = open
STREAM_FILES = ["/dev/stdin", "/dev/stdout", "/dev/stderr"]  # names that programs give to their descriptors 0 to 2

PRELOADED = (  # modules that programs often import
    "abc array bisect calendar cmath collections.abc copy ctypes dataclasses datetime decimal enum fractions functools "
    "hashlib heapq itertools json math numbers operator queue random re statistics string textwrap typing uuid"
)

# Modules that open a browser or a window
UNIMPORTED = {"antigravity"}
SHALLOW = {"idlelib", "turtledemo"}
DEPTH = 3  # how deep modules of the library are nested that a program can import where it cannot open files

# The first program of each worker. It writes which extension modules need files that the jail hides.
FIND_UNLOADABLE = b"""
import ctypes, glob, sys
for path in (path for folder in sys.path for path in glob.glob(folder + "/*.so")):
    try:
        ctypes.CDLL(path)
    except OSError:
        print(path)
"""


def main() -> None:
    """Answer the requests of the process that started this one, until either ends."""
    control = socket.socket(fileno=0)
    settings = json.loads(sys.argv[1])
    prepare_process()
    watched = select.poll()
    watched.register(control, select.POLLIN)
    try:
        ruleset, reason = prepare(settings, watched)
    except jail.LayerFailed as error:
        control.send(json.dumps({"missing": f"{error.layer} ({error.reason})"}).encode())
        return
    control.send(json.dumps({"reason": reason}).encode())
    while True:
        while not watched.poll(1000 * IDLE_SECONDS):
            if os.getppid() != settings["parent"]:
                return
        message, files, _, _ = socket.recv_fds(control, 1 << 10, 8)
        if not message:
            return
        control.send(json.dumps(run(json.loads(message), files, ruleset, watched)).encode())


def prepare_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGCHLD])
    os.environ.clear()
    os.environ.update(PROGRAM_ENVIRONMENT)
    os.chdir("/")
    with contextlib.suppress(OSError):  # if memory runs out, a program must be killed, not the training process
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")


def prepare(settings: dict[str, Any], watched: "select.poll") -> tuple[int | None, str]:
    """Load what programs import, and try the jail. Return the rules for files, or None and why there are none."""
    jail.check_machine()
    for module in settings["modules"]:
        importlib.import_module(module)
    del sys.path[0]  # the folder of the package
    prepare_interpreter()
    ruleset, reason = open_files(settings["packages"], watched)
    build_template(platform.machine(), ruleset is not None)
    jail.change_process(jail.PR_SET_DUMPABLE, 1)  # the first call prepares what each fork would prepare again
    gc.collect()
    gc.freeze()
    return ruleset, reason


def open_files(packages: dict[str, Any], watched: "select.poll") -> tuple[int | None, str]:
    """Let programs read the library and packages if this machine has Landlock. Otherwise, import all of them."""
    try:
        import_packages(packages)
    except Exception as error:
        raise jail.LayerFailed("a package that can be imported", f"{type(error).__name__}: {error}") from None
    try:
        with jail.layer(jail.LANDLOCK):
            ruleset = jail.build_ruleset(list_readable(packages))
        for path in try_jail(ruleset, watched):  # loaded for good, so that programs can import the modules inside them
            with contextlib.suppress(OSError):
                ctypes.CDLL(path)
        return ruleset, ""
    except jail.LayerFailed as error:
        if error.layer != jail.LANDLOCK:
            raise
        reason = error.reason
    import_everything(packages)
    sys.path_importer_cache.clear()  # so that what is missing is not found, rather than found and not opened
    try_jail(None, watched)
    return None, f"{jail.LANDLOCK} ({reason})"


def try_jail(ruleset: int | None, watched: "select.poll") -> list[str]:
    """Run a first program. Return the extension modules that it cannot load."""
    with jail.layer("files in memory"):
        files = [os.memfd_create("run") for _ in range(4)]
    sys.stdout.flush()  # what modules print when they are imported is not the program's output
    output = os.dup(files[2])
    os.pwrite(files[0], FIND_UNLOADABLE, 0)
    (ended,) = run(asdict(TRIAL), files, ruleset, watched)
    if ended["status"] == "failed":
        raise jail.LayerFailed(ended["layer"], ended["reason"])
    if ended["status"] == "killed":
        sys.exit()  # which says nothing of the jail, so another worker is tried
    if ended["status"] != "finished":
        raise jail.LayerFailed("memory or time", f"a small program {ended['status']}")
    written = os.pread(output, TRIAL.output_bytes, 0).decode()
    os.close(output)
    return written.split("\n")[:-1]


def run(limits: dict[str, Any], files: list[int], ruleset: int | None, watched: "select.poll") -> list[dict[str, Any]]:
    """Run a program, or two that are joined by pipes, in a fork each. Return how they ended."""
    programs = [files[start : start + 4] for start in range(0, len(files), 4)]
    ends: list[int] = [*os.pipe(), *os.pipe()] if len(programs) == 2 else []  # each reads what the other writes
    joined = [[*ends[:1], *ends[3:]], ends[2:0:-1]]
    runs = [Run(*both, ruleset, limits) for both in zip(programs, joined, strict=False)]
    for file in (*files, *ends):
        os.close(file)
    watch(runs, limits["seconds"], watched)
    is_large = any(one.kilobytes > limits["memory_mb"] << 9 for one in runs)  # more than half of its memory
    return [one.describe(limits["seconds"], is_large) for one in runs]


class Run:
    """A fork of the worker, and the descriptor by which it tells whether it has entered the jail."""

    def __init__(self, files: list[int], ends: list[int], ruleset: int | None, limits: dict[str, Any]) -> None:
        worker = os.getpid()
        self.mark, write_mark = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            run_in_jail(files, ends, write_mark, ruleset, worker, limits)
        os.close(write_mark)
        self.code: int | None = None
        self.stopped: str | None = None
        self.seconds = self.used = 0.0
        self.kilobytes = 0
        self.is_ending = False

    def has_ended(self, flags: int = os.WNOHANG) -> bool:
        """Return whether the process has ended, and reap it if so."""
        if self.code is None:
            process, status, usage = os.wait4(self.process, flags)
            if process:
                self.code = os.waitstatus_to_exitcode(status)
                self.seconds = usage.ru_utime + usage.ru_stime
                self.kilobytes = usage.ru_maxrss
        return self.code is not None

    def look(self, seconds: float) -> tuple[float, bool | None]:
        """Stop the process if it exceeds a limit. Return how long it computed since the last look, and if it could, if known."""
        before = self.used
        self.used = time.clock_gettime(~self.process << 3 | 2)  # its CPU clock
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
        idle += is_idle * max(0.0, now - last - sum(used for used, _ in looks))
        last = now
        if idle > find_patience(looks, seconds) or now - start > LOADED * seconds:
            stop(runs, "timed_out")
    stop(runs, "finished")


def find_patience(looks: list[tuple[float, bool | None]], seconds: float) -> float:
    """Return how long the runs may be idle. If the system hides what they do, waiting for a processor looks the same."""
    is_hidden = all(is_running is None for _, is_running in looks)
    return WAITING * seconds if is_hidden else seconds


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
        if "b" in mode:
            return Null()
        return io.TextIOWrapper(Null(), write_through=True)
    if isinstance(name, str) and name in STREAM_FILES:
        file = os.dup(STREAM_FILES.index(name))
    return OPEN(file, mode, *arguments, **options)


def join_threads() -> None:
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
        self.names = {*names}
        self.path = path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name in self.names:
            return PathFinder.find_spec(name, self.path)
        return None


def import_packages(packages: dict[str, Any]) -> None:
    """Import packages that [`local.describe_packages`] describes. Those that others need may be missing."""
    if packages["named"]:
        sys.meta_path.append(PackageFinder([*packages["named"], *packages["needed"]], packages["path"]))
    for name in packages["named"]:
        importlib.import_module(name)
    import_all(packages["needed"])


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
