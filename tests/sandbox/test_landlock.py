"""The library that programs may read is the interpreter's own, without installed packages and links out of it."""

import os
import sysconfig
from pathlib import Path

import pytest

from trl_grpo_rewards.sandbox import jail as landlock


def test_the_library_without_installed_packages():
    library = Path(os.path.realpath(sysconfig.get_path("stdlib")))
    names = {Path(path).relative_to(library).parts for path in landlock.list_library()}
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
    assert {Path(path).name for path in landlock.list_library()} == {"module.py", "other.py"}


def test_a_call_that_fails_is_an_error_with_its_number():
    with pytest.raises(OSError, match="Bad file descriptor"):
        landlock.call_kernel(landlock.RESTRICT_SELF, -1, 0)


def test_rules_for_files_that_do_not_exist():
    with pytest.raises(FileNotFoundError):
        landlock.build_ruleset(["/nowhere"])


def test_the_rules_take_away_all_rights_of_this_kernel():
    """A right that the kernel does not know is refused, so a list that is too long would be an error here."""
    assert landlock.find_version() >= 1
    os.close(landlock.build_ruleset(landlock.list_library()))
