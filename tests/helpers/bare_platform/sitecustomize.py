"""Takes away what Windows lacks, from every Python that has this folder on its path, before it does anything else."""

import asyncio  # noqa: F401  # on Linux, these modules need the names while they are imported
import os
import select
import signal
import subprocess  # noqa: F401
import sys
import threading
import time


MISSING_NAMES = {
    os: ["fork", "getuid", "killpg", "register_at_fork", "sched_getaffinity", "setsid", "WIFSIGNALED", "WTERMSIG"],
    select: ["poll"],
    signal: ["ITIMER_PROF", "ITIMER_REAL", "SIGALRM", "SIGPROF", "alarm", "pthread_sigmask", "setitimer"],
}
MISSING_MODULES = ["fcntl", "grp", "pwd", "resource", "termios"]

for module, names in MISSING_NAMES.items():
    for name in names:
        delattr(module, name)
for name in MISSING_MODULES:
    sys.modules[name] = None  # importing it raises ModuleNotFoundError


def print_all_the_time() -> None:
    while True:
        print("what a library prints, on a line without an end", end="", flush=True)
        time.sleep(0.01)


if any(argument.endswith("symbolic.py") for argument in sys.orig_argv):
    threading.Thread(target=print_all_the_time, daemon=True).start()
