r"""Compare the cost of a step under TRL's `GRPOTrainer` and under ours. To compare what they learn, run `study.py`.

    python scripts/bench_trainer.py --lengths lognormal               # updates on long-tailed completions
    python scripts/bench_trainer.py --lengths lognormal --generation  # whole steps
    torchrun --nproc_per_node 2 scripts/bench_trainer.py --lengths lognormal
    python scripts/bench_trainer.py --memory                          # completions that the bundled model samples
    python scripts/bench_trainer.py --base bare --modes skip          # the cost of group records
    python scripts/bench_trainer.py --model FOLDER --prompts requests --cases lora --bf16  # a model of your own

Runs of both trainers alternate (A B A B ...) in one process, with the same prompts and initial weights, so that other
load on the machine affects both. A scripted reward makes a fixed share of the groups dead, chosen at random in every
step. With `--lengths lognormal`, completions are random tokens, and `--generation` also lets the model generate as many.

The table has a row for each case. Seconds and memory are ours relative to TRL's, as medians over pairs of runs. Token
counts are what each trainer computes for each token that it needs: the prompts and completions of live rows, or of all
rows if dead ones are kept. An update is a step without its generation. With resampling and selective drawing the rows
differ from TRL's, so its token count says little.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from bench_padding import Lengths
from bench_runs import (
    MODES,
    PROMPTS,
    RANK,
    SHAPES,
    WORLD,
    Job,
    compare,
    compare_costs,
    keep_quiet,
    make_model,
    measure_peak,
    show,
)

from trl_grpo_rewards import demo


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "kl": {"options": {"beta": 0.1}},
    "iterations": {"options": {"num_iterations": 2}},
    "lora": {"lora": True},
}
"""What differs from TRL's defaults: a KL term, two updates on each generation, or adapters."""

PRESETS: dict[str, dict[str, Any]] = {
    "sampled": {
        "model": "demo", "rows": 160, "accumulate": 1, "cap": 64, "steps": 5, "pairs": 5, "cases": ["plain"],
        "dead": [0.0, 0.25, 0.5, 0.75, 0.95],
    },
    "lognormal": {
        "model": "small", "rows": 64, "accumulate": 32, "cap": 512, "steps": 2, "pairs": 3, "cases": [*CASES],
        "dead": [0.0, 0.5],
    },
}  # fmt: skip

COLUMNS = {
    "update": "update",
    "step": "step",
    "padding with gradient": "computed / needed with gradient: {base}, ours",
    "padding without gradient": "without gradient",
    "passes": "passes",
    "peak": "peak memory",
}


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lengths", choices=[*PRESETS], default="sampled", help="where completions come from")
    parser.add_argument("--cases", nargs="+", choices=[*CASES])
    parser.add_argument("--dead", type=float, nargs="+", help="shares of dead groups")
    parser.add_argument("--modes", nargs="+", choices=[*MODES], default=["auto"])
    parser.add_argument(
        "--base", choices=["trl", *MODES], default="trl", help="mode that the others are compared with"
    )
    parser.add_argument("--model", help=f"demo, {', '.join(SHAPES)}, or the folder of a model")
    parser.add_argument(
        "--prompts", choices=[*PROMPTS], default="arithmetic", help="what a model that samples answers"
    )
    parser.add_argument("--rows", type=int, help="completions per rank and step")
    parser.add_argument("--accumulate", type=int, help="gradient accumulation steps")
    parser.add_argument("--mean", type=int, default=150, help="mean number of tokens of a lognormal completion")
    parser.add_argument("--cap", type=int, help="maximum number of tokens of a completion")
    parser.add_argument("--prompt", type=int, default=20, help="mean number of tokens of a prompt")
    parser.add_argument("--generation", action="store_true", help="generate as many tokens as are scripted")
    parser.add_argument("--memory", action="store_true", help="also measure peak memory, in new processes")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--steps", type=int, help="generations that are measured, after one that warms up")
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--threads", type=int, default=1, help="threads of each rank on a CPU")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.set_defaults(**PRESETS[parser.parse_known_args()[0].lengths])
    args = parser.parse_args()
    if args.memory and WORLD > 1:
        parser.error("--memory requires one process; torchrun started several. Leave it out or run without torchrun.")
    return args


def find_model(args: argparse.Namespace) -> str:
    """Return the folder of the model, which is made if it has to be."""
    return (
        make_model(args.model, args.bf16) if args.model in SHAPES else {"demo": demo.MODEL}.get(args.model, args.model)
    )


def measure(case: str, dead: float, mode: str, args: argparse.Namespace) -> dict[str, Any]:
    """Return a row of the table."""
    lengths = Lengths(args.mean, args.cap, args.prompt) if args.lengths == "lognormal" else None
    job = Job(
        find_model(args), lengths, args.cap, dead=dead, rows=args.rows, accumulate=args.accumulate,
        steps=args.steps, prompts=args.prompts, generates=args.generation, bf16=args.bf16, **CASES[case],
    )  # fmt: skip
    pairs = [compare(args.base, mode, replace(job, seed=seed)) for seed in range(args.pairs)]
    row = {"case": case, "dead": dead, "mode": mode, **compare_costs(pairs, job)}
    if args.memory:
        theirs, ours = (median(measure_peak(side, job) for _ in pairs) for side in (args.base, mode))
        row["peak"] = ours / theirs
    return row


def main() -> None:
    args = read_options()
    keep_quiet(args.threads)
    rows = []
    if RANK == 0:
        print(
            f"{args.model} model, {WORLD} rank(s), {args.rows} completions per rank, {args.lengths}, cap {args.cap}\n"
        )
        names = [title.format(base=args.base.upper()) for title in COLUMNS.values()]
        print("| case | dead | mode |", " | ".join(names), f"| {args.base.upper()}'s update |")
        print("|---" * (len(names) + 4) + "|")
    for case in args.cases:
        for dead in args.dead:
            for mode in args.modes:
                row = measure(case, dead, mode, args)
                rows.append(row)
                if RANK == 0:
                    cells = " | ".join(show(row.get(name)) for name in COLUMNS)
                    seconds = f"{row['seconds'][0]:.2f} s"
                    print(f"| {case} | {dead:.0%} | {mode} | {cells} | {seconds} |", flush=True)
    if args.json and RANK == 0:
        settings = {name: value for name, value in vars(args).items() if name != "json"}
        args.json.write_text(json.dumps({"ranks": WORLD, "settings": settings, "cases": rows}, indent=1))


if __name__ == "__main__":
    main()
