r"""`trl-grpo-rewards score`: score completions that were sampled before."""

import argparse
import contextlib
import itertools
import json
import os
import shlex
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
from ..records.files import Group, list_group_files, read_groups
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


def choose_rewards(args: argparse.Namespace, expression: str | None) -> Reward:
    """Read an expression, by default that of the run. An error names modules that the run has imported and this command has not."""
    run = read_run(args.completions) or {}
    missing = [name for name in run.get("modules") or [] if name not in args.modules]
    if expression is not None:
        return build_with_hint(expression, args.modules, missing)
    check_run(run, args.completions, missing)
    rewards = build_with_hint(run["rewards"], args.modules, missing)
    if (contacts := list_contacts(rewards)) and not args.trust:
        raise ValueError(
            f"The rewards of this run ask servers or start programs, and anybody may have written the run. {' '.join(contacts)} Add "
            f"--trust if you know them, or give other rewards first."
        )
    return rewards


def check_run(run: dict[str, Any], place: str, missing: Sequence[str]) -> None:
    """Raise an error if the rewards of a run cannot be built again."""
    if run.get("is_expression") and "__main__" not in missing:
        return
    reason = f"'{place}' has no {RUN_FILE} that can be read"
    if run:
        reason = f"{run['rewards']} contains functions that cannot be imported again"
    raise ValueError(
        f"Without rewards, the rewards of the run are used, but {reason}. Give rewards first, and then the completions: "
        f'trl-grpo-rewards score "boxed()" runs/addition.'
    )


def build_with_hint(expression: str, modules: Sequence[str], missing: Sequence[str]) -> Reward:
    """Build rewards. An error names the modules that are missing."""
    try:
        return console.build_rewards(expression, modules)
    except ValueError as error:
        if not missing:
            raise
        options = " ".join(f"--import {name}" for name in missing)
        raise ValueError(f"{error} The run has imported other modules: add {options}.") from None


def list_contacts(reward: Reward) -> list[str]:
    """Return a sentence about each reward that asks a server, with the key's variable, and about those that start programs."""
    programs = console.list_programs(reward)
    contacts = [f"Programs are run with {', '.join(programs)}."] if programs else []
    default = os.environ.get("OPENAI_BASE_URL") or "the default server"
    for function in find_functions(reward):
        if function.factory.traits.get("asks"):
            options = {**function.options}
            server = options.get("base_url") or default
            key = f" with the key in {options['api_key_env']}" if "api_key_env" in options else ""
            contacts.append(f"{function.name} asks {server}{key}.")
    return [*dict.fromkeys(contacts)]


def format_row(scored: ScoredGroup, row: int) -> str:
    names = {"prompts": "prompt", "completions": "completion"}
    kept = {name: values[row] for name, values in scored.group.columns.items() if name != "completion_ids"}
    scores = {name: values[row] for name, values in scored.scores.items()}
    columns = {names.get(name, name): value for name, value in kept.items()}
    return json.dumps({**columns, "rewards": scores, "total": scored.totals[row]}) + "\n"


def check_order(rewards: str | None, completions: str) -> None:
    """Raise an error if the rewards and the completions of a command line have changed places."""
    if rewards and os.path.exists(rewards) and not os.path.exists(completions):
        raise ValueError(
            f"The rewards come first, then the completions, but {rewards!r} is a file or folder. Write: "
            f"trl-grpo-rewards score {shlex.quote(completions)} {shlex.quote(rewards)}."
        )


def main(arguments: Sequence[str]) -> None:
    args = build_parser().read(arguments)
    with console.exit_on(TypeError, ValueError, OSError, ImportError), console.keep_stdout_for_json(args.json):
        check_order(args.rewards, args.completions)
        rewards = choose_rewards(args, args.rewards)
        old = None
        if args.against:
            old = choose_rewards(args, args.against)
        for contact in [*list_contacts(rewards), *(list_contacts(old) if old else ())]:
            print(console.make_printable(contact), file=sys.stderr)
        summary = describe_scores(score(args, rewards, old))
    if args.json:
        against = None if old is None else str(old)
        console.print_json({"expression": str(rewards), "against": against, **summary})
    else:
        print(summarize_scores(summary, has_details=args.details))


def score(args: argparse.Namespace, rewards: Reward, old: Reward | None) -> Tally:
    if args.out:
        check_output_file(args.out)
    groups = check_first_group(read_groups(args.completions), [rewards, old] if old else [rewards])
    scored_by_old: Iterable[ScoredGroup | None] = itertools.repeat(None)
    if old:  # a copy that nobody reads would keep all groups in memory
        groups, copies = itertools.tee(groups)
        scored_by_old = rescore(old, copies)
    tally = Tally()
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


def check_output_file(file: Path) -> None:
    """Raise an error if a file for scored rows would replace a folder or the records of a run."""
    records = map(Path.resolve, list_group_files(file.parent))
    if file.is_dir() or file.resolve() in records:
        raise ValueError(
            f"--out must be a new file, but '{file}' is a folder or has group records. Choose another one."
        )


def check_first_group(groups: Iterable[Group], rewards: Sequence[Reward]) -> Iterable[Group]:
    """Return the groups. Raise an error if the first one lacks a column of a reward."""
    groups = iter(groups)
    first = [*itertools.islice(groups, 1)]
    for group in first:
        columns = {*group.columns} - TRAINER_DATA
        for function in itertools.chain(*map(find_functions, rewards)):
            function.check_columns(columns)
    return itertools.chain(first, groups)


def describe_scores(tally: Tally) -> dict[str, Any]:
    positive = [entry for entry in tally.surprising if entry[0] > 0]
    surprising = []
    for surprise, _, row, scored in sorted(positive, key=lambda entry: -entry[0]):
        values = {"surprise": surprise, "total": scored.totals[row]}
        surprising.append({**values, **describe_row(scored.group, row)})
    return {
        "groups": tally.groups,
        "dead_groups": tally.dead,
        "rows": tally.scores["total"].total(),
        "rewards": [describe_reward(tally, name) for name in tally.scores],
        "surprising": surprising,
        "difference": describe_difference(tally) if tally.changes else None,
    }


def describe_difference(tally: Tally) -> dict[str, Any]:
    """Return how many rows earn more and less than under the old rewards, with examples."""
    examples = []
    for before, now, scored, row in itertools.chain(*tally.examples.values()):
        examples.append({"before": before, "now": now, **describe_row(scored.group, row)})
    changes = {way: tally.changes[way] for way in ("equal", "more", "less")}
    return {**changes, "dead_groups": tally.dead_before, "examples": examples}


def describe_reward(tally: Tally, name: str) -> dict[str, Any]:
    """Return the statistics of one reward, or of the total. A value that is not known is None."""
    tallied = tally.scores[name]
    counts = Counter({score: number for score, number in tallied.items() if score is not None})
    values = [*counts.elements()]
    same, seen = tally.matches.get(name, (0, 0))
    return {
        "name": name,
        "mean": sum(values) / len(values) if values else None,
        "unscored": tallied[None],
        "shares": describe_shares(counts) or None,
        "quartiles": np.quantile(values, QUARTILES, method="nearest").tolist() if values else None,
        "milliseconds": describe_times(tally.seconds.get(name)),
        "as_recorded": same / seen if seen else None,
    }


def describe_shares(counts: Counter[float]) -> list[dict[str, float]]:
    """Return each score with its share, or nothing if there are too many different ones."""
    if len(counts) > MAX_LISTED:
        return []
    return [{"score": score, "share": number / counts.total()} for score, number in sorted(counts.items())]


def describe_times(seconds: Sequence[float] | None) -> dict[str, float] | None:
    """Return percentiles of the time that a call takes, in milliseconds."""
    if not seconds:
        return None
    return {f"p{part}": 1000 * float(np.percentile(seconds, part)) for part in (50, 99)}


def describe_row(group: Group, row: int) -> dict[str, str]:
    prompt = ""
    if group.columns.get("prompts"):
        prompt = prompt_text(group.columns["prompts"][row])
    return {"prompt": prompt, "completion": completion_text(group.columns["completions"][row])}


def summarize_scores(summary: dict[str, Any], *, has_details: bool) -> str:
    columns = WHOLE if has_details else console.get_width()
    rows = [["reward", "mean", "None", "scores", "unchanged", "p99 ms"]]
    rows += [format_reward(reward, summary["rows"]) for reward in summary["rewards"]]
    lines = [*console.format_table(rows, "<>><>>", columns), "", *format_counts(summary)]
    most = None if has_details else console.MOST_TEXTS
    for title, labelled in list_examples(summary).items():
        if labelled:
            lines += ["", title]
            lines += [format_example(label, example, columns) for label, example in labelled[:most]]
    if not has_details:
        lines += ["", "--details shows the table and all examples in full."]
    return "\n".join(lines)


def format_counts(summary: dict[str, Any]) -> list[str]:
    """Return the lines about dead groups, and about rows whose score changes."""
    groups = summary["groups"]
    dead = f"{console.count(groups, 'group')}; {summary['dead_groups'] / groups:.1%} would be dead"
    difference = summary["difference"]
    if not difference:
        return [dead]
    equal, more, less = (difference[way] for way in ("equal", "more", "less"))
    return [
        f"{dead}, and {difference['dead_groups'] / groups:.1%} under the old rewards",
        f"{console.count(summary['rows'], 'row')}; {equal:,} earn the same, {more:,} more, {less:,} less",
    ]


def format_reward(reward: dict[str, Any], rows: int) -> list[str]:
    """Return the cells of one reward in the table of scores."""
    scores = ", ".join(f"{part['score']:.4g}: {part['share']:.1%}" for part in reward["shares"] or ())
    if reward["quartiles"] and not scores:
        scores = "quartiles " + ", ".join(f"{value:.4g}" for value in reward["quartiles"])
    time = (reward["milliseconds"] or {}).get("p99")
    unscored = f"{reward['unscored'] / rows:.1%}"
    mean = format_known(reward["mean"], ".3f")
    unchanged = format_known(reward["as_recorded"], ".1%")
    return [reward["name"], mean, unscored, scores, unchanged, format_known(time, ".3f")]


def list_examples(summary: dict[str, Any]) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Return the examples by their titles, each with its label: outliers, and rows that earn more or less."""
    outliers = [(format_score(example["total"]), example) for example in summary["surprising"]]
    examples = {"largest outliers within their group:": outliers}
    for example in (summary["difference"] or {}).get("examples", ()):
        before = example["before"]
        now = example["now"]
        is_more = now is not None and (before is None or now > before)  # None is lower than any score
        label = f"{format_score(before)} -> {format_score(now)}"
        examples.setdefault(f"rows that earn {'more' if is_more else 'less'}:", []).append((label, example))
    return examples


def format_known(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def format_example(label: str, example: dict[str, Any], columns: int) -> str:
    prompt = console.make_printable(example["prompt"])
    completion = console.make_printable(example["completion"])
    prompt = console.cut(prompt, (columns - 22) // 3)
    return f"{label:>14}  {prompt} | {console.cut(completion, columns - 19 - cell_len(prompt), keep_end=True)}"
