"""Readers of public sets of answers to mathematical questions."""

import ast
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from .rows import Row, box, make_answer, read_lines


MATHCODER_MODELS = ("MathCoder-L-7b", "MathCoder-L-70b")  # the smallest and the largest one

FIRST = 700
"""Largest number of solutions that are read from a file in which all rows are right, for the time they need."""


def read_grade_school(folder: Path) -> Iterator[Row]:
    """Yield the solutions of four models to GSM8K's test questions. The last line is `A: 18`."""
    for index, problem in enumerate(read_lines(folder / "grade_school_math/data/example_model_solutions.jsonl")):
        gold = problem["ground_truth"].rpartition("A:")[2].strip()
        for model, one in problem.items():
            if isinstance(one, dict):
                text = one["solution"]
                yield make_answer(f"{index}/{model}", text, one["is_correct"], gold, text.rpartition("A:")[2].strip())


def read_hard_verify(folder: Path) -> Iterator[Row]:
    """Yield a right answer and a wrong one for each problem, in a box."""
    for problem in json.loads((folder / "benchmarks/HardVerify-Math.json").read_text("utf-8")):
        for name, right in (("fn_output", True), ("tn_output", False)):
            text = problem[name]
            yield make_answer(f"{problem['id']}/{name}", box(text), right, problem["ground_truth"], text)


def read_rho(folder: Path, task: str, gold: str) -> Iterator[Row]:
    """Yield the outputs of four models of rho on one task."""
    with zipfile.ZipFile(folder / "rho-1/outputs.zip") as outputs:
        for name in sorted(outputs.namelist()):
            _, model, *rest = name.split("/")
            if rest[:1] == [task] and name.endswith(".jsonl"):
                for line in outputs.read(name).decode("utf-8").splitlines():
                    one = json.loads(line)
                    id = f"{model}/{one['idx']}"
                    yield make_answer(id, one["code"][0], one["score"][0], one[gold], one["pred"][0])


def read_mathcoder(folder: Path, task: str) -> Iterator[Row]:
    """Yield one run of two models of MathCoder on one task, which its authors split into right and wrong."""
    for model in MATHCODER_MODELS:
        for right in sorted((folder / "outs" / model / task).glob("*-correct.jsonl")):
            wrong = right.with_name(right.name.replace("-correct", "-wrong"))
            if wrong.is_file():
                yield from read_run(right, True)
                yield from read_run(wrong, False)
                break


def read_run(file: Path, right: bool) -> Iterator[Row]:
    for index, one in enumerate(read_lines(file)):
        parts = [part["content"] for part in one["debug_result"][2:-1]]  # the last part repeats the answer
        gold = str(one["ground_truth"]["answer"])
        id = f"{file.parts[-3]}/{'right' if right else 'wrong'}/{index}"
        yield make_answer(id, "\n".join(parts), right, gold, one["completion"])


def read_math_verify(folder: Path) -> Iterator[Row]:
    """Yield the cases of math-verify's own tests that have a gold, a prediction and a verdict, and no option."""
    for file in sorted((folder / "tests").glob("test_*.py")):
        number = 0
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or len(node.args) != 2 or not isinstance(node.args[1], ast.List):
                continue
            names = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
            if re.sub(r"\s", "", str(names)) == "gold,pred,expected":
                for case in node.args[1].elts:
                    number += 1
                    if all(isinstance(part, ast.Constant) for part in getattr(case, "elts", [case])):
                        gold, answer, right = ast.literal_eval(case)
                        yield make_answer(f"{file.stem}/{number}", answer, right, gold, answer)


def read_mario(folder: Path) -> Iterator[Row]:
    """Yield the solutions of MATH that people annotated as something else than a real number, each in a box."""
    for one in json.loads((folder / "data/math_testset_annotation.json").read_text("utf-8")):
        if one["human_type"] != "Real":
            yield make_answer(str(one["index"]), box(one["answer"]), True, one["answer"], one["answer"])


def read_own_text(folder: Path, file: str, gold: str, completion: str | None = None) -> Iterator[Row]:
    """Yield solutions that are right by themselves: each in a box, or the text of a column."""
    for index, one in enumerate(read_lines(folder / file)[:FIRST]):
        text = one[gold][0] if isinstance(one[gold], list) else one[gold]
        yield make_answer(str(index), one[completion] if completion else box(text), True, text, text)
