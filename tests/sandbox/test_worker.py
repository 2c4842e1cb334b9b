"""What a worker makes of the end of a program."""

import os
import signal
import threading
from pathlib import Path

import pytest

from trl_grpo_rewards.sandbox.worker import name_status, open_file, read_threads


@pytest.mark.parametrize(
    ("code", "is_late", "is_large", "status"),
    [
        (0, False, False, "finished"),
        (0, True, True, "finished"),
        (1, False, False, "crashed"),
        (255, True, False, "crashed"),
        (-signal.SIGSEGV, False, False, "crashed"),
        (-signal.SIGSYS, False, False, "refused"),
        (-signal.SIGKILL, False, False, "killed"),
        (-signal.SIGKILL, False, True, "crashed"),
        (-signal.SIGKILL, True, False, "timed_out"),
        (-signal.SIGXCPU, True, False, "timed_out"),
    ],
)
def test_the_status_of_an_exit_code(code, is_late, is_large, status):
    assert name_status(code, is_late, is_large) == status


def test_threads_are_counted_with_their_states():
    before, stop = len(read_threads(os.getpid())), threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    threads = read_threads(os.getpid())
    assert len(threads) == before + 1 and {"R", "S"} <= {state for state, *_ in threads}
    stop.set()
    thread.join()
    assert read_threads(1 << 30) == []


def test_the_null_device_takes_everything_and_contains_nothing():
    for name in (os.devnull, Path(os.devnull)):
        with open_file(name, "w") as null:
            assert null.write("x" * 100_000) == 100_000
        assert open_file(name).read() == "" and open_file(name, "rb").read() == b""


def test_other_files_are_opened_as_ever(tmp_path):
    path = tmp_path / "file"
    with open_file(path, "w", encoding="utf-16") as file:
        file.write("é")
    with open_file(str(path), "rb") as file:
        assert file.read() == "é".encode("utf-16")
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path / "missing")


def test_a_stream_stays_open_when_its_copy_is_closed(capfd):
    with open_file("/dev/stdout", "w") as stream:
        stream.write("once\n")
    os.write(1, b"again\n")
    assert capfd.readouterr().out == "once\nagain\n"
