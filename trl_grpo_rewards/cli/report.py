"""`trl-grpo-rewards report`: make a page about a training run, or about several, and summarize it as text and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..report.pages import write_page
from . import console


NAME_WIDTH = 12
"""Columns for the name of a run in a table of several, if values need the others. A longer name loses its start."""

WARNING_LINES = 5
"""Lines that a table of many runs leaves for their warnings."""


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
    options = build_parser().read_arguments(arguments)
    with console.exit_on(OSError, ValueError):
        out = options.out or choose_file(options.runs)
        report = describe_report(write_page(options.runs, out), out)
    if options.json:
        console.print_json(report)
    else:
        print(summarize_report(report))


def choose_file(runs: Sequence[Path]) -> Path:
    """Return the file to write by default."""
    if len(runs) > 1:
        return Path("comparison.html")
    return (runs[0] if runs[0].is_dir() else runs[0].parent) / "report.html"


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
    columns, lines = console.measure_screen()
    runs = report["runs"]
    line = next((run["advice"] for run in runs if run["advice"]), "")
    advice = [f"With group records, the report also shows every group: {line}"] if line else []
    more = console.fit_texts(advice, columns, lines, "the report")
    lines -= len(more)
    names = [f" of {run['name']}" if len(runs) > 1 else "" for run in runs]
    warnings = [f"warning{name}: {text}" for name, run in zip(names, runs, strict=True) for text in run["warnings"]]
    room = lines - 4 - (WARNING_LINES if warnings else 0)
    top = show_run(runs[0], columns) if len(runs) == 1 else show_runs(runs, columns, room)
    shown = console.fit_texts(warnings, columns, lines - len(top) - 4, "the report")
    verdict = console.count(len(warnings), "warning") if warnings else "No warnings"
    if not all(run["is_long_enough_for_warnings"] for run in runs):
        verdict += f"; {'the run is' if len(runs) == 1 else 'some runs are'} too short for most checks"
    end = [*shown, *([""] if shown else []), f"{verdict}.", *more, f"The report is in {report['page']}."]
    return "\n".join([*top, "", *end])


def show_run(run: dict[str, Any], columns: int) -> list[str]:
    """Return lines with the values at the start and at the end of a run, and with its size."""
    values = [
        [one["name"], *(format_value(one[end], one["is_share"]) for end in ("start", "end"))] for one in run["changes"]
    ]
    table = console.format_table([[run["name"], "start", "end"], *values], "<>>", columns)
    size = f" of {run['group_size']}" if run["group_size"] else ""
    groups = f"{console.count(run['groups'], 'group')}{size} in " if run["groups"] else ""
    facts = f"{groups}steps {run['first_step']} to {run['last_step']}"
    part = "tenth of the steps" if run["is_long_enough_for_warnings"] else "step"
    return [*table.splitlines(), "", facts, f"start and end: the means over the first and the last {part}"]


def show_runs(runs: Sequence[dict[str, Any]], columns: int, lines: int) -> list[str]:
    """Return lines with a row for each run, with its values at the end. What does not fit is counted or named."""
    ends = [list_end(run) for run in runs]
    titles = [*dict.fromkeys(title for end in ends for title in end)]
    names, alignments = [console.make_printable(run["name"]) for run in runs], "<" + ">" * len(titles)
    rows = [["at the end", *titles]]
    rows += [
        [console.cut(name, NAME_WIDTH, keep_end=True), *(end.get(title, "-") for title in titles)]
        for name, end in zip(names, ends, strict=True)
    ]
    shown, left = console.fit_columns(rows, alignments, columns, least=1)
    for row, name in zip(shown[1:], names, strict=True):
        row[0] = console.cut(name, NAME_WIDTH + left, keep_end=True)
    long = [run["is_long_enough_for_warnings"] for run in runs]
    means = f"the last tenth of the steps{'' if all(long) else ', or the last step of a run with fewer than 20 steps'}"
    below = [f"at the end: the means over {means if any(long) else 'the last step'}"]
    if hidden := titles[len(shown[0]) - 1 :]:
        below.append(f"not shown, but in the report: {', '.join(console.cut(one, columns // 2) for one in hidden)}")
    below = console.fit_texts(below, columns, lines, "the report")
    table = console.format_table(shown, alignments, columns).splitlines()
    room = max(lines - len(below) - 2, len(table) - len(runs) + 1)  # at least one run below the heading
    more = [f"... and {console.count(len(table) - room, 'more run')}: the report"] if len(table) > room else []
    return [*table[:room], *more, "", *below]


def list_end(run: dict[str, Any]) -> dict[str, str]:
    """Return what a table of several runs says about a run, by title."""
    size = f"x{run['group_size']}" if run["group_size"] else ""
    facts = {"Steps": f"{run['first_step']}-{run['last_step']}", "Groups x size": f"{run['groups'] or '-'}{size}"}
    return facts | {one["name"]: format_value(one["end"], one["is_share"]) for one in run["changes"]}


def format_value(value: float, is_share: bool) -> str:
    return f"{value:.1%}" if is_share else f"{value:.3f}"
