"""Small programs with what becomes of them in the jail, for machines of every kind: `python jailed_programs.py SECONDS`.

It imports only the local back end, so that any interpreter can run it, and prints a line of JSON for each program.
"""

import asyncio
import json
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple


PACKAGE = Path(__file__).parents[2] / "trl_grpo_rewards"


class Jailed(NamedTuple):
    """A program, with how its run must end, what it must write and what it reads."""

    program: str
    status: str = "finished"
    output: str = ""
    input: str = ""


PROGRAMS = {
    "reads and prints": Jailed("print(sum(map(int, input().split())))", output="42\n", input="40 2"),
    "reads all lines": Jailed("import sys; print(len(sys.stdin.readlines()))", output="3\n", input="1\n2\n3"),
    "writes text that is not ASCII": Jailed("print(input())", output="é\u2713\n", input="é\u2713"),
    "exits with 0": Jailed("print(1); raise SystemExit(0)", output="1\n"),
    "exits with 3": Jailed("raise SystemExit(3)", "crashed"),
    "raises an error": Jailed("print(1 / 0)", "crashed"),
    "leaves at once": Jailed("import os; os._exit(0)"),
    "kills itself": Jailed("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "refused"),
    "recurses": Jailed(
        "import sys; sys.setrecursionlimit(10**6)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(50_000))",
        output="50000\n",
    ),
    "runs in a thread with a large stack": Jailed(
        "import threading; threading.stack_size(64 << 20)\n"
        "t = threading.Thread(target=lambda: print('done')); t.start(); t.join()",
        output="done\n",
    ),
    "starts twenty threads": Jailed(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(20) as pool: print(sum(pool.map(int, range(100))))",
        output="4950\n",
    ),
    "leaves a thread behind": Jailed(
        "import os, threading, time; threading.Thread(target=time.sleep, args=(99,)).start(); os._exit(0)"
    ),
    "imports late": Jailed(
        "import decimal, difflib, fractions, heapq, statistics; print(decimal.Decimal('0.1') * 3)", output="0.3\n"
    ),
    "uses numbers, texts and time": Jailed(
        "import math, random, re, time; random.seed(1)\n"
        "print(math.isqrt(10**40) == 10**20, re.findall('a+', 'aab'), time.time() > 0)",
        output="True ['aa'] True\n",
    ),
    "sleeps a little": Jailed("import time; time.sleep(0.2); print(1)", output="1\n"),
    "never ends": Jailed("while True: pass", "timed_out"),
    "exceeds its memory": Jailed("x = bytearray(2 * 10**9)", "crashed"),
    "uses its memory": Jailed("x = bytearray(10**8); print(len(x))", output="100000000\n"),
    "floods its output": Jailed("while True: print('x' * 1000)", "flooded"),
    "floods its errors": Jailed("import sys\nwhile True: sys.stderr.write('x' * 1000)", "flooded"),
    "starts a process": Jailed("import os; os.fork()", "crashed"),
    "runs another program": Jailed("import os; os.execv('/bin/true', ['true'])", "crashed"),
    "opens a socket": Jailed("import socket; socket.socket()", "crashed"),
    "starts hundreds of threads": Jailed(
        "import threading, time; threading.stack_size(1 << 18)\n"
        "for _ in range(500): threading.Thread(target=time.sleep, args=(9,)).start()",
        "refused",
    ),
    "sends a signal to its parent": Jailed("import os; os.kill(os.getppid(), 9)", "refused"),
    "reads the passwords": Jailed("open('/etc/passwd').read()", "crashed"),
    "reads the memory of its parent": Jailed("import os; open(f'/proc/{os.getppid()}/mem', 'rb')", "crashed"),
    "writes a file": Jailed("open('/tmp/left', 'w').write('1')", "crashed"),
    "lists the root": Jailed("import os; os.listdir('/')", "crashed"),
    "makes a folder": Jailed("import os; os.mkdir('/tmp/left')", "crashed"),
    "raises its limits": Jailed(
        "import resource as r; r.setrlimit(r.RLIMIT_AS, (-1, -1))\nx = bytearray(2 * 10**9)", "crashed"
    ),
    "finds nothing of the earlier runs": Jailed(
        "import os; print(os.environ.pop('HOME'), os.environ.pop('SECRET', None), len(os.sched_getaffinity(0)) > 0)",
        output="/ None True\n",
    ),
}

JOINED = {
    "asks another one": Jailed("import os; os.write(4, b'ping'); print(os.read(3, 9))", output="b'pong'\n"),
    "is asked": Jailed("import os; os.read(3, 9); os.write(4, b'pong'); os.read(3, 9)"),
}
"""Two programs that run at the same time and reach each other by pipes."""

EXPECTED = PROGRAMS | JOINED


def list_wrong(name: str, result: dict) -> list[str]:
    """Return what is wrong with the result of a program."""
    expected = EXPECTED[name]
    wrong = [f"expected {expected.status}"] if result["status"] != expected.status else []
    if expected.output and result["output"] != expected.output:
        wrong.append(f"expected the output {expected.output!r}")
    return wrong


async def run_all(seconds: float) -> None:
    package = types.ModuleType("trl_grpo_rewards")
    package.__path__ = [str(PACKAGE)]
    sys.modules[package.__name__] = package
    from trl_grpo_rewards.sandbox.local import LocalSandbox
    from trl_grpo_rewards.sandbox.protocol import Limits

    sandbox, limits = LocalSandbox(1), Limits(seconds=seconds)
    for name, one in PROGRAMS.items():
        async for result in sandbox.run(one.program, [one.input], limits):
            print_result(name, result)
    first, second = JOINED.values()
    for name, result in zip(JOINED, await sandbox.run_joined(first.program, second.program, limits), strict=True):
        print_result(name, result)
    sandbox.stop()


def print_result(name: str, result: Any) -> None:
    fields = {"status": result.status, "output": result.output[:200], "errors": result.errors[-300:]}
    print(json.dumps({"program": name, **fields}), flush=True)


if __name__ == "__main__":
    asyncio.run(run_all(float(sys.argv[1])))
