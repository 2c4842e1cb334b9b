"""Verify pairs of a gold answer and an answer without ever hanging. Pairs that need math-verify go to worker processes.

math-verify can compute forever on what a model writes, in operations that Python code cannot interrupt. It therefore
runs in separate processes with deadlines that the kernel enforces, or this process where the kernel cannot, as on
Windows. `multiprocessing` is not used because it imports the user's script again, which often has no `__main__` guard
and would start to train.
"""

import atexit
import contextlib
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from ..cores import count_workers
from ..mathematics.comparison import AnswerRules
from ..mathematics.grammar import read
from .equality import is_unfit, settle


CPU_SECONDS = 2.0
"""Time limit of a pair, in seconds of the worker's CPU time, so that right answers stay right on a loaded machine."""

WALL_SECONDS = 5 * CPU_SECONDS
"""Time limit of a pair, in seconds of wall time, for a worker that gets or uses too little CPU time."""

START_SECONDS = 120.0
"""Time limit for the start of a worker, in seconds of wall time."""

WORKER_MEMORY = 4 << 30
"""Maximum address space of a worker, in bytes, on systems that can limit it."""

MAX_CACHED_PAIRS = 1 << 16
"""Maximum number of pairs whose results are cached."""

MAX_CACHED_CHARS = 1000
"""Maximum length of a cached pair, in characters, which bounds the memory of the cache."""

logger = logging.getLogger(__name__)

READY = b'"ready"\n'
"""The first message of a worker."""

Fault = Literal["timeout", "crash", "gold", "worker"]

FAULT_MESSAGES = {
    "timeout": "Verifying an answer exceeded the time limit, so the answer counts as wrong.",
    "crash": "Verifying an answer killed its process, so the answer counts as wrong.",
    "gold": "A solution cannot be read, so its completions are not scored.",
    "worker": "No worker process could be started, or it was killed from outside, so completions are not scored. To see the error, run "
    "`python -m trl_grpo_rewards.verify 0` in a terminal.",
}
"""The log message for each fault."""


@dataclass(frozen=True)
class Verification:
    """
    The result of verifying a pair.

    Args:
        equal (`bool`, *optional*):
            Whether the answer equals the gold answer. None if the gold answer cannot be read or no worker was available.
        fault (`str`, *optional*):
            What went wrong. The answer exceeded the time limit (`"timeout"`) or killed the worker twice (`"crash"`),
            and counts as wrong; the gold answer cannot be read (`"gold"`); or no worker was available (`"worker"`).
    """

    equal: bool | None
    fault: Fault | None = None


def send(pipe: int, message: Any) -> None:
    rest = memoryview(json.dumps(message).encode() + b"\n")
    while rest:
        rest = rest[os.write(pipe, rest) :]


def read_lines(pipe: IO[bytes], lines: "queue.SimpleQueue[bytes]") -> None:
    """Put each line that a process writes into the queue, and at its end an empty text."""
    rest = b""
    with pipe:
        while part := pipe.read(1 << 16):  # unbuffered, so it returns what there is
            *complete, rest = (rest + part).split(b"\n")
            for line in complete:
                lines.put(line + b"\n")
    lines.put(b"")


class WorkerLost(Exception):
    """Raised when a worker died or stopped responding. The caller retries with another process."""


class Worker:
    """A worker process, which answers one request at a time. It is started for its first request, or again."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.is_ready = False
        self.lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def start(self) -> subprocess.Popen[bytes]:
        """Start the process unless it is running. It becomes ready some seconds later."""
        if self.process is None:
            package = str(Path(__file__).parents[2])
            path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
            self.is_ready, self.lines = False, queue.SimpleQueue()
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "trl_grpo_rewards.verify", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # so that an interrupt at the terminal reaches only the training process
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # the same on Windows
                bufsize=0,
            )
            # A thread waits for the replies, because Windows has no time limit for reading a pipe.
            replies = self.process.stdout
            assert replies is not None  # because of stdout=PIPE
            try:
                threading.Thread(target=read_lines, args=(replies, self.lines), daemon=True).start()
            except RuntimeError as error:  # this process can have no more threads
                replies.close()
                self.close()
                raise OSError(str(error)) from error
        return self.process

    def receive(self, end: float) -> bytes:
        """Return the next line, or an empty text if the process has died or the time is up."""
        with contextlib.suppress(queue.Empty):
            return self.lines.get(timeout=max(0.0, end - time.monotonic()))
        return b""

    def ask(self, gold: str, answer: str, rules: AnswerRules) -> Verification:
        process, end = self.start(), time.monotonic() + START_SECONDS
        while not self.is_ready:
            line = self.receive(end)
            if not line:
                raise OSError("the worker process did not start")
            self.is_ready = line == READY  # anything before it was printed by a library
        start, fault, stages = time.monotonic(), None, []
        try:
            assert process.stdin is not None  # because of stdin=PIPE
            send(process.stdin.fileno(), [gold, answer, *astuple(rules)])
        except OSError as error:
            raise WorkerLost from error
        while line := self.receive(start + WALL_SECONDS + 0.5):
            message = json.loads(line)
            if isinstance(message, str):
                stages.append(message)
            elif "verdict" in message:
                return Verification(message["verdict"], None if message["verdict"] is not None else "gold")
            else:
                fault = message["fault"]
                break
        else:  # it has died, or it hangs on a system without deadlines by the kernel
            fault = "timeout" if time.monotonic() > start + WALL_SECONDS else "crash"
            self.close()
        if "read" not in stages:
            raise WorkerLost
        if fault == "worker":
            return Verification(None, "worker")
        if fault == "crash":  # out of memory or killed from outside, so not necessarily because of the answer
            return Verification(False, "crash")
        return Verification(False, "timeout") if "gold" in stages else Verification(None, "gold")

    def close(self) -> None:
        """Kill the process if it is running."""
        if self.process is not None:
            if hasattr(os, "killpg"):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
            self.process.wait()
            assert self.process.stdin is not None  # because of stdin=PIPE
            self.process.stdin.close()
            self.process = None


class WorkerPool:
    """Workers, which are started when they are first needed, and a cache of their results."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.idle: queue.LifoQueue[Worker] = queue.LifoQueue()
        for _ in range(size):
            self.idle.put(Worker())
        self.cache: OrderedDict[tuple[str, str, AnswerRules], Verification] = OrderedDict()
        self.lock = threading.Lock()
        self.warned: set[str] = set()
        self.restarts = 0

    def verify_pairs(self, pairs: Sequence[tuple[str, str]], rules: AnswerRules) -> list[Verification]:
        with self.lock:
            keys = {pair: (*pair, rules) for pair in pairs}
            known = {pair: self.cache[key] for pair, key in keys.items() if key in self.cache}
        asked = [pair for pair in keys if pair not in known]
        try:
            with ThreadPoolExecutor(min(self.size, max(len(asked), 1))) as threads:
                fresh = dict(zip(asked, threads.map(lambda pair: self._verify_pair(pair, rules), asked), strict=True))
        except RuntimeError:  # this process can have no more threads
            fresh = {pair: self._verify_pair(pair, rules) for pair in asked}
        with self.lock:
            for (gold, answer), one in fresh.items():
                if one.fault is not None and one.fault not in self.warned:
                    self.warned.add(one.fault)
                    warning = "%s This is shown once; the answer is %.200r and the solution is %.200r."
                    logger.warning(warning, FAULT_MESSAGES[one.fault], answer, gold)
                if one.fault not in ("worker", "crash") and len(gold) + len(answer) <= MAX_CACHED_CHARS:
                    self.cache[gold, answer, rules] = one
            while len(self.cache) > MAX_CACHED_PAIRS:
                self.cache.popitem(last=False)
        return [known.get(pair) or fresh[pair] for pair in pairs]

    def _verify_pair(self, pair: tuple[str, str], rules: AnswerRules) -> Verification:
        """Return the first result of a worker. A crash must happen twice, since the answer may not be its cause."""
        crashes, start = 0, None
        for _ in range(4):
            worker = self.idle.get()
            start = start or time.monotonic()
            try:
                verification = worker.ask(*pair, rules)
            except BaseException as error:
                worker.close()
                if not isinstance(error, (WorkerLost, OSError)):
                    raise
                self.restarts += 1
                if isinstance(error, OSError) or time.monotonic() > start + WALL_SECONDS:
                    break
                continue
            finally:
                self.idle.put(worker)
            self.restarts += verification.fault in ("timeout", "crash", "worker")
            crashes += verification.fault == "crash"
            if verification.fault != "crash" or crashes == 2:
                return verification
        return Verification(None, "worker")

    def start(self) -> None:
        """Start all idle workers, without waiting until they are ready."""
        workers = self._take_idle()
        try:
            for worker in workers:
                worker.start()
        finally:
            for worker in workers:
                self.idle.put(worker)

    def close(self) -> None:
        for worker in self._take_idle():
            worker.close()

    def _take_idle(self) -> list[Worker]:
        workers = []
        with contextlib.suppress(queue.Empty):
            while True:
                workers.append(self.idle.get_nowait())
        return workers


POOL: WorkerPool | None = None
LOCK = threading.Lock()


def verify_pairs(pairs: Sequence[tuple[str, str]], rules: AnswerRules) -> list[Verification]:
    """Verify each pair of a gold answer and an answer within the time limit. Equal pairs are verified once."""
    verifications: dict[tuple[str, str], Verification] = {}
    for gold, answer in dict.fromkeys(pairs):
        verdict = settle(gold, answer, rules)
        if verdict is not None:
            verifications[gold, answer] = Verification(verdict)
        elif is_unfit(gold):
            verifications[gold, answer] = Verification(None, "gold") if read(gold) is None else Verification(False)
        elif is_unfit(answer):
            verifications[gold, answer] = Verification(False)
    open_pairs = [pair for pair in dict.fromkeys(pairs) if pair not in verifications]
    if open_pairs:
        verifications.update(zip(open_pairs, get_pool().verify_pairs(open_pairs, rules), strict=True))
    return [verifications[pair] for pair in pairs]


def start_workers() -> None:
    """Start the workers in the background, so that the first answers need not wait for them. This never raises."""
    with contextlib.suppress(Exception):  # the first answer that needs a worker reports the error
        get_pool().start()


def get_pool() -> WorkerPool:
    """Return the pool of this process, which is created when it is first needed."""
    global POOL
    with LOCK:
        if POOL is None:
            POOL = WorkerPool(count_workers())
            atexit.register(POOL.close)
        return POOL


def count_restarts() -> int:
    """Return how many workers of this process have been replaced so far."""
    return POOL.restarts if POOL else 0


def forget_pool() -> None:
    """Forget the pool in a forked process, since its pipes belong to the parent."""
    global POOL, LOCK
    if POOL is not None:
        atexit.unregister(POOL.close)
    POOL, LOCK = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows has no such function and no forks
    os.register_at_fork(after_in_child=forget_pool)
