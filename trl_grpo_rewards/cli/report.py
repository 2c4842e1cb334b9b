"""`trl-grpo-rewards report`: make a page about a training run, or about several, from their records or logs."""

from collections.abc import Sequence
from pathlib import Path

from ..report.pages import write_page
from .command_errors import CommandParser, exit_on
from .output import print_json
from .report_summary import describe_report, summarize_report


def build_parser() -> CommandParser:
    parser = CommandParser(
        prog="trl-grpo-rewards report",
        description="Make a page about a training run, with its statistics, warnings and groups. The page is a single file "
        "that works offline. It is made from the group records of the run (group_records=True, the default), or from the "
        "log and the tables of completions of TRL's GRPOTrainer. With several runs, the page compares them.",
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="output directory of a run, or a checkpoint")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="file to write; default: RUN/report.html, or comparison.html for several",
    )
    parser.add_argument("--json", action="store_true", help="print the statistics as JSON")
    return parser


def main(arguments: Sequence[str]) -> None:
    options = build_parser().read_arguments(arguments)
    with exit_on(OSError, ValueError):
        out = options.out or choose_file(options.runs)
        report = describe_report(write_page(options.runs, out), out)
    if options.json:
        print_json(report)
    else:
        print(summarize_report(report))


def choose_file(runs: Sequence[Path]) -> Path:
    """Return the file to write by default."""
    if len(runs) > 1:
        return Path("comparison.html")
    return (runs[0] if runs[0].is_dir() else runs[0].parent) / "report.html"
