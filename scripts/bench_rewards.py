r"""Compare `boxed()` with TRL's `accuracy_reward` and with math-verify: speed, and agreement with labels.

    python scripts/bench_rewards.py                             # the workloads that need no data
    python scripts/bench_rewards.py --pairs pairs.jsonl.gz      # also completions: gold, completion, expected

Each side runs in a new process. It first scores a few answers that are not in the workload, so that libraries are
loaded and processes have started. TRL and math-verify get the gold as `$gold$`, which they read better than bare LaTeX.
The sides take turns, `--runs` times each. The table shows medians.

Without --pairs, completions are read from pairs.dev.jsonl.gz in the folder that TRL_GRPO_REWARDS_DATA names. A second table
counts wrong answers that are paid and right ones that are refused, on the attack cases in that folder and on the cases of
the package reward-doctor if it is installed. `scripts/verifiers.py` does so for public sets, and lists the rows.
"""

import argparse
import gzip
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path


SIDES = ("ours", "trl", "math-verify")
WORKLOADS = {
    "groups": "groups of 8 with numbers as answers",
    "pairs": "completions with a box",
    "symbolic": "512 different symbolic answers",
    "long": "one completion of 64,000 characters",
}


JUDGED = ("attack", "reward-doctor")
"""Sets of cases with the verdict that mathematics wants. They are not timed."""


def make_groups(count: int) -> list[dict]:
    """Return groups of 8 completions with a number in a box, 5 of them right, similar to those of a model on GSM8K."""
    rng = random.Random(0)
    rows = []
    for _ in range(count):
        gold, price = rng.randint(2, 5000), rng.randint(2, 99)
        text = f"She buys {gold} of them at ${price} each, so that is {gold} * {price} = {gold * price} in all. " * 4
        for member in range(8):
            answer = gold if member < 5 else gold + rng.randint(1, 9)
            rows.append({"gold": f"{gold}", "completion": f"{text}So it is \\boxed{{{answer}}}."})
    return rows


def make_symbolic(count: int) -> list[dict]:
    """Return different expressions, each with an equal one in another form or with a wrong one."""
    rng = random.Random(0)
    rows = []
    for index in range(count):
        a, b, c = rng.sample(range(2, 60), 3)
        gold, right, wrong = rng.choice(
            [
                (f"{a}\\sqrt{{{b}}}+{c}", f"{c}+\\sqrt{{{a * a * b}}}", f"{c}+{a + 1}\\sqrt{{{b}}}"),
                (
                    f"\\frac{{{a}\\pi}}{{{b}}}",
                    f"\\pi\\cdot\\frac{{{2 * a}}}{{{2 * b}}}",
                    f"\\frac{{{a}\\pi}}{{{b + 1}}}",
                ),
                (f"x^2-{a * a}", f"(x-{a})(x+{a})", f"(x-{a})(x+{a + 1})"),
                (f"\\frac{{x+{a}}}{{{b}}}", f"\\frac{{x}}{{{b}}}+\\frac{{{a}}}{{{b}}}", f"\\frac{{x+{c}}}{{{b}}}"),
            ]
        )
        answer = f"{right}+{index}" if index % 2 else f"{wrong}+{index}"
        rows.append(
            {"gold": f"{gold}+{index}", "completion": f"Hence $\\boxed{{{answer}}}$.", "expected": index % 2 == 1}
        )
    return rows


def read_pairs(file: Path) -> list[dict]:
    from trl_grpo_rewards.answers.statements import find_boxed_answer
    from trl_grpo_rewards.texts import strip_reasoning

    with gzip.open(file, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if find_boxed_answer(strip_reasoning(row["completion"])) is not None]
    return [row for row in rows if row["expected"] is not None]


def read_lines(file: Path) -> list[dict]:
    with gzip.open(file, "rt") as lines:
        return [json.loads(line) for line in lines]


def read_reward_doctor_cases() -> list[dict]:
    from reward_doctor.corpus import load

    return [{"gold": case.reference, "completion": case.completion, "expected": case.expect} for case in load()]


def make_workload(name: str, file: Path | None) -> list[dict]:
    match name:
        case "groups":
            return make_groups(256)
        case "pairs":
            return read_pairs(file)
        case "attack":
            return [
                row for row in read_lines(file.parent / "answers_attack.dev.jsonl.gz") if row["expected"] is not None
            ]
        case "reward-doctor":
            return read_reward_doctor_cases()
        case "symbolic":
            return make_symbolic(512)
        case "long":
            return [
                {
                    "gold": r"3\sqrt{13}",
                    "completion": "We try $x = 1$ { and } (so on). " * 2000 + r"\boxed{3\sqrt{13}}",
                }
            ]


def make_scorer(side: str, name: str):
    """Return the function of one side. It returns a score, or None, for each row of a list."""
    if side == "ours":
        from trl_grpo_rewards import answer, boxed

        reward = answer() if name == "reward-doctor" else boxed()  # its completions have no box
        return lambda rows: reward(
            completions=[row["completion"] for row in rows], solution=[row["gold"] for row in rows]
        )
    from math_verify import parse, verify
    from trl.rewards import accuracy_reward

    def with_dollars(row: dict) -> str:
        gold = str(row["gold"])
        return gold if "$" in gold or "\\boxed" in gold else f"${gold}$"

    if side == "math-verify":
        return lambda rows: [float(verify(parse(with_dollars(row)), parse(row["completion"]))) for row in rows]
    return lambda rows: accuracy_reward(
        [[{"role": "assistant", "content": row["completion"]}] for row in rows], [with_dollars(row) for row in rows]
    )


def run_side(side: str, name: str, file: Path | None) -> None:
    """Time one call in this process, and print the seconds and the scores as JSON."""
    rows, score = make_workload(name, file), make_scorer(side, name)
    score([{"gold": r"\sqrt{7}+1", "completion": rf"\boxed{{1+\sqrt{{{k}}}}}"} for k in (5, 6, 7, 8)])
    score([{"gold": "2", "completion": rf"\boxed{{\lim_{{x \to 0}} (x+{k})}}"} for k in (2, 3, 4, 5)])
    start = time.perf_counter()
    scores = score(rows)
    print(json.dumps({"seconds": time.perf_counter() - start, "scores": scores}))


def spawn_side(side: str, name: str, file: Path | None) -> dict:
    """Run one side in a new process, and return what it prints."""
    command = [sys.executable, __file__, "--side", side, "--workload", name]
    command += ["--pairs", str(file)] if file else []
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(output.splitlines()[-1])


def count_errors(rows: list[dict], scores: list) -> tuple[int, int]:
    """Return how many wrong answers are paid and how many right ones are not."""
    pairs = [(score == 1.0, row["expected"]) for row, score in zip(rows, scores, strict=True)]
    return pairs.count((True, False)), pairs.count((False, True))


def print_errors(folder: Path | None) -> None:
    """Print the table of false pays and false refusals."""
    names = ["attack"] if folder else []
    names += ["reward-doctor"] if importlib.util.find_spec("reward_doctor") else []
    sides = ", ".join(SIDES)
    print(f"\n| set | wrong answers | paid: {sides} | right answers | refused: {sides} |")
    print("|---|---|---|---|---|")
    for name in names:
        file = folder and folder / "pairs.dev.jsonl.gz"
        rows = make_workload(name, file)
        errors = [count_errors(rows, spawn_side(side, name, file)["scores"]) for side in SIDES]
        paid, refused = (", ".join(map(str, counts)) for counts in zip(*errors, strict=True))
        right = sum(row["expected"] for row in rows)
        print(f"| {name} | {len(rows) - right} | {paid} | {right} | {refused} |", flush=True)


def main() -> None:
    folder = os.environ.get("TRL_GRPO_REWARDS_DATA")  # see CONTRIBUTING.md
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=Path, default=Path(folder, "pairs.dev.jsonl.gz") if folder else None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workload", choices=[*WORKLOADS, *JUDGED], action="append")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        return run_side(args.side, args.workload[0], args.pairs)

    print("| workload | rows | `boxed` rows/s | against TRL | against math-verify | agreement with labels |")
    print("|---|---|---|---|---|---|")
    for name in args.workload or WORKLOADS:
        if name == "pairs" and args.pairs is None:
            print(f"| {WORKLOADS[name]} | left out: give --pairs or set TRL_GRPO_REWARDS_DATA | | | | |")
            continue
        rows = make_workload(name, args.pairs)
        results = {side: [] for side in SIDES}
        for _ in range(args.runs):
            for side in SIDES:
                results[side].append(spawn_side(side, name, args.pairs))
        seconds = {side: statistics.median(run["seconds"] for run in runs) for side, runs in results.items()}
        scores = {side: runs[0]["scores"] for side, runs in results.items()}
        rate = f"{len(rows) / seconds['ours']:,.0f}" if len(rows) > 1 else f"{seconds['ours'] * 1000:.1f} ms"
        ratios = " | ".join(f"{seconds[side] / seconds['ours']:.1f}x" for side in SIDES[1:])
        labelled = [index for index, row in enumerate(rows) if row.get("expected") is not None]
        agreement = ", ".join(
            f"{sum((scores[side][i] == 1.0) == rows[i]['expected'] for i in labelled) / len(labelled):.4f} ({side})"
            for side in SIDES
            if labelled
        )
        print(f"| {WORKLOADS[name]} | {len(rows)} | {rate} | {ratios} | {agreement} |", flush=True)
    print_errors(Path(folder) if folder else None)


if __name__ == "__main__":
    main()
