"""A worker of the [`pool`]: `python -m trl_grpo_rewards.verify PARENT`. It reads requests from standard input.

A worker is two processes. The first imports math-verify and forks the second, which verifies. When the fork dies, the
first reports that and forks again, which takes milliseconds because everything is already imported. Before each pair,
the fork sets timers whose default action kills it: Python code cannot interrupt an operation on huge integers, but the
kernel can. Both processes exit within seconds of their parent, even if other processes hold the pipe open.

On systems without forks, such as Windows, the first process verifies. The parent kills it at the deadline.
"""

import contextlib
import faulthandler
import json
import os
import select
import signal
import sys
import time

from .pool import CPU_SECONDS, WALL_SECONDS, WORKER_MEMORY, send


PARENT_CHECK_SECONDS = 3.0
"""Interval between checks that the parent process is alive, in seconds."""


def main() -> None:
    parent = int(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides what an interrupt ends
    replies = os.dup(1)
    os.dup2(2, 1)  # any library may print to standard output
    from .symbolic import warm_up

    warm_up()  # once for all forks
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows and macOS do not have this limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (WORKER_MEMORY, WORKER_MEMORY))
    os.write(replies, b"\n")  # ends a line that a library may have begun
    send(replies, "ready")
    if not hasattr(os, "fork"):
        answer_requests(replies)
        return
    deadlines = {signal.SIGPROF, signal.SIGALRM}
    for one in (*deadlines, signal.SIGCHLD):  # the parent may have ignored or blocked them
        signal.signal(one, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, deadlines)
    while (status := verify_in_fork(parent, replies)) != 0:
        signaled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        # No answer can make its process kill itself with SIGKILL: somebody else did, such as the system without memory.
        fault = "timeout" if signaled in deadlines else "worker" if signaled == signal.SIGKILL else "crash"
        send(replies, {"fault": fault})


def verify_in_fork(parent: int, replies: int) -> int:
    """Verify in a fork until it ends, and return its exit status: 0 if there is nothing left to do."""
    reading, held_by_the_fork = os.pipe()
    fork = os.fork()
    if fork == 0:
        answer_requests(replies)
        os._exit(0)
    os.close(held_by_the_fork)
    while not select.select([reading], [], [], PARENT_CHECK_SECONDS)[0]:
        if os.getppid() != parent:
            os.kill(fork, signal.SIGKILL)
            return 0
    os.close(reading)
    return os.waitpid(fork, 0)[1]


def answer_requests(replies: int) -> None:
    """Verify pairs until the pipe with the requests is closed."""
    from ..mathematics.comparison import AnswerRules
    from .equality import pair_values
    from .symbolic import distinguish_letters, parse_gold, parse_latex, verify_expressions

    for line in sys.stdin.buffer:
        send(replies, "read")
        gold, answer, *options = json.loads(line)
        rules = AnswerRules(*options)
        start = time.process_time()
        set_timers(CPU_SECONDS, WALL_SECONDS)
        pairs = [distinguish_letters(*pair) for pair in pair_values(gold, answer, rules)]
        parsed = [(parse_gold(one), other) for one, other in pairs]
        if not is_late(start):
            send(replies, "gold")
        verdict = (
            any(verify_expressions(right, parse_latex(other), rules) for right, other in parsed)
            if all(right for right, _ in parsed)
            else None
        )
        set_timers(0, 0)  # before the verdict is sent, so that a request that was answered never times out
        send(replies, {"fault": "timeout"} if is_late(start) else {"verdict": verdict})


def is_late(start: float) -> bool:
    """Return whether the limit of CPU time is exceeded, which happens only if the kernel has no timer for it."""
    return time.process_time() - start > CPU_SECONDS


def set_timers(cpu: float, wall: float) -> None:
    """Set the time after which the kernel kills this process. 0 means never."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, cpu)
        signal.setitimer(signal.ITIMER_REAL, wall)
    elif wall:  # the parent kills this process at the deadline; this ends it if the parent is gone
        faulthandler.dump_traceback_later(wall + 2, exit=True)
    else:
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
