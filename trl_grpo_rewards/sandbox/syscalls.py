"""System calls by name, with their numbers on x86-64 and on aarch64, and what a program in the jail may do with them.

The numbers are those of Linux's `asm/unistd_64.h` and `asm-generic/unistd.h`. None means that the machine does not have
the call. A call that is in no table fails with EPERM.
"""

from typing import TypeAlias


Numbers: TypeAlias = dict[str, tuple[int | None, int | None]]

AUDIT_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The value by which the kernel names the architecture of a system call. 32-bit calls have another one."""

ALLOWED: Numbers = {
    # streams, and files that Landlock lets the program open
    "read": (0, 63), "readv": (19, 65), "pread64": (17, 67), "write": (1, 64), "writev": (20, 66),
    "pwrite64": (18, 68), "lseek": (8, 62), "close": (3, 57), "close_range": (436, 436), "fstat": (5, 80),
    "stat": (4, None), "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "getdents64": (217, 61),
    "getcwd": (79, 17), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "pipe": (22, None), "pipe2": (293, 59),
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72),
    # memory, within RLIMIT_AS
    "brk": (12, 214), "mmap": (9, 222), "munmap": (11, 215), "mprotect": (10, 226), "mremap": (25, 216),
    # time
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "nanosleep": (35, 101),
    "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153), "getrusage": (98, 165),
    # facts about the program and the machine
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getrlimit": (97, 163), "sched_getaffinity": (204, 123),
    "sysinfo": (99, 179), "uname": (63, 160), "getrandom": (318, 278),
    # its own signals, timers and threads
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "getitimer": (36, 102), "setitimer": (38, 103), "alarm": (37, None), "pause": (34, None),
    "restart_syscall": (219, 128), "set_robust_list": (273, 99), "set_tid_address": (218, 96), "rseq": (334, 293),
    "sched_yield": (24, 124), "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
"""Calls that are allowed with any arguments."""

TESTED: Numbers = {
    "open": (2, None), "openat": (257, 56), "fcntl": (72, 25), "ioctl": (16, 29), "prctl": (157, 167),
    "prlimit64": (302, 261), "setrlimit": (160, 164), "clone": (56, 220), "clone3": (435, 435), "kill": (62, 129),
    "tgkill": (234, 131), "futex": (202, 98), "madvise": (28, 233), "socketpair": (53, 199), "sendto": (44, 206),
    "recvfrom": (45, 207),
}  # fmt: skip
"""Calls whose arguments decide."""


def find_numbers(calls: Numbers, machine: str) -> dict[str, int]:
    """Return the numbers of the calls that a machine has."""
    column = list(AUDIT_ARCHES).index(machine)
    return {name: number for name, numbers in calls.items() if (number := numbers[column]) is not None}
