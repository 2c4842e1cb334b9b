"""Rewards for programs that pass tests."""

import asyncio
import importlib
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from functools import partial as bind
from typing import Annotated, Any, TypeAlias

from annotated_types import Ge

from ..failures import Failure, FailureCounter
from ..options import PositiveFloat, PositiveInt, Share
from ..registry import reward
from ..sandbox.local import LocalSandbox, get_local_sandbox
from ..sandbox.programs.blocks import find_program
from ..sandbox.programs.cases import MODULES, ProgramVerdict, RowTests, list_importable, try_program
from ..sandbox.programs.examination import CHEATS, examine_programs, find_reference, has_passed
from ..sandbox.programs.formats import read_row_tests
from ..sandbox.programs.python_tests import UnreadableTests
from ..sandbox.protocol import Limits, RunResult, Sandbox, SandboxFailed, Status
from ..scores import Score
from ..texts import completion_text
from ..traits import Findings, Form


__all__ = ["code"]
logger = logging.getLogger(__name__)
Key: TypeAlias = tuple[str, bytes]  # a program, and the mark of its tests
ProgramOutcome: TypeAlias = ProgramVerdict | SandboxFailed | UnreadableTests  # how a program did, or why nobody knows
OWN_FILES = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # a back end of the user, as `module:Class`
SHARE = 0.5  # of its equal part of the time of a batch that each program has before others may take longer
ADVICE = "Check that the back end works, with `trl-grpo-rewards check`, and resume the run, or raise max_failures."

# Metrics of the ways in which programs fail.
METRICS: dict[str, Status] = {
    "timeouts": "timed_out",
    "crashes": "crashed",
    "refusals": "refused",
    "floods": "flooded",
}


def check_code(backend: str, packages: tuple[str, ...]) -> None:
    given = f"code() cannot use backend={backend!r}"
    if backend != "local" and not OWN_FILES.fullmatch(backend):
        raise ValueError(f"{given}. Set it to 'local' or to 'my_module:MySandbox'.")
    if backend != "local" and packages:
        raise ValueError(
            f"{given} with packages={packages}. Leave them out: another back end has packages of its own."
        )


def open_backend(backend: str, packages: tuple[str, ...]) -> Sandbox:
    """Return a back end, which the caller closes, or raise a `ValueError`."""
    if backend == "local":
        return get_local_sandbox(MODULES, packages)
    module, _, name = backend.partition(":")
    try:
        sandbox: Sandbox = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"The back end {backend!r} must be a class that can be imported: {error}. Put its module where Python finds it, "
            f"or correct its name."
        ) from None
    return sandbox


def check_backend(backend: str, packages: tuple[str, ...]) -> str | None:
    """Check that programs can run, and return how they are kept in on this machine."""
    sandbox = open_backend(backend, packages)
    sandbox.check_ready()
    if isinstance(sandbox, LocalSandbox):
        return sandbox.find_tier()[1]
    return None


def write_block(program: str) -> str:
    return f"```python\n{program.rstrip()}\n```"


def write_solution(row: Mapping[str, Any], tests: str) -> str | None:
    program = find_reference(row, tests)
    return None if program is None else write_block(program)


def examine_tests(rows: list[dict[str, Any]], tests: str, **options: Any) -> Findings:
    limits = Limits(*(options[name] for name in ("timeout", "memory_mb", "output_bytes")))
    return examine_programs(rows, tests, lambda: open_backend(options["backend"], options["packages"]), limits)


@reward(
    batched=True,
    check=check_code,
    outcome=True,
    asks=False,
    form=lambda: Form(answer="```python\n{}\n```"),
    worthless=lambda: {name: write_block(program) for name, program in CHEATS["always"].items()},
    ready=check_backend,
    solves=write_solution,
    examines=examine_tests,
)
async def code(
    completions: list,
    tests: list,
    log_metric: Callable[[str, float], None],
    log_extra: Callable[[str, list], None],
    *,
    partial: bool = False,
    timeout: PositiveFloat = 2.0,
    memory_mb: Annotated[int, Ge(64)] = 1024,
    output_bytes: PositiveInt = 1_000_000,
    backend: str = "local",
    packages: tuple[str, ...] = (),
    batch_timeout: PositiveFloat = 600.0,
    max_failures: Share = 0.2,
    **columns: list,
) -> list[Score]:
    """
    1 if the program in a code block passes all tests of its row, else 0; None if they cannot be read or run.

    The program is a closed block of code, found as in Markdown: the last one that defines what the tests call, or reads
    the standard input that they have. If none does, it is the last one that is marked as Python or, without such a
    block, the last one without a language. Text
    before `</think>` does not count. Without a program, the score is 0. Identical programs with the same tests are run
    once per batch.

    The column `tests` has a dict, a list, or JSON text of one. The tests may be inputs with outputs, calls with results,
    or Python code for pytest or unittest, in the formats of APPS, LiveCodeBench, CodeContests, open-r1, PrimeIntellect,
    MBPP, HumanEval and EvalPlus. The program never sees the expected results. Each input and each call is a separate run,
    and its result is compared in the training process. Python tests run unchanged in one process, and the program runs in
    another one. Two pipes join them, and all Python tests of a row are one case. `docs/programs.md` describes the
    formats, the two processes and the jail.

    Logs for each batch `code/timeouts`, `code/crashes`, `code/refusals` and `code/floods` (programs whose first
    failure was of this kind), `code/unreadable_tests`, `code/doubtful_tests` (completions that got 0 because their tests
    could not run, although the tests may be the cause), `code/failures` (programs that the back end could not run),
    `code/runs` (different programs) and `code/no_program` (share of the completions without a program). Logs the column
    `code/failure` in the table of completions: the first case that failed.

    Args:
        partial (`bool`, *optional*, defaults to `False`):
            Pay the share of the cases that pass. By default, a program is stopped at its first failure. The share of
            Python tests counts blocks, test functions and test methods.
        timeout (`float`, *optional*, defaults to `2.0`):
            CPU time limit of one case, in seconds. A program that waits instead of computing is stopped after the same
            time. The Python tests of a row are one case; EvalPlus, for example, may need 10 seconds.
        memory_mb (`int`, *optional*, defaults to `1024`):
            Limit of the address space of each process, in megabytes.
        output_bytes (`int`, *optional*, defaults to `1_000_000`):
            Maximum output of a case, in bytes.
        backend (`str`, *optional*, defaults to `"local"`):
            Where programs run: `"local"` is the jail on this machine, which needs Linux. `"my_module:MySandbox"` is a
            back end of your own, such as `examples/fusion_sandbox.py` for a server of Sandbox Fusion.
        packages (`tuple[str, ...]`, *optional*, defaults to `()`):
            Installed packages that programs and tests may import with the local back end, such as `("numpy",)`. The
            names are those of distributions, and the packages that they require are included. Rows whose Python tests
            import another package get None.
        batch_timeout (`float`, *optional*, defaults to `600.0`):
            Time limit of all programs of a batch, in seconds. Each program has the same share of it. A program that has
            used up its share by then gets 0, and the others that are not judged by then get None.
        max_failures (`float`, *optional*, defaults to `0.2`):
            Share of the programs of a batch that the back end may fail to run, as in [`judge`]. Slow programs do not count.

    Raises:
        `ValueError`: the back end cannot be imported, or a package is not installed. Nothing is run.
        `OSError`: the machine lacks a layer of the jail other than Landlock. Nothing is run.
        `RuntimeError`: the back end failed more often than `max_failures` allows.

    Example:

    ```python
    >>> from trl_grpo_rewards import code

    >>> tests = {"inputs": ["1 2", "3 4"], "outputs": ["3", "7"]}
    >>> right = "```python\\nprint(sum(map(int, input().split())))\\n```"
    >>> code()(completions=[right, "```python\\nprint(3)\\n```"], tests=[tests, tests])
    [1.0, 0.0]

    ```
    """
    limits = Limits(timeout, memory_mb, output_bytes)
    sandbox = open_backend(backend, packages)
    marks, read = read_row_tests(tests, columns, list_importable(sandbox))
    programs = [find_program(completion_text(text), one) for text, one in zip(completions, read, strict=True)]
    keys = [*map(make_key, programs, marks, read)]
    readable = {mark: one for mark, one in zip(marks, read, strict=True) if isinstance(one, RowTests)}

    async def try_all(different: Iterable[Key]) -> dict[Key, ProgramOutcome]:
        shares = Shares([*different], batch_timeout, len(getattr(sandbox, "workers", ())))
        tasks = {key: try_one(key, readable[key[1]], sandbox, limits, partial, shares) for key in shares.spent}
        return await wait_for_all(tasks, shares)

    try:
        trials = await try_all(dict.fromkeys(filter(None, keys)))
        doubts = find_doubtful_rows(keys, trials, columns)
        others = trials | await try_all(dict.fromkeys(key for key in doubts.values() if key not in trials))
    finally:
        await sandbox.close()
    doubtful = settle_doubts(trials, {key: others[other] for key, other in doubts.items()})
    count_failures(trials, backend, max_failures)
    found = [one if key is None else trials[key] for key, one in zip(keys, read, strict=True)]
    counts = count_outcomes(found) | {
        "runs": len(trials),
        "doubtful_tests": sum(key in doubtful for key in keys),
        "no_program": programs.count(None) / max(1, len(programs)),
    }
    for name, count in counts.items():
        log_metric(name, count)
    outcomes = [describe_outcome(one, partial) for one in found]
    log_extra("failure", [failure for _, failure in outcomes])
    return [score for score, _ in outcomes]


def make_key(program: str | None, mark: bytes, tests: RowTests | UnreadableTests) -> Key | None:
    """Return what is equal for equal programs with equal tests, or None if there is nothing to run."""
    if program is None or isinstance(tests, UnreadableTests):
        return None
    return (program, mark)


def settle_doubts(trials: dict[Key, ProgramOutcome], others: Mapping[Key, ProgramOutcome]) -> set[Key]:
    """
    Fail the programs that the tests could not judge, if the program is the cause: another one passes these tests, or
    there is no other one and the program may have led the tests there. Return those of the second kind.
    """
    doubtful = set()
    for key, trial in trials.items():
        if not isinstance(trial, UnreadableTests):
            continue
        if key not in others and trial.is_doubtful:
            doubtful.add(key)
            failure = f"the tests met this after they used the program: {trial}"
            trials[key] = ProgramVerdict(0, 1, "finished", failure)
        elif has_passed(others.get(key)):
            trials[key] = ProgramVerdict(0, 1, "finished", f"another program passes, but here: {trial}")
    return doubtful


def count_outcomes(found: Sequence[ProgramOutcome | RowTests]) -> dict[str, float]:
    """Return the numbers of completions by their outcome, by the name of the metric."""
    statuses = Counter(one.status for one in found if isinstance(one, ProgramVerdict))
    counts: dict[str, float] = {name: statuses[status] for name, status in METRICS.items()}
    counts["failures"] = sum(isinstance(one, SandboxFailed) for one in found)
    counts["unreadable_tests"] = sum(isinstance(one, UnreadableTests) for one in found)
    return counts


def describe_outcome(found: ProgramOutcome | RowTests, partial: bool) -> tuple[Score, str]:
    """Return the score of a completion, and what failed. Tests alone were not tried, for lack of a program."""
    match found:
        case UnreadableTests():
            warn_of_unreadable(str(found))
            return None, f"tests cannot be read: {found}"
        case SandboxFailed():
            return None, f"not run: {found}"
        case ProgramVerdict():
            return found.share if partial else float(found.passed == found.total), found.failure
    return 0.0, "no code block"


class Unfinished(SandboxFailed):
    """Raised for a program that had begun and was not slow when the time of its batch ended."""


class Shares:
    """
    The time of a batch. Each program has the same share. One that has used up its share goes on when no other one needs its
    own share any more. If the batch ends before it does, the program is too slow.

    Args:
        keys (`list`):
            The programs.
        seconds (`float`):
            Wall time of the batch, in seconds.
        workers (`int`):
            How many programs run at the same time; 0 if only the back end knows. Then, none waits for others, and one
            that has run is too slow if the batch ends before it does.
    """

    def __init__(self, keys: Sequence[Key], seconds: float, workers: int) -> None:
        self.seconds = seconds
        self.share = SHARE * seconds * workers / max(1, len(keys))
        self.spent = dict.fromkeys(keys, 0.0)
        self.needed = {*keys} if workers else set[Key]()
        self.is_free = asyncio.Event()
        self.give_up(None)

    def give_up(self, key: Key | None) -> None:
        self.needed -= {key}
        if not self.needed:
            self.is_free.set()

    async def spend(self, key: Key, result: RunResult) -> None:
        self.spent[key] += result.elapsed or 1e-9
        if self.spent[key] > self.share:
            self.give_up(key)
            await self.is_free.wait()

    def judge_late(self, key: Key) -> ProgramOutcome:
        if self.spent[key] > self.share:
            failure = f"stopped after its share of batch_timeout={self.seconds:g} s"
            return ProgramVerdict(0, 1, "timed_out", failure)
        late = f"no result within batch_timeout={self.seconds:g} s"
        if self.spent[key]:
            return Unfinished(late)
        return SandboxFailed(late)


async def try_one(
    key: Key, tests: RowTests, sandbox: Sandbox, limits: Limits, partial: bool, shares: Shares
) -> ProgramOutcome:
    """Try a program. A failure of the back end takes the place of a trial."""
    try:
        return await try_program(key[0], tests, sandbox, limits, partial, bind(shares.spend, key))
    except (SandboxFailed, UnreadableTests) as error:
        return error
    except RuntimeError as error:  # this process can have no more threads
        return SandboxFailed(f"the training process cannot run it: {error}")
    finally:
        shares.give_up(key)


async def wait_for_all(trials: Mapping[Key, Awaitable[ProgramOutcome]], shares: Shares) -> dict[Key, ProgramOutcome]:
    """Try programs concurrently, within a time limit. An error that is no failure of a single run ends all of them."""
    tasks = {key: asyncio.ensure_future(trial) for key, trial in trials.items()}
    if not tasks:
        return {}
    try:
        done, _ = await asyncio.wait(tasks.values(), timeout=shares.seconds, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.wait(tasks.values())
    return {key: shares.judge_late(key) if task.cancelled() else task.result() for key, task in tasks.items()}


def find_doubtful_rows(
    keys: Sequence[Key | None], trials: Mapping[Key, ProgramOutcome], columns: Mapping[str, list[Any]]
) -> dict[Key, Key]:
    """Return the programs whose tests could not be run, each with one that passed, or with the row's own solution."""
    passed = {key[1]: key for key, trial in trials.items() if has_passed(trial)}
    doubts = {}
    for place, key in enumerate(keys):
        if key and isinstance(trials[key], UnreadableTests):
            judge = passed.get(key[1]) or find_own_key(place, key[1], columns)
            if judge is not None:
                doubts[key] = judge
    return doubts


def find_own_key(place: int, mark: bytes, columns: Mapping[str, list[Any]]) -> Key | None:
    """Return the row's own solution with its tests, or None if it has no solution."""
    row = {name: values[place] for name, values in columns.items() if isinstance(values, list)}
    solution = find_reference(row | {"prompt": row.get("prompts")}, "tests")
    return (solution, mark) if solution else None


def count_failures(trials: Mapping[Key, ProgramOutcome], backend: str, max_failures: float) -> None:
    """Stop the run if the back end failed too often."""
    counter = FailureCounter(("code", backend), f"The back end {backend!r} gave no result", max_failures)
    counter.expected = len(trials)
    failures = [
        Failure(str(trial), f"The program began with {program[:300]!r}", ADVICE)
        for (program, _), trial in trials.items()
        if isinstance(trial, SandboxFailed) and not isinstance(trial, Unfinished)
    ]
    counter.add(len(trials), failures)


@cache
def warn_of_unreadable(message: str) -> None:
    logger.warning(
        "Tests cannot be read, so their completions are not scored. Correct these tests, or remove their rows (shown once): %s",
        message,
    )
