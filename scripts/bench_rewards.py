r"""Time `boxed()` beside TRL's `accuracy_reward` and bare math-verify, and list every row that they judge differently.

    python scripts/bench_rewards.py                             # all that needs no data
    python scripts/bench_rewards.py --pairs pairs.jsonl.gz      # and real completions: gold, completion, expected

Each side runs in a fresh process that has imported everything and judged one answer of no workload, so that libraries
are loaded and workers are up, and has seen no row of the workload. Both peers get the gold as `$gold$`, which they
read better than bare LaTeX. The runs alternate, `--runs` times; the table shows medians.
"""

import argparse
import gzip
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path


SIDES = ("ours", "trl", "math-verify")
WORKLOADS = {
    "groups": "groups of 8 with numbers as answers",
    "groups10": "the same, 10 times as many",
    "pairs": "real completions with a box",
    "symbolic": "512 different symbolic answers",
    "long": "one completion of 64,000 characters",
}


def groups(count: int) -> list[dict]:
    """Groups of 8 completions with a number in a box, 5 of them right, as of a model that learns GSM8K."""
    rng = random.Random(0)
    rows = []
    for _ in range(count):
        gold, price = rng.randint(2, 5000), rng.randint(2, 99)
        text = f"She buys {gold} of them at ${price} each, so that is {gold} * {price} = {gold * price} in all. " * 4
        for member in range(8):
            answer = gold if member < 5 else gold + rng.randint(1, 9)
            rows.append({"gold": f"{gold}", "completion": f"{text}So it is \\boxed{{{answer}}}."})
    return rows


def symbolic(count: int) -> list[dict]:
    """Different expressions, each against itself in another form or against a wrong one."""
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


def pairs(file: Path) -> list[dict]:
    from trl_grpo_rewards.verify.boxes import boxed_answer, final_part

    with gzip.open(file, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if boxed_answer(final_part(row["completion"])) is not None]
    return [row for row in rows if row["expected"] is not None]


def workload(name: str, file: Path | None) -> list[dict]:
    match name:
        case "groups":
            return groups(256)
        case "groups10":
            return groups(2560)
        case "pairs":
            return pairs(file)
        case "symbolic":
            return symbolic(512)
        case "long":
            return [
                {
                    "gold": r"3\sqrt{13}",
                    "completion": "We try $x = 1$ { and } (so on). " * 2000 + r"\boxed{3\sqrt{13}}",
                }
            ]


def scorer(side: str):
    """What judges a list of rows: a score for each, or None."""
    if side == "ours":
        from trl_grpo_rewards import boxed

        reward = boxed()
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
    """One timed call, in this process."""
    rows, judge = workload(name, file), scorer(side)
    judge([{"gold": r"\sqrt{7}+1", "completion": rf"\boxed{{1+\sqrt{{{k}}}}}"} for k in (5, 6, 7, 8)])
    start = time.perf_counter()
    scores = judge(rows)
    print(json.dumps({"seconds": time.perf_counter() - start, "scores": scores}))


def spawn(side: str, name: str, file: Path | None) -> dict:
    command = [sys.executable, __file__, "--side", side, "--workload", name]
    command += ["--pairs", str(file)] if file else []
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(output.splitlines()[-1])


def reason(row: dict) -> str:
    """Why the two differ, as a class: what our side had to go by."""
    from trl_grpo_rewards.verify.boxes import boxed_answer, final_part
    from trl_grpo_rewards.verify.equality import Terms, is_prose, readings, settled
    from trl_grpo_rewards.verify.golds import read_gold
    from trl_grpo_rewards.verify.latex import plain, same, tidy

    gold, answer = read_gold(row["gold"]), boxed_answer(final_part(row["completion"]))
    if row["completion"].count("\\boxed") + row["completion"].count("\\fbox") > 1:
        return "several boxes: ours takes the last"
    if same(plain(tidy(gold)), plain(tidy(answer))):
        return "same text, which math-verify does not read as equal"
    if readings(gold, answer, Terms()) != [(tidy(gold), tidy(answer))]:
        return "units"
    if settled(gold, answer, Terms()) is not None:
        return "settled as numbers or lists"
    if is_prose(gold) or is_prose(answer):
        return "words that math-verify leaves out"
    return "repaired LaTeX, read whole from the box"


def shown(row: dict) -> str:
    box = row["completion"][max(row["completion"].rfind("\\boxed"), 0) :]
    return " | ".join(" ".join(text.split())[:70] for text in (str(row["gold"]), box))


def compared(rows: list[dict], ours: list, theirs: list) -> list[str]:
    lines = []
    for row, one, other in zip(rows, ours, theirs, strict=True):
        if (one == 1.0) != (other == 1.0):
            label = {None: "no label", True: "labelled right", False: "labelled wrong"}[row.get("expected")]
            lines.append(f"{reason(row)} | ours {one}, math-verify {other}, {label} | {shown(row)}")
    return sorted(lines)


def against_the_labels(rows: list[dict]) -> list[str]:
    """The rows where our verdict is not the label, and whose fault that is, as far as a tolerance can tell."""
    from trl_grpo_rewards import boxed

    columns = {"completions": [row["completion"] for row in rows], "solution": [row["gold"] for row in rows]}
    near = boxed(tolerance=0.02)(**columns)
    lines = []
    for row, score in zip(rows, near, strict=True):
        fault = "the label takes a rounded or a near number" if score == 1.0 else "the label takes a different answer"
        fault = fault if row["expected"] else "the label refuses an equal answer"
        lines.append(f"{fault} | {row.get('source', 'made')} | {shown(row)}")
    return sorted(lines)


def main() -> None:
    beside = Path(__file__).parents[2] / "shared" / "data" / "pairs.dev.jsonl.gz"
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=Path, default=beside if beside.exists() else None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--workload", choices=WORKLOADS, action="append")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        return run_side(args.side, args.workload[0], args.pairs)

    lists, seconds_of = [], {}
    print("| workload | rows | `boxed` rows/s | against TRL | against math-verify | agreement with labels |")
    print("|---|---|---|---|---|---|")
    for name in args.workload or WORKLOADS:
        if name == "pairs" and args.pairs is None:
            print(f"| {WORKLOADS[name]} | left out: give --pairs | | | | |")
            continue
        rows = workload(name, args.pairs)
        results = {side: [] for side in SIDES}
        for _ in range(args.runs):
            for side in SIDES:
                results[side].append(spawn(side, name, args.pairs))
        seconds = {side: statistics.median(run["seconds"] for run in runs) for side, runs in results.items()}
        scores = {side: runs[0]["scores"] for side, runs in results.items()}
        seconds_of[name] = seconds["ours"]
        rate = f"{len(rows) / seconds['ours']:,.0f}" if len(rows) > 1 else f"{seconds['ours'] * 1000:.1f} ms"
        ratios = " | ".join(f"{seconds[side] / seconds['ours']:.1f}x" for side in SIDES[1:])
        labelled = [index for index, row in enumerate(rows) if row.get("expected") is not None]
        agreement = ", ".join(
            f"{sum((scores[side][i] == 1.0) == rows[i]['expected'] for i in labelled) / len(labelled):.4f} ({side})"
            for side in SIDES
            if labelled
        )
        print(f"| {WORKLOADS[name]} | {len(rows)} | {rate} | {ratios} | {agreement} |", flush=True)
        lists.append((name, compared(rows, scores["ours"], scores["math-verify"])))
        disputed = [i for i in labelled if (scores["ours"][i] == 1.0) != rows[i]["expected"]]
        lists.append((f"{name}, against the label", against_the_labels([rows[i] for i in disputed])))
    if {"groups", "groups10"} <= {*seconds_of}:
        print(f"\n10 times the rows take {seconds_of['groups10'] / seconds_of['groups']:.1f} times the time.")
    for name, lines in lists:
        classes = Counter(line.partition(" | ")[0] for line in lines)
        print(
            f"\n{name}: {len(lines)} rows differ", *(f"\n  {count} {kind}" for kind, count in classes.items()), sep=""
        )
        print(*(f"    {line}" for line in lines), sep="\n")


if __name__ == "__main__":
    main()
