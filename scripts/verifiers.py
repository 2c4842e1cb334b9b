r"""
Judge public sets of labelled answers, programs, tool calls and responses, and write one table of all verifiers.

    python scripts/verifiers.py --fetch sets           # clones the repositories at their commits into sets/, with git
    python scripts/verifiers.py sets/*                 # writes verifiers.md and verifiers.json
    python scripts/verifiers.py sets/* --only quixbugs

Each folder is a clone of a repository in the table `verifier_table/sets.toml`, of open-r1 or of verifiers. The sets in
it are recognised by their paths. Each judge runs in a process of its own. Judges that are not installed are named as not
run. `verifier_table/adjudicated.jsonl` has the labels that we found wrong; the page shows the figures with and without.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from verifier_table.figures import ADJUDICATED, read_rulings, summarize, write_signs
from verifier_table.judges import JUDGES, OPEN_R1, VERIFIERS, WARM, NotRun, find_versions
from verifier_table.page import write_page, write_table
from verifier_table.rows import LabelledSet
from verifier_table.sets import SETS, find_sets


PEERS = (
    ("huggingface/open-r1", "1416fa0cf21595d2083b399a2a0bbddd7f6e9563", (f"src/{OPEN_R1}",)),
    ("PrimeIntellect-ai/verifiers", "a60a606ecc4d309247edf9ff92c3eabca362781f", VERIFIERS),
)
"""Repositories of peers that are read from a clone, with their commits and the files that are needed."""


def fetch(folder: Path, only: list[str] | None) -> None:
    """Clone the repositories of the sets at their commits, with only the files that are needed."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for one in SETS:
        if not only or one.name in only:
            wanted.setdefault((one.repository, one.commit), set()).update(one.files)
    if not only:
        wanted.update({(repository, commit): set(files) for repository, commit, files in PEERS})
    for (repository, commit), files in wanted.items():
        clone = folder / repository.replace("/", "+")
        if clone.exists():
            continue
        url = f"https://github.com/{repository}"
        run_git("clone", "--quiet", "--filter=blob:none", "--no-checkout", url, str(clone))
        run_git("-C", str(clone), "sparse-checkout", "set", "--no-cone", *sorted(files))
        run_git("-C", str(clone), "checkout", "--quiet", commit)
        print(f"{clone}: {commit}", flush=True)


def run_git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True)


def read_commit(folder: Path) -> str | None:
    """Return the commit of a work tree, or None if the folder is not one."""
    command = ["git", "-C", str(folder), "rev-parse", "--verify", "HEAD"]
    ended = subprocess.run(command, capture_output=True, text=True)
    return ended.stdout.strip() if not ended.returncode else None


def judge_here(one: LabelledSet, folder: Path, judge: str, folders: list[Path]) -> dict[str, Any]:
    """Return the verdicts of a judge on a set, and the seconds that it took."""
    rows = [*one.read(folder)]
    try:
        judge_all = JUDGES[one.kind][judge](one, folders)
    except NotRun as error:
        return {"not_run": str(error)}
    judge_all([WARM[one.kind]])
    start = time.perf_counter()
    verdicts = judge_all(rows)
    return {"seconds": round(time.perf_counter() - start, 6), "verdicts": write_signs(verdicts)}


def judge_apart(one: LabelledSet, judge: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the same from a new process, which is stopped after the time limit."""
    command = [sys.executable, __file__, *map(str, options.folders), "--only", one.name, "--judge", judge]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return {"not_run": f"it did not end within {options.timeout:g} seconds"}
    if ended.returncode:
        print(ended.stderr[-2000:], file=sys.stderr)
        return {"not_run": f"its process ended with {ended.returncode}"}
    return json.loads(ended.stdout.splitlines()[-1])


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", help="clones of repositories")
    parser.add_argument("--fetch", type=Path, metavar="DIR", help="clone the repositories into this folder, and end")
    parser.add_argument(
        "--only", action="append", choices=[one.name for one in SETS], help="only this set; repeatable"
    )
    parser.add_argument("--output", type=Path, default=Path("verifiers"), help="path of the two files, without suffix")
    parser.add_argument(
        "--reuse", type=Path, metavar="JSON", help="take verdicts from an earlier file, where it has them"
    )
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds that a judge may take for a set")
    parser.add_argument("--adjudicated", type=Path, default=ADJUDICATED, help="JSON lines: set, row, label, reason")
    parser.add_argument("--judges", action="append", help="only this judge; repeatable")
    parser.add_argument("--judge", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.folders and not options.fetch:
        parser.error("expected the folders of clones, or --fetch DIR; found neither. --fetch makes the clones")
    return options


def main() -> None:
    options = read_options()
    if options.fetch:
        return fetch(options.fetch, options.only)
    found = [pair for pair in find_sets(options.folders) if not options.only or pair[0].name in options.only]
    if not found:
        raise SystemExit("No folder has a set of the table. Expected clones of repositories; --fetch DIR makes them.")
    if options.judge:
        print(json.dumps(judge_here(*found[0], options.judge, options.folders)))
        return
    earlier = json.loads(options.reuse.read_text("utf-8")) if options.reuse else {"sets": []}
    known = {(one["name"], one["rows"]): one["judges"] for one in earlier["sets"]}
    results, rulings = [], read_rulings(options.adjudicated)
    versions = find_versions()
    for folder in options.folders:
        for name, file in (("open-r1", f"src/{OPEN_R1}"), ("verifiers", VERIFIERS[0])):
            if (folder / file).is_file():
                versions[name] = (read_commit(folder) or "a folder")[:12]
    for one, folder in found:
        rows = [*one.read(folder)]
        before = known.get((one.name, len(rows)), {})
        runs = {
            judge: {key: before[judge][key] for key in ("seconds", "verdicts")}
            if judge in before
            else judge_apart(one, judge, options)
            for judge in JUDGES[one.kind]
            if not options.judges or judge in options.judges
        }
        results.append({**summarize(one, rows, runs, rulings), "commit": read_commit(folder)})
        print(f"{one.name}: {len(rows)} rows; {results[-1]['standing']}", file=sys.stderr, flush=True)
        table = {"versions": versions, "sets": results}
        options.output.with_suffix(".json").write_text(json.dumps(table, indent=1), "utf-8")
        options.output.with_suffix(".md").write_text(write_page(table), "utf-8")
    print(write_table(table))


if __name__ == "__main__":
    main()
