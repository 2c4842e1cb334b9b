"""Put small faults into a copy of the checkout, one at a time, and print which test catches each. Linux only.

    python scripts/mutate.py --seed 0 --number 50 --json faults.json
    python scripts/mutate.py --mutants faults.json --checkout OTHER                        # the same faults there
    python scripts/mutate.py --only trl_grpo_rewards/tools trl_grpo_rewards/batch.py:31    # a folder, and a line

A fault changes one line of a function. The quick tests of the file's folder run, and then tests/test_everywhere.py.
"""

import argparse
import ast
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from pathlib import Path


PAIRS = (("==", "!="), ("<", "<="), (">", ">="), ("and", "or"), ("+", "-"), ("True", "False"))
SWAPS = {**dict(PAIRS), **{other: one for one, other in PAIRS}, "not": "", "is": "is not"}
REMOVED = {ast.Return: "return None", ast.Assign: "pass", ast.AugAssign: "pass", ast.Expr: "pass"}
LEFT_OUT = re.compile(r"raise |(?:logger|warnings)\.|['\"]|@|(?:async )?def |class |if (?:typing\.)?TYPE_CHECKING")


def list_mutants(path: Path, file: str) -> list[dict]:
    found, code, lines = [], set(), path.read_text("utf-8").split("\n")
    functions = [one for one in ast.walk(ast.parse("\n".join(lines))) if type(one).__name__.endswith("FunctionDef")]
    for one in {one for function in functions for one in ast.walk(function) if isinstance(one, ast.stmt)}:
        if not LEFT_OUT.match(ast.unparse(one)):
            code |= {*range(one.lineno, one.body[0].lineno if hasattr(one, "body") else one.end_lineno + 1)}
            if type(one) in REMOVED and one.lineno == one.end_lineno:
                found.append((one.lineno, one.col_offset, len(lines[one.lineno - 1]), REMOVED[type(one)]))
    for kind, text, (line, start), (_, end), _ in tokenize.generate_tokens((f"{line}\n" for line in lines).__next__):
        new = str(int(text) + 1) if kind == tokenize.NUMBER and text.isdecimal() else SWAPS.get(text)
        if line in code and new is not None and not lines[line - 1].startswith("is not", start):
            found.append((line, start, end, new))
    faults = sorted({(line, lines[line - 1][:start] + new + lines[line - 1][end:]) for line, start, end, new in found})
    pairs = [{"file": file, "line": line, "before": lines[line - 1], "after": after} for line, after in faults]
    return [one for one in pairs if one["before"] != one["after"]]


def try_mutant(root: Path, mutant: dict, limit: int) -> str:
    """Return the test that catches a fault, `time limit`, `missed` or `no such line`."""
    path, folder = root / mutant["file"], root / "tests" / Path(mutant["file"]).parts[1]
    lines = path.read_text("utf-8").split("\n") if path.is_file() else []
    places = [place for place, line in enumerate(lines) if line == mutant["before"]]
    if not places:
        return "no such line"
    place = min(places, key=lambda place: abs(place + 1 - mutant["line"]))
    path.write_text("\n".join([*lines[:place], mutant["after"], *lines[place + 1 :]]), "utf-8")
    word, top = re.compile(rf"\b{path.stem}\b"), sorted((root / "tests").glob("test_*.py"))
    tests = [folder] if folder.is_dir() else [one for one in top if word.search(one.read_text("utf-8"))]
    start = f"env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={root} timeout -s KILL {limit} {sys.executable} -m pytest"
    command = [*start.split(), "-x", "-q", "-n0", "-m", "not slow", *tests, root / "tests" / "test_everywhere.py"]
    with (root / "output").open("w+") as output:
        status = subprocess.run(command, cwd=root, stdout=output).returncode
    path.write_text("\n".join(lines), "utf-8")
    named = re.findall(r"^(?:FAILED|ERROR) (\S+)", (root / "output").read_text("utf-8"), re.MULTILINE)
    return {0: "missed", 137: "time limit", -9: "time limit"}.get(status) or (named or [f"status {status}"])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=20, help="number of faults")
    parser.add_argument("--only", nargs="+", default=["trl_grpo_rewards"], metavar="FILE[:LINE]", help="or folders")
    parser.add_argument("--mutants", type=Path, help="the faults of this file, which --json wrote")
    parser.add_argument("--checkout", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--limit", type=int, default=600, help="seconds for the tests of a fault")
    parser.add_argument("--json", type=Path, help="file for the faults and what caught them")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as copy:
        root, wanted = Path(copy), re.compile(rf"(?:{'|'.join(args.only)})(?:$|[:/])")
        shutil.copytree(args.checkout, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        files = [path.relative_to(root).as_posix() for path in sorted(root.glob("trl_grpo_rewards/**/*.py"))]
        every = [one for file in files for one in list_mutants(root / file, file)]
        every = [one for one in every if wanted.match(f"{one['file']}:{one['line']}")]
        random.Random(args.seed).shuffle(every)
        mutants = json.loads(args.mutants.read_text("utf-8")) if args.mutants else every[: args.number]
        for mutant in mutants:
            start, change = time.monotonic(), f"{mutant['before'].strip()} -> {mutant['after'].strip()}"
            mutant["caught"] = try_mutant(root, mutant, args.limit)
            mutant["seconds"] = round(time.monotonic() - start)
            print("{file}:{line}: {0} | {caught} | {seconds} s".format(change, **mutant), flush=True)
    print(f"{sum(one['caught'] not in ('missed', 'no such line') for one in mutants)} of {len(mutants)} are caught.")
    if args.json:
        args.json.write_text(json.dumps(mutants, indent=1), "utf-8")


if __name__ == "__main__":
    main()
