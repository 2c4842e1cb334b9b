r"""Count the tokens that an update computes for each token that it needs, without a model: TRL's trainer and ours.

    python scripts/bench_padding.py                                              # the table of the docs
    python scripts/bench_padding.py --lengths 600:2048 --ranks 1 64 --dead 0.7   # other rows

Needed are the prompts and completions of live rows, without padding. Completions have lognormal lengths, and half of the
variance of their logarithms is between prompts. `--lengths MEAN:CAP` gives the mean before the cap. A ratio of 1 is the
limit. The time of a step is that of the rank with the most tokens, so a second number shows the ratio if every rank
computed as many.
"""

import argparse
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trl_grpo_rewards.training.placement import Size, plan_micro_batches, plan_moves


GROUP = 8
SPREAD = 0.7
"""Standard deviation of the lengths, as a share of their mean."""


class Lengths(NamedTuple):
    """Lognormal numbers of tokens. A completion that reaches the cap is cut."""

    mean: int
    cap: int
    prompt: int

    def draw(self, rng: random.Random, groups: int) -> list["Row"]:
        sigma = math.sqrt(math.log(1 + SPREAD**2))
        half = sigma / math.sqrt(2)
        rows = []
        for _ in range(groups):
            prompt = max(4, round(rng.lognormvariate(math.log(self.prompt) - sigma**2 / 2, sigma)))
            center = math.log(self.mean) - sigma**2 / 2 + rng.gauss(0, half)
            rows += [Row(prompt, min(self.cap, max(4, round(rng.lognormvariate(center, half))))) for _ in range(GROUP)]
        return rows


class Row(NamedTuple):
    """The tokens of a completion and of its prompt."""

    prompt: int
    completion: int
    is_live: bool = True


class Pass(NamedTuple):
    """One forward pass of the model."""

    rows: int
    width: int


Ranks = list[list[Row]]
Passes = list[list[Pass]]


def choose_dead(rng: random.Random, groups: int, share: float) -> set[int]:
    return {*rng.sample(range(groups), round(share * groups))}


def plan_trl(ranks: Ranks, max_rows: int) -> Passes:
    """Return TRL's passes of each rank. All are as wide as the rank's longest prompt plus its longest completion."""
    return [
        [Pass(min(max_rows, len(rows) - start), measure_width(rows)) for start in range(0, len(rows), max_rows)]
        for rows in ranks
    ]


def plan_with_gradient(ranks: Ranks, max_rows: int) -> Passes:
    """Return our passes of each rank."""
    live = [[row for row in rows if row.is_live] for rows in ranks]
    moves = plan_moves([[*map(count_tokens, rows)] for rows in live])
    left = {move[::2] for move in moves}
    spread = [[row for place, row in enumerate(rows) if (rank, place) not in left] for rank, rows in enumerate(live)]
    for move in moves:
        spread[move.target].append(live[move.source][move.place])
    budget = max_rows * max(map(measure_width, ranks))
    return [plan_passes(rows, budget, len(ranks[0]) // max_rows) for rows in spread]


def plan_without_gradient(ranks: Ranks, max_rows: int) -> Passes:
    """Return our passes of each rank, in which no row moves to another rank."""
    return [
        plan_passes([row for row in rows if row.is_live], max_rows * measure_width(rows), len(rows) // max_rows)
        for rows in ranks
    ]


def plan_passes(rows: list[Row], budget: int, most: int) -> list[Pass]:
    sizes = [Size(row.prompt, row.completion) for row in rows]
    return [pad([rows[place] for place in places]) for places in plan_micro_batches(sizes, budget, most, len(rows))]


def count_tokens(row: Row) -> int:
    return row.prompt + row.completion


def measure_width(rows: Sequence[Row]) -> int:
    return max(row.prompt for row in rows) + max(row.completion for row in rows)


def pad(rows: Sequence[Row]) -> Pass:
    return Pass(len(rows), measure_width(rows))


def split_evenly(rows: list[Row], size: int) -> list[list[Row]]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


PLANS = {"TRL": plan_trl, "with gradient": plan_with_gradient, "without gradient": plan_without_gradient}


def simulate(lengths: Lengths, ranks: int, dead: float, args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return for each plan the tokens computed for each token needed, that of the busiest rank, and its passes."""
    rng = random.Random(0)
    needed, totals = 0, {name: {"tokens": 0, "busiest": 0, "passes": 0} for name in PLANS}
    for _ in range(args.trials):
        groups = args.rows * ranks // GROUP
        silent = choose_dead(rng, groups, dead)
        rows = [
            row._replace(is_live=place // GROUP not in silent) for place, row in enumerate(lengths.draw(rng, groups))
        ]
        needed += sum(count_tokens(row) for row in rows if row.is_live)
        for name, plan in PLANS.items():
            passes = plan(split_evenly(rows, args.rows), args.micro_batch)
            tokens = [sum(one.rows * one.width for one in own) for own in passes]
            totals[name]["tokens"] += sum(tokens)
            totals[name]["busiest"] += ranks * max(tokens)
            totals[name]["passes"] += max(map(len, passes))
    return {
        name: {
            "computed / needed": total["tokens"] / needed,
            "of the busiest rank": total["busiest"] / needed,
            "passes": total["passes"] / args.trials,
        }
        for name, total in totals.items()
    }


def read_lengths(text: str) -> tuple[int, int]:
    mean, cap = map(int, text.split(":"))
    return mean, cap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lengths", type=read_lengths, nargs="+", default=[(1500, 4096), (5000, 16384)])
    parser.add_argument("--prompt", type=int, default=300, help="mean number of tokens of a prompt")
    parser.add_argument("--dead", type=float, nargs="+", default=[0.0, 0.5])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--rows", type=int, default=64, help="completions per rank and step")
    parser.add_argument("--micro_batch", type=int, default=2, help="TRL's per_device_train_batch_size")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    results = []
    print("| mean, cap | ranks | dead |", " | ".join(PLANS), "| passes of a rank: TRL, ours |")
    print("|---" * (len(PLANS) + 4) + "|")
    for mean, cap in args.lengths:
        for ranks in args.ranks:
            for dead in args.dead:
                found = simulate(Lengths(mean, cap, args.prompt), ranks, dead, args)
                results.append({"mean": mean, "cap": cap, "ranks": ranks, "dead": dead, **found})
                ratios = " | ".join(
                    f"{one['computed / needed']:.2f} ({one['of the busiest rank']:.2f})" for one in found.values()
                )
                passes = f"{found['TRL']['passes']:.0f}, {found['with gradient']['passes']:.1f}"
                print(f"| {mean:,}, {cap:,} | {ranks} | {dead:.0%} | {ratios} | {passes} |", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"prompt": args.prompt, "rows": args.rows, "cases": results}, indent=1))


if __name__ == "__main__":
    main()
