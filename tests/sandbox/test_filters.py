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


def test_files_are_opened_for_reading_only(judge):
    reading = [0, 0o2000000, 0o100000, 0o400000, 0o4000]  # O_CLOEXEC, O_LARGEFILE, O_NOFOLLOW, O_NONBLOCK
    writing = [1, 2, 3, 0o100, 0o101, 0o1000, 0o1101, 0o10000000, 0o20200000, 1 | 1 << 40]
    for flags in reading:
        assert judge("openat", -100, POINTER, flags) == ALLOW and judge("open", POINTER, flags) in (ALLOW, None)
    for flags in writing:
        assert judge("openat", -100, POINTER, flags) == EPERM and judge("open", POINTER, flags) in (EPERM, None)


@pytest.mark.parametrize("machine", MACHINES)
def test_without_rules_for_files_none_seems_to_exist(machine):
    judge = build_judge(machine, files=False)
    for flags in (0, 1, 0o2000000, 0o100, 0o10000000):
        assert judge("openat", -100, POINTER, flags) == ENOENT and judge("open", POINTER, flags) in (ENOENT, None)


def test_sockets_are_pairs_without_a_name(judge):
    for flags in (0, 0o2000000, 0o4000, 0o2004000):
        assert judge("socketpair", 1, 1 | flags, 0, POINTER) == ALLOW
    for family, kind in ((1, 2), (1, 5), (2, 1), (16, 3), (1, 1 | 1 << 8), (1 << 32, 1)):
        assert judge("socketpair", family, kind, 0, POINTER) == EPERM, (family, kind)
    for name in ("sendto", "recvfrom"):
        assert judge(name, 3, POINTER, 1, 0, 0, 0) == judge(name, 3, POINTER, 1, 0x4000, 0, 0) == ALLOW
        for address, flags in ((POINTER, 0), (HIGH_POINTER, 0), (0, 1), (0, 0x40), (0, 2), (0, 0x20000000)):
            assert judge(name, 3, POINTER, 1, flags, address, 16) == EPERM, (address, flags)
    assert all(judge(name, 3, POINTER, 0) is None for name in ("socket", "connect", "bind", "sendmsg", "recvmsg"))


def test_a_process_signals_only_itself_and_never_kills_itself(judge):
    for name, thread in (("kill", ()), ("tgkill", (PID,))):
        assert all(judge(name, PID, *thread, signal) == ALLOW for signal in (0, 2, 6, 15, 19))
        assert all(judge(name, PID, *thread, signal) == KILL for signal in (9, 9 | 1 << 32))
        for other in (0, 1, -1, -PID, PID - 1, PID + 1, PID << 32):
            assert all(judge(name, other, *thread, signal) == KILL for signal in (9, 15)), other


def test_a_process_starts_threads_only(judge):
    assert all(judge("clone", flags) == ALLOW for flags in THREAD_FLAGS)
    for flags in (0, 17, 0x4000 | 0x100 | 17, 0x10000, 0x3D0F00 | 0x10000000, 0x3D0F00 ^ 0x10000, 0x3D0F00 ^ 0x100):
        assert judge("clone", flags) == EPERM, hex(flags)
    assert judge("clone3", POINTER, 88) == ENOSYS


def test_limits_can_be_read_and_not_changed(judge):
    assert judge("prlimit64", 0, 9, 0, POINTER) == ALLOW
    assert judge("prlimit64", 0, 9, POINTER, 0) == EPERM
    assert judge("prlimit64", 0, 9, HIGH_POINTER, 0) == EPERM
    assert judge("prlimit64", 0, 3, POINTER, 0) == PRETEND  # the stack
    assert judge("prlimit64", 0, 3, POINTER, POINTER) == judge("prlimit64", 0, 3, POINTER, HIGH_POINTER) == EPERM
    assert judge("prlimit64", PID, 9, 0, POINTER) == judge("prlimit64", 1, 9, POINTER, 0) == EPERM
    assert judge("setrlimit", 3, POINTER) == PRETEND and judge("setrlimit", 9, POINTER) == EPERM


def test_descriptors_cannot_signal_other_processes_or_seal_files(judge):
    assert all(judge("fcntl", 1, command) == ALLOW for command in (0, 1, 2, 3, 4, 1030))
    assert all(judge("fcntl", 1, command) == EPERM for command in (5, 6, 8, 10, 15, 1024, 1031, 1033, 1036))
    assert all(judge("ioctl", 1, request) == ALLOW for request in (0x5401, 0x5413, 0x5421, 0x5450, 0x5451))
    assert all(judge("ioctl", 1, request) == ENOTTY for request in (0x5412, 0x541C, 0x5452, 0x8901, 0x8904))


def test_only_names_can_be_set_by_prctl(judge):
    assert all(judge("prctl", option) == ALLOW for option in (15, 16, 0x53564D41))
    assert all(judge("prctl", option) == EPERM for option in (1, 4, 8, 22, 24, 28, 38, 47, 59, 0x59616D61))


def test_futexes_without_priority_inheritance(judge):
    for flag in (0, 128, 256, 384):
        assert all(judge("futex", POINTER, operation | flag) == ALLOW for operation in (0, 1, 3, 4, 5, 9, 10))
        assert all(judge("futex", POINTER, operation | flag) == EPERM for operation in (2, 6, 7, 8, 11, 12, 13))


def test_advice_on_memory_that_c_libraries_give(judge):
    assert all(judge("madvise", POINTER, 4096, advice) == ALLOW for advice in (0, 4, 8, 14, 15, 16))
    assert all(judge("madvise", POINTER, 4096, advice) == EINVAL for advice in (9, 12, 13, 21, 100, 101))


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
        assert numbers[MACHINES.index(machine)] == (None if found is None else int(found)), name


def test_no_call_is_in_two_tables():
    names = [*ALLOWED, *TESTED]
    assert len(names) == len({*names})
    for machine in MACHINES:
        numbers = [number for table in (ALLOWED, TESTED) for number in find_call_numbers(table, machine).values()]
        assert len(numbers) == len({*numbers})
