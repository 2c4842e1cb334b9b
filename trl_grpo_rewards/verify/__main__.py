"""A worker of [`pool`](pool.py), at the other end of a pipe: `python -m trl_grpo_rewards.verify PARENT`.

Two processes. One imports math-verify, forks another, and when that has ended says so and forks the next, which takes
milliseconds since everything is imported. The other judges. Before each pair it sets timers whose default action ends
it: no Python code runs inside one operation on huge integers, but the kernel does. Both are gone within seconds when
the process that asked is gone, whether or not the pipe has other holders.
"""

import contextlib
import os
import resource
import select
import signal
import sys

from .pool import CPU_SECONDS, MEMORY, WALL_SECONDS, receive, send


LOOK_SECONDS = 3.0


def main() -> None:
    parent = int(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asked decides what an interrupt ends
    from .equality import parsed

    parsed("1")  # imports math-verify, once for all that are forked from here
    send(1, "ready")
    while judge_in_a_fork(parent):
        pass


def judge_in_a_fork(parent: int) -> bool:
    """Judge until the fork ends; whether it ended badly, so that another is needed."""
    reading, held_by_the_fork = os.pipe()
    fork = os.fork()
    if fork == 0:
        judge()
        os._exit(0)
    os.close(held_by_the_fork)
    while not select.select([reading], [], [], LOOK_SECONDS)[0]:
        if os.getppid() != parent:
            os.kill(fork, signal.SIGKILL)
            return False
    os.close(reading)
    _, status = os.waitpid(fork, 0)
    if status == 0:  # the pipe was closed
        return False
    send(1, {"died": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0})
    return True


def judge() -> None:
    from .equality import parsed, verified

    with contextlib.suppress(OSError, ValueError):  # macOS knows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while (request := receive(0)) is not None:
        gold, answer, tolerance = request
        arm(CPU_SECONDS, WALL_SECONDS)
        readable = bool(parsed(gold))
        send(1, "gold")
        verdict = verified(gold, answer, tolerance) if readable else None
        arm(0, 0)  # before the verdict is out, so that a death is never of an answered request
        send(1, {"verdict": verdict})


def arm(cpu: float, wall: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.setitimer(signal.ITIMER_REAL, wall)


if __name__ == "__main__":
    main()
