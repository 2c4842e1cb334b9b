"""A process in the jail, seen from outside."""

import os
import platform
import sysconfig
from pathlib import Path

import pytest

from trl_grpo_rewards.sandbox import jail


def read_status(process):
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


@pytest.fixture
def jailed():
    """A process that is in the jail and waits."""
    reading, writing = os.pipe()
    parent, process = os.getpid(), os.fork()
    if process == 0:
        try:
            ruleset = jail.build_ruleset(jail.list_library())
            jail.enter(ruleset, [0, 1, 2, writing], parent, 1.5, 4096, 1000)
            os.write(3, b"in")
            while True:
                pass
        finally:
            os._exit(1)
    os.close(writing)
    assert os.read(reading, 2) == b"in"
    yield process
    os.close(reading)
    os.kill(process, 9)
    os.waitpid(process, 0)


def test_what_a_process_gives_up(jailed):
    status = read_status(jailed)
    assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2"
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[name], 16) == 0
    assert os.getsid(jailed) == jailed
    limits = Path(f"/proc/{jailed}/limits").read_text()
    for name, value in {
        "Max file size": 1000,
        "Max core file size": 0,
        "Max open files": jail.MAX_FILES,
        "Max pending signals": jail.MAX_SIGNALS,
        "Max address space": 4096 << 20,
        "Max locked memory": 0,
    }.items():
        (line,) = [line for line in limits.splitlines() if line.startswith(name)]
        assert line[len(name) :].split()[:2] == [str(value)] * 2, line
    assert limits.partition("Max cpu time")[2].split()[:2] == ["3", "unlimited"]  # so that it ends by no SIGKILL


def test_a_limit_is_never_raised():
    import resource

    process = os.fork()
    if process == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
            jail.limit_resources(1.0, 1 << 12, 100)
            code = int(resource.getrlimit(resource.RLIMIT_NOFILE) != (20, 20))
        finally:
            os._exit(code)
    assert os.waitpid(process, 0)[1] == 0


def test_this_machine_has_all_layers(monkeypatch):
    jail.check_machine()
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(jail.LayerFailed, match="a list of system calls for this machine.*riscv64 is not x86_64 or"):
        jail.check_machine()


def test_an_orphan_does_not_run():
    """A process whose parent ended before it asked for the signal ends itself."""
    process = os.fork()
    if process == 0:
        try:
            jail.enter(jail.build_ruleset([]), [0, 1, 2], 1, 1.0, 4096, 1000)  # process 1 is not its parent
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == 9


def test_the_library_without_installed_packages():
    library = Path(os.path.realpath(sysconfig.get_path("stdlib")))
    names = {Path(path).relative_to(library).parts for path in jail.list_library()}
    assert {("heapq.py",), ("json",), ("lib-dynload",)} <= names
    assert not names & {("site-packages",), ("dist-packages",), ("test",)}
    assert all(len(parts) == 1 for parts in names)


def test_links_out_of_the_library_are_left_out(tmp_path, monkeypatch):
    library = tmp_path / "library"
    library.mkdir()
    (tmp_path / "library-2").mkdir()
    for name in ("module.py", "other.py"):
        (library / name).write_text("")
    (library / "inside").symlink_to("module.py")
    (library / "outside").symlink_to("/etc")
    (library / "near").symlink_to(tmp_path / "library-2")
    (library / "all").symlink_to(tmp_path)
    (library / "broken").symlink_to(tmp_path / "nothing")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(library))
    assert {Path(path).name for path in jail.list_library()} == {"module.py", "other.py"}


def test_the_rules_take_away_all_rights_of_this_kernel():
    """A right that the kernel does not know is refused, so a list that is too long would be an error here."""
    assert jail.find_version() >= 1
    os.close(jail.build_ruleset(jail.list_library()))
