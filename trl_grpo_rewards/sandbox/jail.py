"""The jail: what a process gives up before it runs a program, in layers that each suffice against most attacks.

A process in the jail has its own session, and it dies with its parent. It has no capabilities and no way to get any,
limits of time, memory and output, no file but the interpreter's library (Landlock), and few system calls (seccomp).
None of this needs privileges, so it works for every user and inside containers.
"""

import ctypes
import fcntl
import math
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Callable, Sequence

from . import landlock
from .filters import build_filter
from .syscalls import AUDIT_ARCHES


PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
SECCOMP_MODE_FILTER = 2
SECCOMP_ACTION_AVAILABLE = 2
"""The operation of `seccomp` that asks for a verdict."""

SYSTEM_CALLS = {"x86_64": {"capset": 126, "seccomp": 317}, "aarch64": {"capset": 91, "seccomp": 277}}
"""Numbers of the calls that enter the jail and have no function in the C library."""

CAPABILITY_VERSION = 0x20080522

STACK_BYTES = 64 << 20
"""Limit of the stack, which deep recursion in C needs."""

MAX_FILES = 32
"""Number of files that a program may have open."""


def change_process(option: int, *arguments: int) -> None:
    filled = (*arguments, 0, 0, 0, 0)[:4]
    if landlock.libc.prctl(option, *(ctypes.c_ulong(one) for one in filled)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def drop_capabilities() -> None:
    """Give up all capabilities, so that root is an ordinary user and cannot raise its limits."""
    header = struct.pack("=Ii", CAPABILITY_VERSION, 0)
    landlock.call_kernel(SYSTEM_CALLS[platform.machine()]["capset"], header, bytes(24))


def limit_resources(seconds: float, memory_mb: int, output_bytes: int) -> None:
    for kind, wanted in (
        (resource.RLIMIT_AS, memory_mb << 20),
        (resource.RLIMIT_CPU, math.ceil(seconds) + 1),  # in case the worker cannot stop the program in time
        (resource.RLIMIT_FSIZE, output_bytes),
        (resource.RLIMIT_STACK, STACK_BYTES),
        (resource.RLIMIT_NOFILE, MAX_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        most = resource.getrlimit(kind)[1]
        limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(kind, (limit, limit))


def filter_calls() -> None:
    """Let the kernel judge every further system call of this process."""
    program = build_filter(platform.machine(), os.getpid())
    buffer = ctypes.create_string_buffer(program, len(program))
    description = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer)))
    change_process(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(description))


def keep_files(kept: Sequence[int]) -> None:
    """Close all file descriptors but some, which are numbered from 0."""
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD, MAX_FILES) for file in kept]  # above all numbers that they replace
    for number, copy in enumerate(copies):
        os.dup2(copy, number)
    os.closerange(len(kept), 1 << 20)


def enter(ruleset: int, kept: Sequence[int], parent: int, seconds: float, memory_mb: int, output_bytes: int) -> None:
    """
    Enter the jail with this process. There is no way back.

    Args:
        ruleset (`int`):
            File descriptor of the rules for files; see [`landlock.build_ruleset`].
        kept (`list[int]`):
            File descriptors to keep, which are numbered from 0: the standard streams, then others.
        parent (`int`):
            The process whose end kills this one.
        seconds, memory_mb, output_bytes:
            Limits of the run.

    Raises:
        `OSError`: a layer could not be entered. The process must end without running the program.
    """
    os.setsid()
    keep_files([*kept, ruleset])
    limit_resources(seconds, memory_mb, output_bytes)
    drop_capabilities()
    change_process(PR_SET_NO_NEW_PRIVS, 1)
    change_process(PR_SET_DUMPABLE, 0)  # no core dump, and nobody may trace it
    change_process(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before this process asked for the signal
        os.kill(os.getpid(), signal.SIGKILL)
    landlock.restrict_self(len(kept))
    os.close(len(kept))
    filter_calls()


def find_missing_layer() -> str | None:
    """Return the layer that this machine lacks and why, or None if it has all of them."""
    machine = platform.machine()
    if machine not in AUDIT_ARCHES or sys.maxsize < 1 << 32:
        return f"a list of system calls for this machine ({machine}; there are lists for {', '.join(AUDIT_ARCHES)})"
    layers: list[tuple[str, Callable[[], object]]] = [
        ("Landlock, which needs Linux 5.13 and must be switched on", landlock.find_version),
        ("seccomp filters that can kill a process (Linux 4.14)", lambda: ask_seccomp(machine)),
        ("files in memory", lambda: os.close(os.memfd_create("trl_grpo_rewards"))),
    ]
    for layer, is_there in layers:
        try:
            is_there()
        except (OSError, AttributeError) as error:
            return f"{layer} ({error})"
    return None


def ask_seccomp(machine: str) -> None:
    kill = struct.pack("=I", 0x80000000)
    landlock.call_kernel(SYSTEM_CALLS[machine]["seccomp"], SECCOMP_ACTION_AVAILABLE, 0, kill)
