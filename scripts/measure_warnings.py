"""Measure the warnings about runs: how many faults they find, how soon, and how often they are wrong.

    python scripts/measure_warnings.py run runs/warnings --half first    # about 20 minutes on one core
    python scripts/measure_warnings.py table runs/warnings               # prints the tables, as in docs/commands.md

`run` trains the runs of `planted_runs.py`, one after the other, and leaves out those that are there. `table` judges each of
them after every step, as a trainer would while it runs.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from planted_runs import HALVES, PLANS, Plan, build_trainer

from trl_grpo_rewards.diagnosis.signs import Signs
from trl_grpo_rewards.diagnosis.symptoms import diagnose
from trl_grpo_rewards.diagnosis.table import SYMPTOMS
from trl_grpo_rewards.records.dead_groups import count_lessons
from trl_grpo_rewards.records.files import read_records
from trl_grpo_rewards.report.trends import find_lesson


LOG = "trainer_state.json"
SOON = 20
"""Steps after the onset of a fault within which a warning should name it."""


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


class Judged(NamedTuple):
    """The warnings of one run: the step at which each came first, and those at the end in their order."""

    plan: Plan
    steps: int
    first: dict[str, int]
    last: list[str]

    @property
    def delay(self) -> int | None:
        """Steps from the onset to the first warning that names the fault, or None if none does."""
        named = [self.first[name] for name in self.plan.causes if name in self.first]
        return min(named) - self.plan.onset + 1 if named else None


def judge_run(plan: Plan, folder: Path) -> Judged:
    """Judge a run after each of its steps, from its log and, of our trainer, from its groups."""
    log = json.loads((folder / LOG).read_text("utf-8"))["log_history"]
    log = [entry for entry in log if "reward" in entry or "eval_reward" in entry]
    groups = [*describe_steps(folder)] if plan.trainer == "ours" else []
    weights, first, last = dict(plan.rewards), dict[str, int](), list[str]()
    names = {name: match for name in weights for match in [name_reward(name)]}
    steps = sorted({entry["step"] for entry in log if "reward" in entry})
    for step in steps:
        known = [[one for one in part if one["step"] <= step] for part in (log, groups)]
        signs = Signs(*known, outcome=names[plan.rewards[0][0]], weights={names[one]: weights[one] for one in weights})
        last = [name for name, found in diagnose(signs).items() if found]
        first = dict.fromkeys(last, step) | first
    return Judged(plan, len(steps), first, last)


def name_reward(name: str) -> str:
    """Return the name under which a reward of a plan is logged."""
    if name.endswith("_bonus"):
        return "bonus"
    changed = {"offline": "digit", "against": "digit", "impossible": "digit", "unpaid_accuracy": "accuracy"}
    return changed.get(name, name)


def describe_steps(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what the trainer knows of the groups of each step."""
    steps: dict[int, list[dict[str, Any]]] = {}
    for record in read_records(folder):
        steps.setdefault(record["step"], []).append(record)
    for step, records in steps.items():
        kinds = [record["outcome"] for record in records]
        dead = 1 - kinds.count("live") / len(kinds)
        entry = {"first": step, "step": step, "completions": sum(len(record["total"]) for record in records)}
        yield {**entry, "groups/dead": dead, "lessons": count_lessons(kinds, [*map(find_lesson, records)])}


def write_tables(judged: list[Judged]) -> str:
    """Return a table of the planted faults and one of the warnings."""
    sick, healthy = ([one for one in judged if bool(one.plan.causes) is is_sick] for is_sick in (True, False))
    lines = ["| planted fault | runs | within 20 steps | at any time | delay | first | warnings at the end |"]
    lines.append("|---|---|---|---|---|---|---|")
    for way in dict.fromkeys(one.plan.way for one in sick):
        lines.append(describe_row(f"`{way}`", [one for one in sick if one.plan.way == way]))
    steps = sum(one.steps for one in healthy)
    lines += [describe_row("all", sick), "", f"{len(healthy)} healthy runs, {steps:,} steps", ""]
    lines += [
        "| warning | planted | given | delay | false alarms | per 1,000 healthy steps |",
        "|---|---|---|---|---|---|",
    ]
    for name in [symptom.name for symptom in SYMPTOMS]:
        planted = [one for one in sick if name in one.plan.causes]
        delays = [one.first[name] - one.plan.onset + 1 for one in planted if name in one.first]
        false = sum(name in one.first for one in healthy)
        cells = [f"`{name}`", len(planted), len(delays), middle(delays), false, f"{1000 * false / max(steps, 1):.2f}"]
        lines.append(join_cells(cells))
    false = sum(len(one.first) for one in healthy)
    lines.append(join_cells(["all", "", "", "", false, f"{1000 * false / max(steps, 1):.2f}"]))
    lines += ["", *(f"{one.plan.name}: {one.first}" for one in healthy if one.first)]
    return "\n".join(lines)


def describe_row(title: str, runs: list[Judged]) -> str:
    delays = [one.delay for one in runs if one.delay is not None]
    soon = sum(0 < delay <= SOON for delay in delays)
    first = sum(one.last[:1] != [] and one.last[0] in one.plan.causes for one in runs)
    named = dict.fromkeys(name for one in runs for name in one.last)
    shown = "" if title == "all" else ", ".join(f"`{name}`" for name in named)
    return join_cells([title, len(runs), soon, len(delays), middle(delays), first, shown])


def middle(delays: list[int]) -> str:
    return f"{statistics.median(delays):g}" if delays else "–"


def join_cells(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train the runs of a half")
    run.add_argument("folder", type=Path)
    run.add_argument("--half", choices=HALVES, required=True)
    run.add_argument("--only", default="", metavar="TEXT", help="only runs with this in their names")
    table = commands.add_parser("table", help="judge the runs that are there")
    table.add_argument("folder", type=Path)
    table.add_argument("--half", choices=HALVES, help="only the runs of a half")
    options = parser.parse_args()
    if options.command == "run":
        run_all(options.folder, options.half, options.only)
        return
    chosen = [plan for plan in PLANS if options.half in (None, plan.half)]
    there = [plan for plan in chosen if (options.folder / plan.name / LOG).exists()]
    print(write_tables([judge_run(plan, options.folder / plan.name) for plan in there]))


if __name__ == "__main__":
    main()
