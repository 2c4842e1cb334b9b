"""Examines the tests of a dataset before training: whether they can be read, and whether they tell right from wrong."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..batch import prompt_text
from ..expressions import await_all, run_in_own_loop
from ..sandbox.protocol import Limits, Sandbox
from ..traits import Examination
from .blocks import find_program
from .cases import CallCase, OutputCase, RowTests, UnreadableTests
from .formats import COMPANION_COLUMNS, read_tests
from .trials import Trial, try_program


MAX_TRIED = 64
"""Number of rows whose tests are tried with programs."""

MAX_UNREADABLE = 0.05
"""Share of rows with unreadable or impossible tests above which they are a fault, as for solutions."""

LEAST_SOLVED = 0.9
"""Smallest share of rows whose own solution must pass, as for the solutions of other rewards."""

REFERENCE_COLUMNS = ("solution", "canonical_solution", "code", "reference_solution", "gold_standard_solution")
"""Names of the column with a program that passes, if a dataset has one."""

EMPTY = "\n"
"""The program that does nothing."""


def find_reference(row: Mapping[str, Any], column: str, language: str = "python") -> str | None:
    """
    Return the row's own solution, or None if it has none.

    HumanEval's solutions are only the body of a function that begins in the prompt. Such a solution is joined to it.
    """
    names = [name for name in REFERENCE_COLUMNS if name != column and isinstance(row.get(name), str)]
    if not names or not row[names[0]].strip():
        return None
    text: str = row[names[0]]
    program = find_program(text, language) or text
    entry_point = row.get("entry_point")
    prompt = prompt_text(row.get("prompt"))
    is_body = isinstance(entry_point, str) and f"def {entry_point}" not in program and f"def {entry_point}" in prompt
    return prompt + program if is_body else program


def examine_programs(
    rows: list[dict[str, Any]],
    column: str,
    open_sandbox: Callable[[], Sandbox],
    limits: Limits,
    language: str = "python",
) -> Examination:
    """
    Examine the tests of all rows, and try those of the first ones with the empty program and their own solutions.

    Args:
        rows (`list[dict]`):
            Rows of the dataset.
        column (`str`):
            Column with the tests.
        open_sandbox (`Callable`):
            Returns the back end.
        limits ([`Limits`]):
            Limits of each run.
        language (`str`, *optional*, defaults to `"python"`):
            Language of the programs.
    """
    found = Examination([], [], [])
    readable: dict[int, RowTests] = {}
    unreadable: dict[int, str] = {}
    for place, row in enumerate(rows):
        try:
            companions = {name: row.get(name) for name in COMPANION_COLUMNS}
            readable[place] = read_tests(row.get(column), companions, language=language)
        except UnreadableTests as error:
            unreadable[place] = str(error)
    found.lines.append(f"{len(readable):,} of {len(rows):,} rows have tests that can be read")
    found.lines.extend(count_kinds(readable))
    report_share(found, unreadable, len(rows), f"have tests in '{column}' that cannot be read")
    impossible = {place: why for place, tests in readable.items() if (why := find_contradiction(tests))}
    report_share(found, impossible, len(rows), "have tests that no program can pass")
    tried = [*readable][:MAX_TRIED]
    empty, own = run_in_own_loop(try_all(rows, readable, tried, column, open_sandbox, limits))
    passed = {place: "nothing is required of a program" for place, trial in empty.items() if trial.status is None}
    report_share(found, passed, len(tried), "have tests that an empty program passes")
    report_solutions(found, own)
    return found


def count_kinds(readable: Mapping[int, RowTests]) -> Iterator[str]:
    """Yield how many rows have tests of which kind, and how many tests are weak."""
    kinds: dict[str, int] = defaultdict(int)
    for tests in readable.values():
        kinds[type(tests.cases[0]).__name__] += 1
    names = {
        "OutputCase": "inputs with their outputs",
        "CallCase": "calls with their results",
        "WeakCase": "weak tests only",
    }
    for kind, name in names.items():
        if kinds[kind]:
            yield f"{kinds[kind]:,} with {name}"
    weak = sum(tests.weak_asserts for tests in readable.values())
    if weak:
        rows = sum(tests.weak_asserts > 0 for tests in readable.values())
        yield f"{weak:,} weak tests in {rows:,} rows. They run in the process of the program, so a program can cheat"


def find_contradiction(tests: RowTests) -> str | None:
    """Return why no program can pass the tests: the same input has two different results."""
    expected: dict[tuple[str, str], Any] = {}
    for case in tests.cases:
        match case:
            case OutputCase(input=text, output=output):
                key, value = (text, ""), output.split()
            case CallCase(call=call, arguments=arguments, accepted=(value,)):
                key = (call, arguments)
            case _:
                continue
        if key in expected and repr(expected[key]) != repr(value):
            return f"{str(key)[:100]!r} must give both {str(expected[key])[:50]} and {str(value)[:50]}"
        expected[key] = value
    return None


def report_share(found: Examination, places: Mapping[int, str], total: int, what: str) -> None:
    """Report rows with a problem: as a fault if there are many, else as a warning."""
    if not places:
        return
    first, why = next(iter(places.items()))
    text = f"{len(places):,} of {total:,} rows {what}. Row {first}: {why}"
    if len(places) > MAX_UNREADABLE * total:
        found.faults.append(f"{text.rstrip('.')}. Correct or remove these rows.")
    else:
        found.warnings.append(text)


def report_solutions(found: Examination, own: Mapping[int, Trial]) -> None:
    """Report rows whose own solution fails."""
    if not own:
        return
    failed = {place: trial.failure for place, trial in own.items() if trial.status is not None}
    found.lines.append(f"{len(own) - len(failed):,} of {len(own):,} solutions of the dataset pass their tests")
    if not failed:
        return
    first, why = next(iter(failed.items()))
    text = (
        f"The dataset's own solutions must pass their tests; {len(failed):,} of {len(own):,} fail. Row {first}, {why}. "
        f"Correct the tests, raise timeout or memory_mb, or remove these rows."
    )
    (found.faults if len(own) - len(failed) < LEAST_SOLVED * len(own) else found.warnings).append(text)


async def try_all(
    rows: list[dict[str, Any]],
    readable: Mapping[int, RowTests],
    tried: list[int],
    column: str,
    open_sandbox: Callable[[], Sandbox],
    limits: Limits,
) -> tuple[dict[int, Trial], dict[int, Trial]]:
    """Return the trials of the empty program, and of the rows' own solutions."""
    solutions = {
        place: program for place in tried if (program := find_reference(rows[place], column, readable[place].language))
    }
    jobs = [(place, EMPTY) for place in tried] + [*solutions.items()]
    sandbox = open_sandbox()
    try:
        trials = await await_all(
            (try_program(program, readable[place], sandbox, limits) for place, program in jobs), concurrent=True
        )
    finally:
        await sandbox.close()
    return dict(zip(tried, trials, strict=False)), dict(zip(solutions, trials[len(tried) :], strict=True))
