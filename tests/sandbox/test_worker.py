"""What a worker makes of the end of a program."""

import os
import signal
import threading

import pytest

from trl_grpo_rewards.sandbox.worker import name_status, read_threads


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
