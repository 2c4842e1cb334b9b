"""Processes that the tests start. Each has a log file and a time limit, and leaves no child process behind."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil


HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
LIMIT = 480
"""Time limit of a process in seconds. The slowest takes about 60 s on two idle cores; busy machines take longer."""

ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{HERE}",
    "ENGINE_TEST_DUMP_AFTER": str(0.75 * LIMIT),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def started(command: list, log: Path, **environment: str) -> Iterator[psutil.Popen]:
    """Start a process that writes to the log. It and its children end with the block."""
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
    """
    End a process and its children, one by one. Launchers start each rank in its own session, so a signal to the
    process group would miss them.
    """
    try:
        family = [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        family = [process]
    for stop in (psutil.Process.terminate, psutil.Process.kill):
        for member in family:
            with suppress(psutil.NoSuchProcess):
                stop(member)
        _, family = psutil.wait_procs(family, timeout=15)


def run(command: list, log: Path, **environment: str) -> int:
    """Run a process to its end and return its exit status. Raises `TimeoutError` after the limit."""
    with started(command, log, **environment) as process:
        try:
            return process.wait(LIMIT)
        except psutil.TimeoutExpired:
            raise TimeoutError(f"not done after {LIMIT} s:\n{tail(log)}") from None


def tail(log: Path, size: int = 6000) -> str:
    return log.read_text(errors="replace")[-size:]
