r"""Score completions that were sampled before. This needs no GPU.

    python scripts/score.py "boxed() + 0.2 * tags('think')" runs/addition
    python scripts/score.py "boxed(units='must_match')" completions.jsonl --against "boxed()" --out scored.jsonl

Completions are read from the group records of a run (pass its output directory), from one of TRL's tables
(`completions/*.parquet`), or from a file with lines of JSON. Each line has `prompt`, `completion` and the columns that
the rewards need.
"""

import argparse
import contextlib
import itertools
import json
from pathlib import Path

from tqdm import tqdm

from trl_grpo_rewards import parse
from trl_grpo_rewards.cli.commands import exit_on, import_rewards
from trl_grpo_rewards.records.completions import read_groups
from trl_grpo_rewards.records.rescoring import (
    Difference,
    ScoredGroup,
    Tally,
    format_difference,
    format_surprising,
    format_table,
    rescore,
)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0], epilog=__doc__[__doc__.index("    python") :],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("rewards", help="an expression, such as \"boxed() + 0.2 * tags('think')\"")
    parser.add_argument("completions", help="output directory of a run, .parquet table, or file with lines of JSON")
    parser.add_argument("--against", help="old rewards, to show what the new ones change")
    parser.add_argument("--out", type=Path, help="write every row with its scores to this file, as lines of JSON")
    parser.add_argument(
        "--import", dest="modules", nargs="+", default=[], help="modules that register your own rewards"
    )
    return parser.parse_args()


def format_row(scored: ScoredGroup, row: int) -> str:
    group = scored.group
    names = {"prompts": "prompt", "completions": "completion"}
    columns = {
        names.get(name, name): values[row] for name, values in group.columns.items() if name != "completion_ids"
    }
    scores = {name: values[row] for name, values in scored.scores.items()}
    return json.dumps({**columns, "rewards": scores, "total": scored.totals[row]}) + "\n"


def main() -> None:
    args = parse_arguments()
    import_rewards(args.modules)
    rewards = parse(args.rewards)
    old = parse(args.against) if args.against else None
    tally, difference = Tally(), Difference()
    groups, copies = itertools.tee(read_groups(args.completions))
    scored_by_old = rescore(old, copies) if old else itertools.repeat(None)
    unfinished = args.out and args.out.with_name(f"{args.out.name}.unfinished")  # --out may be the file that is read
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(unfinished.open("w")) if args.out else None
        bar = stack.enter_context(tqdm(unit=" rows", disable=None))
        for scored, before in zip(rescore(rewards, groups), scored_by_old, strict=False):
            tally.add(scored)
            if before is not None:
                difference.add(scored, before)
            for row in range(scored.group.size) if out else ():
                out.write(format_row(scored, row))
            bar.update(scored.group.size)
    if not tally.groups:
        raise ValueError(f"'{args.completions}' has no completions. Choose a run that has sampled some.")
    if args.out:
        unfinished.replace(args.out)
    print(format_table(tally), format_surprising(tally), sep="\n\n")
    if old:
        print("", format_difference(difference, tally), sep="\n")


if __name__ == "__main__":
    with exit_on(TypeError, ValueError, OSError):
        main()
