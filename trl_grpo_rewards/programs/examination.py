"""Whether the tests of a dataset can be read, and whether they pass what solves nothing or has one small fault."""

import ast
import contextlib
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from ..expressions import await_all, run_in_own_loop
from ..sandbox.protocol import Limits, Sandbox, SandboxFailed
from ..texts import prompt_text
from ..traits import Findings
from .blocks import find_program
from .cases import CallCase, OutputCase, ProgramVerdict, RowTests, keeps_apart, list_required, try_program
from .formats import COMPANION_COLUMNS, read_tests
from .inside.program import PACKAGES
from .python_tests import PythonTests, UnreadableTests, find_use


MAX_TRIED, SHOWN_ROWS = 64, 10  # rows that are tried with programs, and rows that a warning names at most
# Shares of rows with unreadable or impossible tests, and of those whose own solution fails, above which they are a
# fault; and of rows whose tests do not notice a fault, above which they are a warning, because a few faults change
# nothing.
MAX_UNREADABLE, MAX_UNSOLVED, MAX_UNNOTICED = 0.05, 0.1, 0.1
# Names of the column with a program that passes, if a dataset has one.
REFERENCE_COLUMNS = ("solution", "canonical_solution", "code", "reference_solution", "gold_standard_solution")
KINDS = {OutputCase: "inputs with their outputs", CallCase: "calls", PythonTests: "sets of Python tests"}
Outcome: TypeAlias = ProgramVerdict | UnreadableTests  # how a program did, or why its tests cannot be run


@dataclass
class TriedRow:
    """How programs did in the tests of a row: the empty one, the row's own solution, and others that must not pass."""

    empty: Outcome
    own: Outcome | None
    cheat: str | None = None  # the kind of the first program that solves nothing and passes
    unnoticed: str | None = None  # a fault in the solution that the tests do not notice
    faults: int = 0  # number of faults that were tried


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
    rows: list[dict[str, Any]],
    column: str,
    open_sandbox: Callable[[], Sandbox],
    limits: Limits,
    importable: Collection[str] | None,
) -> Findings:
    """Examine the tests of all rows, and try the first ones with programs that solve nothing and their own solutions."""
    readable: dict[int, RowTests] = {}
    unreadable: dict[int, str] = {}
    for place, row in enumerate(rows):
        try:
            companions = {name: row.get(name) for name in COMPANION_COLUMNS}
            readable[place] = read_tests(row.get(column), companions, packages=importable)
        except UnreadableTests as error:
            unreadable[place] = str(error)
    kinds = Counter(type(tests.cases[0]) for tests in readable.values())
    found = Findings(lines=[f"{len(readable):,} of {len(rows):,} rows have tests that can be read"])
    found.lines.extend(f"{kinds[kind]:,} with {several}" for kind, several in KINDS.items() if kinds[kind])
    beyond = {place: names for place, one in readable.items() if (names := list_beyond_entry_point(one, importable))}
    for place, names in islice(beyond.items(), 1):
        found.lines.append(
            f"{len(beyond):,} rows have tests that use more than the entry point. Row {place}: the program must define "
            f"{', '.join(names)}"
        )

    async def try_first() -> tuple[list[TriedRow], bool]:
        sandbox, first = open_sandbox(), islice(readable.items(), MAX_TRIED)
        try:
            jobs = (try_row(tests, find_reference(rows[place], column), sandbox, limits) for place, tests in first)
            return await await_all(jobs, concurrent=True), keeps_apart(sandbox)
        finally:
            await sandbox.close()

    outcomes, is_apart = run_in_own_loop(try_first())
    tried = dict(zip(readable, outcomes, strict=False))
    refused = ((place, one.own or one.empty) for place, one in tried.items())
    unreadable |= {place: str(why) for place, why in refused if isinstance(why, UnreadableTests)}
    impossible = {place: why for place, tests in readable.items() if (why := find_contradiction(tests))}
    passed = {place: "nothing is required of a program" for place, one in tried.items() if has_passed(one.empty)}
    weak = {place: f"{one.cheat} pass" for place, one in tried.items() if one.cheat and place not in passed}
    own = {place: one.own for place, one in tried.items() if isinstance(one.own, ProgramVerdict)}
    failed = {place: one.failure for place, one in own.items() if one.status is not None}
    if own:
        found.lines.append(f"{len(own) - len(failed):,} of {len(own):,} solutions of the dataset pass their tests")
    for what, places, total, most in (
        ("have tests that no program can pass", impossible, len(rows), MAX_UNREADABLE),
        (f"have tests in '{column}' that cannot be read", unreadable, len(rows), MAX_UNREADABLE),
        ("have tests that an empty program passes", passed, len(tried), MAX_UNREADABLE),
        ("have weak tests, which a program that solves nothing passes", weak, len(tried), MAX_UNREADABLE),
        (
            "have a solution that fails their tests, perhaps because timeout or memory_mb is too small",
            failed,
            len(own),
            MAX_UNSOLVED,
        ),
    ):
        for place, why in islice(places.items(), 1):
            text = f"{len(places):,} of {total:,} rows {what}. Row {place}: {why}"
            if len(places) > most * total:
                found.faults.append(f"{text.rstrip('.')}. Correct or remove these rows.")
            else:
                found.warnings.append(text)
    report_unnoticed(found, {place: one.unnoticed for place, one in tried.items() if one.faults})
    if kinds[PythonTests] and not is_apart:
        found.lines.append(
            f"{kinds[PythonTests]:,} rows have weak tests: this back end cannot keep Python tests and the program apart, so "
            "a program can cheat"
        )
    return found


def has_passed(outcome: object) -> bool:
    return isinstance(outcome, ProgramVerdict) and outcome.status is None


def list_beyond_entry_point(tests: RowTests, importable: Collection[str] | None) -> list[str]:
    found = set[str]()
    for case in tests.cases:
        if isinstance(case, PythonTests) and case.entry_point:
            found |= {*find_use(case).own} - {*re.split(r"\W", case.entry_point)}
    return sorted(name for name in found if PACKAGES.get(name, "") not in (importable or ()))


def find_contradiction(tests: RowTests) -> str | None:
    """Return why no program can pass the tests: the same input has two different results."""
    expected: dict[tuple[str, str], Any] = {}
    for case in tests.cases:
        match case:
            case OutputCase(input=text, output=output):
                key, value = (text, ""), output.split()
            case CallCase(function=function, input=arguments, accepted=(value,)):
                key = (function, arguments)
            case _:
                continue
        if key in expected and repr(expected[key]) != repr(value):
            return f"{str(key)[:100]!r} must give both {str(expected[key])[:50]} and {str(value)[:50]}"
        expected[key] = value
    return None


def report_unnoticed(found: Findings, changes: Mapping[int, str | None]) -> None:
    unnoticed = {place: change for place, change in changes.items() if change}
    for first, change in islice(unnoticed.items(), 1):
        text = (
            f"{len(unnoticed):,} of {len(changes):,} rows have tests that do not notice a small fault in their solution: "
            f"{', '.join(map(str, islice(unnoticed, SHOWN_ROWS)))}. In row {first}, {change}"
        )
        is_many = len(unnoticed) > MAX_UNNOTICED * len(changes)
        (found.warnings if is_many else found.lines).append(f"{text}. Add tests to them." if is_many else text)


async def try_row(tests: RowTests, solution: str | None, sandbox: Sandbox, limits: Limits) -> TriedRow:
    async def attempt(program: str) -> Outcome:
        try:
            return await try_program(program, tests, sandbox, limits)
        except UnreadableTests as error:
            return error

    found = TriedRow(await attempt("\n"), await attempt(solution) if solution else None)
    found.cheat = await find_cheat(tests, sandbox, limits)
    if solution and has_passed(found.own) and not found.cheat:
        quick = replace(limits, seconds=min(limits.seconds, SECONDS))
        found.unnoticed, found.faults = await find_passing(write_mutants(solution), tests, sandbox, quick)
    return found


async def find_passing(
    programs: Iterable[tuple[str, str]], tests: RowTests, sandbox: Sandbox, limits: Limits
) -> tuple[str | None, int]:
    """Return what is said of the first program that passes, and the number of programs that were tried."""
    tried = 0
    for program, what in programs:
        with contextlib.suppress(SandboxFailed, UnreadableTests):
            verdict = await try_program(program, tests, sandbox, limits)
            tried += 1
            if has_passed(verdict):
                return what, tried
    return None, tried


CHEATS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("cheats.toml").read_text(encoding="utf-8"))


async def find_cheat(tests: RowTests, sandbox: Sandbox, limits: Limits) -> str | None:
    """Return the first kind of programs that solve nothing and pass the tests, or None. Only pipes must join the two."""
    names = sorted(list_required(tests)) if keeps_apart(sandbox) else []  # inputs with outputs need none
    each = CHEATS["each"].items() if names else ()
    cheats = (("\n".join([CHEATS["universal"], *map(one.format, names)]), kind) for kind, one in each)
    return (await find_passing(cheats, tests, sandbox, limits))[0]


PAIRS = (("==", "!="), ("<", "<="), (">", ">="), ("and", "or"), ("+", "-"), ("True", "False"))
SWAPS = {**dict(PAIRS), **{other: one for one, other in PAIRS}, "not": "", "is": "is not", "in": "not in"}
SWAPS |= {"*": "+", "//": "*", "%": "//", "max": "min", "min": "max", "if": "if not", "elif": "elif not"}
REMOVED = {ast.Return: "return None", ast.Assign: "pass", ast.AugAssign: "pass", ast.Expr: "pass"}
LEFT_OUT = re.compile(r"raise |(logger|warnings)\.|['\"]|@|(async )?def |if TYPE_CHECKING|match |return( None)?$")
TRIED_FAULTS, SECONDS = 3, 1.0  # faults that are tried in a program, and their time limit: it may never end


def list_faults(program: str) -> list[tuple[int, str]]:
    """Return the lines of functions, or of a program without any, with a small fault in each, and their numbers."""
    found, code, lines = [], set[int](), program.split("\n")
    tree = ast.parse(program)
    functions: list[ast.AST] = [
        one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for one in {one for part in functions or [tree] for one in ast.walk(part) if isinstance(one, ast.stmt)}:
        if not LEFT_OUT.match(ast.unparse(one)):
            body: list[ast.stmt] = getattr(one, "body", [])
            code |= {*range(one.lineno, body[0].lineno if body else (one.end_lineno or one.lineno) + 1)}
            if type(one) in REMOVED and one.lineno == one.end_lineno:
                found.append((one.lineno, one.col_offset, len(lines[one.lineno - 1]), REMOVED[type(one)]))
    for kind, text, (row, start), (_, end), line in tokenize.generate_tokens((f"{one}\n" for one in lines).__next__):
        new = str(int(text) + 1) if kind == tokenize.NUMBER and text.isdecimal() else SWAPS.get(text)
        is_other = line.startswith("is not", start) or (text == "in" and re.search(r"\bfor\b|not $", line[:start]))
        is_other = is_other or (text == "*" and re.search(r"[(,=]\s*$", line[:start]))
        if row in code and new is not None and not is_other:
            found.append((row, start, end, new))
    return sorted({(row, lines[row - 1][:start] + new + lines[row - 1][end:]) for row, start, end, new in found})


def write_mutants(program: str) -> Iterator[tuple[str, str]]:
    """Yield a program with one fault after another, and what was changed. Faults that often change nothing are left out."""
    lines, faults = program.split("\n"), list[tuple[int, str]]()
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, tokenize.TokenError):
        for row, line in list_faults(program):
            bounds = (re.sub("([<>])=", r"\1", one) for one in (line, lines[row - 1]))  # as in `a if a >= b else b`
            if line.strip() not in REMOVED.values() and len({*bounds}) > 1:
                faults.append((row, line))
    for row, line in faults[:: max(1, -(-len(faults) // TRIED_FAULTS))]:
        text = "\n".join([*lines[: row - 1], line, *lines[row:]])
        yield text, f"{lines[row - 1].strip()!r} became {line.strip()!r}"
