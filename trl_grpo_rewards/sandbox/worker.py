"""A worker of the local back end: it forks a process for each run, which enters the [`jail`] and runs a program there.

A worker never sees a program or its input. Each request comes with the file descriptors of four files in memory for each
program: the program and its standard streams. The fork reads and writes them itself, so nothing of one run is in the memory
of the next. Modules that programs often import are already loaded, so that a run costs little more than the fork.
"""

import contextlib
import gc
import importlib
import json
import os
import platform
import select
import signal
import socket
import sys
from dataclasses import asdict
from typing import Any

from . import jail, landlock, library
from .execution import run_in_jail
from .filters import build_template
from .protocol import Limits
from .watch import Run, watch


IDLE_SECONDS = 1.0
"""Interval at which an idle worker looks whether the process that started it is still there, in seconds."""

ENVIRONMENT = {"HOME": "/", "USER": "user", "OMP_NUM_THREADS": "1"}
"""The environment of programs. Threads of numerical libraries would count as theirs."""

TRIAL = Limits(seconds=10.0, output_bytes=1 << 20)
"""Limits of the first program of a worker, which finds out whether the jail can be entered."""


def main() -> None:
    """Answer the requests of the process that started this one, until either ends."""
    control = socket.socket(fileno=0)
    settings = json.loads(sys.argv[1])
    prepare_process()
    watched = select.poll()
    watched.register(control, select.POLLIN)
    try:
        ruleset, reason = prepare(settings, watched)
    except jail.LayerFailed as error:
        control.send(json.dumps({"missing": f"{error.layer} ({error.reason})"}).encode())
        return
    control.send(json.dumps({"reason": reason}).encode())
    while True:
        while not watched.poll(1000 * IDLE_SECONDS):
            if os.getppid() != settings["parent"]:
                return
        message, files, _, _ = socket.recv_fds(control, 1 << 10, 8)
        if not message:
            return
        control.send(json.dumps(run(json.loads(message), files, ruleset, watched)).encode())


def prepare_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGCHLD])
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    os.chdir("/")
    with contextlib.suppress(OSError):  # if memory runs out, a program must be killed, not the training process
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")


def prepare(settings: dict[str, Any], watched: "select.poll") -> tuple[int | None, str]:
    """Load what programs import, and try the jail. Return the rules for files, or None and why there are none."""
    jail.check_machine()
    for module in settings["modules"]:
        importlib.import_module(module)
    del sys.path[0]  # the folder of the package
    library.prepare_interpreter()
    ruleset, reason = open_files(settings["packages"], watched)
    build_template(platform.machine(), ruleset is not None)
    jail.change_process(jail.PR_SET_DUMPABLE, 1)  # the first call prepares what each fork would prepare again
    gc.collect()
    gc.freeze()
    return ruleset, reason


def open_files(packages: dict[str, Any], watched: "select.poll") -> tuple[int | None, str]:
    """Let programs read the library and packages if this machine has Landlock. Otherwise, import all of them."""
    try:
        library.import_packages(packages)
    except Exception as error:
        raise jail.LayerFailed("a package that can be imported", f"{type(error).__name__}: {error}") from None
    try:
        with jail.layer(jail.LANDLOCK):
            ruleset = landlock.build_ruleset(library.list_readable(packages))
        library.load_extensions(try_jail(ruleset, watched))
        return ruleset, ""
    except jail.LayerFailed as error:
        if error.layer != jail.LANDLOCK:
            raise
        reason = error.reason
    library.import_everything(packages)
    sys.path_importer_cache.clear()  # so that what is missing is not found, rather than found and not opened
    try_jail(None, watched)
    return None, f"{jail.LANDLOCK} ({reason})"


def try_jail(ruleset: int | None, watched: "select.poll") -> list[str]:
    """Run a first program. Return the extension modules that it cannot load."""
    with jail.layer("files in memory"):
        files = [os.memfd_create("run") for _ in range(4)]
    sys.stdout.flush()  # what modules print when they are imported is not the program's output
    output = os.dup(files[2])
    os.pwrite(files[0], library.FIND_UNLOADABLE, 0)
    (ended,) = run(asdict(TRIAL), files, ruleset, watched)
    if ended["status"] == "failed":
        raise jail.LayerFailed(ended["layer"], ended["reason"])
    if ended["status"] == "killed":
        sys.exit()  # which says nothing of the jail, so another worker is tried
    if ended["status"] != "finished":
        raise jail.LayerFailed("memory or time", f"a small program {ended['status']}")
    written = os.pread(output, TRIAL.output_bytes, 0).decode()
    os.close(output)
    return written.split("\n")[:-1]


def run(limits: dict[str, Any], files: list[int], ruleset: int | None, watched: "select.poll") -> list[dict[str, Any]]:
    """Run a program, or two that are joined by pipes, in a fork each. Return how they ended."""
    programs = [files[start : start + 4] for start in range(0, len(files), 4)]
    ends = [[]] if len(programs) == 1 else join_two()
    runs = [start(*both, ruleset, limits) for both in zip(programs, ends, strict=True)]
    for file in (*files, *sum(ends, [])):
        os.close(file)
    watch(runs, limits["seconds"], watched)
    is_large = any(one.kilobytes > limits["memory_mb"] << 9 for one in runs)  # more than half of its memory
    return [one.describe(limits["seconds"], is_large) for one in runs]


def join_two() -> list[list[int]]:
    """Return what each of two processes reads from and writes to, so that it reads what the other writes."""
    (first_reads, second_writes), (second_reads, first_writes) = os.pipe(), os.pipe()
    return [[first_reads, first_writes], [second_reads, second_writes]]


def start(files: list[int], ends: list[int], ruleset: int | None, limits: dict[str, Any]) -> Run:
    """Start a program in a fork."""
    worker = os.getpid()
    read_mark, write_mark = os.pipe()
    fork = os.fork()
    if fork == 0:
        run_in_jail(files, ends, write_mark, ruleset, worker, limits)
    os.close(write_mark)
    return Run(fork, read_mark)
