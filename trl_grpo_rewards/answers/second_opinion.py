"""Ask math-verify about texts that the reader cannot read, in a process that ends itself at a deadline.

math-verify can compute forever, and Python code cannot interrupt that. `multiprocessing` would import the user's script.
"""

import atexit
import contextlib
import functools
import json
import os
import sys
import threading
import time
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen


SECONDS = 2.0  # time limit of a question. Nearly all take less than half a second.
VERDICT_LINES = {b"true\n": True, b"false\n": False}
LOCK = threading.Lock()
PROCESS: Popen[bytes] | None = None


@functools.lru_cache(maxsize=1 << 14)
def ask(gold: str, answer: str) -> bool | None:
    """Return what math-verify says, or None if this takes too long. Raises [`OSError`] if its process is killed."""
    global PROCESS
    with LOCK:
        if PROCESS is None or PROCESS.poll() is not None:
            end_process(PROCESS)
            PROCESS = start_process()
        return exchange(PROCESS, gold, answer, SECONDS)


def start_process() -> Popen[bytes]:
    script = Path(__file__).with_name("symbolic.py")
    command = [sys.executable, "-P", str(script), str(os.getpid())]
    # An interrupt at the terminal reaches only the training process.
    process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True, bufsize=0)
    if not exchange(process, "1", "1", seconds=60.0):  # loads the parser, in less than a second on an idle machine
        raise TimeoutError("The process of math-verify did not start in time.")
    return process


def exchange(process: Popen[bytes], gold: str, answer: str, seconds: float) -> bool | None:
    """Return the reply to a question, or None if the process has ended itself because the time is up."""
    assert process.stdin is not None and process.stdout is not None  # they are pipes
    end = time.monotonic() + seconds
    reply = b"\n"
    watch = threading.Timer(seconds + 1.0, process.kill)  # if it is stopped, or hangs before it has a deadline
    with contextlib.suppress(RuntimeError):  # this process can have no more threads
        watch.start()
    try:
        process.stdin.write(json.dumps([gold, answer, seconds]).encode() + b"\n")
        while reply and reply not in VERDICT_LINES:  # a library may have printed it
            reply = process.stdout.readline()
    finally:
        watch.cancel()
        if reply not in VERDICT_LINES:
            end_process(process)
    if not reply and time.monotonic() < end:
        raise ChildProcessError("The process of math-verify was killed.")
    return VERDICT_LINES.get(reply)


def end_process(process: Popen[bytes] | None) -> None:
    if process is not None:
        with process:  # closes its pipes and waits for it
            process.kill()


def forget_process() -> None:
    """Leave the process to the parent of a fork, and let it end with the parent by closing the pipe of the fork."""
    global LOCK, PROCESS
    if PROCESS is not None and PROCESS.stdin is not None:
        PROCESS.stdin.close()
    LOCK = threading.Lock()
    PROCESS = None


atexit.register(lambda: end_process(PROCESS))
if hasattr(os, "register_at_fork"):  # Windows has no such function and no forks
    os.register_at_fork(after_in_child=forget_process)
