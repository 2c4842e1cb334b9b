"""The jail: what a process gives up before it runs a program, in layers that each suffice against most attacks."""

import contextlib
import ctypes
import errno
import fcntl
import math
import os
import platform
import re
import resource
import signal
import struct
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence

from .filters import AUDIT_ARCHES, build_filter


PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
SECCOMP_ACTION_AVAILABLE = 2  # the operation of `seccomp` that asks for a verdict
# Numbers of the calls that enter the jail and have no function in the C library.
SYSTEM_CALLS = {"x86_64": {"capset": 126, "seccomp": 317}, "aarch64": {"capset": 91, "seccomp": 277}}
CAPABILITY_VERSION = 0x20080522

# Names of layers
LANDLOCK = "Landlock"
SECCOMP = "seccomp filters that can kill a process"

STACK_BYTES = 64 << 20  # limit of the stack, which deep recursion in C needs
MAX_FILES = 32  # number of files that a program may have open
MAX_OWN_THREADS = 128  # for the kernel: a program can start threads faster than its worker notices them
MAX_SIGNALS = 256  # that are pending: the kernel counts them for all processes of the user, who would have none left
RLIMIT_SIGPENDING = 11  # which Python does not name
FIRST_USER = 1 << 30  # the user ids of programs are this number plus their process ids; no person has such an id
CLONE_NEWUSER = 0x10000000
SEPARATE_COUNTS = (5, 14)  # the version of Linux from which on threads are counted by namespace

REASONS = {  # what the errors of the kernel mean for a layer of the jail
    errno.ENOSYS: "the kernel was built without it",
    errno.EOPNOTSUPP: "it is not switched on; see the kernel's option lsm=",
    errno.EPERM: "the profile of the container, or another sandbox, forbids it",
}

# Calls of Landlock, the same on all machines
CREATE_RULESET = 444
ADD_RULE = 445
RESTRICT_SELF = 446

READ_FILE = 1 << 2
READ_DIR = 1 << 3
ACCESS_BITS = {1: 13, 2: 14, 3: 15, 5: 16}  # rights that each version of Landlock introduced; all are taken away
NETWORK_VERSION = 4  # from which it also takes away TCP
SCOPE_VERSION = 6  # and signals to processes outside
UNREADABLE = {"site-packages", "dist-packages", "test"}  # packages may contain data sets with their tests
libc = ctypes.CDLL(None, use_errno=True)


def call_kernel(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call by its number, and return its result unless that is an error."""
    converted = (ctypes.c_long(one) if isinstance(one, int) else one for one in arguments)
    result: int = libc.syscall(ctypes.c_long(number), *converted)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def find_version() -> int:
    return call_kernel(CREATE_RULESET, None, 0, 1)


def list_library() -> list[str]:
    """Return the files and folders of the interpreter's library that a program may read. Links out of it are left out."""
    library = os.path.realpath(sysconfig.get_path("stdlib"))
    paths = (os.path.realpath(entry.path) for entry in os.scandir(library) if entry.name not in UNREADABLE)
    return [path for path in paths if path.startswith(library + os.sep)]


def create_ruleset(version: int) -> int:
    rights = (1 << max(bits for since, bits in ACCESS_BITS.items() if since <= version)) - 1
    network = 0b11 if version >= NETWORK_VERSION else 0
    scope = 0b11 if version >= SCOPE_VERSION else 0
    size = 24 if scope else 16 if network else 8
    return call_kernel(CREATE_RULESET, struct.pack("=QQQ", rights, network, scope)[:size], size, 0)


def build_ruleset(readable: Iterable[str]) -> int:
    version = find_version()
    while True:
        try:
            ruleset = create_ruleset(version)
            break
        except OSError as error:  # kernels with parts of newer ones claim a version of which they lack something
            version -= 1
            if error.errno != errno.EINVAL or not version:
                raise
    for path in readable:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = READ_FILE | (READ_DIR if os.path.isdir(path) else 0)
        call_kernel(ADD_RULE, ruleset, 1, struct.pack("=Qi", allowed, descriptor), 0)
        os.close(descriptor)
    return ruleset


def restrict_self(ruleset: int) -> None:
    """Bind this process to the rules permanently, and close them. It must have set `no_new_privs` before."""
    call_kernel(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


class LayerFailed(Exception):
    """Raised when a layer of the jail is missing or cannot be entered. Nothing may be run."""

    def __init__(self, layer: str, reason: str) -> None:
        super().__init__(layer, reason)
        self.layer = layer
        self.reason = reason


def explain(error: OSError) -> str:
    names = {**errno.errorcode, errno.EOPNOTSUPP: "EOPNOTSUPP"}  # which is called ENOTSUP otherwise
    name = names.get(error.errno or 0, type(error).__name__)
    return f"{name}: {REASONS.get(error.errno or 0, error.strerror)}"


@contextlib.contextmanager
def layer(name: str) -> Iterator[None]:
    """Let an error of the kernel name the layer that it belongs to."""
    try:
        yield
    except OSError as error:
        raise LayerFailed(name, explain(error)) from None


def change_process(option: int, *arguments: int) -> None:
    filled = (*arguments, 0, 0, 0, 0)[:4]
    if libc.prctl(option, *(ctypes.c_ulong(one) for one in filled)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def drop_capabilities() -> None:
    """Give up all capabilities, so that root is an ordinary user and cannot raise its limits."""
    header = struct.pack("=Ii", CAPABILITY_VERSION, 0)
    call_kernel(SYSTEM_CALLS[platform.machine()]["capset"], header, bytes(24))


def limit_resources(seconds: float, memory_mb: int, output_bytes: int) -> None:
    for kind, wanted in (
        (resource.RLIMIT_AS, memory_mb << 20),
        (resource.RLIMIT_CPU, math.ceil(seconds) + 1),  # in case the worker cannot stop the program in time
        (resource.RLIMIT_FSIZE, output_bytes),
        (resource.RLIMIT_STACK, STACK_BYTES),
        (resource.RLIMIT_NOFILE, MAX_FILES),
        (RLIMIT_SIGPENDING, MAX_SIGNALS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        limit_resource(kind, wanted)


def limit_resource(kind: int, wanted: int) -> None:
    most = resource.getrlimit(kind)[1]
    limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(kind, (limit, most if kind == resource.RLIMIT_CPU else limit))  # a hard one would send SIGKILL


def limit_threads() -> None:
    """Limit the threads of this process. If they cannot be counted alone, limit all those of its user to half of all ids."""
    most = MAX_OWN_THREADS
    with contextlib.suppress(OSError):  # /proc may be missing
        if not count_alone():
            with open("/proc/sys/kernel/pid_max") as file:
                most = int(file.read()) // 2
        limit_resource(resource.RLIMIT_NPROC, most)


def count_alone() -> bool:
    """Make the kernel count this process's threads apart: root takes another user id, and others a user namespace."""
    if os.geteuid() == 0:
        try:
            os.setresuid(FIRST_USER + os.getpid(), -1, -1)
        except OSError:  # in a container that does not know this id, or lacks the capability
            return False
        return True
    version = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    return version >= SEPARATE_COUNTS and libc.unshare(CLONE_NEWUSER) == 0


def filter_calls(files: bool) -> None:
    program = build_filter(platform.machine(), os.getpid(), files)
    buffer = ctypes.create_string_buffer(program, len(program))
    description = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer)))
    change_process(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(description))


def keep_files(kept: Sequence[int]) -> None:
    """Close all file descriptors but some, which are numbered from 0."""
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD, MAX_FILES) for file in kept]  # above all numbers that they replace
    for number, copy in enumerate(copies):
        os.dup2(copy, number)
    os.closerange(len(kept), 1 << 20)


def die_with(parent: int) -> None:
    change_process(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before this process asked for the signal
        os.kill(os.getpid(), signal.SIGKILL)


def enter(
    ruleset: int | None, kept: Sequence[int], parent: int, seconds: float, memory_mb: int, output_bytes: int
) -> None:
    """Enter the jail with this process, which the end of its parent kills. Without rules for files, none can be opened."""
    os.setsid()
    keep_files([*kept, *(() if ruleset is None else (ruleset,))])
    layers: list[tuple[str, Callable[[], object]]] = [
        ("limits of resources", lambda: limit_resources(seconds, memory_mb, output_bytes)),
        ("limits of threads", limit_threads),  # needs a capability
        ("capset", drop_capabilities),
        ("no_new_privs", lambda: change_process(PR_SET_NO_NEW_PRIVS, 1)),
        ("PR_SET_DUMPABLE", lambda: change_process(PR_SET_DUMPABLE, 0)),  # no core dump, and nobody may trace it
        ("PR_SET_PDEATHSIG", lambda: die_with(parent)),
        (LANDLOCK, lambda: None if ruleset is None else restrict_self(len(kept))),
        (SECCOMP, lambda: filter_calls(files=ruleset is not None)),
    ]
    for name, enter_layer in layers:
        with layer(name):
            enter_layer()


def check_machine() -> None:
    """Check what is known about the machine without entering the jail."""
    machine = platform.machine()
    if machine not in AUDIT_ARCHES or sys.maxsize < 1 << 32:
        raise LayerFailed("a list of system calls for this machine", f"{machine} is not {' or '.join(AUDIT_ARCHES)}")
    kill = struct.pack("=I", 0x80000000)
    with layer(SECCOMP):
        call_kernel(SYSTEM_CALLS[machine]["seccomp"], SECCOMP_ACTION_AVAILABLE, 0, kill)
