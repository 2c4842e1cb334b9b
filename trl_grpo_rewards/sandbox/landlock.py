"""The rules for files of the jail, which Landlock enforces: nothing but the interpreter's library can be read.

Numbers and structures are those of `linux/landlock.h`. Landlock does not hide whether a file exists.
"""

import ctypes
import errno
import os
import struct
import sysconfig
from collections.abc import Iterable


CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of the system calls, which are the same on all machines."""

READ_FILE, READ_DIR = 1 << 2, 1 << 3

ACCESS_BITS = {1: 13, 2: 14, 3: 15, 5: 16}
"""Number of rights for files that each version of Landlock introduced. All of them are taken away."""

NETWORK_VERSION, SCOPE_VERSION = 4, 6
"""Versions that also take away TCP, and abstract sockets and signals to processes outside."""

UNREADABLE = {"site-packages", "dist-packages", "test"}
"""Folders of the library that programs cannot read. Installed packages may contain data sets with their tests."""

libc = ctypes.CDLL(None, use_errno=True)


def call_kernel(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call by its number, and return its result unless that is an error."""
    converted = (ctypes.c_long(one) if isinstance(one, int) else one for one in arguments)
    result: int = libc.syscall(ctypes.c_long(number), *converted)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def find_version() -> int:
    """Return the version of Landlock that the kernel offers."""
    return call_kernel(CREATE_RULESET, None, 0, 1)


def list_library() -> list[str]:
    """Return the files and folders of the interpreter's library that a program may read. Links out of it are left out."""
    library = os.path.realpath(sysconfig.get_path("stdlib"))
    paths = (os.path.realpath(entry.path) for entry in os.scandir(library) if entry.name not in UNREADABLE)
    return [path for path in paths if path.startswith(library + os.sep)]


def create_ruleset(version: int) -> int:
    """Create rules that take away all that a version of Landlock knows."""
    rights = (1 << max(bits for since, bits in ACCESS_BITS.items() if since <= version)) - 1
    network = 0b11 if version >= NETWORK_VERSION else 0
    scope = 0b11 if version >= SCOPE_VERSION else 0
    size = 24 if scope else 16 if network else 8
    return call_kernel(CREATE_RULESET, struct.pack("=QQQ", rights, network, scope)[:size], size, 0)


def build_ruleset(readable: Iterable[str]) -> int:
    """Build the rules for a process, and return their file descriptor."""
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
