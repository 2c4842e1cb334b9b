r"""What would these completions earn? Rewards on completions that were sampled before, on a laptop.

    python scripts/score.py "boxed() + 0.2 * tags('think')" runs/addition
    python scripts/score.py "boxed(units='must_match')" completions.jsonl --against "boxed()" --out scored.jsonl

The completions are those of a run's group records (its output directory), of one of TRL's `completions/*.parquet`, or of
lines of JSON with `prompt`, `completion` and the columns that the rewards need.
"""

import argparse
import contextlib
import itertools
import json
import sys
from pathlib import Path

from tqdm import tqdm

from trl_grpo_rewards import parse
from trl_grpo_rewards.cli.datasets import import_rewards
from trl_grpo_rewards.records.completions import read_groups
from trl_grpo_rewards.records.rescoring import (
    Difference,
    Scored,
    Tally,
    difference_text,
    score_groups,
    surprising_rows,
    table,
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0], epilog=__doc__[__doc__.index("    python") :],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("rewards", help="an expression, such as \"boxed() + 0.2 * tags('think')\"")
    parser.add_argument("completions", help="output directory of a run, .parquet table, or lines of JSON")
    parser.add_argument("--against", help="old rewards: show what changes from them")
    parser.add_argument("--out", type=Path, help="write every row with its scores to this file, as lines of JSON")
    parser.add_argument(
        "--import", dest="modules", nargs="+", default=[], help="modules that register rewards of yours"
    )
    return parser.parse_args()


def scored_row(scored: Scored, row: int) -> str:
    group = scored.group
    names = {"prompts": "prompt", "completions": "completion"}
    columns = {
        names.get(name, name): values[row] for name, values in group.columns.items() if name != "completion_ids"
    }
    scores = {name: values[row] for name, values in scored.scores.items()}
    return json.dumps({**columns, "rewards": scores, "total": scored.totals[row]}) + "\n"


def main() -> None:
    args = arguments()
    import_rewards(args.modules)
    rewards = parse(args.rewards)
    old = parse(args.against) if args.against else None
    tally, difference = Tally(), Difference()
    groups, others = itertools.tee(read_groups(args.completions))
    before = score_groups(old, others) if old else itertools.repeat(None)
    unfinished = args.out and args.out.with_name(f"{args.out.name}.unfinished")  # it may be the file that is read
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(unfinished.open("w")) if args.out else None
        bar = stack.enter_context(tqdm(unit=" rows", disable=None))
        for scored, then in zip(score_groups(rewards, groups), before, strict=False):
            tally.add(scored)
            if then is not None:
                difference.add(scored, then)
            for row in range(scored.group.size) if out else ():
                out.write(scored_row(scored, row))
            bar.update(scored.group.size)
    if not tally.groups:
        raise ValueError(f"There is no completion in '{args.completions}'. Name a run that has sampled some.")
    if args.out:
        unfinished.replace(args.out)
    print(table(tally), surprising_rows(tally), sep="\n\n")
    if old:
        print("", difference_text(difference, tally), sep="\n")


if __name__ == "__main__":
    try:
        main()
    except (TypeError, ValueError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
