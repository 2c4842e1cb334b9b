"""What attack programs may harm: files, sockets, processes and secrets, whose state shows any harm."""

import functools
import json
import os
import platform
import secrets
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from helpers.paths import TESTS
from trl_grpo_rewards.sandbox.filters import ALLOWED, TESTED, find_call_numbers


NOBODY = 65534

MORE_CALLS = {
    "openat2": (437, 437), "memfd_create": (319, 279), "shmget": (29, 194), "seccomp": (317, 277),
    "socket": (41, 198), "sendmsg": (46, 211), "recvmsg": (47, 212), "execveat": (322, 281),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "timer_create": (222, 107),
    "timer_settime": (223, 110), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40),
    "open_by_handle_at": (304, 265), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "add_key": (248, 217),
}  # fmt: skip
"""Calls that programs try by number and that the jail does not name."""

RUNNER, WITHOUT_CALL = (str(TESTS / "helpers" / name) for name in ("program_runner.py", "without_call.py"))

TIERS = {"landlock": None, "no files": 444}
"""The tiers of the jail, and the system call without which the machine has no other one."""


def force_tier(tier: str, interpreter: str) -> tuple[str, ...]:
    """Return the command that starts another one on a machine that has a tier of the jail, and not the one above."""
    return () if TIERS[tier] is None else (interpreter, WITHOUT_CALL, str(TIERS[tier]))


@functools.cache
def find_interpreter(user: int | None) -> str | None:
    """Return an interpreter that the user can run, or None."""
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    for interpreter in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            if not subprocess.run([interpreter, "-c", code], **as_user(user), capture_output=True, cwd="/").returncode:
                return interpreter
        except OSError:
            continue
    return None


def as_user(user: int | None) -> dict[str, Any]:
    """Return the options of `Popen` that start a process as a user, or as this one."""
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


class World:
    """
    Everything that an attack may reach, and its state.

    Args:
        user (`int`, *optional*):
            The user who runs the programs and owns the processes. By default it is the user of this process.
    """

    def __init__(self, user: int | None) -> None:
        self.user, self.secret = user, f"SECRET-{secrets.token_hex(8)}"
        self.things = ExitStack()
        self.processes: dict[str, int] = {}
        self.folder = Path(tempfile.mkdtemp())
        self.things.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.make_files()
        self.sockets = {
            "tcp": self.listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "tcp6": self.listen(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
            "udp": self.listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "path": self.listen(socket.AF_UNIX, socket.SOCK_STREAM, f"{self.folder}/socket"),
            "datagrams": self.listen(socket.AF_UNIX, socket.SOCK_DGRAM, f"{self.folder}/datagrams"),
            "abstract": self.listen(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.secret[7:]}"),
        }
        victim = subprocess.Popen(["sleep", "1000"], **as_user(user), start_new_session=True)
        self.things.callback(victim.wait)
        self.things.callback(victim.kill)
        self.processes["victim"] = victim.pid

    def make_files(self) -> None:
        (self.folder / "full").mkdir()
        contents = {"secret": self.secret, "kept": "kept", "full/file": "kept", "planted.py": ""}
        for name, content in contents.items():
            (self.folder / name).write_text(content)
        for module in Path(sysconfig.get_path("stdlib"), "lib-dynload").glob("_struct*.so"):
            shutil.copy(module, self.folder / "library.so")
        for path in self.folder.rglob("*"):
            path.chmod(0o777 if path.is_dir() else 0o666)
            os.chown(path, *[os.getuid() if self.user is None else self.user] * 2)
        self.folder.chmod(0o777)

    def listen(self, family: int, kind: int, address: Any) -> socket.socket | None:
        listener = self.things.enter_context(socket.socket(family, kind))
        try:
            listener.bind(address)
        except OSError:  # this machine has no IPv6
            return None
        if isinstance(address, str) and address.startswith("/"):
            os.chmod(address, 0o777)
        if kind == socket.SOCK_STREAM:
            listener.listen()
        listener.setblocking(False)
        return listener

    def describe(self) -> dict[str, Any]:
        """Return what programs get as `W`."""
        ports = {
            name: self.sockets[name].getsockname()[1] if self.sockets[name] else 9 for name in ("tcp", "tcp6", "udp")
        }
        about = {
            "folder": str(self.folder),
            "abstract": self.secret[7:],
            "calls": list_calls(),
            "machine": platform.machine(),
        }
        return {**about, **ports, **self.processes}

    def look(self) -> dict[str, Any]:
        """Return the state of everything. It changes only if there was harm."""
        states: dict[str, Any] = {"files": {str(path): describe_file(path) for path in sorted(self.folder.rglob("*"))}}
        states["folder"] = describe_file(self.folder)
        states["connections"] = {name: has_visitor(one) for name, one in self.sockets.items() if one is not None}
        states["processes"] = {name: describe_process(process) for name, process in self.processes.items()}
        states["shared memory"] = [*list_shared_memory(), Path("/proc/sysvipc/shm").read_text().count("\n")]
        states["library"] = describe_file(Path(json.__file__))
        states["descendants"] = find_descendants([pid for name, pid in self.processes.items() if name != "victim"])
        return states


def list_calls() -> dict[str, int]:
    """Return the numbers of the system calls that programs may try."""
    return find_call_numbers({**ALLOWED, **TESTED, **MORE_CALLS}, platform.machine())


def list_shared_memory() -> list[str]:
    """Return the names of shared memory, without those that other tests use at the same time."""
    others = ("psm_", "sem.", "torch_")  # of Python's multiprocessing and of torch
    return sorted(name for name in os.listdir("/dev/shm") if not name.startswith(others))


def describe_file(path: Path) -> Any:
    stat = path.lstat()
    content = path.read_bytes() if path.is_file() else None
    names = os.listxattr(path, follow_symlinks=False)
    return stat.st_mode, stat.st_uid, stat.st_nlink, stat.st_ino, stat.st_mtime_ns, content, names


def has_visitor(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_STREAM:
            listener.accept()[0].close()
        else:
            listener.recv(1)
        return True
    except BlockingIOError:
        return False


def describe_process(process: int) -> Any:
    """Return the state of a process that others could change, or None if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        limits = Path(f"/proc/{process}/limits").read_text()
        score = Path(f"/proc/{process}/oom_score_adj").read_text()
        return fields[0] in "ZT", fields[15:17], limits, score, sorted(os.sched_getaffinity(process))
    except OSError:
        return None


def find_descendants(roots: list[int]) -> list[int]:
    """Return the processes that descend from others, or belong to one of their sessions."""
    parents, sessions = {}, {}
    for entry in os.listdir("/proc"):
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            parents[int(entry)], sessions[int(entry)] = int(fields[1]), int(fields[3])
        except (OSError, ValueError):
            continue
    found = {*roots}
    while more := {pid for pid in parents if (parents[pid] in found or sessions[pid] in found) and pid not in found}:
        found |= more
    return sorted(found)


class Runner:
    """A process that runs programs in the jail."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.started = self.read()

    def read(self) -> Any:
        return json.loads(self.process.stdout.readline())

    def run(self, program: str, inputs: tuple[str, ...] = ("",), **limits: float) -> Any:
        return self.ask({"program": program, "inputs": inputs}, limits)

    def run_joined(self, first: str, second: str, **limits: float) -> Any:
        return self.ask({"program": first, "second": second}, limits)

    def ask(self, request: dict[str, Any], limits: dict[str, float]) -> Any:
        request["limits"] = {"seconds": 0.5, "memory_mb": 512, **limits}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.read()


@contextmanager
def start_runner(
    user: int | None, environment: dict[str, str], interpreter: str, prefix: tuple[str, ...] = ()
) -> Iterator[Runner]:
    """Start a process that runs programs in the jail, as a user. A prefix is a command that starts another one."""
    with subprocess.Popen(
        [*prefix, interpreter, "-B", RUNNER, "1"],
        **as_user(user),
        cwd="/",
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield Runner(process)
        finally:
            process.stdin.close()
            process.wait(30)
