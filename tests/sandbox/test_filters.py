"""What the filter says of every system call with every argument that matters, by an interpreter of its own."""

import re
import struct
import subprocess

import pytest

from trl_grpo_rewards.sandbox.filters import (
    ALLOW,
    ALLOWED,
    AUDIT_ARCHES,
    EINVAL,
    ENOENT,
    ENOSYS,
    ENOTTY,
    EPERM,
    KILL,
    PRETEND,
    TESTED,
    THREAD_FLAGS,
    build_filter,
    find_call_numbers,
)


PID = 4321
MACHINES = list(AUDIT_ARCHES)
ANYWHERE = 0xFFFF_FFFF_FFFF_FFFF
POINTER, HIGH_POINTER = 0x7FFC_0000_1000, 0x7FFC_0000_0000  # the lower half of the second one is NULL


def run_filter(program: bytes, number: int, arguments: tuple[int, ...] = (), arch: int = 0) -> int:
    """Return the verdict on a call, as the kernel computes it from the manual of its packet filter."""
    padded = (*arguments, *[0] * 6)[:6]
    data = struct.pack("=IIQ6Q", number, arch, 0, *(one & ANYWHERE for one in padded))
    instructions = [struct.unpack_from("=HBBI", program, start) for start in range(0, len(program), 8)]
    position, value = 0, 0
    while True:
        code, if_true, if_false, k = instructions[position]
        position += 1
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, k)
        elif code == 0x54:
            value &= k
        elif code == 0x15:
            position += if_true if value == k else if_false
        elif code == 0x45:
            position += if_true if value & k else if_false
        elif code == 0x06:
            return k
        else:
            raise AssertionError(f"the kernel has no operation {code:#x} of this kind")


@pytest.fixture(params=MACHINES)
def judge(request):
    """Returns the verdict on a call by its name, on one machine."""
    return build_judge(request.param, files=True)


def build_judge(machine, files):
    program = build_filter(machine, PID, files)
    numbers = find_call_numbers({**ALLOWED, **TESTED}, machine)
    assert len(program) // 8 < 4096  # the kernel's limit

    def judge(name, *arguments, arch=AUDIT_ARCHES[machine]):
        number = numbers.get(name) if isinstance(name, str) else name
        return None if number is None else run_filter(program, number, arguments, arch)

    judge.numbers = numbers
    return judge


def test_a_call_without_arguments_is_allowed_or_an_error(judge):
    known = {number: name for name, number in judge.numbers.items()}
    for number in range(600):
        name, verdict = known.get(number), judge(number)
        if name in ALLOWED:
            assert verdict == ALLOW, name
        elif name not in TESTED:
            assert verdict == EPERM, number


def test_calls_of_another_architecture_end_the_run(judge):
    for arch in (0x40000003, 0x40000028, 0, 0xC000003E ^ 1):  # 32-bit x86 and ARM
        assert all(judge(number, arch=arch) == KILL for number in range(600))


def test_the_x32_numbers_of_x86_are_no_way_around(judge):
    assert all(judge(number | 0x40000000) == EPERM for number in range(600))


READING = [0, 0o2000000, 0o100000, 0o400000, 0o4000]  # O_CLOEXEC, O_LARGEFILE, O_NOFOLLOW, O_NONBLOCK
WRITING = [1, 2, 3, 0o100, 0o101, 0o1000, 0o1101, 0o10000000, 0o20200000, 1 | 1 << 40]
OTHERS = (0, 1, -1, -PID, PID - 1, PID + 1, PID << 32)
PROCESSES = (17, 0x4000 | 0x100 | 17, 0x10000, 0x3D0F00 | 0x10000000, 0x3D0F00 ^ 0x10000, 0x3D0F00 ^ 0x100)
ADDRESSES = ((POINTER, 0), (HIGH_POINTER, 0), (0, 1), (0, 0x40), (0, 2), (0, 0x20000000))
FUTEXES, FLAGS = (0, 1, 3, 4, 5, 9, 10), (0, 128, 256, 384)  # without priority inheritance
RULES = [
    # files are opened for reading only
    ("openat", ALLOW, [(-100, POINTER, flags) for flags in READING]), ("open", ALLOW, [(POINTER, flags) for flags in READING]),
    ("openat", EPERM, [(-100, POINTER, flags) for flags in WRITING]), ("open", EPERM, [(POINTER, flags) for flags in WRITING]),
    # sockets are pairs without a name
    ("socketpair", ALLOW, [(1, 1 | flags, 0, POINTER) for flags in (0, 0o2000000, 0o4000, 0o2004000)]),
    ("socketpair", EPERM, [(*one, 0, POINTER) for one in ((1, 2), (1, 5), (2, 1), (16, 3), (1, 1 | 1 << 8), (1 << 32, 1))]),
    *((name, ALLOW, [(3, POINTER, 1, flags, 0, 0) for flags in (0, 0x4000)]) for name in ("sendto", "recvfrom")),
    *((name, EPERM, [(3, POINTER, 1, flags, address, 16) for address, flags in ADDRESSES]) for name in ("sendto", "recvfrom")),
    *((name, None, [(3, POINTER, 0)]) for name in ("socket", "connect", "bind", "sendmsg", "recvmsg")),
    # a process signals only itself and never kills itself
    ("kill", ALLOW, [(PID, signal) for signal in (0, 2, 6, 15, 19)]), ("kill", KILL, [(PID, 9), (PID, 9 | 1 << 32)]),
    ("tgkill", ALLOW, [(PID, PID, signal) for signal in (0, 2, 6, 15, 19)]), ("tgkill", KILL, [(PID, PID, 9), (PID, PID, 9 | 1 << 32)]),
    ("kill", KILL, [(other, signal) for other in OTHERS for signal in (9, 15)]),
    ("tgkill", KILL, [(other, PID, signal) for other in OTHERS for signal in (9, 15)]),
    # it starts threads only
    ("clone", ALLOW, [(flags,) for flags in THREAD_FLAGS]), ("clone", EPERM, [(flags,) for flags in (0, *PROCESSES)]),
    ("clone3", ENOSYS, [(POINTER, 88)]),
    # limits can be read and not changed, which is pretended for the stack
    ("prlimit64", ALLOW, [(0, 9, 0, POINTER)]), ("prlimit64", PRETEND, [(0, 3, POINTER, 0)]),
    ("prlimit64", EPERM, [(0, 9, POINTER, 0), (0, 9, HIGH_POINTER, 0), (0, 3, POINTER, POINTER), (0, 3, POINTER, HIGH_POINTER)]),
    ("prlimit64", EPERM, [(PID, 9, 0, POINTER), (1, 9, POINTER, 0)]),
    ("setrlimit", PRETEND, [(3, POINTER)]), ("setrlimit", EPERM, [(9, POINTER)]),
    # descriptors cannot signal other processes or seal files
    ("fcntl", ALLOW, [(1, command) for command in (0, 1, 2, 3, 4, 1030)]),
    ("fcntl", EPERM, [(1, command) for command in (5, 6, 8, 10, 15, 1024, 1031, 1033, 1036)]),
    ("ioctl", ALLOW, [(1, request) for request in (0x5401, 0x5413, 0x5421, 0x5450, 0x5451)]),
    ("ioctl", ENOTTY, [(1, request) for request in (0x5412, 0x541C, 0x5452, 0x8901, 0x8904)]),
    # only names can be set
    ("prctl", ALLOW, [(option,) for option in (15, 16, 0x53564D41)]),
    ("prctl", EPERM, [(option,) for option in (1, 4, 8, 22, 24, 28, 38, 47, 59, 0x59616D61)]),
    ("futex", ALLOW, [(POINTER, operation | flag) for operation in FUTEXES for flag in FLAGS]),
    ("futex", EPERM, [(POINTER, operation | flag) for operation in (2, 6, 7, 8, 11, 12, 13) for flag in FLAGS]),
    # advice that C libraries give
    ("madvise", ALLOW, [(POINTER, 4096, advice) for advice in (0, 4, 8, 14, 15, 16)]),
    ("madvise", EINVAL, [(POINTER, 4096, advice) for advice in (9, 12, 13, 21, 100, 101)]),
]  # fmt: skip


def test_the_arguments_of_a_call_decide(judge):
    for name, verdict, calls in RULES:
        expected = verdict if name in judge.numbers else None
        assert [(name, one, judge(name, *one)) for one in calls] == [(name, one, expected) for one in calls]
    assert {name for name, *_ in RULES} >= {*TESTED}


@pytest.mark.parametrize("machine", MACHINES)
def test_without_rules_for_files_none_seems_to_exist(machine):
    judge = build_judge(machine, files=False)
    for flags in (0, 1, 0o2000000, 0o100, 0o10000000):
        assert judge("openat", -100, POINTER, flags) == ENOENT and judge("open", POINTER, flags) in (ENOENT, None)


HEADERS = {
    "x86_64": ["#include <asm/unistd_64.h>"],
    "aarch64": [
        "#define __BITS_PER_LONG 64",
        "#define __ARCH_WANT_NEW_STAT",
        "#define __ARCH_WANT_SET_GET_RLIMIT",
        "#define __ARCH_WANT_SYS_CLONE3",
        "#include <asm-generic/unistd.h>",
    ],
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_those_of_the_kernels_headers(machine):
    """The headers of this machine's distribution, read by its compiler."""
    source = "\n".join([*HEADERS[machine], ""])
    try:
        command = ["cc", "-E", "-dM", "-"]
        text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"the kernel's headers or a compiler are missing: {error}")
    defined = dict(re.findall(r"#define (\w+) (\w+)", text))
    for name, numbers in {**ALLOWED, **TESTED}.items():
        found = defined.get(f"__NR_{name}")
        while found in defined:
            found = defined[found]
        assert dict(zip(MACHINES, numbers, strict=False)).get(machine) == (None if found is None else int(found)), name


def test_no_call_is_in_two_tables():
    names = [*ALLOWED, *TESTED]
    assert len(names) == len({*names})
    for machine in MACHINES:
        numbers = [number for table in (ALLOWED, TESTED) for number in find_call_numbers(table, machine).values()]
        assert len(numbers) == len({*numbers})
