"""What a worker makes of the end of a program."""

import os
import signal
import threading

import pytest

from trl_grpo_rewards.sandbox.watch import list_threads, name_status, read_wait


@pytest.mark.parametrize(
    ("code", "is_late", "status"),
    [
        (0, False, "finished"),
        (0, True, "finished"),
        (1, False, "crashed"),
        (255, True, "crashed"),
        (-signal.SIGSEGV, False, "crashed"),
        (-signal.SIGSYS, False, "refused"),
        (-signal.SIGKILL, False, "crashed"),  # the system ran out of memory
        (-signal.SIGKILL, True, "timed_out"),
        (-signal.SIGXCPU, True, "timed_out"),
    ],
)
def test_the_status_of_an_exit_code(code, is_late, status):
    assert name_status(code, is_late) == status


def test_threads_are_counted():
    before, stop = len(list_threads(os.getpid())), threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert len(list_threads(os.getpid())) == before + 1
    stop.set()
    thread.join()
    assert list_threads(1 << 30) == []


def test_the_time_for_which_a_thread_waited_for_a_processor_is_known():
    assert read_wait(os.getpid(), str(os.getpid())) >= 0
    assert read_wait(os.getpid(), "1") is None
