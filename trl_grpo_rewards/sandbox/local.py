"""The local back end: a pool of worker processes on this machine, which run programs in the jail."""

import asyncio
import atexit
import os
import queue
import sys
import threading
from collections.abc import AsyncGenerator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ..distributed import count_workers
from .client import Worker, WorkerLost, describe_tier, missing_layer
from .protocol import Limits, RunResult, SandboxFailed, SandboxMissing


ATTEMPTS = 3
"""How often a program is tried if its worker dies, which the program cannot cause."""


class LocalSandbox:
    """A number of workers of one interpreter. They import modules of this package, and packages named as distributions."""

    def __init__(
        self, size: int, python: str | None = None, modules: Iterable[str] = (), packages: Iterable[str] = ()
    ) -> None:
        self.modules, self.packages = frozenset(modules), tuple(sorted({*packages}))
        self.threads = ThreadPoolExecutor(size, thread_name_prefix="sandbox")
        self.workers = [Worker(python or sys.executable, sorted(self.modules), self.packages) for _ in range(size)]
        self.idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self.workers:
            self.idle.put(worker)

    async def run(self, program: str, inputs: Sequence[str], limits: Limits) -> AsyncGenerator[RunResult, None]:
        for text in inputs:
            future = self.threads.submit(self.run_once, encode_source(program), text.encode(errors="replace"), limits)
            yield await asyncio.wrap_future(future)

    async def run_joined(self, first: str, second: str, limits: Limits) -> tuple[RunResult, RunResult]:
        """Run two programs that can reach each other by pipes only, as [`Sandbox`] says."""
        one, other = await asyncio.wrap_future(
            self.threads.submit(self.run_all, [(encode_source(program), b"") for program in (first, second)], limits)
        )
        return one, other

    def run_once(self, program: bytes, text: bytes, limits: Limits) -> RunResult:
        """Run a program with one input."""
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
        """Run a program that does nothing."""
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
        """Kill the workers."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        for worker in self.workers:
            worker.stop()


def encode_source(program: str) -> bytes:
    return program.encode(errors="surrogatepass")  # Python refuses a lone surrogate as it should


POOLS: dict[tuple[str, frozenset[str], frozenset[str]], LocalSandbox] = {}
LOCK = threading.Lock()


def get_local_sandbox(
    python: str | None = None, modules: Iterable[str] = (), packages: Iterable[str] = ()
) -> LocalSandbox:
    """Return the back end of this process with these arguments of [`LocalSandbox`], which is created once."""
    if sys.platform != "linux":
        raise missing_layer(f"Linux (it runs {sys.platform})")
    key = python or sys.executable, frozenset(modules), frozenset(packages)
    with LOCK:
        if key not in POOLS:
            POOLS[key] = LocalSandbox(count_workers(), *key)
        return POOLS[key]


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
