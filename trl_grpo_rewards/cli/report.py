"""`trl-grpo-rewards report`: make a page about a training run from its group records."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from ..report import write_report
from .commands import exit_on


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="trl-grpo-rewards report",
        description="Make a page about a training run: its statistics, warnings about it, and its groups. It is written "
        "from the group records of the run (group_records=True, the default), is a single file, and works offline.",
    )
    parser.add_argument("run", type=Path, metavar="OUT", help="output directory of the run")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write; default: OUT/report.html")
    options = parser.parse_args(arguments)
    folder = options.run if options.run.is_dir() else options.run.parent
    with exit_on(OSError, ValueError):
        print(write_report(options.run, options.out or folder / "report.html"))
