"""A worker of the local back end: it forks a process for each run, which enters the [`jail`] and runs a program there.

A worker never sees a program or its input. Each request comes with the file descriptors of four files in memory for each
program: the program and its standard streams. The fork reads and writes them itself, so nothing of one run is in the memory
of the next. Modules that programs often import are already loaded, so that a run costs little more than the fork.
"""

import _sitebuiltins
import builtins
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
from typing import Any

from . import jail, landlock
from .filters import build_template
from .script import PROGRAM_NAME, run_in_jail
from .watch import Run, watch


PRELOADED = (
    "abc array bisect calendar cmath collections.abc copy ctypes dataclasses datetime decimal enum fractions functools "
    "hashlib heapq itertools json math numbers operator queue random re statistics string textwrap typing uuid"
)
"""Modules that programs often import. Those that need shared libraries from outside the interpreter's are among them."""

IDLE_SECONDS = 1.0
"""Interval at which an idle worker looks whether the process that started it is still there, in seconds."""


def main() -> None:
    """Answer the requests of the process that started this one, until either ends."""
    control = socket.socket(fileno=0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGCHLD])
    settings = json.loads(sys.argv[1])
    os.environ.clear()
    os.chdir("/")
    with contextlib.suppress(OSError):  # if memory runs out, a program must be killed, not the training process
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    if (missing := jail.find_missing_layer()) is not None:
        control.send(json.dumps({"missing": missing}).encode())
        return
    ruleset = landlock.build_ruleset(landlock.list_library())
    preload(settings["modules"])
    watched = select.poll()
    watched.register(control, select.POLLIN)
    control.send(b"{}")
    while True:
        while not watched.poll(1000 * IDLE_SECONDS):
            if os.getppid() != settings["parent"]:
                return
        message, files, _, _ = socket.recv_fds(control, 1 << 10, 8)
        if not message:
            return
        control.send(json.dumps(run(json.loads(message), files, ruleset, watched)).encode())


def preload(modules: list[str]) -> None:
    """Import what programs need or often need, and make their forks cheap."""
    for module in (*PRELOADED.split(), *modules):
        importlib.import_module(module)
    del sys.path[0]  # the folder of the package
    for name in ("exit", "quit"):  # the module `site` makes them, which is not loaded
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    build_template(platform.machine())
    sys.argv[:] = [PROGRAM_NAME]
    sys.orig_argv[:] = [sys.executable, PROGRAM_NAME]
    gc.collect()
    gc.freeze()


def run(limits: dict[str, Any], files: list[int], ruleset: int, watched: "select.poll") -> list[dict[str, Any]]:
    """Run a program, or two that are joined by pipes, in a fork each. Return how they ended."""
    programs = [files[start : start + 4] for start in range(0, len(files), 4)]
    ends = [[]] if len(programs) == 1 else join_two()
    runs = [start(*both, ruleset, limits) for both in zip(programs, ends, strict=True)]
    for file in (*files, *sum(ends, [])):
        os.close(file)
    watch(runs, limits["seconds"], watched)
    return [one.describe(limits["seconds"]) for one in runs]


def join_two() -> list[list[int]]:
    """Return what each of two processes reads from and writes to, so that it reads what the other writes."""
    (first_reads, second_writes), (second_reads, first_writes) = os.pipe(), os.pipe()
    return [[first_reads, first_writes], [second_reads, second_writes]]


def start(files: list[int], ends: list[int], ruleset: int, limits: dict[str, Any]) -> Run:
    """Start a program in a fork."""
    worker = os.getpid()
    read_mark, write_mark = os.pipe()
    fork = os.fork()
    if fork == 0:
        run_in_jail(files, ends, write_mark, ruleset, worker, limits)
    os.close(write_mark)
    return Run(fork, read_mark)
