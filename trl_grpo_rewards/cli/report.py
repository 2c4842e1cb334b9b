"""`trl-grpo-rewards report`: make a page about a training run, or about several, and summarize it as text and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..report.pages import write_page
from . import console


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
    described = [
        {
            "name": data["name"],
            "expression": dict(data["facts"]).get("Rewards"),
            "groups": data["groups"],
            "group_size": data["size"],
            "first_step": data["steps"][0],
            "last_step": data["steps"][1],
            "changes": [
                {"name": one["what"], "is_share": one["share"], "start": one["values"][0], "end": one["values"][-1]}
                for one in data["changes"]
            ],
            "warnings": [f"{one['title']}. {one['details']}" for one in data["anomalies"]],
            "is_long_enough_for_warnings": data["checked"],
            "advice": data["advice"],
        }
        for data in runs
    ]
    return {"page": str(page), "runs": described}


def summarize_report(report: dict[str, Any]) -> str:
    """Return a table of how the run changed, or of the ends of several runs, and their warnings."""
    runs, (run, *others) = report["runs"], report["runs"]
    long = [one["is_long_enough_for_warnings"] for one in runs]
    part = "tenth of the steps" if any(long) else "step"
    if others:
        lines = show([(one["name"], list_facts(one) | list_values(one, "end")) for one in runs], "at the end")
        lines += ["", f"the means over the last {part}"]
    else:
        lines = [*show([(place, list_values(run, place)) for place in ("start", "end")], run["name"]), ""]
        lines += [", ".join(f"{name}: {fact}" for name, fact in list_facts(run).items())]
        lines += [f"start and end: the means over the first and the last {part}"]
    names = [f" of {one['name']}" * bool(others) for one in runs]
    warnings = [f"warning{name}: {text}" for name, one in zip(names, runs, strict=True) for text in one["warnings"]]
    lines += ["", *console.format_texts(warnings, "the report"), *[""] * bool(warnings)]
    verdict = console.count(len(warnings), "warning") if warnings else "No warnings"
    if not all(long):
        verdict += f"; {'some runs are' if others else 'the run is'} too short for most checks"
    if advice := next((one["advice"] for one in runs if one["advice"]), ""):
        verdict += f".\nWith group records, the report also shows every group: {advice}"
    return "\n".join([*lines, f"{verdict.rstrip('.')}.", f"The report is in {report['page']}."])


def show(columns: Sequence[tuple[str, dict[str, str]]], title: str) -> list[str]:
    """Return the lines of a table with a row for each value by its name."""
    names = dict.fromkeys(name for _, values in columns for name in values)
    rows = [[name, *(values.get(name, "-") for _, values in columns)] for name in names]
    return console.format_table([[title, *(head for head, _ in columns)], *rows], "<" + ">" * len(columns))


def list_facts(run: dict[str, Any]) -> dict[str, str]:
    size = f" x {run['group_size']}" if run["group_size"] else ""
    groups = {"groups": f"{run['groups']:,}{size}"} if run["groups"] else {}
    return {"steps": f"{run['first_step']}-{run['last_step']}", **groups}


def list_values(run: dict[str, Any], place: str) -> dict[str, str]:
    return {one["name"]: f"{one[place]:{'.1%' if one['is_share'] else '.3f'}}" for one in run["changes"]}
