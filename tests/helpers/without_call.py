"""Runs a command on a kernel that refuses a system call: `python without_call.py NUMBER[:ERRNO[:OPTION]] COMMAND...`.

The call fails with ENOSYS, or with another error. With an option, only calls whose first argument it is fail.
"""

import ctypes
import os
import struct
import sys


def main() -> None:
    number, error, option = (*map(int, sys.argv[1].split(":")), *(38, -1)[sys.argv[1].count(":") :])
    tests = [(0x20, 0, 0, 0), (0x15, 0, 1, number)] if option < 0 else [
        (0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 16), (0x15, 0, 1, option)
    ]  # fmt: skip
    lines = [*tests, (0x06, 0, 0, 0x00050000 | error), (0x06, 0, 0, 0x7FFF0000)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    description = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    for which, *arguments in ((38, 1, 0), (22, 2, ctypes.addressof(description))):
        if libc.prctl(which, *(ctypes.c_ulong(one) for one in arguments), ctypes.c_ulong(0), ctypes.c_ulong(0)):
            raise OSError(ctypes.get_errno(), "the filter was refused")
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
