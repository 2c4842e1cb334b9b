"""The seccomp filter of the jail: a program for the kernel's packet filter that judges every system call."""

import struct
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path


AUDIT_ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # how the kernel names it; 32-bit calls differ

ALLOWED, TESTED = tomllib.loads(Path(__file__).with_name("system_calls.toml").read_text()).values()

# Operations of the packet filter
LOAD = 0x20
JUMP_EQUAL = 0x15
JUMP_SET = 0x45
MASK = 0x54
RETURN = 0x06

KILL = 0x80000000  # sends SIGSYS
ALLOW = 0x7FFF0000
FAIL = 0x00050000  # and the number of the error

# Verdicts that do not run the call. `PRETEND` reports success.
PRETEND = FAIL
EPERM = FAIL + 1
ENOENT = FAIL + 2
EINVAL = FAIL + 22
ENOTTY = FAIL + 25
ENOSYS = FAIL + 38

OWN_PID = 0x7FFFFFFF  # a number that no process can have. It is replaced with that of the process.
RLIMIT_STACK = 3
SIGKILL = 9
AF_UNIX = 1
SOCK_STREAM = 1
THREAD_FLAGS = (0x3D0F00, 0x7D0F00)  # the flags with which glibc and musl start a thread
WRITE_FLAGS = 0o3 | 0o100 | 0o1000 | 0o10000000 | 0o20000000  # writing, O_CREAT, O_TRUNC, O_PATH, O_TMPFILE
SOCKET_TYPE_MASK = 0xFFFF_FFFF ^ (0o2000000 | 0o4000)  # all bits but SOCK_CLOEXEC and SOCK_NONBLOCK
RISKY_MESSAGES = 0xFFFF_FFFF ^ 0x4000  # all but MSG_NOSIGNAL; MSG_OOB on local sockets has had faults

# Calls that are allowed with some values: the argument, the values, the verdict on others, and a mask if there is one.
VALUES: dict[str, tuple[int, tuple[int, ...], int, int]] = {
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC; F_SETOWN and F_SETSIG could kill other processes
    "fcntl": (1, (0, 1, 2, 3, 4, 1030), EPERM, 0),
    # TCGETS, TIOCGWINSZ, FIONBIO, FIONCLEX and FIOCLEX, which Python uses
    "ioctl": (1, (0x5401, 0x5413, 0x5421, 0x5450, 0x5451), ENOTTY, 0),
    # PR_SET_NAME, PR_GET_NAME and PR_SET_VMA, which names memory
    "prctl": (0, (15, 16, 0x53564D41), EPERM, 0),
    # normal, unneeded, free, huge pages, dumps, forks and guards; others could merge pages with those of other
    # processes, which tells what these contain
    "madvise": (2, (0, 4, 8, 14, 15, 16, 17, 18, 102, 103), EINVAL, 0),
    # wait, wake and requeue; priority inheritance has a history of faults; the mask leaves out flags
    "futex": (1, (0, 1, 3, 4, 5, 9, 10), EPERM, 0x7F),
    "clone": (0, THREAD_FLAGS, EPERM, 0),
}


def find_call_numbers(calls: dict[str, list[int]], machine: str) -> dict[str, int]:
    column = list(AUDIT_ARCHES).index(machine)
    return {name: numbers[column] for name, numbers in calls.items() if column < len(numbers)}


def encode_instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def load_argument(index: int, upper: bool = False) -> bytes:
    return encode_instruction(LOAD, 16 + 8 * index + 4 * upper)


def when_equal(value: int, body: bytes) -> bytes:
    """Return the test for a value, whose body is skipped if the loaded value is another one."""
    return encode_instruction(JUMP_EQUAL, value, 0, len(body) // 8) + body


def give(verdict: int) -> bytes:
    return encode_instruction(RETURN, verdict)


def allow_values(index: int, values: Iterable[int], otherwise: int, mask: int = 0) -> bytes:
    """Allow a call if an argument has one of these values. Bits outside of a mask are left out."""
    masked = encode_instruction(MASK, mask) if mask else b""
    tests = (when_equal(value, give(ALLOW)) for value in values)
    return load_argument(index) + masked + b"".join(tests) + give(otherwise)


def when_null(index: int, body: bytes) -> bytes:
    """Return the test for a pointer that is NULL. Both halves are compared."""
    upper = load_argument(index, upper=True) + when_equal(0, body)
    return load_argument(index) + when_equal(0, upper)


def judge_arguments(files: bool) -> dict[str, bytes]:
    """Return what decides each call of [`TESTED`]. A body always ends with a verdict."""
    reads_only = {
        name: load_argument(index) + encode_instruction(JUMP_SET, WRITE_FLAGS, 0, 1) + give(EPERM) + give(ALLOW)
        for name, index in (("open", 1), ("openat", 2))
    }
    # Raising the limit of the stack is customary in contest programs. It is left as it is, and reported as done.
    raises_stack = load_argument(1) + when_equal(RLIMIT_STACK, when_null(3, give(PRETEND)))
    own_limits = when_null(2, give(ALLOW)) + raises_stack + give(EPERM)
    stream_only = allow_values(1, [SOCK_STREAM], EPERM, SOCKET_TYPE_MASK)
    nameless = load_argument(3) + encode_instruction(JUMP_SET, RISKY_MESSAGES, 0, 1) + give(EPERM)
    nameless += when_null(4, give(ALLOW)) + give(EPERM)
    signals_itself = {  # but never kills itself: a program that is killed was killed by somebody else
        name: load_argument(index) + when_equal(SIGKILL, give(KILL)) + allow_values(0, [OWN_PID], KILL)
        for name, index in (("kill", 1), ("tgkill", 2))
    }
    return {
        **(reads_only if files else dict.fromkeys(reads_only, give(ENOENT))),
        **{name: allow_values(*rule) for name, rule in VALUES.items()},
        **signals_itself,
        "setrlimit": load_argument(0) + when_equal(RLIMIT_STACK, give(PRETEND)) + give(EPERM),
        "prlimit64": load_argument(0) + when_equal(0, own_limits) + give(EPERM),
        "clone3": give(ENOSYS),  # its flags are behind a pointer; the C library then calls clone
        "socketpair": load_argument(0) + when_equal(AF_UNIX, stream_only) + give(EPERM),
        "sendto": nameless,
        "recvfrom": nameless,
    }


def compile_verdicts(machine: str) -> bytes:
    allowed = (when_equal(number, give(ALLOW)) for number in find_call_numbers(ALLOWED, machine).values())
    return b"".join([*allowed, give(EPERM)])


@cache
def build_template(machine: str, files: bool) -> bytes:
    """Build the filter with [`OWN_PID`] in the place of the process, once for all processes."""
    arch = encode_instruction(LOAD, 4) + encode_instruction(JUMP_EQUAL, AUDIT_ARCHES[machine], 1, 0) + give(KILL)
    bodies = judge_arguments(files)
    numbers = find_call_numbers(TESTED, machine)
    tested = b"".join(when_equal(number, bodies[name]) for name, number in numbers.items())
    return arch + encode_instruction(LOAD, 0) + tested + compile_verdicts(machine)


def build_filter(machine: str, pid: int, files: bool) -> bytes:
    """Build the filter of a process, which may send signals to itself only. Without files, no file seems to exist."""
    template = build_template(machine, files)
    return template.replace(encode_instruction(JUMP_EQUAL, OWN_PID, 0, 1), encode_instruction(JUMP_EQUAL, pid, 0, 1))
