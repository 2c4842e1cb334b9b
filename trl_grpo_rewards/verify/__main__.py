"""A worker of the [`pool`], at the other end of two pipes: `python -m trl_grpo_rewards.verify PARENT REPLIES`.

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

from .pool import CPU_SECONDS, DEADLINES, MEMORY, WALL_SECONDS, receive, send


LOOK_SECONDS = 3.0
REQUESTS = 0


def main() -> None:
    parent, replies = map(int, sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asked decides what an interrupt ends
    from .symbolic import warm

    warm()  # once for all that are forked from here
    send(replies, "ready")
    while judge_in_a_fork(parent, replies):
        pass


def judge_in_a_fork(parent: int, replies: int) -> bool:
    """Judge until the fork ends; whether it ended badly, so that another is needed."""
    reading, held_by_the_fork = os.pipe()
    fork = os.fork()
    if fork == 0:
        judge(replies)
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
    send(replies, {"died": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0})
    return True


def judge(replies: int) -> None:
    from .equality import Terms, readings
    from .symbolic import parsed, parsed_gold, told_apart, verified

    for deadline in DEADLINES:  # a process may have been started with them ignored or blocked
        signal.signal(deadline, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, DEADLINES)
    with contextlib.suppress(OSError, ValueError):  # macOS knows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while (request := receive(REQUESTS)) is not None:
        send(replies, "read")
        gold, answer, *rest = request
        terms = Terms(*rest)
        arm(CPU_SECONDS, WALL_SECONDS)
        pairs = [told_apart(*pair) for pair in readings(gold, answer, terms)]
        rights = [(parsed_gold(one), other) for one, other in pairs]
        send(replies, "gold")
        verdict = (
            any(verified(right, parsed(other), terms) for right, other in rights)
            if all(right for right, _ in rights)
            else None
        )
        arm(0, 0)  # before the verdict is out, so that a death is never of an answered request
        send(replies, {"verdict": verdict})


def arm(cpu: float, wall: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.setitimer(signal.ITIMER_REAL, wall)


if __name__ == "__main__":
    main()
