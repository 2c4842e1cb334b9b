"""Processes that tests start: each has a log, a limit, and no survivors."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil


HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
LIMIT = 480
"""Seconds that a process may take before it is ended. The slowest takes about 60 on two idle cores."""

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{HERE}",
    "ENGINE_TEST_LIMIT": str(LIMIT),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def started(command: list, log: Path, **environment: str) -> Iterator[psutil.Popen]:
    """The running process, which writes to the log and ends with the block, together with all that it started."""
    with log.open("a") as output:
        process = psutil.Popen(
            list(map(str, command)),
            env={**os.environ, **ENVIRONMENT, **environment},
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end(process)


def end(process: psutil.Popen) -> None:
    """Launchers give each rank a session of its own, so that a signal to the process group would not reach it."""
    try:
        family = [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        family = [process]
    for member in family:
        if member.is_running():
            member.terminate()
    _, alive = psutil.wait_procs(family, timeout=15)
    for member in alive:
        member.kill()
    process.wait(15)


def run(command: list, log: Path, **environment: str) -> int:
    """Run to the end, at most as long as the limit, and return the exit status."""
    with started(command, log, **environment) as process:
        return process.wait(LIMIT)


def tail(log: Path, size: int = 6000) -> str:
    return log.read_text(errors="replace")[-size:]
