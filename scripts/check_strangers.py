"""Check the reward functions in a folder as Python does and as the command line does, and print where the verdicts differ.

    python scripts/check_strangers.py FOLDER
    python scripts/check_strangers.py FOLDER --only h05

Each file has `FUNCS`, the names of its functions, `WEIGHTS`, and `rows()`, which returns the dataset. The command line names the
functions after `--import`. It holds out no rows here, so that both check the same ones.
"""

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from datasets import Dataset

from trl_grpo_rewards.checks import check
from trl_grpo_rewards.registry import read_rewards


NUMBERS = re.compile(r"-?\d[\d.,]*|'[^']*'")  # scores of random rewards and what is quoted may differ from run to run


def check_in_python(folder: Path, name: str) -> dict[str, list[str]]:
    """Return the faults and warnings of `check` in a process of its own, as a user's own process would have them."""
    module = importlib.import_module(name)
    functions = [getattr(module, one) for one in module.FUNCS]
    found = check(read_rewards(functions, module.WEIGHTS), Dataset.from_list(module.rows()))
    return {kind: [text for one in found for text in getattr(one, kind)] for kind in ("faults", "warnings")}


def check_on_the_command_line(folder: Path, name: str) -> dict[str, Any]:
    """Return what `trl-grpo-rewards check --json` says of the same functions and rows."""
    module = importlib.import_module(name)
    weights = module.WEIGHTS or [1.0] * len(module.FUNCS)
    expression = " + ".join(f"{weight} * {one}" for weight, one in zip(weights, module.FUNCS, strict=True))
    with tempfile.TemporaryDirectory() as place:
        Dataset.from_list(module.rows()).to_parquet(f"{place}/rows.parquet")
        line = ["check", "--import", name, "--dataset_name", f"{place}/rows.parquet", "--rewards", expression]
        run = subprocess.run(
            [sys.executable, "-m", "trl_grpo_rewards.cli", *line, "--eval_prompts", "0", "--json"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
    return json.loads(run.stdout) if run.returncode in (0, 1) else {"faults": [run.stderr], "warnings": []}


def summarize(found: dict[str, Any]) -> dict[str, list[str]]:
    return {kind: sorted(NUMBERS.sub("", text) for text in found[kind]) for kind in ("faults", "warnings")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    sys.path.insert(0, str(folder))
    if options.one:
        print(json.dumps(check_in_python(folder, options.one)))
        return
    names, different = sorted(one.stem for one in folder.glob("*.py") if options.only in one.stem), []
    for name in names:
        alone = [sys.executable, os.path.abspath(__file__), str(folder), "--one", name]
        run = subprocess.run(alone, capture_output=True, text=True, check=True)
        in_python, on_line = json.loads(run.stdout.splitlines()[-1]), check_on_the_command_line(folder, name)
        if summarize(in_python) != summarize(on_line):
            different.append(name)
            print(name, *(f"  Python: {text}" for kind in in_python for text in in_python[kind]), sep="\n")
            print(*(f"  command line: {text}" for kind in in_python for text in on_line[kind]), sep="\n", flush=True)
    print(f"{len(names) - len(different)} of {len(names)} have the same faults and warnings.")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
