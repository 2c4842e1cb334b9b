"""A worker process, as the process that started it sees it: its start, its runs, and its end.

`multiprocessing` is not used because it imports the user's script again. A worker is the interpreter with the modules of
this folder and no package.
"""

import json
import logging
import os
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from .packages import survey_packages
from .protocol import LOADED, Limits, RunResult, SandboxMissing, Status


START_SECONDS = 60.0
"""Time limit for the start of a worker, in seconds of wall time."""

GRACE_SECONDS = 10.0
"""Time that a worker has to report a run after its deadline, in seconds of wall time."""

ERROR_BYTES = 4000
"""Size of the end of standard error that is kept."""

START = """
import os, sys
register, os.register_at_fork = os.register_at_fork, lambda **hooks: None
import threading
os.register_at_fork = register
sys.path.insert(0, sys.argv.pop(1))
from sandbox.worker import main
main()
"""
"""The program of a worker. It does not import the package, whose modules would cost memory. What `threading` does in each
fork is left out: it takes a third of the time of a fork, and a worker has no threads to forget."""

OPTIONS = ("-S", "-s", "-P", "-B", "-X", "utf8")
"""Options of the interpreter: no site-packages, no folder of the script, no files with bytecode, streams in UTF-8."""

ENVIRONMENT = {"PYTHONHASHSEED": "0", "MALLOC_ARENA_MAX": "1"}
"""The environment of a worker, which replaces it. Sets have the same order in every run; threads share their memory."""

INHERITED = ("LD_LIBRARY_PATH",)
"""Variables that are passed on, because the interpreter may need them to start."""

logger = logging.getLogger(__name__)


class WorkerLost(Exception):
    """Raised when a worker died or stopped responding. The caller retries with another process."""


class Worker:
    """A worker process with what [`local.LocalSandbox`] was given. It is started for its first run, or again."""

    def __init__(self, python: str, modules: Sequence[str], packages: tuple[str, ...]) -> None:
        self.python, self.modules, self.packages = python, modules, packages
        self.missing_files = ""
        self.process: subprocess.Popen[bytes] | None = None
        self.control: socket.socket | None = None

    def start(self) -> socket.socket:
        """Start the process unless it is running, and wait until it is ready."""
        if self.control is not None:
            return self.control
        settings = {
            "parent": os.getpid(),
            "modules": [*self.modules],
            "packages": survey_packages(self.python, self.packages),
        }
        self.control, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with end:
            self.process = subprocess.Popen(
                [self.python, *OPTIONS, "-c", START, str(Path(__file__).parents[1]), json.dumps(settings)],
                stdin=end.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=ENVIRONMENT | {name: os.environ[name] for name in INHERITED if name in os.environ},
                start_new_session=True,  # so that an interrupt at the terminal reaches only the training process
            )
        started = self._receive(START_SECONDS)
        if "missing" in started:
            raise missing_layer(started["missing"])
        self.missing_files = started["reason"]
        if self.missing_files:
            warn_once(describe_tier(self.missing_files))
        return self.control

    def run(self, programs: Sequence[tuple[bytes, bytes]], limits: Limits) -> list[RunResult]:
        """Run a program, or two that are joined, once. Each comes with its standard input."""
        control = self.start()
        files: list[int] = []
        try:
            for content in (content for program in programs for content in (*program, None, None)):
                files.append(os.memfd_create("run", os.MFD_ALLOW_SEALING))
                if content is not None:
                    fill(files[-1], content)
            socket.send_fds(control, [json.dumps(asdict(limits)).encode()], files)
            ends = self._receive(LOADED * limits.seconds + GRACE_SECONDS)
            return [read_result(end, files[4 * n + 2], files[4 * n + 3], limits) for n, end in enumerate(ends)]
        finally:
            for file in files:
                os.close(file)

    def _receive(self, seconds: float) -> Any:
        assert self.control is not None
        self.control.settimeout(seconds)
        try:
            message = self.control.recv(1 << 12)
        except TimeoutError:
            raise WorkerLost(f"a worker gave no reply within {seconds:g} s") from None
        if not message:
            raise WorkerLost("a worker died")
        return json.loads(message)

    def stop(self) -> None:
        """Kill the process. Its forks die with it."""
        control, process = self.control, self.process
        self.control = self.process = None
        if control is not None:
            control.close()
        if process is not None:
            process.kill()
            process.wait()


def read_result(end: dict[str, Any], output: int, errors: int, limits: Limits) -> RunResult:
    """Return the result of a run that ended."""
    if end["status"] == "failed":
        raise WorkerLost(f"a fork of the worker could not enter the jail: {end['layer']} ({end['reason']})")
    if end["status"] == "killed":
        raise WorkerLost("the program was killed from outside, as systems without memory do")
    status: Status = end["status"]
    sizes = [os.fstat(file).st_size for file in (output, errors)]
    if max(sizes) >= limits.output_bytes and status in ("finished", "crashed"):
        status = "flooded"
    written = os.pread(output, limits.output_bytes, 0).decode(errors="replace")
    last_errors = os.pread(errors, ERROR_BYTES, max(0, sizes[1] - ERROR_BYTES)).decode(errors="replace")
    return RunResult(status, written, last_errors, end["seconds"])


def fill(file: int, content: bytes) -> None:
    """Write a file that nobody can change afterwards. A program could otherwise write to its standard input."""
    import fcntl  # which other systems do not have

    with open(file, "wb", closefd=False) as stream:
        stream.write(content)
    os.lseek(file, 0, os.SEEK_SET)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)


def missing_layer(missing: str) -> SandboxMissing:
    """Return the error for a machine that lacks a layer of the jail."""
    return SandboxMissing(
        f"Programs run on this machine only in a jail, which needs Linux with seccomp. This machine lacks {missing}. "
        f"Nothing was run. Use a back end of your own (backend='my_module:MySandbox'), as in examples/fusion_sandbox.py."
    )


def describe_tier(missing: str) -> str:
    return (
        f"Programs in the jail can open no files at all, because this machine lacks {missing}. The standard library and "
        f"the named packages are imported in advance, which takes more memory."
    )


@cache
def warn_once(message: str) -> None:
    logger.warning(message)
