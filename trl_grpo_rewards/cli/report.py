"""`trl-grpo-rewards report`: make a page about a training run, or about several, and summarize it as text and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..report.pages import write_page
from . import console


LEAST_NAME = 15
"""Fewest columns for the name of a run in a table of several. A longer name loses its start."""


def build_parser() -> console.CommandParser:
    parser = console.CommandParser(
        prog="trl-grpo-rewards report",
        description="Make a page about a training run, with its statistics, warnings and groups. The page is a single file "
        "that works offline. It is made from the group records of the run (group_records=True, the default), or from the "
        "log and the tables of completions of TRL's GRPOTrainer. With several runs, the page compares them.",
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="output directory of a run, or a checkpoint")
    place = "file to write; default: RUN/report.html, or comparison.html for several"
    parser.add_argument("--out", type=Path, metavar="FILE", help=place)
    parser.add_argument("--json", action="store_true", help="print the statistics as JSON")
    return parser


def main(arguments: Sequence[str]) -> None:
    options = build_parser().read(arguments)
    run = options.runs[0] if options.runs[0].is_dir() else options.runs[0].parent
    with console.exit_on(OSError, ValueError):
        out = options.out or (run / "report.html" if len(options.runs) == 1 else Path("comparison.html"))
        report = describe_report(write_page(options.runs, out), out)
    if options.json:
        console.print_json(report)
    else:
        print(summarize_report(report))


def describe_report(runs: Sequence[dict[str, Any]], page: Path) -> dict[str, Any]:
    """Return what the data of the page say about the runs, with stable keys, for JSON."""
    return {"page": str(page), "runs": [describe_run_data(data) for data in runs]}


def describe_run_data(data: dict[str, Any]) -> dict[str, Any]:
    first, last = data["steps"]
    return {
        "name": data["name"],
        "expression": dict(data["facts"]).get("Rewards"),
        "groups": data["groups"],
        "group_size": data["size"],
        "first_step": first,
        "last_step": last,
        "changes": [
            {"name": one["what"], "is_share": one["share"], "start": one["values"][0], "end": one["values"][-1]}
            for one in data["changes"]
        ],
        "warnings": [f"{one['title']}. {one['details']}" for one in data["anomalies"]],
        "is_long_enough_for_warnings": data["checked"],
        "advice": data["advice"],
    }


def summarize_report(report: dict[str, Any]) -> str:
    """Return a table of how the run changed, or of the ends of several runs, and their warnings."""
    runs = report["runs"]
    names = [f" of {run['name']}" if len(runs) > 1 else "" for run in runs]
    warnings = [f"warning{name}: {text}" for name, run in zip(names, runs, strict=True) for text in run["warnings"]]
    shown = console.format_texts(warnings, "the report")
    verdict = console.count(len(warnings), "warning") if warnings else "No warnings"
    if not all(run["is_long_enough_for_warnings"] for run in runs):
        verdict += f"; {'the run is' if len(runs) == 1 else 'some runs are'} too short for most checks"
    lines = [*(show_run(runs[0]) if len(runs) == 1 else show_runs(runs)), "", *shown, *([""] if shown else [])]
    if advice := next((run["advice"] for run in runs if run["advice"]), ""):
        verdict += f".\nWith group records, the report also shows every group: {advice}"
    return "\n".join([*lines, f"{verdict.rstrip('.')}.", f"The report is in {report['page']}."])


def show_run(run: dict[str, Any]) -> list[str]:
    """Return lines with the values at the start and at the end of a run, and with its size."""
    values = [
        [one["name"], *(format_value(one[end], one["is_share"]) for end in ("start", "end"))] for one in run["changes"]
    ]
    size = f" of {run['group_size']}" if run["group_size"] else ""
    groups = f"{console.count(run['groups'], 'group')}{size} in " if run["groups"] else ""
    facts = f"{groups}steps {run['first_step']} to {run['last_step']}"
    part = "tenth of the steps" if run["is_long_enough_for_warnings"] else "step"
    means = f"start and end: the means over the first and the last {part}"
    return [*console.format_table([[run["name"], "start", "end"], *values], "<>>"), "", facts, means]


def show_runs(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Return lines with a row for each run, with its values at the end. Values that do not fit are named."""
    ends = [list_end(run) for run in runs]
    titles = [*dict.fromkeys(title for end in ends for title in end)]
    rows = [titles, *([end.get(title, "-") for title in titles] for end in ends)]
    while (left := console.get_width() - 2 - measure(rows)) < LEAST_NAME:
        rows = [row[:-1] for row in rows]
    names = [console.cut(console.make_printable(run["name"]), left, keep_end=True) for run in runs]
    table = [[name, *row] for name, row in zip(["at the end", *names], rows, strict=True)]
    long = [run["is_long_enough_for_warnings"] for run in runs]
    part = (
        f"last tenth of the steps{'' if all(long) else ', or the last step of a short run'}"
        if any(long)
        else "last step"
    )
    below = [f"at the end: the means over the {part}"]
    if hidden := titles[len(rows[0]) :]:
        below.append(f"not shown, but in the report: {', '.join(hidden)}")
    return [*console.format_table(table, "<" + ">" * len(titles)), "", *console.format_texts(below, "the report")]


def measure(rows: Sequence[Sequence[str]]) -> int:
    """Return how many columns a table of numbers takes."""
    return max(map(len, console.format_table(rows, ">" * len(rows[0]), 1_000_000)))


def list_end(run: dict[str, Any]) -> dict[str, str]:
    """Return what a table of several runs says about a run, by title."""
    size = f"x{run['group_size']}" if run["group_size"] else ""
    facts = {"Steps": f"{run['first_step']}-{run['last_step']}", "Groups x size": f"{run['groups'] or '-'}{size}"}
    return facts | {one["name"]: format_value(one["end"], one["is_share"]) for one in run["changes"]}


def format_value(value: float, is_share: bool) -> str:
    return f"{value:.1%}" if is_share else f"{value:.3f}"
