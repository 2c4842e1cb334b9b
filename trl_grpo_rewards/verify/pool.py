"""Judge pairs of a right and a given answer without ever hanging: what texts and numbers do not settle, in workers.

math-verify can compute for ever on what a model writes, in operations that no Python code can interrupt. So it runs in
processes of its own, each with a deadline that the kernel keeps. `multiprocessing` is not used: it imports the user's
script again, which often has no `__main__` guard and would start to train.
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

from .equality import Terms, is_prose, settled


CPU_SECONDS = 2.0
"""A pair's deadline, in the worker's own time, so that a loaded machine does not turn right answers into wrong ones."""

WALL_SECONDS = 5 * CPU_SECONDS
"""The backstop in wall time."""

MEMORY = 4 << 30
"""Bytes of address space that a worker may have."""

REMEMBERED, SHORT = 1 << 16, 1000
"""Pairs whose verdicts are remembered, and how many characters they may have."""

QUOTAS = [
    ["/sys/fs/cgroup/cpu.max"],
    ["/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"],
]
"""Where Linux tells the share of the cores that a container has, in the two versions of its control groups."""

logger = logging.getLogger(__name__)

DEADLINES = {signal.SIGPROF, signal.SIGALRM}
"""What ends a worker whose time is up: its own, or the backstop's."""

Fault = Literal["timeout", "crash", "gold", "worker"]


TOLD = {
    "timeout": "An answer took longer to judge than its deadline, and counts as wrong",
    "crash": "An answer killed the process that judged it, and counts as wrong",
    "gold": "A solution cannot be read, and its completions are not judged",
    "worker": "No process to judge answers could be had, and completions are not judged; "
    "`python -m trl_grpo_rewards.verify 0 1` in a terminal shows why",
}


@dataclass(frozen=True)
class Judgement:
    """
    What is known of a pair.

    Args:
        equal (`bool`, *optional*):
            Whether the answer is the right one; None where the right one cannot be read or no worker could be had.
        fault (`str`, *optional*):
            What went wrong: the answer took longer than the deadline (`"timeout"`) or killed the worker twice
            (`"crash"`), both of which make it a wrong one; the right one cannot be read (`"gold"`); `"worker"`.
    """

    equal: bool | None
    fault: Fault | None = None


def send(pipe: int, message: Any) -> None:
    body = json.dumps(message).encode()
    rest = memoryview(struct.pack("<I", len(body)) + body)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def receive(pipe: int, seconds: float | None = None) -> Any:
    """The next message; None where the other end is closed, or it is not whole in time."""
    end = None if seconds is None else time.monotonic() + seconds
    head = read(pipe, 4, end)
    body = None if head is None else read(pipe, struct.unpack("<I", head)[0], end)
    return None if body is None else json.loads(body)


def read(pipe: int, size: int, end: float | None) -> bytes | None:
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


class Lost(Exception):
    """A worker that is of no use any more; another must be asked."""


class Worker:
    """One worker process, with one request at a time."""

    def __init__(self) -> None:
        package = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        self.replies, theirs = os.pipe()  # not its standard output, where anything may print
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "trl_grpo_rewards.verify", str(os.getpid()), str(theirs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs],
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # an interrupt at the terminal is for the training process
                bufsize=0,
            )
        finally:
            os.close(theirs)
        if receive(self.replies, 120.0) != "ready":
            self.close()
            raise OSError("a worker did not start")

    def ask(self, gold: str, answer: str, terms: Terms) -> Judgement:
        try:
            send(self.process.stdin.fileno(), [gold, answer, *astuple(terms)])
        except OSError as error:
            raise Lost from error
        stages = []
        while True:
            message = receive(self.replies, WALL_SECONDS + 0.5)
            if isinstance(message, str):
                stages.append(message)
            elif message is None or "read" not in stages:  # silent, or dead before it had the whole request
                raise Lost
            elif "verdict" in message:
                return Judgement(message["verdict"], None if message["verdict"] is not None else "gold")
            elif message["died"] in DEADLINES:
                return Judgement(False, "timeout") if "gold" in stages else Judgement(None, "gold")
            else:  # for want of memory, by somebody's hand: not surely the answer's doing
                return Judgement(False, "crash")

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        os.close(self.replies)


class Pool:
    """Workers, started when they are first needed, and the verdicts they have given."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.idle: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(size):
            self.idle.put(None)  # a place for a worker that is not started yet
        self.remembered: OrderedDict[tuple, Judgement] = OrderedDict()
        self.lock = threading.Lock()
        self.told: set[str] = set()
        self.restarts = 0

    def judge(self, pairs: Sequence[tuple[str, str]], terms: Terms) -> list[Judgement]:
        with self.lock:
            keys = {pair: (*pair, terms) for pair in pairs}
            known = {pair: self.remembered[key] for pair, key in keys.items() if key in self.remembered}
        asked = [pair for pair in keys if pair not in known]
        with ThreadPoolExecutor(min(self.size, max(len(asked), 1))) as threads:
            fresh = dict(zip(asked, threads.map(lambda pair: self._judge(*pair, terms), asked), strict=True))
        with self.lock:
            for (gold, answer), one in fresh.items():
                if one.fault is not None and one.fault not in self.told:
                    self.told.add(one.fault)
                    logger.warning("%s (said once): %.200r against %.200r.", TOLD[one.fault], answer, gold)
                if one.fault not in ("worker", "crash") and len(gold) + len(answer) <= SHORT:
                    self.remembered[gold, answer, terms] = one
            while len(self.remembered) > REMEMBERED:
                self.remembered.popitem(last=False)
        return [known.get(pair) or fresh[pair] for pair in pairs]

    def _judge(self, gold: str, answer: str, terms: Terms) -> Judgement:
        """The judgement of the first worker to give one; a crash must happen twice, since it may be of other making."""
        crashes, start = 0, None
        for _ in range(4):
            worker = self.idle.get()
            start = start or time.monotonic()
            try:
                worker = worker or Worker()
                judgement = worker.ask(gold, answer, terms)
            except BaseException as error:
                if worker is not None:
                    worker.close()
                worker = None
                if not isinstance(error, (Lost, OSError)):
                    raise
                self.restarts += 1
                if isinstance(error, OSError) or time.monotonic() > start + WALL_SECONDS:
                    break
                continue
            finally:
                self.idle.put(worker)
            self.restarts += judgement.fault in ("timeout", "crash")
            crashes += judgement.fault == "crash"
            if judgement.fault != "crash" or crashes == 2:
                return judgement
        return Judgement(None, "worker")

    def close(self) -> None:
        while not self.idle.empty():
            if worker := self.idle.get_nowait():
                worker.close()


POOL: Pool | None = None
LOCK = threading.Lock()


def judge(pairs: Sequence[tuple[str, str]], terms: Terms) -> list[Judgement]:
    """Judge each pair of a right and a given answer; equal pairs are judged once, and none for longer than its time."""
    judgements: dict[tuple[str, str], Judgement] = {}
    for gold, answer in dict.fromkeys(pairs):
        verdict = settled(gold, answer, terms)
        if verdict is not None:
            judgements[gold, answer] = Judgement(verdict)
        elif is_prose(gold):
            judgements[gold, answer] = Judgement(None, "gold")
        elif is_prose(answer):
            judgements[gold, answer] = Judgement(False)
    open_pairs = [pair for pair in dict.fromkeys(pairs) if pair not in judgements]
    if open_pairs:
        judgements.update(zip(open_pairs, pool().judge(open_pairs, terms), strict=True))
    return [judgements[pair] for pair in pairs]


def pool() -> Pool:
    """The pool of this process, started when it is first needed."""
    global POOL
    with LOCK:
        if POOL is None:
            ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
            size = int(os.environ.get("TRL_GRPO_REWARDS_WORKERS", "0")) or max(1, cores() // ranks)
            POOL = Pool(size)
            atexit.register(POOL.close)
        return POOL


def restarts() -> int:
    """How often a worker of this process has been replaced so far."""
    return POOL.restarts if POOL else 0


def cores() -> int:
    """Those that this process may use: of its affinity, and of its container's quota, where the system tells."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for files in QUOTAS:
        with contextlib.suppress(OSError, ValueError):  # "max 100000" is no quota, nor is -1
            quota, period = map(int, " ".join(Path(file).read_text() for file in files).split())
            count = min(count, max(1, quota // period)) if quota > 0 else count
    return count


def forget() -> None:
    """In a fork the pipes are the other process's: leave them alone and start anew."""
    global POOL, LOCK
    POOL, LOCK = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # where it is not, on Windows, nothing forks
    os.register_at_fork(after_in_child=forget)
