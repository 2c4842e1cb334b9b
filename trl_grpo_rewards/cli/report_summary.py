"""What the page about one or several runs says, as text that fits a screen and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .output import GAP, count, cut, fit_texts, format_table, make_printable, measure_screen, split_title, wrap


NAME_WIDTH = 8
"""Smallest number of columns for the names of the runs in such a table. A longer name takes several lines."""

WARNING_LINES = 5
"""Lines that a table of many runs leaves for their warnings."""


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
    columns, lines = measure_screen()
    runs = report["runs"]
    line = next((run["advice"] for run in runs if run["advice"]), "")
    more = wrap(f"With group records, the report also shows every group: {line}", columns) if line else []
    lines -= len(more)
    names = [f" of {run['name']}" if len(runs) > 1 else "" for run in runs]
    warnings = [f"warning{name}: {text}" for name, run in zip(names, runs, strict=True) for text in run["warnings"]]
    room = lines - 4 - (WARNING_LINES if warnings else 0)
    top = show_run(runs[0], columns) if len(runs) == 1 else show_runs(runs, columns, room)
    shown = fit_texts(warnings, columns, lines - len(top) - 4, "the report")
    verdict = count(len(warnings), "warning") if warnings else "No warnings"
    if not all(run["is_long_enough_for_warnings"] for run in runs):
        verdict += f"; {'the run is' if len(runs) == 1 else 'some runs are'} too short for most checks"
    end = [*shown, *([""] if shown else []), f"{verdict}.", *more, f"The report is in {report['page']}."]
    return "\n".join([*top, "", *end])


def show_run(run: dict[str, Any], columns: int) -> list[str]:
    """Return lines with the values at the start and at the end of a run, and with its size."""
    values = [
        [one["name"], *(format_value(one[end], one["is_share"]) for end in ("start", "end"))] for one in run["changes"]
    ]
    table = format_table([[run["name"], "start", "end"], *values], "<>>", columns)
    size = f" of {run['group_size']}" if run["group_size"] else ""
    groups = f"{count(run['groups'], 'group')}{size} in " if run["groups"] else ""
    facts = f"{groups}steps {run['first_step']} to {run['last_step']}"
    part = "tenth of the steps" if run["is_long_enough_for_warnings"] else "step"
    return [*table.splitlines(), "", facts, f"start and end: the means over the first and the last {part}"]


def show_runs(runs: Sequence[dict[str, Any]], columns: int, lines: int) -> list[str]:
    """Return lines with a row for each run, with its values at the end. What does not fit is counted or named."""
    ends = [list_end(run) for run in runs]
    titles, hidden, width = choose_titles(ends, columns)
    below = wrap(f"at the end: the means over {explain_end(runs)}", columns)
    below += wrap(f"not shown, but in the report: {', '.join(hidden)}", columns) if hidden else []
    rows = [
        ["at the end", *titles],
        *([run["name"], *(end.get(title, "-") for title in titles)] for run, end in zip(runs, ends, strict=True)),
    ]
    room = lines - len(below) - 2
    table = format_table(rows, "<" + ">" * len(titles), columns).splitlines()
    if len(table) > room:
        rows = [[cut(make_printable(row[0]), width, keep_end=True), *row[1:]] for row in rows]
        table = format_table(rows, "<" + ">" * len(titles), columns).splitlines()
    rest = len(table) - room
    more = [f"... and {count(rest, 'more run')}: the report"] if rest > 0 else []
    return [*table[:room], *more, "", *below]


def explain_end(runs: Sequence[dict[str, Any]]) -> str:
    """Return what the values at the end of the runs are means over."""
    long = [run["is_long_enough_for_warnings"] for run in runs]
    if not any(long):
        return "the last step"
    exception = "" if all(long) else ", or over the last step of a run with fewer than 20 steps"
    return f"the last tenth of the steps{exception}"


def choose_titles(ends: Sequence[dict[str, str]], columns: int) -> tuple[list[str], list[str], int]:
    """Return the titles of the values that fit into the columns, the others, and the columns left for names."""
    shown, hidden = [], []
    for title in dict.fromkeys(title for end in ends for title in end):
        width = len(GAP) + max(map(len, [*split_title(title), *(end.get(title, "-") for end in ends)]))
        if columns - width < NAME_WIDTH:
            hidden.append(title)
        else:
            shown.append(title)
            columns -= width
    return shown, hidden, columns


def list_end(run: dict[str, Any]) -> dict[str, str]:
    """Return what a table of several runs says about a run, by title."""
    size = f"x{run['group_size']}" if run["group_size"] else ""
    facts = {"Steps": f"{run['first_step']}-{run['last_step']}", "Groups x size": f"{run['groups'] or '-'}{size}"}
    return facts | {one["name"]: format_value(one["end"], one["is_share"]) for one in run["changes"]}


def format_value(value: float, is_share: bool) -> str:
    return f"{value:.1%}" if is_share else f"{value:.3f}"
