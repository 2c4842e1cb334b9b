"""Compare the verdicts of two commits on answers, row by row.

    python scripts/compare_verdicts.py HEAD~1                              # with the working tree, on drawn answers
    python scripts/compare_verdicts.py v0.2 HEAD --drawn 500000
    python scripts/compare_verdicts.py HEAD --data answers.jsonl.gz pairs.jsonl.gz

Drawn answers come from `tests/helpers/styled_latex.py`. A row of a file has a `reward` with `args`, a `completion` and
`columns`, or a `gold` with an `answer`, a `completion` or a `pred`, which `boxed()` judges. Rows whose verdicts differ are
printed with both, and with the right one if the row has it.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random


REPOSITORY = Path(__file__).parents[1]
JUDGE = """
import json, sys
from trl_grpo_rewards import parse

rewards = {}
for line in open(sys.argv[1]):
    expression, completion, columns = json.loads(line)[:3]
    try:
        if expression not in rewards:
            rewards[expression] = parse(expression)
        score = rewards[expression](completions=[completion], **{name: [value] for name, value in columns.items()})[0]
    except Exception as error:
        score = f"{type(error).__name__}: {error}"
    print(json.dumps(score), flush=True)
"""


def read_rows(path: Path) -> Iterator[list]:
    """Yield the rows of a file: a reward, a completion, columns, the right score if it is known, and a kind."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        for row in map(json.loads, file):
            if "reward" in row:
                if row["reward"] != "judge":  # it needs a server
                    own = row["reward"] + (row["args"] or "()"), row["completion"], row["columns"]
                    yield [*own, row["right"], row["kind"]]
                continue
            right = None if row.get("expected") is None else float(row["expected"])
            text = row.get("completion") or rf"\boxed{{{row.get('answer') or row['pred']}}}"
            yield ["boxed()", text, {"solution": row["gold"]}, right, path.name]


def draw_rows(count: int, seed: int) -> Iterator[list]:
    """Yield drawn answers, each in another style and with a change."""
    sys.path.insert(0, str(REPOSITORY / "tests"))
    from helpers.styled_latex import are_apart, change, draw_answer, list_values, write

    rng = Random(seed)
    while count > 0:
        tree = draw_answer(rng)
        if list_values(tree) is not None:
            gold, other = write(tree, rng), change(tree, rng)
            yield ["boxed()", rf"\boxed{{{write(tree, rng)}}}", {"solution": gold}, 1.0, f"drawn: {tree[0]}"]
            if are_apart(tree, other):
                yield ["boxed()", rf"\boxed{{{write(other, rng)}}}", {"solution": gold}, 0.0, f"drawn: {tree[0]}"]
            count -= 1


def judge(commit: str | None, rows: Path, folder: Path) -> list:
    """Return the scores of a commit, or of the working tree."""
    source = REPOSITORY
    if commit is not None:
        source = folder / "source"
        subprocess.run(["git", "worktree", "add", "--detach", "--force", source, commit], cwd=REPOSITORY, check=True, capture_output=True)  # fmt: skip
    try:
        environment = {**os.environ, "PYTHONPATH": str(source)}
        command = [sys.executable, "-c", JUDGE, str(rows)]
        output = subprocess.run(
            command, env=environment, cwd=folder, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    finally:
        if commit is not None:
            subprocess.run(["git", "worktree", "remove", "--force", source], cwd=REPOSITORY, check=True)
    return [json.loads(line) for line in output.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", help="a commit")
    parser.add_argument("after", nargs="?", help="another commit; the working tree by default")
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="JSONL files")
    parser.add_argument("--drawn", type=int, default=1000, help="number of drawn answers")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rows = [row for path in args.data for row in read_rows(path)] + [*draw_rows(args.drawn, args.seed)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.jsonl")
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        scores = [judge(commit, file, Path(folder)) for commit in (args.before, args.after)]
    found: Counter[tuple[str, str]] = Counter()
    for (expression, completion, columns, right, kind), before, after in zip(rows, *scores, strict=True):
        if before != after:
            step = "better" if after == right else "worse" if before == right else "other"
            found[kind, step] += 1
            print(f"{step}\t{kind}\t{expression}\t{columns}\t{completion!r}\t{before} -> {after}, right {right}")
    print(f"{found.total()} of {len(rows)} rows differ")
    for (kind, step), count in sorted(found.items()):
        print(f"{count:6} {step:7} {kind}")


if __name__ == "__main__":
    main()
