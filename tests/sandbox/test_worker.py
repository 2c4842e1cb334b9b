"""What a worker makes of the end of a program."""

import os
import signal
import threading

import pytest

from trl_grpo_rewards.sandbox.worker import count_threads, name_status


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
    before, stop = count_threads(os.getpid()), threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert count_threads(os.getpid()) == before + 1
    stop.set()
    thread.join()
    assert count_threads(1 << 30) == 0
