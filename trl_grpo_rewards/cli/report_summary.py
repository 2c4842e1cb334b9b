"""What the page about one or several runs says, as text that fits a screen and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .output import count, fit_texts, format_table, make_printable, measure_screen, shorten


NAME_WIDTHS = (8, 16)
"""Smallest and largest number of columns for the name of a run in a table of several runs."""

LABEL_WIDTH = 24
"""Columns that are left for the names of the values."""


def describe(runs: Sequence[dict[str, Any]], page: Path) -> dict[str, Any]:
    """Return what the data of the page say about the runs, with stable keys, for JSON."""
    return {"page": str(page), "runs": [describe_run(data) for data in runs]}


def describe_run(data: dict[str, Any]) -> dict[str, Any]:
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
    }


def summarize(report: dict[str, Any]) -> str:
    """Return a table of how the runs changed, or of their ends if there are several, and their warnings."""
    columns, lines = measure_screen()
    runs = report["runs"]
    rows = list_changes(runs[0]) if len(runs) == 1 else list_ends(runs, columns)
    table = format_table(rows, "<" + ">" * (len(rows[0]) - 1), columns)
    facts = [shorten(describe_size(run, len(runs) > 1), columns) for run in runs[: lines // 3]]
    names = [f" of {run['name']}" if len(runs) > 1 else "" for run in runs]
    warnings = [f"warning{name}: {text}" for name, run in zip(names, runs, strict=True) for text in run["warnings"]]
    shown = fit_texts(warnings, columns, lines - len(rows) - len(facts) - 5, "the report")
    verdict = count(len(warnings), "warning") if warnings else "No warnings"
    if not all(run["is_long_enough_for_warnings"] for run in runs):
        verdict += f"; {'the run is' if len(runs) == 1 else 'some runs are'} too short for most of them"
    end = [*shown, *([""] if shown else []), f"{verdict}.", f"The report is in {report['page']}."]
    return "\n".join([table, "", *facts, "", *end])


def describe_size(run: dict[str, Any], is_named: bool) -> str:
    """Return a line about the number of groups and steps of a run."""
    size = f" of {run['group_size']}" if run["group_size"] else ""
    name = f"{make_printable(run['name'])}: " if is_named else ""
    return f"{name}{count(run['groups'], 'group')}{size} in steps {run['first_step']} to {run['last_step']}"


def list_changes(run: dict[str, Any]) -> list[list[str]]:
    """Return a table with the values at the start and at the end of a run."""
    values = [
        [one["name"], *(format_value(one[end], one["is_share"]) for end in ("start", "end"))] for one in run["changes"]
    ]
    return [[run["name"], "start", "end"], *values]


def list_ends(runs: Sequence[dict[str, Any]], columns: int) -> list[list[str]]:
    """Return a table with the values at the end of each run."""
    least, most = NAME_WIDTHS
    width = max(least, min(most, (columns - LABEL_WIDTH) // len(runs) - 2))
    ends = [{one["name"]: format_value(one["end"], one["is_share"]) for one in run["changes"]} for run in runs]
    names = dict.fromkeys(name for one in ends for name in one)
    titles = [shorten(make_printable(run["name"]), width, keep_end=True) for run in runs]
    return [["at the end", *titles], *([name, *(one.get(name, "-") for one in ends)] for name in names)]


def format_value(value: float, is_share: bool) -> str:
    return f"{value:.1%}" if is_share else f"{value:.3f}"
