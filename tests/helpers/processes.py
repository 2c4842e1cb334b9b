"""Processes that tests start."""

import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from unittest.mock import patch

from helpers.paths import TESTS
from trl_grpo_rewards.cli.main import main


def build_environment(**variables: str) -> dict[str, str]:
    """Return the environment of this process with one thread, or threads that do not spin, and `helpers` on the path."""
    paths = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "PYTHONPATH": paths, **variables}


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


SPAWN, FRESH = map(multiprocessing.get_context, ("spawn", "forkserver"))
FRESH.set_forkserver_preload(["helpers.ranks"])


def fork_fresh(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a function in a process that has imported TRL and has run nothing. Only the first start imports it."""
    process = FRESH.Process(target=target, args=arguments, daemon=True)
    with patch.dict(os.environ, build_environment()):
        process.start()
    return process


class Forked:
    """A command such as `trl-grpo-rewards train`, or a script, in a process of its own that need not import TRL."""

    def __init__(self, *arguments: Any, cwd: Path, packages: Sequence[Path] = ()) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=cwd.parent))
        self.process = fork_fresh(_run_command, [*map(str, arguments)], cwd, self.folder, packages)
        self.pid = self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def wait(self) -> subprocess.CompletedProcess[str]:
        """Return its exit code and what it has printed."""
        self.process.join(300)
        said = [(self.folder / name).read_text() for name in ("out", "err")]
        return subprocess.CompletedProcess([], self.process.exitcode, *said)


def _run_command(arguments: list[str], cwd: Path, folder: Path, packages: Sequence[Path]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs ignore it
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(cwd)
    os.environ["HF_HUB_OFFLINE"] = "1"
    sys.path[:1] = map(str, (cwd, *packages))
    if arguments[0].endswith(".py"):
        sys.argv, sys.path[:0] = arguments, [str(Path(arguments[0]).parent)]
        runpy.run_path(arguments[0], run_name="__main__")
    else:
        sys.argv = ["trl-grpo-rewards", *arguments]
        main()


def run_in_spawned_child(target: Callable, *arguments: Any, context: Any = SPAWN) -> Any:
    """
    Return what `target(*arguments, queue)` puts into the queue, in a process that shares nothing with this one.

    With `context=FRESH`, it has imported TRL already.
    """
    queue = context.Queue()
    child = context.Process(target=target, args=(*arguments, queue))
    with patch.dict(os.environ, build_environment()):
        child.start()
    result = queue.get(timeout=300)
    child.join()
    assert child.exitcode == 0
    return result


def find_workers(process: int) -> list[int]:
    """Return the processes that give a second opinion to a process. There is at most one, unless it has been replaced."""
    command = ["ps", "-ww", "-eo", "pid,args"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [int(line.split()[0]) for line in lines if f"{line} ".count(f"symbolic.py {process} ")]


def has_no_workers_within(process: int, seconds: float) -> bool:
    """Return whether the last process that gives a second opinion to a process ends in time."""
    end = time.monotonic() + seconds
    while find_workers(process) and time.monotonic() < end:
        time.sleep(0.2)
    return not find_workers(process)
