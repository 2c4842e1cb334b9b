"""The local back end: a pool of worker processes on this machine, which run programs in the jail.

`multiprocessing` is not used because it imports the user's script again. A worker is the interpreter with the modules of
this folder and no package.
"""

import asyncio
import atexit
import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..cores import count_workers
from .protocol import WAITING, Limits, RunResult, SandboxFailed, SandboxMissing, Status


START_SECONDS = 60.0
"""Time limit for the start of a worker, in seconds of wall time."""

GRACE_SECONDS = 10.0
"""Time that a worker has to report a run after its deadline, in seconds of wall time."""

ATTEMPTS = 3
"""How often a program is tried if its worker dies, which the program cannot cause."""

ERROR_BYTES = 4000
"""Size of the end of standard error that is kept."""

START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from sandbox.worker import main; del sys.path[0]; main()"
"""The program of a worker. It does not import the package, whose modules would cost memory."""

OPTIONS = ("-S", "-s", "-P", "-B", "-X", "utf8")
"""Options of the interpreter: no site-packages, no folder of the script, no files with bytecode, streams in UTF-8."""

ENVIRONMENT = {"PYTHONHASHSEED": "0", "MALLOC_ARENA_MAX": "1"}
"""The environment of a worker, which it clears. Sets have the same order in every run; threads share their memory."""

SANDBOXES = "a Sandbox Fusion server (backend='http://localhost:8080') or your own (backend='my_module:MySandbox')"
"""The other back ends, for errors."""


class WorkerLost(Exception):
    """Raised when a worker died or stopped responding. The caller retries with another process."""


class Worker:
    """
    A worker process, which runs one program at a time. It is started for its first run, or again.

    Args:
        python (`str`):
            Interpreter.
    """

    def __init__(self, python: str) -> None:
        self.python = python
        self.process: subprocess.Popen[bytes] | None = None
        self.control: socket.socket | None = None

    def start(self) -> socket.socket:
        """
        Start the process unless it is running, and wait until it is ready.

        Raises:
            [`SandboxMissing`]: the machine lacks a layer of the jail.
        """
        if self.control is None:
            self.control, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with end:
                package = str(Path(__file__).parents[1])
                self.process = subprocess.Popen(
                    [self.python, *OPTIONS, "-c", START, package, str(os.getpid())],
                    stdin=end.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={
                        **ENVIRONMENT,
                        **{name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
                    },
                    start_new_session=True,  # so that an interrupt at the terminal reaches only the training process
                )
            missing = self._receive(START_SECONDS).get("missing")
            if missing is not None:
                raise missing_layer(missing)
        return self.control

    def run(self, program: bytes, text: bytes, limits: Limits) -> RunResult:
        """Run a program once."""
        control = self.start()
        files: list[int] = []
        try:
            for content in (program, text, b"", b""):
                files.append(os.memfd_create("run"))
                write_file(files[-1], content)
            socket.send_fds(control, [json.dumps(asdict(limits)).encode()], files)
            ended = self._receive(WAITING * limits.seconds + GRACE_SECONDS)
            if ended["status"] == "failed":
                raise WorkerLost("a fork of the worker could not enter the jail")
            is_flooded = max(os.fstat(file).st_size for file in files[2:]) >= limits.output_bytes
            output = os.pread(files[2], limits.output_bytes, 0)
            errors = os.pread(files[3], ERROR_BYTES, max(0, os.fstat(files[3]).st_size - ERROR_BYTES))
        finally:
            for file in files:
                os.close(file)
        status: Status = ended["status"]
        if is_flooded and status in ("finished", "crashed"):
            status = "flooded"
        return RunResult(status, decode(output), decode(errors), ended["seconds"])

    def _receive(self, seconds: float) -> dict[str, Any]:
        assert self.control is not None
        self.control.settimeout(seconds)
        try:
            message = self.control.recv(1 << 12)
        except TimeoutError:
            raise WorkerLost(f"a worker gave no reply within {seconds:g} s") from None
        if not message:
            raise WorkerLost("a worker died")
        received: dict[str, Any] = json.loads(message)
        return received

    def stop(self) -> None:
        """Kill the process. Its forks die with it."""
        control, process = self.control, self.process
        self.control = self.process = None
        if control is not None:
            control.close()
        if process is not None:
            process.kill()
            process.wait()


def write_file(file: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]
    os.lseek(file, 0, os.SEEK_SET)


def decode(text: bytes) -> str:
    return text.decode(errors="replace")


def missing_layer(missing: str) -> SandboxMissing:
    """Return the error for a machine that lacks a layer of the jail."""
    return SandboxMissing(
        f"Programs run on this machine only in a jail, which needs Linux with Landlock and seccomp. This machine lacks "
        f"{missing}. Nothing was run. Name another back end: {SANDBOXES}."
    )


class LocalSandbox:
    """
    The local back end.

    Args:
        size (`int`):
            Number of workers.
        python (`str`, *optional*):
            Interpreter of the programs, with version 3.11 or newer. By default, it is the one of this process.
    """

    def __init__(self, size: int, python: str | None = None) -> None:
        self.threads = ThreadPoolExecutor(size, thread_name_prefix="sandbox")
        self.workers = [Worker(python or sys.executable) for _ in range(size)]
        self.idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self.workers:
            self.idle.put(worker)

    async def run(self, program: str, inputs: Sequence[str], limits: Limits) -> AsyncGenerator[RunResult, None]:
        source = program.encode(errors="surrogatepass")  # Python refuses a lone surrogate as it should
        for text in inputs:
            future = self.threads.submit(self.run_once, source, text.encode(errors="replace"), limits)
            yield await asyncio.wrap_future(future)

    def run_once(self, program: bytes, text: bytes, limits: Limits) -> RunResult:
        """Run a program with one input."""
        problem = ""
        for _ in range(ATTEMPTS):
            worker = self.idle.get()
            try:
                return worker.run(program, text, limits)
            except SandboxMissing:
                worker.stop()
                raise
            except (WorkerLost, OSError) as error:
                worker.stop()
                problem = f"{type(error).__name__}: {error}"
            except BaseException:
                worker.stop()
                raise
            finally:
                self.idle.put(worker)
        raise SandboxFailed(f"No worker could run the program in {ATTEMPTS} attempts. The last error was {problem}.")

    def check_ready(self) -> None:
        """Run a program that does nothing."""
        try:
            result = self.run_once(b"", b"", Limits(seconds=10.0))
        except SandboxFailed as error:
            raise missing_layer(f"what a worker needs. {error}") from None
        if result.status != "finished":
            raise missing_layer(f"memory or time: a program that does nothing {result.status}")

    async def close(self) -> None:
        """Do nothing: the workers wait for the next batch."""

    def stop(self) -> None:
        """Kill the workers."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        for worker in self.workers:
            worker.stop()


POOLS: dict[str, LocalSandbox] = {}
LOCK = threading.Lock()


def get_local_sandbox(python: str | None = None) -> LocalSandbox:
    """
    Return the local back end of this process, which is created when it is first needed.

    Args:
        python (`str`, *optional*):
            As in [`LocalSandbox`].

    Raises:
        [`SandboxMissing`]: this system is not Linux.
    """
    if sys.platform != "linux":
        raise missing_layer(f"Linux (it runs {sys.platform})")
    python = python or sys.executable
    with LOCK:
        if python not in POOLS:
            POOLS[python] = LocalSandbox(count_workers(), python)
        return POOLS[python]


@atexit.register
def stop_pools() -> None:
    """Kill the workers of this process. A forked process has forgotten them before it ends."""
    for sandbox in POOLS.values():
        sandbox.stop()


def forget_pools() -> None:
    """Forget the pools in a forked process, since their workers belong to the parent."""
    global POOLS, LOCK
    POOLS, LOCK = {}, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_pools)
