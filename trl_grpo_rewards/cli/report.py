"""`trl-grpo-rewards report`: make a page about a training run from its group records."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from ..report.pages import write_page
from .commands import exit_on
from .output import EXIT_CODES, print_json
from .report_summary import describe, summarize


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="trl-grpo-rewards report",
        description="Make a page about a training run: its statistics, warnings about it, and its groups. It is written\n"
        "from the group records of the run (group_records=True, the default), is a single file, and works offline.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, metavar="OUT", help="output directory of the run")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write; default: OUT/report.html")
    parser.add_argument("--json", action="store_true", help="print the statistics as JSON")
    options = parser.parse_args(arguments)
    folder = options.run if options.run.is_dir() else options.run.parent
    out = options.out or folder / "report.html"
    with exit_on(OSError, ValueError):
        report = describe(write_page(options.run, out), out)
    if options.json:
        print_json(report)
    else:
        print(summarize(report))
