"""A worker of the [`pool`], at the other end of two pipes: `python -m trl_grpo_rewards.verify PARENT REPLIES`.

A worker is two processes. The first imports math-verify and forks the second, which verifies. When the fork dies, the
first reports that and forks again, which takes milliseconds because everything is already imported. Before each pair,
the fork sets timers whose default action kills it: Python code cannot interrupt an operation on huge integers, but the
kernel can. Both processes exit within seconds of their parent, even if other processes hold the pipe open.
"""

import contextlib
import os
import resource
import select
import signal
import sys

from .pool import CPU_SECONDS, DEADLINE_SIGNALS, WALL_SECONDS, WORKER_MEMORY, receive, send


PARENT_CHECK_SECONDS = 3.0
"""Interval between checks that the parent process is alive, in seconds."""

REQUEST_PIPE = 0
"""File descriptor of the pipe with the requests, which is standard input."""


def main() -> None:
    parent, replies = map(int, sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides what an interrupt ends
    from .symbolic import warm_up

    warm_up()  # once for all forks
    send(replies, "ready")
    while verify_in_fork(parent, replies):
        pass


def verify_in_fork(parent: int, replies: int) -> bool:
    """Verify in a fork until it ends. Return whether it died, in which case another fork is needed."""
    reading, held_by_the_fork = os.pipe()
    fork = os.fork()
    if fork == 0:
        answer_requests(replies)
        os._exit(0)
    os.close(held_by_the_fork)
    while not select.select([reading], [], [], PARENT_CHECK_SECONDS)[0]:
        if os.getppid() != parent:
            os.kill(fork, signal.SIGKILL)
            return False
    os.close(reading)
    _, status = os.waitpid(fork, 0)
    if status == 0:  # the pipe was closed
        return False
    send(replies, {"died": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0})
    return True


def answer_requests(replies: int) -> None:
    """Verify pairs until the pipe with the requests is closed."""
    from .equality import AnswerRules, pair_values
    from .symbolic import distinguish_letters, parse_gold, parse_latex, verify_expressions

    for deadline in DEADLINE_SIGNALS:  # the parent may have ignored or blocked them
        signal.signal(deadline, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, DEADLINE_SIGNALS)
    with contextlib.suppress(OSError, ValueError):  # macOS does not have this limit
        resource.setrlimit(resource.RLIMIT_AS, (WORKER_MEMORY, WORKER_MEMORY))
    while (request := receive(REQUEST_PIPE)) is not None:
        send(replies, "read")
        gold, answer, *options = request
        rules = AnswerRules(*options)
        set_timers(CPU_SECONDS, WALL_SECONDS)
        pairs = [distinguish_letters(*pair) for pair in pair_values(gold, answer, rules)]
        parsed = [(parse_gold(one), other) for one, other in pairs]
        send(replies, "gold")
        verdict = (
            any(verify_expressions(right, parse_latex(other), rules) for right, other in parsed)
            if all(right for right, _ in parsed)
            else None
        )
        set_timers(0, 0)  # before the verdict is sent, so that a request that was answered never times out
        send(replies, {"verdict": verdict})


def set_timers(cpu: float, wall: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.setitimer(signal.ITIMER_REAL, wall)


if __name__ == "__main__":
    main()
