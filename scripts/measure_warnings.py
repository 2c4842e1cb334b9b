"""Measure the warnings about runs: how many faults they find, how soon, and how often they are wrong.

    python scripts/measure_warnings.py run runs/warnings --half first    # about 20 minutes on one core
    python scripts/measure_warnings.py table runs/warnings               # prints the table for docs/commands.md

`run` trains the runs of `planted_runs.py`, one after the other, and leaves out those that are there. `table` judges each of
them after every step, as a trainer would while it runs.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from planted_runs import HALVES, PLANS, Plan, build_trainer


LOG = "trainer_state.json"


def run_plan(plan: Plan, folder: Path) -> None:
    """Train a run and save its log next to the plan. A run that ends with an error is kept as far as it came."""
    start = time.process_time()
    trainer = build_trainer(plan, folder)
    error = ""
    try:
        trainer.train()
    except (RuntimeError, ValueError) as raised:  # such as probabilities of NaN
        error = f"{type(raised).__name__}: {raised}"[:200]
    folder.mkdir(parents=True, exist_ok=True)
    seconds = round(time.process_time() - start, 1)
    state = {"log_history": trainer.state.log_history, "plan": plan.describe(), "error": error, "seconds": seconds}
    (folder / LOG).write_text(json.dumps(state, default=str), "utf-8")
    means = [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]
    ends = f"{sum(means[:6]) / 6:.2f} -> {sum(means[-6:]) / 6:.2f}" if len(means) > 6 else "-"
    print(f"{plan.name}: {len(means)} steps, reward {ends}, {seconds} s {error}", file=sys.stderr, flush=True)


def run_all(folder: Path, half: str, only: str) -> None:
    for plan in PLANS:
        if plan.half == half and only in plan.name and not (folder / plan.name / LOG).exists():
            run_plan(plan, folder / plan.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train the runs of a half")
    run.add_argument("folder", type=Path)
    run.add_argument("--half", choices=HALVES, required=True)
    run.add_argument("--only", default="", metavar="TEXT", help="only runs with this in their names")
    options = parser.parse_args()
    if options.command == "run":
        run_all(options.folder, options.half, options.only)


if __name__ == "__main__":
    main()
