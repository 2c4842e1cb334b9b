"""The local back end: worker processes on this machine, which run programs in the jail, and the packages that they import."""

import asyncio
import atexit
import contextlib
import json
import logging
import os
import queue
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from ..distributed import count_workers
from .protocol import LOADED, Limits, RunResult, SandboxFailed, SandboxMissing, Status


START_SECONDS = 60.0  # time limit for the start of a worker, in seconds of wall time
GRACE_SECONDS = 10.0  # time that a worker has to report a run after its deadline, in seconds of wall time
ERROR_BYTES = 4000  # size of the end of standard error that is kept

# The program of a worker. It does not import the package, whose modules would cost memory. What `threading` does in
# each fork is left out: it takes a third of the time of a fork, and a worker has no threads to forget.
START = """
import os, sys
register, os.register_at_fork = os.register_at_fork, lambda **hooks: None
import threading
os.register_at_fork = register
sys.path.insert(0, sys.argv.pop(1))
from sandbox.worker import main
main()
"""

OPTIONS = ("-S", "-s", "-P", "-B", "-X", "utf8")  # no site-packages, no bytecode, streams in UTF-8
ENVIRONMENT = {"PYTHONHASHSEED": "0", "MALLOC_ARENA_MAX": "1"}  # the same order of sets in every run
INHERITED = ("LD_LIBRARY_PATH",)  # variables that are passed on, because the interpreter may need them to start
ATTEMPTS = 3  # how often a program is tried if its worker dies, which the program cannot cause
logger = logging.getLogger(__name__)


@cache
def describe_packages(packages: tuple[str, ...]) -> dict[str, list[str]]:
    """Return where distributions are (`path`, `folders`), and what is imported (`named`, and `needed` by it)."""
    found = find_distributions(packages)
    if missing := [name for name in packages if name not in found]:
        raise ValueError(
            f"packages={packages!r} must name installed distributions; {sys.executable} has no "
            f"{', '.join(map(repr, missing))}. Install them with '{sys.executable} -m pip install', or leave them out."
        )
    names = {found[name].metadata["Name"] for name in packages}
    named = set[str]()
    needed = set[str]()
    folders = set[str]()
    for package in found.values():
        modules = named if package.metadata["Name"] in names else needed
        modules |= list_importable_modules(package)
        folders |= {str(package.locate_file(part)) for part in list_installed_parts(package)}
    return {
        "path": [os.path.abspath(path) for path in sys.path if os.path.isdir(path)],
        "named": sorted(named),
        "needed": sorted(needed),
        "folders": sorted(folders),
    }


def find_distributions(packages: Iterable[str]) -> dict[str, Distribution]:
    """Return the installed distributions of some names, and those that they need. Those of extras are left out."""
    found: dict[str, Distribution] = {}
    names = [*packages]
    for name in names:  # which grows
        if name not in found:
            with contextlib.suppress(PackageNotFoundError):
                found[name] = distribution(name)
                required = [one for one in found[name].requires or () if not re.search("extra *==", one)]
                names += [re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in required]
    return found


def list_installed_parts(package: Distribution) -> set[str]:
    """Return the files and folders of a distribution in the folder where it is installed, without what describes it."""
    parts = {file.parts[0] for file in package.files or ()}
    return {part for part in parts if part not in ("..", "__pycache__", "/") and not part.endswith(("-info", ".pth"))}


def list_importable_modules(package: Distribution) -> set[str]:
    parts = list_installed_parts(package) or {*(package.read_text("top_level.txt") or "").split()}
    modules = {part.split(".")[0] for part in parts if part.endswith((".py", ".so")) or "." not in part}
    return {name for name in modules if name.isidentifier() and not name.startswith("__editable__")}


class WorkerLost(Exception):
    """Raised when a worker died or stopped responding. The caller retries with another process."""


class Worker:
    """A worker process with what [`local.LocalSandbox`] was given. It is started for its first run, or again."""

    def __init__(self, modules: Sequence[str], packages: tuple[str, ...]) -> None:
        self.modules = modules
        self.packages = packages
        self.missing_files = ""
        self.process: subprocess.Popen[bytes] | None = None
        self.control: socket.socket | None = None

    def start(self) -> socket.socket:
        """Start the process unless it is running, and wait until it is ready."""
        if self.control is not None:
            return self.control
        settings = {"parent": os.getpid(), "modules": self.modules, "packages": describe_packages(self.packages)}
        self.control, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with end:
            self.process = subprocess.Popen(
                [sys.executable, *OPTIONS, "-c", START, str(Path(__file__).parents[1]), json.dumps(settings)],
                stdin=end.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=ENVIRONMENT | {name: os.environ[name] for name in INHERITED if name in os.environ},
                start_new_session=True,  # so that an interrupt at the terminal reaches only the training process
            )
        started = self._receive(START_SECONDS)
        if "missing" in started:
            raise missing_layer(started["missing"])
        self.missing_files = started["reason"]
        if self.missing_files:
            warn_once(describe_tier(self.missing_files))
        return self.control

    def run(self, programs: Sequence[tuple[bytes, bytes]], limits: Limits) -> list[RunResult]:
        """Run a program, or two that are joined, once. Each comes with its standard input."""
        control = self.start()
        start = time.monotonic()
        files: list[int] = []
        try:
            for content in (content for program in programs for content in (*program, None, None)):
                files.append(os.memfd_create("run", os.MFD_ALLOW_SEALING))
                if content is not None:
                    write_sealed(files[-1], content)
            socket.send_fds(control, [json.dumps(asdict(limits)).encode()], files)
            ends = self._receive(LOADED * limits.seconds + GRACE_SECONDS)
            found = [read_result(end, files[4 * n + 2], files[4 * n + 3], limits) for n, end in enumerate(ends)]
            return [replace(one, elapsed=time.monotonic() - start) for one in found]
        finally:
            for file in files:
                os.close(file)

    def _receive(self, seconds: float) -> Any:
        assert self.control is not None
        self.control.settimeout(seconds)
        try:
            message = self.control.recv(1 << 12)
        except TimeoutError:
            raise WorkerLost(f"a worker gave no reply within {seconds:g} s") from None
        if not message:
            raise WorkerLost("a worker died")
        return json.loads(message)

    def stop(self) -> None:
        control = self.control
        process = self.process
        self.control = self.process = None
        if control is not None:
            control.close()
        if process is not None:
            process.kill()
            process.wait()


def read_result(end: dict[str, Any], output: int, errors: int, limits: Limits) -> RunResult:
    if end["status"] == "failed":
        raise WorkerLost(f"a fork of the worker could not enter the jail: {end['layer']} ({end['reason']})")
    if end["status"] == "killed":
        raise WorkerLost("the program was killed from outside, as systems without memory do")
    status: Status = end["status"]
    sizes = [os.fstat(file).st_size for file in (output, errors)]
    if max(sizes) >= limits.output_bytes and status in ("finished", "crashed"):
        status = "flooded"
    written = os.pread(output, limits.output_bytes, 0).decode(errors="replace")
    last_errors = os.pread(errors, ERROR_BYTES, max(0, sizes[1] - ERROR_BYTES)).decode(errors="replace")
    return RunResult(status, written, last_errors, end["seconds"])


def write_sealed(file: int, content: bytes) -> None:
    """Write a file that nobody can change afterwards. A program could otherwise write to its standard input."""
    import fcntl  # which other systems do not have

    with open(file, "wb", closefd=False) as stream:
        stream.write(content)
    os.lseek(file, 0, os.SEEK_SET)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)


def missing_layer(missing: str) -> SandboxMissing:
    return SandboxMissing(
        f"Programs run on this machine only in a jail, which needs Linux with seccomp. This machine lacks {missing}. "
        f"Nothing was run. Use a back end of your own (backend='my_module:MySandbox'), as in examples/fusion_sandbox.py."
    )


def describe_tier(missing: str) -> str:
    return (
        f"Programs in the jail can open no files at all, because this machine lacks {missing}. The standard library and "
        f"the named packages are imported in advance, which takes more memory."
    )


@cache
def warn_once(message: str) -> None:
    logger.warning(message)


class LocalSandbox:
    """A number of workers. They import modules of this package, and packages named as distributions."""

    def __init__(self, size: int, modules: Iterable[str] = (), packages: Iterable[str] = ()) -> None:
        self.modules = frozenset(modules)
        self.packages = tuple(sorted({*packages}))
        self.threads = ThreadPoolExecutor(size, thread_name_prefix="sandbox")
        self.workers = [Worker(sorted(self.modules), self.packages) for _ in range(size)]
        self.idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self.workers:
            self.idle.put(worker)

    @property
    def importable(self) -> set[str]:
        """The names by which the packages, and those that they need, are imported."""
        found = describe_packages(self.packages)
        return {*found["named"], *found["needed"]}

    async def run(self, program: str, inputs: Sequence[str], limits: Limits) -> AsyncGenerator[RunResult, None]:
        for text in inputs:
            future = self.threads.submit(self.run_once, encode_source(program), text.encode(errors="replace"), limits)
            yield await asyncio.wrap_future(future)

    async def run_joined(self, first: str, second: str, limits: Limits) -> tuple[RunResult, RunResult]:
        one, other = await asyncio.wrap_future(
            self.threads.submit(self.run_all, [(encode_source(program), b"") for program in (first, second)], limits)
        )
        return one, other

    def run_once(self, program: bytes, text: bytes, limits: Limits) -> RunResult:
        return self.run_all([(program, text)], limits)[0]

    def run_all(self, programs: Sequence[tuple[bytes, bytes]], limits: Limits) -> list[RunResult]:
        """Run a program, or two that are joined, once. Each comes with its standard input."""
        problem = ""
        for _ in range(ATTEMPTS):
            worker = self.idle.get()
            try:
                return worker.run(programs, limits)
            except BaseException as error:
                worker.stop()
                if isinstance(error, SandboxMissing) or not isinstance(error, (WorkerLost, OSError)):
                    raise
                problem = f"{type(error).__name__}: {error}"
            finally:
                self.idle.put(worker)
        raise SandboxFailed(f"No worker could run the program in {ATTEMPTS} attempts, because of {problem}")

    def check_ready(self) -> None:
        try:
            result = self.run_once(b"", b"", Limits(seconds=10.0))
        except SandboxFailed as error:
            raise missing_layer(f"what a worker needs. {error}") from None
        if result.status != "finished":
            raise missing_layer(f"memory or time: a program that does nothing {result.status}")

    def find_tier(self) -> tuple[str, str]:
        """Return `"landlock"` or `"no files"`, and a sentence about it."""
        self.check_ready()
        for worker in self.workers:
            if worker.missing_files:
                return "no files", describe_tier(worker.missing_files)
        return "landlock", "Programs can read the standard library and the named packages, and no other files."

    async def close(self) -> None:
        """Do nothing: the workers wait for the next batch."""

    def stop(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)
        for worker in self.workers:
            worker.stop()


def encode_source(program: str) -> bytes:
    return program.encode(errors="surrogatepass")  # Python refuses a lone surrogate as it should


POOLS: dict[tuple[frozenset[str], frozenset[str]], LocalSandbox] = {}


def get_local_sandbox(modules: Iterable[str] = (), packages: Iterable[str] = ()) -> LocalSandbox:
    """Return the back end of this process with these arguments of [`LocalSandbox`], which is created once."""
    if sys.platform != "linux":
        raise missing_layer(f"Linux (it runs {sys.platform})")
    key = frozenset(modules), frozenset(packages)
    return POOLS.get(key) or POOLS.setdefault(key, LocalSandbox(count_workers(), *key))  # threads get the same one


@atexit.register
def stop_pools() -> None:
    """Kill the workers of this process. A forked process has forgotten them before it ends."""
    for sandbox in POOLS.values():
        sandbox.stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOLS.clear)  # its workers belong to the parent
