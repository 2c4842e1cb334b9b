"""`trl-grpo-rewards report`: make a page about a training run, or about several, and summarize it as text and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..report.pages import write_page
from . import console


MOST_COMPARED = 3  # largest number of runs in one table, which fits a terminal of 80 columns


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
            "changes": [*list_held_out(data), *list_trained(data)],
            "warnings": [f"{one['title']}. {one['details']}" for one in data["anomalies"]],
            "is_long_enough_for_warnings": data["checked"],
            "comparison": data.get("comparison", ""),
            "doubtful_solutions": data.get("doubts", []),
            "advice": data["advice"],
        }
        for data in runs
    ]
    return {"page": str(page), "runs": described}


def list_held_out(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the values of the first and the last evaluation on each dataset. If there is one, it is the end."""
    return [
        {
            "name": f"{name} (held-out{', ' * bool(one['dataset'])}{one['dataset'] or ''})",
            "is_share": name.endswith(" groups") or (data["is_share"] and name == data["outcome"]),
            "start": first if one["evaluations"] > 1 else None,
            "end": last,
            "margin": None,
        }
        for one in data["held_out"]
        for name, (first, last) in one["values"]
    ]


def list_trained(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the values in training at the start and at the end of a run."""
    return [
        {
            "name": one["what"],
            "is_share": one["share"],
            "start": one["values"][0],
            "end": one["values"][-1],
            "margin": one.get("margin"),
        }
        for one in data["changes"]
    ]


def tabulate_values(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Return a table of the values of one run, or of several next to each other."""
    values = [
        {one["name"]: [show_value(one, end) for end in ("start", "end")] for one in run["changes"]} for run in runs
    ]
    names = dict.fromkeys(name for known in values for name in known)
    if len({run["expression"] for run in runs}) > 1:  # totals of other sums
        names = dict.fromkeys(name for name in names if not name.lower().startswith("total reward"))
    if len(runs) == 1:
        rows = [[runs[0]["name"], "start", "end"], *([name, *values[0][name]] for name in names)]
    else:
        heads = ["start → end", *(run["name"] for run in runs)]
        rows = [heads, *([name, *(" → ".join(known.get(name, ())) for known in values)] for name in names)]
    return console.format_table(rows, "<" + ">" * len(rows[0]))


def show_value(change: dict[str, Any], end: str) -> str:
    value = change[end]
    return "–" if value is None else f"{value:{'.1%' if change['is_share'] else '.3f'}}"


def describe_size(run: dict[str, Any]) -> str:
    size = f" x {run['group_size']}" if run["group_size"] else ""
    groups = f", groups: {run['groups']:,}{size}" if run["groups"] else ""
    return f"steps: {run['first_step']}-{run['last_step']}{groups}"


def describe_ends(runs: Sequence[dict[str, Any]], part: str) -> str:
    is_evaluated = any("(held-out" in one["name"] for run in runs for one in run["changes"])
    evaluations = ", or the first and the last evaluation" if is_evaluated else ""
    return f"start and end: the means over the first and the last {part}{evaluations}"


def summarize_report(report: dict[str, Any]) -> str:
    runs, lines = report["runs"], []
    if 1 < len(runs) <= MOST_COMPARED:
        sizes = [f"{console.make_printable(run['name'])}, {describe_size(run)}" for run in runs]
        lines += [*tabulate_values(runs), "", *sizes, ""]
    else:
        lines += [line for run in runs for line in [*tabulate_values([run]), "", describe_size(run), ""]]
    is_long = all(one["is_long_enough_for_warnings"] for one in runs)
    lines.append(describe_ends(runs, "tenth of the steps" if is_long else "steps"))
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
