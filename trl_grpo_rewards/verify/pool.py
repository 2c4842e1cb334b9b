"""Verify pairs of a gold answer and an answer without ever hanging. Pairs that need math-verify go to worker processes.

math-verify can compute forever on what a model writes, in operations that Python code cannot interrupt. It therefore
runs in separate processes with deadlines that the kernel enforces. `multiprocessing` is not used because it imports
the user's script again, which often has no `__main__` guard and would start to train.
"""

import atexit
import contextlib
import json
import logging
import os
import queue
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Literal

from .equality import AnswerRules, is_prose, settle


CPU_SECONDS = 2.0
"""Time limit of a pair, in seconds of the worker's CPU time, so that right answers stay right on a loaded machine."""

WALL_SECONDS = 5 * CPU_SECONDS
"""Time limit of a pair, in seconds of wall time, for a worker that gets or uses too little CPU time."""

WORKER_MEMORY = 4 << 30
"""Maximum address space of a worker, in bytes."""

MAX_CACHED_PAIRS = 1 << 16
"""Maximum number of pairs whose results are cached."""

MAX_CACHED_CHARS = 1000
"""Maximum length of a cached pair, in characters, which bounds the memory of the cache."""

CPU_QUOTA_FILES = [
    ["/sys/fs/cgroup/cpu.max"],
    ["/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"],
]
"""Files in which Linux gives the CPU quota of a container, for both versions of control groups."""

logger = logging.getLogger(__name__)

DEADLINE_SIGNALS = {signal.SIGPROF, signal.SIGALRM}
"""Signals that kill a worker at its limit of CPU time and of wall time."""

Fault = Literal["timeout", "crash", "gold", "worker"]

FAULT_MESSAGES = {
    "timeout": "Verifying an answer exceeded the time limit, so the answer counts as wrong.",
    "crash": "Verifying an answer killed its process, so the answer counts as wrong.",
    "gold": "A solution cannot be read, so its completions are not scored.",
    "worker": "No worker process could be started, so completions are not scored. To see the error, run "
    "`python -m trl_grpo_rewards.verify 0 1` in a terminal.",
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
    body = json.dumps(message).encode()
    rest = memoryview(struct.pack("<I", len(body)) + body)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def receive(pipe: int, seconds: float | None = None) -> Any:
    """Return the next message, or None if the other end is closed or the message is incomplete when the time is up."""
    end = None if seconds is None else time.monotonic() + seconds
    head = read_bytes(pipe, 4, end)
    body = None if head is None else read_bytes(pipe, struct.unpack("<I", head)[0], end)
    return None if body is None else json.loads(body)


def read_bytes(pipe: int, size: int, end: float | None) -> bytes | None:
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    parts = b""
    while len(parts) < size:
        if not waiting.poll(None if end is None else max(0.0, end - time.monotonic()) * 1000):
            return None
        part = os.read(pipe, size - len(parts))
        if not part:
            return None
        parts += part
    return parts


class WorkerLost(Exception):
    """Raised when a worker died or stopped responding. The caller retries with another worker."""


class Worker:
    """A worker process, which answers one request at a time."""

    def __init__(self) -> None:
        package = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        self.replies, theirs = os.pipe()  # not standard output, where any library may print
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "trl_grpo_rewards.verify", str(os.getpid()), str(theirs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs],
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # so that an interrupt at the terminal reaches only the training process
                bufsize=0,
            )
        finally:
            os.close(theirs)
        assert self.process.stdin is not None  # because of stdin=PIPE
        self.requests = self.process.stdin
        if receive(self.replies, 120.0) != "ready":
            self.close()
            raise OSError("the worker process did not start")

    def ask(self, gold: str, answer: str, rules: AnswerRules) -> Verification:
        try:
            send(self.requests.fileno(), [gold, answer, *astuple(rules)])
        except OSError as error:
            raise WorkerLost from error
        stages: list[str] = []
        while True:
            message = receive(self.replies, WALL_SECONDS + 0.5)
            if isinstance(message, str):
                stages.append(message)
            elif message is None or "read" not in stages:  # silent, or dead before it read the whole request
                raise WorkerLost
            elif "verdict" in message:
                return Verification(message["verdict"], None if message["verdict"] is not None else "gold")
            elif message["died"] in DEADLINE_SIGNALS:
                return Verification(False, "timeout") if "gold" in stages else Verification(None, "gold")
            else:  # out of memory or killed from outside, so not necessarily because of the answer
                return Verification(False, "crash")

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.requests.close()
        os.close(self.replies)


class WorkerPool:
    """Workers, which are started when they are first needed, and a cache of their results."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.idle: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(size):
            self.idle.put(None)  # a place for a worker that is not started yet
        self.cache: OrderedDict[tuple[str, str, AnswerRules], Verification] = OrderedDict()
        self.lock = threading.Lock()
        self.warned: set[str] = set()
        self.restarts = 0

    def verify_pairs(self, pairs: Sequence[tuple[str, str]], rules: AnswerRules) -> list[Verification]:
        with self.lock:
            keys = {pair: (*pair, rules) for pair in pairs}
            known = {pair: self.cache[key] for pair, key in keys.items() if key in self.cache}
        asked = [pair for pair in keys if pair not in known]
        with ThreadPoolExecutor(min(self.size, max(len(asked), 1))) as threads:
            fresh = dict(zip(asked, threads.map(lambda pair: self._verify_pair(pair, rules), asked), strict=True))
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
                worker = worker or Worker()
                verification = worker.ask(*pair, rules)
            except BaseException as error:
                if worker is not None:
                    worker.close()
                worker = None
                if not isinstance(error, (WorkerLost, OSError)):
                    raise
                self.restarts += 1
                if isinstance(error, OSError) or time.monotonic() > start + WALL_SECONDS:
                    break
                continue
            finally:
                self.idle.put(worker)
            self.restarts += verification.fault in ("timeout", "crash")
            crashes += verification.fault == "crash"
            if verification.fault != "crash" or crashes == 2:
                return verification
        return Verification(None, "worker")

    def close(self) -> None:
        while not self.idle.empty():
            if worker := self.idle.get_nowait():
                worker.close()


POOL: WorkerPool | None = None
LOCK = threading.Lock()


def verify_pairs(pairs: Sequence[tuple[str, str]], rules: AnswerRules) -> list[Verification]:
    """Verify each pair of a gold answer and an answer within the time limit. Equal pairs are verified once."""
    verifications: dict[tuple[str, str], Verification] = {}
    for gold, answer in dict.fromkeys(pairs):
        verdict = settle(gold, answer, rules)
        if verdict is not None:
            verifications[gold, answer] = Verification(verdict)
        elif is_prose(gold):
            verifications[gold, answer] = Verification(None, "gold")
        elif is_prose(answer):
            verifications[gold, answer] = Verification(False)
    open_pairs = [pair for pair in dict.fromkeys(pairs) if pair not in verifications]
    if open_pairs:
        verifications.update(zip(open_pairs, get_pool().verify_pairs(open_pairs, rules), strict=True))
    return [verifications[pair] for pair in pairs]


def get_pool() -> WorkerPool:
    """Return the pool of this process, which is created when it is first needed."""
    global POOL
    with LOCK:
        if POOL is None:
            ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
            size = int(os.environ.get("TRL_GRPO_REWARDS_WORKERS", "0")) or max(1, count_cores() // ranks)
            POOL = WorkerPool(size)
            atexit.register(POOL.close)
        return POOL


def count_restarts() -> int:
    """Return how many workers of this process have been replaced so far."""
    return POOL.restarts if POOL else 0


def count_cores() -> int:
    """Return how many cores this process may use, by its affinity and its container's quota if they are known."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for files in CPU_QUOTA_FILES:
        with contextlib.suppress(OSError, ValueError):  # "max 100000" and -1 mean that there is no quota
            quota, period = map(int, " ".join(Path(file).read_text() for file in files).split())
            count = min(count, max(1, quota // period)) if quota > 0 else count
    return count


def forget_pool() -> None:
    """Forget the pool in a forked process, since its pipes belong to the parent."""
    global POOL, LOCK
    POOL, LOCK = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows has no such function and no forks
    os.register_at_fork(after_in_child=forget_pool)
