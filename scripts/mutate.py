"""Put small faults into a copy of the checkout, one at a time, and print which test catches each. Linux only.

    python scripts/mutate.py --seed 0 --number 50 --json faults.json
    python scripts/mutate.py --mutants faults.json --checkout OTHER    # the same faults there

A fault changes one line of a function. The quick tests of the file's folder run, and then tests/test_everywhere.py.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trl_grpo_rewards.sandbox.programs.examination import list_faults


def list_mutants(root: Path, path: Path) -> list[dict]:
    text, file = path.read_text("utf-8"), path.relative_to(root).as_posix()
    lines = text.split("\n") if re.search(r"\bdef ", text) else []
    faults = list_faults(text) if lines else []
    return [{"file": file, "line": row, "before": lines[row - 1], "after": after} for row, after in faults]


def try_mutant(root: Path, mutant: dict, limit: int) -> str:
    """Return the test that catches a fault, `time limit`, `missed` or `no such line`."""
    path, folder = root / mutant["file"], root / "tests" / Path(mutant["file"]).parts[1]
    lines = path.read_text("utf-8").split("\n") if path.is_file() else []
    places = [place for place, line in enumerate(lines) if line == mutant["before"]]
    if not places:
        return "no such line"
    place = min(places, key=lambda place: abs(place + 1 - mutant["line"]))
    path.write_text("\n".join([*lines[:place], mutant["after"], *lines[place + 1 :]]), "utf-8")
    own = [
        one
        for one in root.glob("tests/test_*.py")
        if re.search(rf"\b(test_)?{path.stem}\b", f"{one.stem} {one.read_text('utf-8')}")
    ]
    tests = f"tests/{folder.name}" if folder.is_dir() else " ".join(f"tests/{one.name}" for one in own)
    start = f"PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={root} timeout -s KILL {limit} {sys.executable} -m pytest -xq -n0"
    status = subprocess.call(f"{start} -m 'not slow' {tests} tests/test_everywhere.py > output", cwd=root, shell=True)
    path.write_text("\n".join(lines), "utf-8")
    named = re.findall(r"^(?:FAILED|ERROR) (\S+)", (root / "output").read_text("utf-8"), re.MULTILINE)
    return {0: "missed", 137: "time limit"}.get(status) or (named or [f"status {status}"])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=20, help="number of faults")
    parser.add_argument("--only", nargs="+", default=["trl_grpo_rewards"], metavar="FOLDER or FILE[:LINE]")
    parser.add_argument("--mutants", type=Path, help="the faults of this file, which --json wrote")
    parser.add_argument("--checkout", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--limit", type=int, default=600, help="seconds for the tests of a fault")
    parser.add_argument("--json", type=Path, default="/dev/null", help="file for the faults and what caught them")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as copy:
        root, wanted = Path(copy), re.compile(rf"(?:{'|'.join(args.only)})(?:$|[:/])")
        shutil.copytree(args.checkout, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git", ".*cache"))
        every = [one for path in sorted(root.glob("trl_grpo_rewards/**/*.py")) for one in list_mutants(root, path)]
        every = [one for one in every if wanted.match(f"{one['file']}:{one['line']}")]
        random.Random(args.seed).shuffle(every)
        mutants = json.loads(args.mutants.read_text("utf-8")) if args.mutants else every[: args.number]
        for mutant in mutants:
            start, change = time.monotonic(), f"{mutant['before'].strip()} -> {mutant['after'].strip()}"
            mutant |= {"caught": try_mutant(root, mutant, args.limit), "seconds": round(time.monotonic() - start)}
            print("{file}:{line}: {0} | {caught} | {seconds} s".format(change, **mutant), flush=True)
    print(f"{sum('tests/' in one['caught'] for one in mutants)} of {len(mutants)} faults are caught by a test.")
    args.json.write_text(json.dumps(mutants, indent=1), "utf-8")


if __name__ == "__main__":
    main()
