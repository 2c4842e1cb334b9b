"""Judge pairs of a right and a given answer without ever hanging: what texts and numbers do not settle, in workers.

math-verify can compute for ever on what a model writes, in operations that no Python code can interrupt. So it runs in
processes of its own, each with a deadline that the kernel keeps. `multiprocessing` is not used: it imports the user's
script again, which often has no `__main__` guard and would start to train.
"""

import atexit
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
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .equality import is_prose, settled, tidy


CPU_SECONDS = 2.0
"""A pair's deadline, in the worker's own time, so that a loaded machine does not turn right answers into wrong ones."""

WALL_SECONDS = 5 * CPU_SECONDS
"""The backstop in wall time."""

MEMORY = 4 << 30
"""Bytes of address space that a worker may have."""

REMEMBERED, SHORT = 1 << 16, 1000
"""Pairs whose verdicts are remembered, and how many characters they may have."""

logger = logging.getLogger(__name__)

Fault = Literal["timeout", "crash", "gold", "worker"]


TOLD = {
    "timeout": "An answer took longer to judge than its deadline, and counts as wrong",
    "crash": "An answer killed the process that judged it, and counts as wrong",
    "gold": "A solution cannot be read, and its completions are not judged",
    "worker": "No process to judge answers could be had, and completions are not judged",
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


def receive(pipe: int) -> Any:
    """The next message; None where the other end is closed."""
    head = read(pipe, 4)
    return None if head is None else json.loads(read(pipe, struct.unpack("<I", head)[0]) or b"null")


def read(pipe: int, size: int) -> bytes | None:
    parts = b""
    while len(parts) < size:
        part = os.read(pipe, size - len(parts))
        if not part:
            return None
        parts += part
    return parts


class Worker:
    """One worker process, with one request at a time."""

    def __init__(self) -> None:
        package = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "trl_grpo_rewards.verify", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # an interrupt at the terminal is for the training process
            bufsize=0,
        )
        if self.next_message(120.0) != "ready":
            self.close()
            raise OSError("a worker did not start; `python -m trl_grpo_rewards.verify 0` in a terminal shows why")

    def next_message(self, seconds: float) -> Any:
        pipe = self.process.stdout.fileno()
        return receive(pipe) if select.select([pipe], [], [], seconds)[0] else None

    def ask(self, gold: str, answer: str, tolerance: float | None) -> Judgement | None:
        """The judgement; None where the worker is lost and another must be asked."""
        try:
            send(self.process.stdin.fileno(), [gold, answer, tolerance])
        except BrokenPipeError:
            return None
        gold_read = False
        while (message := self.next_message(WALL_SECONDS + 5.0)) is not None:
            if message == "gold":
                gold_read = True
            elif "verdict" in message:
                return Judgement(message["verdict"], None if message["verdict"] is not None else "gold")
            elif not gold_read:
                return Judgement(None, "gold")
            else:
                late = message["died"] in (signal.SIGPROF, signal.SIGALRM)
                return Judgement(False, "timeout" if late else "crash")
        return None

    def close(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(0.5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


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

    def judge(self, pairs: Sequence[tuple[str, str]], tolerance: float | None) -> list[Judgement]:
        with self.lock:
            keys = {pair: (*pair, tolerance) for pair in pairs}
            known = {pair: self.remembered[key] for pair, key in keys.items() if key in self.remembered}
        asked = [pair for pair in keys if pair not in known]
        with ThreadPoolExecutor(min(self.size, max(len(asked), 1))) as threads:
            fresh = dict(zip(asked, threads.map(lambda pair: self._judge(*pair, tolerance), asked), strict=True))
        with self.lock:
            for (gold, answer), one in fresh.items():
                if one.fault is not None and one.fault not in self.told:
                    self.told.add(one.fault)
                    logger.warning("%s (said once): %.200r against %.200r.", TOLD[one.fault], answer, gold)
                if one.fault != "worker" and len(gold) + len(answer) <= SHORT:
                    self.remembered[gold, answer, tolerance] = one
            while len(self.remembered) > REMEMBERED:
                self.remembered.popitem(last=False)
        return [known.get(pair) or fresh[pair] for pair in pairs]

    def _judge(self, gold: str, answer: str, tolerance: float | None) -> Judgement:
        judgement = None
        for _ in range(2):  # a crash may be of other making: low memory, say
            worker = self.idle.get()
            try:
                worker = worker or Worker()
                judgement = worker.ask(gold, answer, tolerance)
            except OSError:
                return Judgement(None, "worker")
            finally:
                lost = judgement is None
                if lost and worker is not None:
                    worker.close()
                self.idle.put(None if lost else worker)
            if judgement is not None and judgement.fault != "crash":
                return judgement
        return judgement or Judgement(False, "crash")

    def close(self) -> None:
        while not self.idle.empty():
            if worker := self.idle.get_nowait():
                worker.close()


POOL: Pool | None = None
LOCK = threading.Lock()


def judge(pairs: Sequence[tuple[str, str]], tolerance: float | None = None) -> list[Judgement]:
    """Judge each pair of a right and a given answer; equal pairs are judged once, and none for longer than its time."""
    judgements: dict[tuple[str, str], Judgement] = {}
    for gold, answer in dict.fromkeys(pairs):
        verdict = settled(gold, answer, tolerance)
        if verdict is not None:
            judgements[gold, answer] = Judgement(verdict)
        elif is_prose(gold):
            judgements[gold, answer] = Judgement(None, "gold")
    open_pairs = [pair for pair in dict.fromkeys(pairs) if pair not in judgements]
    if open_pairs:
        tidied = [(tidy(gold), tidy(answer)) for gold, answer in open_pairs]
        judgements.update(zip(open_pairs, pool().judge(tidied, tolerance), strict=True))
    return [judgements[pair] for pair in pairs]


def pool() -> Pool:
    """The pool of this process, started when it is first needed."""
    global POOL
    with LOCK:
        if POOL is None:
            ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
            size = int(os.environ.get("TRL_GRPO_REWARDS_WORKERS", "0")) or max(1, (os.cpu_count() or 1) // ranks)
            POOL = Pool(size)
            atexit.register(POOL.close)
        return POOL


def forget() -> None:
    """In a fork the pipes are the other process's: leave them alone and start anew."""
    global POOL, LOCK
    POOL, LOCK = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # where it is not, on Windows, nothing forks
    os.register_at_fork(after_in_child=forget)
