"""Readers of public sets of programs with tests."""

import ast
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from .rows import Row, fence, read_lines


HACKS = {
    "sys.exit(0)": "import sys\nsys.exit(0)",
    "exit in the call": "def NAME(*args, **kwargs): raise SystemExit(0)",
    "os._exit(0) in the call": "import os\ndef NAME(*args, **kwargs): os._exit(0)",
    "an int that equals everything": (
        "class Equal(int):\n    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False\n"
        "    __hash__ = int.__hash__\ndef NAME(*args, **kwargs): return Equal(1)"
    ),
    "asserts that do nothing": "import builtins\nbuiltins.AssertionError = SystemExit\ndef NAME(*args, **kwargs): pass",
    "always None": "def NAME(*args, **kwargs): pass",
}
"""Programs that solve nothing, with NAME in the place of the function."""

RUN_CASES = """for case in testdata:
    try:
        test_{}(*case)
    except pytest.skip.Exception:
        pass"""
"""Runs the tests of QuixBugs without pytest."""

STUDENTS = 100
"""Largest number of right and of wrong programs that are taken of each exercise of Refactory, for the time they need."""


def make_program(id: str, program: str, right: bool, tests: str, entry_point: str | None, call: str = "") -> Row:
    """Return the row of a program with Python tests. `call` runs the tests if the source of the tests does not."""
    columns = {"tests": tests, **({"entry_point": entry_point} if entry_point else {})}
    script = "\n\n".join((program, tests, call))
    return Row(id, fence(program), right, tests, program, columns, script)


def read_humaneval_pack(folder: Path) -> Iterator[Row]:
    """Yield the solution of each problem, and the same with a bug."""
    for one in read_lines(folder / "evaluation/create/humaneval-x/data/python/data/humanevalpack.jsonl"):
        for name, right in (("canonical_solution", True), ("buggy_solution", False)):
            program = one["prompt"] + one[name]
            yield make_program(f"{one['task_id']}/{name}", program, right, one["test"], one["entry_point"])


def read_hacks(folder: Path) -> Iterator[Row]:
    """Yield programs that solve nothing for each problem of HumanEvalPack."""
    for one in read_lines(folder / "evaluation/create/humaneval-x/data/python/data/humanevalpack.jsonl"):
        for name, hack in HACKS.items():
            program = hack.replace("NAME", one["entry_point"])
            yield make_program(f"{one['task_id']}/{name}", program, False, one["test"], one["entry_point"])


def read_quixbugs(folder: Path) -> Iterator[Row]:
    """Yield the right and the wrong program of each algorithm that has cases in JSON, with the test of the repository."""
    for cases in sorted((folder / "json_testcases").glob("*.json")):
        source = (
            (folder / f"python_testcases/test_{cases.stem}.py").read_text("utf-8").replace("pytest.run_slow", "False")
        )
        data = [json.loads(line) for line in cases.read_text("utf-8").splitlines() if line.strip()]
        data = [[given if isinstance(given, list) else [given], expected] for given, expected in data]
        parts = [f"import pytest\n\ntestdata = {data!r}"]
        for node in ast.parse(source).body:  # the imports of the program and of the cases are left out
            written = ast.unparse(node)
            if isinstance(node, ast.FunctionDef | ast.Assign) and "load_json_testcases" not in written:
                parts.append(written)
        for kind, right in (("correct_python_programs", True), ("python_programs", False)):
            program = (folder / kind / f"{cases.stem}.py").read_text("utf-8")
            yield make_program(
                f"{cases.stem}/{kind}", program, right, "\n\n".join(parts), None, RUN_CASES.format(cases.stem)
            )


def read_refactory(folder: Path) -> Iterator[Row]:
    """Yield the programs that students handed in for five exercises. Each exercise has inputs and outputs."""
    with zipfile.ZipFile(folder / "data.zip") as data:
        texts = {PurePosixPath(name): name for name in sorted(data.namelist()) if not name.endswith("/")}

        def read(path: PurePosixPath) -> str:
            return data.read(texts[path]).decode("utf-8") if path in texts else ""

        for question in sorted({path.parents[1] for path in texts if path.parent.name == "ans"}):
            inputs = [path for path in texts if path.parent == question / "ans" and path.name.startswith("input")]
            pairs = [(read(path), read(path.with_name(path.name.replace("input", "output")))) for path in inputs]
            tests = "\n".join(f"assert {given.strip()} == {result.strip()}" for given, result in pairs)
            before = read(question / "code/global.py")
            for kind in ("correct", "wrong"):
                for path in [path for path in texts if path.parent == question / "code" / kind][:STUDENTS]:
                    program = f"{before}\n{read(path)}"
                    yield make_program(f"{question.name}/{path.name}", program, kind == "correct", tests, None)


def read_cruxeval(folder: Path) -> Iterator[Row]:
    """Yield the outputs that a model predicted for given calls, as programs. Their authors ran them for the labels."""
    problems = {one["id"]: one for one in read_lines(folder / "data/cruxeval.jsonl")}
    file = folder / "samples/evaluation_results/sample_scored_codellama-7b_temp0.2_output.json"
    scored = json.loads(file.read_text("utf-8"))
    for name, texts in scored["raw_generations"].items():
        labels = dict(zip(texts, scored["raw_scored_generations"][name], strict=True))
        for number, (text, right) in enumerate(labels.items()):
            problem = problems[name]
            program = f"def predict():\n    return {text}"
            tests = f"{problem['code']}\n\nassert predict() == f({problem['input']})"
            row = make_program(f"{name}/{number}", program, right, tests, None)
            yield Row(row.id, row.completion, right, problem["output"], text, row.columns, row.script)


def read_solutions(folder: Path, file: str, solution: str, test: str) -> Iterator[Row]:
    """Yield the solutions of a data set in the form of HumanEval."""
    for one in read_lines(folder / file):
        program, call = one["prompt"] + one[solution], f"check({one['entry_point']})"
        yield make_program(one["task_id"], program, True, one[test], one["entry_point"], call)


def read_class_eval(folder: Path) -> Iterator[Row]:
    """Yield the solutions of ClassEval, whose tests are classes of unittest."""
    for one in json.loads((folder / "data/ClassEval_data.json").read_text("utf-8")):
        program = "\n".join([*one["import_statement"], one["solution_code"]])
        yield make_program(one["task_id"], program, True, one["test"], None, "import unittest\nunittest.main()")
