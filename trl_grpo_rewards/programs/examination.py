"""Examines the tests of a dataset before training: whether they can be read, and whether they tell right from wrong."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from ..expressions import await_all, run_in_own_loop
from ..sandbox.protocol import Limits, Sandbox
from ..texts import prompt_text
from ..traits import Examination
from .blocks import find_program
from .cases import KINDS, CallCase, OutputCase, PythonTests, RowTests, UnreadableTests
from .cheats import find_cheat, find_unnoticed
from .formats import COMPANION_COLUMNS, read_tests
from .inside.prelude import PACKAGES
from .names import find_use
from .row_verdicts import ProgramVerdict, keeps_apart, try_program


MAX_TRIED, SHOWN_ROWS = 64, 10
"""Number of rows whose tests are tried with programs, and of rows that a warning names at most."""

MAX_UNREADABLE, MAX_UNSOLVED, MAX_UNNOTICED = 0.05, 0.1, 0.1
"""Shares of rows with unreadable or impossible tests, and of those whose own solution fails, above which they are a fault; and
of rows whose tests do not notice a fault, above which they are a warning, because a few faults change nothing."""

REFERENCE_COLUMNS = ("solution", "canonical_solution", "code", "reference_solution", "gold_standard_solution")
"""Names of the column with a program that passes, if a dataset has one."""

EMPTY = "\n"  # the program that does nothing

Outcome: TypeAlias = ProgramVerdict | UnreadableTests
"""How a program did, or why its tests cannot be run."""


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
) -> Examination:
    """Examine the tests of all rows, and try the first ones with programs that solve nothing and their own solutions."""
    found = Examination([], [], [])
    readable: dict[int, RowTests] = {}
    unreadable: dict[int, str] = {}
    for place, row in enumerate(rows):
        try:
            companions = {name: row.get(name) for name in COMPANION_COLUMNS}
            readable[place] = read_tests(row.get(column), companions, packages=importable)
        except UnreadableTests as error:
            unreadable[place] = str(error)
    found.lines.append(f"{len(readable):,} of {len(rows):,} rows have tests that can be read")
    found.lines.extend(count_kinds(readable))
    beyond = {
        place: names for place, tests in readable.items() if (names := list_beyond_entry_point(tests, importable))
    }
    for place, names in islice(beyond.items(), 1):
        found.lines.append(
            f"{len(beyond):,} rows have tests that use more than the entry point. Row {place}: the program must define "
            f"{', '.join(names)}"
        )
    impossible = {place: why for place, tests in readable.items() if (why := find_contradiction(tests))}
    report_share(found, impossible, len(rows), "have tests that no program can pass")
    tried = [*readable][:MAX_TRIED]
    empty, own, cheats, unnoticed, is_apart = run_in_own_loop(
        try_all(rows, readable, tried, column, open_sandbox, limits)
    )
    unreadable |= {place: str(why) for place, why in (empty | own).items() if isinstance(why, UnreadableTests)}
    report_share(found, unreadable, len(rows), f"have tests in '{column}' that cannot be read")
    trials = {place: trial for place, trial in empty.items() if isinstance(trial, ProgramVerdict)}
    passed = {place: "nothing is required of a program" for place, trial in trials.items() if trial.status is None}
    report_share(found, passed, len(tried), "have tests that an empty program passes")
    weak = {place: f"{cheat} pass" for place, cheat in cheats.items() if cheat and place not in passed}
    report_share(found, weak, len(tried), "have weak tests, which a program that solves nothing passes")
    trials = {place: trial for place, trial in own.items() if isinstance(trial, ProgramVerdict)}
    failed = {place: trial.failure for place, trial in trials.items() if trial.status is not None}
    if trials:
        found.lines.append(
            f"{len(trials) - len(failed):,} of {len(trials):,} solutions of the dataset pass their tests"
        )
    changes = {place: change for place, (change, count) in unnoticed.items() if count}
    unnoticed_in = {place: change for place, change in changes.items() if change}
    if unnoticed_in:
        shown = ", ".join(map(str, islice(unnoticed_in, SHOWN_ROWS)))
        place, change = next(iter(unnoticed_in.items()))
        text = (
            f"{len(unnoticed_in):,} of {len(changes):,} rows have tests that do not notice a small fault in their solution: "
            f"{shown}. In row {place}, {change}"
        )
        is_many = len(unnoticed_in) > MAX_UNNOTICED * len(changes)
        (found.warnings if is_many else found.lines).append(f"{text}. Add tests to them." if is_many else text)
    what = "have a solution that fails their tests, perhaps because timeout or memory_mb is too small"
    report_share(found, failed, len(trials), what, MAX_UNSOLVED)
    python = sum(isinstance(tests.cases[0], PythonTests) for tests in readable.values())
    if python and not is_apart:
        found.lines.append(
            f"{python:,} rows have weak tests: this back end cannot keep Python tests and the program apart, so a program "
            "can cheat"
        )
    return found


def count_kinds(readable: Mapping[int, RowTests]) -> Iterator[str]:
    """Yield the number of rows for each kind of tests."""
    kinds = Counter(type(tests.cases[0]) for tests in readable.values())
    for kind, (_, several) in KINDS.items():
        if kinds[kind]:
            yield f"{kinds[kind]:,} with {several}"


def list_beyond_entry_point(tests: RowTests, importable: Collection[str] | None) -> list[str]:
    """Return the names that a program must define besides the entry point."""
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
            case CallCase(function=function, arguments=arguments, accepted=(value,)):
                key = (function, arguments)
            case _:
                continue
        if key in expected and repr(expected[key]) != repr(value):
            return f"{str(key)[:100]!r} must give both {str(expected[key])[:50]} and {str(value)[:50]}"
        expected[key] = value
    return None


def report_share(
    found: Examination, places: Mapping[int, str], total: int, what: str, most: float = MAX_UNREADABLE
) -> None:
    """Report rows with a problem: as a fault if there are many, else as a warning."""
    if not places:
        return
    first, why = next(iter(places.items()))
    text = f"{len(places):,} of {total:,} rows {what}. Row {first}: {why}"
    if len(places) > most * total:
        found.faults.append(f"{text.rstrip('.')}. Correct or remove these rows.")
    else:
        found.warnings.append(text)


async def try_all(
    rows: list[dict[str, Any]],
    readable: Mapping[int, RowTests],
    tried: list[int],
    column: str,
    open_sandbox: Callable[[], Sandbox],
    limits: Limits,
) -> tuple[dict[int, Outcome], dict[int, Outcome], dict[int, str | None], dict[int, tuple[str | None, int]], bool]:
    """Return how the empty program and the own solutions did, the cheats and faults that pass, and if tests are apart."""
    solutions = {place: program for place in tried if (program := find_reference(rows[place], column))}
    jobs = [(place, EMPTY) for place in tried] + [*solutions.items()]
    sandbox = open_sandbox()

    async def try_one(place: int, program: str) -> Outcome:
        try:
            return await try_program(program, readable[place], sandbox, limits)
        except UnreadableTests as error:
            return error

    try:
        trials = await await_all((try_one(place, program) for place, program in jobs), concurrent=True)
        cheats = await await_all((find_cheat(readable[place], sandbox, limits) for place in tried), concurrent=True)
        empty, own = dict(zip(tried, trials, strict=False)), dict(zip(solutions, trials[len(tried) :], strict=True))
        cheated = dict(zip(tried, cheats, strict=True))
        right = [place for place, one in own.items() if isinstance(one, ProgramVerdict) and one.status is None]
        right = [place for place in right if not cheated[place]]
        attempts = (find_unnoticed(solutions[place], readable[place], sandbox, limits) for place in right)
        faults = await await_all(attempts, concurrent=True)
    finally:
        await sandbox.close()
    return empty, own, cheated, dict(zip(right, faults, strict=True)), keeps_apart(sandbox)
