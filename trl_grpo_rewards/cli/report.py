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
                {
                    "name": one["what"],
                    "is_share": one["share"],
                    "start": one["values"][0],
                    "end": one["values"][-1],
                    "margin": one.get("margin"),
                }
                for one in data["changes"]
            ],
            "warnings": [f"{one['title']}. {one['details']}" for one in data["anomalies"]],
            "is_long_enough_for_warnings": data["checked"],
            "comparison": data.get("comparison", ""),
            "doubtful_solutions": data.get("doubts", []),
            "advice": data["advice"],
        }
        for data in runs
    ]
    return {"page": str(page), "runs": described}


def summarize_report(report: dict[str, Any]) -> str:
    runs, lines = report["runs"], []
    for run in runs:
        rows = [
            [one["name"], *(show_value(one[end], one["is_share"]) for end in ("start", "end"))]
            for one in run["changes"]
        ]
        lines += console.format_table([[run["name"], "start", "end"], *rows], "<>>")
        size = f" x {run['group_size']}" if run["group_size"] else ""
        groups = f", groups: {run['groups']:,}{size}" if run["groups"] else ""
        lines += ["", f"steps: {run['first_step']}-{run['last_step']}{groups}", ""]
    is_long = all(one["is_long_enough_for_warnings"] for one in runs)
    lines.append(
        f"start and end: the means over the first and the last {'tenth of the steps' if is_long else 'steps'}"
    )
    lines += console.format_texts([one["comparison"] for one in runs if one["comparison"]], "the report")
    if doubts := sum(len(one["doubtful_solutions"]) for one in runs):
        lines.append(f"{console.count(doubts, 'solution')} may be wrong: most completions agree on another answer")
    warnings = [f"warning of {one['name']}: {text}" for one in runs for text in one["warnings"]]
    lines += ["", *console.format_texts(warnings, "the report"), *[""] * bool(warnings)]
    verdict = console.count(len(warnings), "warning") if warnings else "No warnings"
    if not is_long:
        verdict += f"; {'some runs are' if len(runs) > 1 else 'the run is'} too short for most checks"
    if advice := next((one["advice"] for one in runs if one["advice"]), ""):
        verdict += f".\nWith group records, the report also shows every group: {advice}"
    return "\n".join([*lines, f"{verdict.rstrip('.')}.", f"The report is in {report['page']}."])


def show_value(value: float | None, is_share: bool) -> str:
    return "–" if value is None else f"{value:{'.1%' if is_share else '.3f'}}"
