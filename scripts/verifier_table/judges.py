"""Our rewards, and those that they are compared with."""

import ast
import asyncio
import contextlib
import importlib.metadata
import inspect
import json
import os
import resource
import runpy
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from trl_grpo_rewards import parse

from .rows import LabelledSet, Row, box


Verdict = bool | None
"""Whether a completion is paid. None: not judged."""

Judge = Callable[[list[Row]], list[Verdict]]


OPEN_R1 = "open_r1/rewards.py"
"""The module of open-r1 with its reward for answers."""

VERIFIERS = ("verifiers/legacy/rubrics/math_rubric.py", "verifiers/legacy/utils/data_utils.py")
"""The modules of verifiers with its reward for answers, and with what finds the box."""


class NotRun(Exception):
    """Raised if a judge cannot be run here. The message says why."""


SECONDS = 20  # seconds that a program and its tests may take in one process

BYTES = 2 << 30  # bytes of memory that they may use


def load_ours(one: LabelledSet, folders: list[Path]) -> Judge:
    """Return the reward of this package that the table names for a set."""
    reward = parse(one.reward)

    def judge(rows: list[Row]) -> list[Verdict]:
        names = {name for row in rows for name in row.columns}
        columns = {name: [row.columns.get(name) for row in rows] for name in names}
        scores: Any = reward(completions=[row.completion for row in rows], **columns)
        if inspect.isawaitable(scores):
            scores = asyncio.run(wait_for(scores))
        return [None if score is None else score == 1.0 for score in scores]

    return judge


async def wait_for(scores: Any) -> list:
    return await scores


def each(judge: Callable[[Row], Any]) -> Judge:
    """Return a judge that asks a function row by row. A row for which the function raises is not judged."""

    def judge_all(rows: list[Row]) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for row in rows:
            try:
                score = judge(row)
                verdicts.append(None if score is None else float(score) == 1.0)
            except Exception:
                verdicts.append(None)
        return verdicts

    return judge_all


def in_dollars(gold: str) -> str:
    """Return a gold as LaTeX, which the peers read better than bare text."""
    return gold if "$" in gold or "\\boxed" in gold else f"${gold}$"


def as_message(text: str) -> list[list[dict[str, str]]]:
    return [[{"role": "assistant", "content": text}]]


def load_trl(one: LabelledSet, folders: list[Path]) -> Judge:
    """Return TRL's `accuracy_reward`. Its `reasoning_accuracy_reward` judges alike, after a `</think>`."""
    try:
        from trl.rewards import accuracy_reward
    except ImportError as error:
        raise NotRun(str(error)) from error
    return each(lambda row: accuracy_reward(as_message(row.completion), [in_dollars(row.gold)])[0])


def load_math_verify(one: LabelledSet, folders: list[Path]) -> Judge:
    try:
        from math_verify import parse as read
        from math_verify import verify
    except ImportError as error:
        raise NotRun(str(error)) from error
    return each(lambda row: verify(read(in_dollars(row.gold)), read(row.completion)))


def find_source(package: str, file: str, folders: list[Path]) -> Path:
    """Return a file of an installed package, or of a clone among the folders."""
    for path in (folder / place / file for folder in folders for place in (".", "src")):
        if path.is_file():
            return path
    try:
        path = Path(str(importlib.metadata.distribution(package).locate_file(file)))
    except importlib.metadata.PackageNotFoundError:
        path = Path(file)
    if not path.is_file():
        raise NotRun(f"{package} is not installed, and no folder has {file}")
    return path


def load_functions(file: Path, *names: str) -> dict[str, Any]:
    """Return functions of a module that needs other packages. Only they and imports of math_verify and the like are run."""
    allowed = {"math_verify", "latex2sympy2_extended", "time", "re", "typing"}
    tree = ast.parse(file.read_text("utf-8"))
    body: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in allowed and not node.level:
            body.append(node)
        elif isinstance(node, ast.Import) and all(alias.name in allowed for alias in node.names):
            body.append(node)
        elif isinstance(node, ast.FunctionDef) and node.name in names:
            body.append(node)
    module: dict[str, Any] = {}
    try:
        exec(compile(ast.Module(body, []), str(file), "exec"), module)
        return {name: module[name] for name in names}
    except Exception as error:
        raise NotRun(f"{file.name} has another form than expected: {error!r}") from error


def load_open_r1(one: LabelledSet, folders: list[Path]) -> Judge:
    source = find_source("open-r1", OPEN_R1, folders)
    reward = load_functions(source, "accuracy_reward")["accuracy_reward"]
    return each(lambda row: reward(as_message(row.completion), [in_dollars(row.gold)])[0])


def load_verifiers(one: LabelledSet, folders: list[Path]) -> Judge:
    """Return the steps of `MathRubric` of verifiers: the last box, then math-verify."""
    rubric, data = (find_source("verifiers", file, folders) for file in VERIFIERS)
    verify = load_functions(rubric, "verify_response")["verify_response"]
    find_box = load_functions(data, "extract_boxed_answer")["extract_boxed_answer"]
    return each(lambda row: verify(find_box(row.completion, strict=True), row.gold, 50_000)[0])


def load_same_text(one: LabelledSet, folders: list[Path]) -> Judge:
    return each(lambda row: row.answer.strip() == row.gold.strip())


def load_one_process(one: LabelledSet, folders: list[Path]) -> Judge:
    return each(run_in_one_process)


def run_in_one_process(row: Row) -> bool:
    """Return whether the program and its tests end with 0. Nothing protects the machine from the program."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "program.py")
        file.write_text(row.script, "utf-8")
        child = os.fork()
        if not child:
            run_file(file)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status == 0
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return False


def run_file(file: Path) -> NoReturn:
    """Run a file as a program in this process, which ends with it."""
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        os.chdir(file.parent)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        sys.argv = [str(file)]
        runpy.run_path(str(file), run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        os._exit(code)


def load_same_json(one: LabelledSet, folders: list[Path]) -> Judge:
    return each(lambda row: json.loads(row.answer) == json.loads(row.gold))


OURS = "this package"

JUDGES: dict[str, dict[str, Callable[[LabelledSet, list[Path]], Judge]]] = {
    "answers": {
        OURS: load_ours,
        "TRL": load_trl,
        "math-verify": load_math_verify,
        "open-r1": load_open_r1,
        "verifiers": load_verifiers,
        "equal text": load_same_text,
    },
    "programs": {OURS: load_ours, "one process": load_one_process},
    "tools": {OURS: load_ours, "equal JSON": load_same_json},
    "instructions": {OURS: load_ours},
}
"""The judges of each kind of set. The last three names are plain baselines."""

EQUALITY = ("equal text", "equal JSON")
"""Baselines that cannot pay a wrong answer, so that nothing can be ahead of them. They are not counted as peers."""

BASELINES = (*EQUALITY, "one process")

WARM = {
    "answers": Row("warm", f"So it is {box('7')}.", True, "8", "7", {"solution": "8"}),
    "programs": Row(
        "warm", "```python\ndef seven():\n    return 7\n```", True, "", "", {"tests": "assert seven() == 7"}, "7"
    ),
    "tools": Row("warm", "[]", True, "[]", "[]", {"tool_calls": '[{"name": "seven", "arguments": {}}]'}),
    "instructions": Row(
        "warm", "seven", True, "", "", {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    ),
}
"""A row that is judged before the time is taken, so that libraries are loaded and processes have started."""


def find_versions() -> dict[str, str]:
    """Return the versions of the installed packages among the judges."""
    versions = {}
    for name in ("trl_grpo_rewards", "trl", "math-verify", "open-r1", "verifiers"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions
