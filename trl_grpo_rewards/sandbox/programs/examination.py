"""Whether the tests of a dataset can be read, and whether they pass what solves nothing or has one small fault."""

import ast
import contextlib
import re
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

from ...loops import await_all, run_in_own_loop
from ...texts import prompt_text
from ...traits import Findings
from ..protocol import Limits, Sandbox, SandboxFailed
from .blocks import find_program
from .cases import (
    CallCase,
    OutputCase,
    ProgramVerdict,
    RowTests,
    keeps_apart,
    list_importable,
    list_required,
    try_program,
)
from .formats import COMPANION_COLUMNS, read_row_tests
from .python_tests import FUNCTION_NODES, PythonTests, UnreadableTests


MAX_TRIED = 64  # largest number of rows that are tried with programs
NAMED_ROWS = 10  # largest number of rows that a warning names
# Names of the column with a program that passes, if a dataset has one.
REFERENCE_COLUMNS = ("solution", "canonical_solution", "code", "reference_solution", "gold_standard_solution")
CASE_NAMES = {OutputCase: "inputs with their outputs", CallCase: "calls", PythonTests: "sets of Python tests"}
TriedOutcome: TypeAlias = ProgramVerdict | UnreadableTests  # how a program did, or why its tests cannot be run


@dataclass
class TriedRow:
    """How programs did in the tests of a row: the empty one, the row's own solution, and others that must not pass."""

    empty: TriedOutcome
    own: TriedOutcome | None
    cheat: str | None = None  # the kind of the first program that solves nothing and passes
    unnoticed: str | None = None  # a fault in the solution that the tests do not notice

    def list_problems(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the tests, by the names in [`PROBLEMS`]."""
        tried = self.own or self.empty
        if isinstance(tried, UnreadableTests):
            yield "unreadable", str(tried)
        if has_timed_out(self.empty):
            yield "impossible", f"an empty program is {self.empty.failure}, which the tests alone take"
        if has_passed(self.empty):
            yield "passed", "nothing is required of a program"
        elif self.cheat:
            yield "weak", f"{self.cheat} pass"
        if isinstance(self.own, ProgramVerdict) and self.own.status is not None:
            yield "failed", self.own.failure
        if self.unnoticed:
            yield "unnoticed", self.unnoticed


PROBLEMS = {  # of rows: the share that changes little, and how it is said
    "impossible": (0.05, "have tests that no program can pass"),
    "unreadable": (0.05, "have tests in '{column}' that cannot be read"),
    "passed": (0.05, "have tests that an empty program passes"),
    "weak": (0.05, "have weak tests, which a program that solves nothing passes"),
    "failed": (0.1, "have a solution that fails their tests, perhaps because timeout or memory_mb is too small"),
    "unnoticed": (0.1, "have tests that do not notice a small fault in their solution (rows {places})"),
}


def find_reference(row: Mapping[str, Any], column: str) -> str | None:
    """Return the row's own solution, or None. HumanEval has only the body of a function that begins in the prompt."""
    names = [name for name in REFERENCE_COLUMNS if name != column and isinstance(row.get(name), str)]
    if not names or not row[names[0]].strip():
        return None
    text: str = row[names[0]]
    program = find_program(text) or text
    entry_point = row.get("entry_point")
    prompt = prompt_text(row.get("prompt"))
    is_body = isinstance(entry_point, str) and f"def {entry_point}" not in program and f"def {entry_point}" in prompt
    return prompt + program if is_body else program


def examine_programs(
    rows: list[dict[str, Any]], column: str, open_sandbox: Callable[[], Sandbox], limits: Limits
) -> Findings:
    """Examine the tests of all rows, and try the first ones with programs that solve nothing and their own solutions."""

    async def examine() -> Findings:
        sandbox = open_sandbox()
        try:
            return await examine_in(sandbox, rows, column, limits)
        finally:
            await sandbox.close()

    return run_in_own_loop(examine())


async def examine_in(sandbox: Sandbox, rows: list[dict[str, Any]], column: str, limits: Limits) -> Findings:
    companions = {name: [row.get(name) for row in rows] for name in COMPANION_COLUMNS}
    _, read = read_row_tests([row.get(column) for row in rows], companions, list_importable(sandbox))
    readable = {place: tests for place, tests in enumerate(read) if isinstance(tests, RowTests)}
    first = islice(readable.items(), MAX_TRIED)
    jobs = (try_row(tests, find_reference(rows[place], column), sandbox, limits) for place, tests in first)
    tried = dict(zip(readable, await await_all(jobs, concurrent=True), strict=False))
    kinds = Counter(type(tests.cases[0]) for tests in readable.values())
    found = Findings(lines=[f"{len(readable):,} of {len(rows):,} rows have tests that can be read"])
    found.lines.extend(f"{kinds[kind]:,} with {several}" for kind, several in CASE_NAMES.items() if kinds[kind])
    report_problems(found, find_problems(read, tried), len(rows), tried.values(), column)
    if kinds[PythonTests] and not keeps_apart(sandbox):
        found.lines.append(
            f"{kinds[PythonTests]:,} rows have weak tests: this back end cannot keep Python tests and the program apart, so "
            "a program can cheat"
        )
    return found


Problems: TypeAlias = defaultdict[str, dict[int, str]]  # the rows with each problem, and what it is there


def find_problems(read: list[RowTests | UnreadableTests], tried: Mapping[int, TriedRow]) -> Problems:
    problems = Problems(dict)
    for place, tests in enumerate(read):
        if isinstance(tests, UnreadableTests):
            problems["unreadable"][place] = str(tests)
        elif why := find_contradiction(tests):
            problems["impossible"][place] = why
    for place, row in tried.items():
        for problem, why in row.list_problems():
            problems[problem][place] = why
    return problems


def report_problems(found: Findings, problems: Problems, rows: int, tried: Collection[TriedRow], column: str) -> None:
    """Add the problems to what was found: as faults or warnings if many rows have them."""
    if tried and all(has_timed_out(row.empty) for row in tried):
        found.hopeless = "the tests do not end"
    judged = sum(isinstance(row.own, ProgramVerdict) for row in tried)
    if judged:
        found.lines.append(
            f"{judged - len(problems['failed']):,} of {judged:,} solutions of the dataset pass their tests"
        )
    totals = {"impossible": rows, "unreadable": rows, "failed": judged, "unnoticed": judged}
    for problem, (most, what) in PROBLEMS.items():
        places = problems[problem]
        total = totals.get(problem, len(tried))
        levels = [found.faults, found.warnings, found.lines][problem == "unnoticed" :]
        remedy = "Add tests to them." if problem == "unnoticed" else "Correct or remove these rows."
        for place, why in islice(places.items(), 1):
            sentence = what.format(column=column, places=", ".join(map(str, islice(places, NAMED_ROWS))))
            text = f"{len(places):,} of {total:,} rows {sentence}. Row {place}: {why}"
            is_many = len(places) > most * total  # a few change nothing
            levels[not is_many].append(f"{text.rstrip('.')}. {remedy}" if is_many else text)


def has_passed(outcome: object) -> bool:
    return isinstance(outcome, ProgramVerdict) and outcome.status is None


def has_timed_out(outcome: object) -> TypeGuard[ProgramVerdict]:
    return isinstance(outcome, ProgramVerdict) and outcome.status == "timed_out"


def find_contradiction(tests: RowTests) -> str | None:
    """Return why no program can pass the tests: the same input has two different results."""
    expected: dict[tuple[str, str], Any] = {}
    for case in tests.cases:
        match case:
            case OutputCase(input=text, output=output):
                key = text, ""
                value = output.split()
            case CallCase(function=function, input=arguments, accepted=(value,)):
                key = function, arguments
            case _:
                continue
        if key in expected and repr(expected[key]) != repr(value):
            return f"{str(key)[:100]!r} must give both {str(expected[key])[:50]} and {str(value)[:50]}"
        expected[key] = value
    return None


async def try_row(tests: RowTests, solution: str | None, sandbox: Sandbox, limits: Limits) -> TriedRow:
    async def attempt(program: str) -> TriedOutcome:
        try:
            return await try_program(program, tests, sandbox, limits)
        except UnreadableTests as error:
            return error

    empty = await attempt("\n")
    if has_timed_out(empty):
        return TriedRow(empty, None)
    found = TriedRow(empty, await attempt(solution) if solution else None)
    found.cheat = await find_cheat(tests, sandbox, limits)
    if solution and has_passed(found.own) and not found.cheat:
        quick = replace(limits, seconds=min(limits.seconds, FAULT_SECONDS))
        found.unnoticed = await find_passing(write_mutants(solution), tests, sandbox, quick)
    return found


async def find_passing(
    programs: Iterable[tuple[str, str]], tests: RowTests, sandbox: Sandbox, limits: Limits
) -> str | None:
    """Return what is said of the first program that passes, or None. If one takes long, the others are not tried."""
    for program, what in programs:
        with contextlib.suppress(SandboxFailed, UnreadableTests):
            outcome = await try_program(program, tests, sandbox, limits)
            if has_passed(outcome):
                return what
            if has_timed_out(outcome) and limits.seconds > FAULT_SECONDS:
                break
    return None


CHEATS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("cheats.toml").read_text(encoding="utf-8"))


async def find_cheat(tests: RowTests, sandbox: Sandbox, limits: Limits) -> str | None:
    """Return the first kind of programs that solve nothing and pass the tests, or None. Only pipes must join the two."""
    names = sorted(list_required(tests)) if keeps_apart(sandbox) else []  # inputs with outputs need none
    each = CHEATS["each"].items() if names else ()
    cheats = (("\n".join([CHEATS["universal"], *map(one.format, names)]), kind) for kind, one in each)
    return await find_passing(cheats, tests, sandbox, limits)


PAIRS = (("==", "!="), ("<", "<="), (">", ">="), ("and", "or"), ("+", "-"), ("True", "False"))
SWAPS = {"not": "", "is": "is not", "in": "not in", "if": "if not", "elif": "elif not"}
SWAPS |= {"*": "+", "//": "*", "%": "//", "max": "min", "min": "max"}
SWAPS |= dict(PAIRS) | {other: one for one, other in PAIRS}
REMOVED = {ast.Return: "return None", ast.Assign: "pass", ast.AugAssign: "pass", ast.Expr: "pass"}
LEFT_OUT = re.compile(r"raise |(logger|warnings)\.|['\"]|@|(async )?def |if TYPE_CHECKING|match |return( None)?$")
TRIED_FAULTS = 3  # number of faults that are tried in a program
FAULT_SECONDS = 1.0  # time limit of a program with a fault, which may never end


def list_faults(program: str) -> list[tuple[int, str]]:
    """Return the lines of functions, or of a program without any, with a small fault in each, and their numbers."""
    found = []
    code = set[int]()
    lines = program.split("\n")
    tree = ast.parse(program)
    functions: list[ast.AST] = [node for node in ast.walk(tree) if isinstance(node, FUNCTION_NODES)]
    for node in {node for part in functions or [tree] for node in ast.walk(part) if isinstance(node, ast.stmt)}:
        if not LEFT_OUT.match(ast.unparse(node)):
            body: list[ast.stmt] = getattr(node, "body", [])
            code |= {*range(node.lineno, body[0].lineno if body else (node.end_lineno or node.lineno) + 1)}
            if type(node) in REMOVED and node.lineno == node.end_lineno:
                found.append((node.lineno, node.col_offset, len(lines[node.lineno - 1]), REMOVED[type(node)]))
    found += [fault for fault in list_swaps(lines) if fault[0] in code]
    return sorted({(row, lines[row - 1][:start] + new + lines[row - 1][end:]) for row, start, end, new in found})


def list_swaps(lines: Iterable[str]) -> Iterator[tuple[int, int, int, str]]:
    """Yield the row, the start, the end and another text for each number, operator and word that has one."""
    for kind, text, (row, start), (_, end), line in tokenize.generate_tokens((f"{line}\n" for line in lines).__next__):
        new = str(int(text) + 1) if kind == tokenize.NUMBER and text.isdecimal() else SWAPS.get(text)
        is_other = line.startswith("is not", start) or (text == "in" and re.search(r"\bfor\b|not $", line[:start]))
        is_other = is_other or (text == "*" and re.search(r"[(,=]\s*$", line[:start]))
        if new is not None and not is_other:
            yield row, start, end, new


def write_mutants(program: str) -> Iterator[tuple[str, str]]:
    """Yield a program with one fault after another, and what was changed. Faults that often change nothing are left out."""
    lines = program.split("\n")
    faults = list[tuple[int, str]]()
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, tokenize.TokenError):
        for row, line in list_faults(program):
            bounds = (re.sub("([<>])=", r"\1", one) for one in (line, lines[row - 1]))  # as in `a if a >= b else b`
            if line.strip() not in REMOVED.values() and len({*bounds}) > 1:
                faults.append((row, line))
    for row, line in faults[:: max(1, -(-len(faults) // TRIED_FAULTS))]:
        text = "\n".join([*lines[: row - 1], line, *lines[row:]])
        yield text, f"{lines[row - 1].strip()!r} became {line.strip()!r}"
