r"""`trl-grpo-rewards score`: score completions that were sampled before."""

import argparse
import contextlib
import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.cells import cell_len
from tqdm import tqdm

from ..batch import TRAINER_DATA
from ..expressions import Reward
from ..files import replace_file
from ..function_rewards import find_functions
from ..records.files import Group, list_parts, read_groups
from ..records.rescoring import ScoredGroup, Tally, rescore
from ..records.runs import RUN_FILE, read_run
from ..scores import format_score
from ..texts import completion_text, prompt_text
from . import console


QUARTILES = (0, 0.25, 0.5, 0.75, 1)
MAX_LISTED = 4  # different scores that are listed with their shares; more of them are summarized by quartiles
WHOLE = 1_000_000  # columns for all details, which are not cut


def build_parser() -> console.CommandParser:
    parser = console.CommandParser(
        prog="trl-grpo-rewards score",
        description="Score completions that were sampled before. This needs no GPU.",
        epilog=console.TEXTS["score"],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rewards", nargs="?", help="an expression of rewards; default: the rewards of the run")
    parser.add_argument("completions", help="output directory of a run, .parquet table, or JSON Lines file")
    parser.add_argument("--against", help="old rewards to compare with the new ones")
    parser.add_argument("--out", type=Path, help="write every row with its scores to this JSON Lines file")
    modules: dict[str, Any] = {"dest": "modules", "metavar": "MODULE", "action": "append", "default": []}
    parser.add_argument("--import", **modules, help="module that registers your own rewards; can be repeated")
    trust = "allow the recorded rewards of a run to contact servers and start programs"
    parser.add_argument("--trust", action="store_true", help=trust)
    parser.add_argument("--details", action="store_true", help="print the table and the examples in full")
    parser.add_argument("--json", action="store_true", help="print the statistics as JSON")
    return parser


def read_rewards(args: argparse.Namespace, expression: str | None) -> Reward:
    """Read an expression, by default that of the run. An error names modules that the run has imported and this command has not."""
    run = read_run(args.completions) or {}
    missing = [name for name in run.get("modules") or [] if name not in args.modules]
    if expression is None and (not run.get("is_expression") or "__main__" in missing):
        reason = f"there is no readable {RUN_FILE} for '{args.completions}'"
        if run:
            reason = f"{run['rewards']} contains functions that cannot be imported again"
        raise ValueError(
            f"Without rewards, the rewards of the run are used, but {reason}. Give rewards first, and then the completions: "
            f'trl-grpo-rewards score "boxed()" runs/addition.'
        )
    try:
        rewards = console.build_rewards(run["rewards"] if expression is None else expression, args.modules)
    except ValueError as error:
        named = " ".join(f"--import {name}" for name in missing)
        raise ValueError(f"{error} The run has imported other modules: add {named}." if missing else error) from None
    if expression is None and (contacts := list_contacts(rewards)) and not args.trust:
        raise ValueError(
            f"The rewards of this run ask servers or start programs, and anybody may have written the run. {' '.join(contacts)} Add "
            f"--trust if you know them, or give other rewards first."
        )
    return rewards


def list_contacts(reward: Reward) -> list[str]:
    """Return a sentence about each reward that asks a server, with the key's variable, and about those that start programs."""
    programs = console.list_programs(reward)
    contacts = [f"Programs are run with {', '.join(programs)}."] if programs else []
    for function in find_functions(reward):
        if function.factory.traits.get("asks"):
            options = {**function.options}
            server = options.get("base_url") or os.environ.get("OPENAI_BASE_URL") or "the default server"
            key = f" with the key in {options['api_key_env']}" if "api_key_env" in options else ""
            contacts.append(f"{function.name} asks {server}{key}.")
    return [*dict.fromkeys(contacts)]


def format_row(scored: ScoredGroup, row: int) -> str:
    names = {"prompts": "prompt", "completions": "completion"}
    kept = {name: values[row] for name, values in scored.group.columns.items() if name != "completion_ids"}
    scores = {name: values[row] for name, values in scored.scores.items()}
    columns = {names.get(name, name): value for name, value in kept.items()}
    return json.dumps({**columns, "rewards": scores, "total": scored.totals[row]}) + "\n"


def main(arguments: Sequence[str]) -> None:
    args = build_parser().read(arguments)
    with console.exit_on(TypeError, ValueError, OSError, ImportError):
        with console.keep_stdout_for_json(args.json):
            rewards = read_rewards(args, args.rewards)
            old = read_rewards(args, args.against) if args.against else None
            for contact in [*list_contacts(rewards), *(list_contacts(old) if old else ())]:
                print(console.make_printable(contact), file=sys.stderr)
            found = describe_scores(score(args, rewards, old))
    if args.json:
        console.print_json({"expression": str(rewards), "against": None if old is None else str(old), **found})
    else:
        print(summarize_scores(found, has_details=args.details))


def score(args: argparse.Namespace, rewards: Reward, old: Reward | None) -> Tally:
    if args.out and (args.out.is_dir() or args.out.resolve() in map(Path.resolve, list_parts(args.out.parent))):
        raise ValueError(
            f"--out must be a new file, but '{args.out}' is a folder or has group records. Choose another one."
        )
    tally = Tally()
    groups = read_groups(args.completions)
    first = [*itertools.islice(groups, 1)]
    for function in itertools.chain(*(find_functions(one) for one in (rewards, old) if one)):
        for group in first:
            function.check_columns({*group.columns} - TRAINER_DATA)
    groups = itertools.chain(first, groups)
    scored_by_old: Iterable[ScoredGroup | None] = itertools.repeat(None)
    if old:  # a copy that nobody reads would keep all groups in memory
        groups, copies = itertools.tee(groups)
        scored_by_old = rescore(old, copies)
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(replace_file(args.out)) if args.out else None  # it may be the file that is read
        bar = stack.enter_context(tqdm(unit=" rows", disable=None))
        for scored, before in zip(rescore(rewards, groups), scored_by_old, strict=False):
            tally.add(scored, before)
            if out is not None:
                out.writelines(format_row(scored, row) for row in range(scored.group.size))
            bar.update(scored.group.size)
        if not tally.groups:
            raise ValueError(f"'{args.completions}' has no completions. Choose a run that has sampled some.")
    return tally


def describe_scores(tally: Tally) -> dict[str, Any]:
    surprising = sorted((entry for entry in tally.surprising if entry[0] > 0), key=lambda entry: -entry[0])
    examples = [
        {"before": then, "now": now, **describe_row(scored.group, row)}
        for then, now, scored, row in itertools.chain(*tally.examples.values())
    ]
    changes = {way: tally.changes[way] for way in ("equal", "more", "less")}
    return {
        "groups": tally.groups,
        "dead_groups": tally.dead,
        "rows": tally.scores["total"].total(),
        "rewards": [describe_reward(tally, name) for name in tally.scores],
        "surprising": [
            {"surprise": surprise, "total": scored.totals[row], **describe_row(scored.group, row)}
            for surprise, _, row, scored in surprising
        ],
        "difference": {**changes, "dead_groups": tally.dead_before, "examples": examples} if tally.changes else None,
    }


def describe_reward(tally: Tally, name: str) -> dict[str, Any]:
    """Return the statistics of one reward, or of the total. A value that is not known is None."""
    scores = Counter({score: number for score, number in tally.scores[name].items() if score is not None})
    values, seconds = [*scores.elements()], tally.seconds.get(name)
    listed = sorted(scores.items()) if len(scores) <= MAX_LISTED else ()
    times = {f"p{part}": 1000 * float(np.percentile(seconds, part)) for part in (50, 99)} if seconds else None
    same, seen = tally.matches.get(name, (0, 0))
    return {
        "name": name,
        "mean": sum(values) / len(values) if values else None,
        "unscored": tally.scores[name][None],
        "shares": [{"score": score, "share": number / len(values)} for score, number in listed] or None,
        "quartiles": np.quantile(values, QUARTILES, method="nearest").tolist() if values else None,
        "milliseconds": times,
        "as_recorded": same / seen if seen else None,
    }


def describe_row(group: Group, row: int) -> dict[str, str]:
    prompt = prompt_text(group.columns["prompts"][row]) if group.columns.get("prompts") else ""
    return {"prompt": prompt, "completion": completion_text(group.columns["completions"][row])}


def summarize_scores(found: dict[str, Any], *, has_details: bool) -> str:
    rows = [["reward", "mean", "None", "scores", "unchanged", "p99 ms"]]
    for one in found["rewards"]:
        scores = ", ".join(f"{part['score']:.4g}: {part['share']:.1%}" for part in one["shares"] or ())
        if one["quartiles"] and not scores:
            scores = "quartiles " + ", ".join(f"{value:.4g}" for value in one["quartiles"])
        time, unscored = (one["milliseconds"] or {}).get("p99"), f"{one['unscored'] / found['rows']:.1%}"
        cells = [one["name"], show(one["mean"], ".3f"), unscored, scores]
        rows.append([*cells, show(one["as_recorded"], ".1%"), show(time, ".3f")])
    columns = WHOLE if has_details else console.get_width()
    groups, difference = found["groups"], found["difference"]
    old = f", and {difference['dead_groups'] / groups:.1%} under the old rewards" if difference else ""
    lines = console.format_table(rows, "<>><>>", columns)
    lines += ["", f"{console.count(groups, 'group')}; {found['dead_groups'] / groups:.1%} would be dead{old}"]
    examples = {"largest outliers within their group:": [(format_score(x["total"]), x) for x in found["surprising"]]}
    if difference:
        equal, more, less = (difference[way] for way in ("equal", "more", "less"))
        lines.append(f"{console.count(found['rows'], 'row')}; {equal:,} earn the same, {more:,} more, {less:,} less")
        for one in difference["examples"]:  # None is lower than any score
            is_more = one["now"] is not None and (one["before"] is None or one["now"] > one["before"])
            label = f"{format_score(one['before'])} -> {format_score(one['now'])}"
            examples.setdefault(f"rows that earn {'more' if is_more else 'less'}:", []).append((label, one))
    for title, labelled in examples.items():
        shown = labelled if has_details else labelled[: console.MOST_TEXTS]
        lines += ["", title, *(format_example(label, one, columns) for label, one in shown)] if shown else []
    return "\n".join(lines if has_details else [*lines, "", "--details shows the table and all examples in full."])


def show(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def format_example(label: str, found: dict[str, Any], columns: int) -> str:
    prompt, completion = (console.make_printable(found[name]) for name in ("prompt", "completion"))
    prompt = console.cut(prompt, (columns - 22) // 3)
    return f"{label:>14}  {prompt} | {console.cut(completion, columns - 19 - cell_len(prompt), keep_end=True)}"
