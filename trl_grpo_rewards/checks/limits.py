"""A limit of time for calls with long texts, which make some regular expressions run for hours."""

import contextlib
import os
import resource
import signal
import time
import warnings
from collections.abc import Callable
from math import ceil


WAIT = 0.002  # seconds between two looks at a process
PATIENCE = 4  # how much longer a call may take by the clock, on a busy machine, than of a processor


def is_late(short: Callable[[], object], long: Callable[[], object], seconds: float) -> bool:
    """
    Whether a long call needs so many seconds of a processor more than a short one.

    A copy of this process makes both, and is ended then. What they return is lost.
    """
    if not hasattr(os, "fork"):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the copy has one thread, which is all that it needs
        child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            before = time.process_time()
            short()
            limit = ceil(2 * time.process_time() - before + seconds)  # of all that the copy has used
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            long()
        os._exit(0)
    end = time.monotonic() + PATIENCE * seconds
    try:
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                child = 0
                return os.WIFSIGNALED(status)
            time.sleep(WAIT)
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return True
