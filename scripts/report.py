"""Make a page about a training run: its statistics, warnings about it, and its groups.

    python scripts/report.py runs/addition

This script reads the group records of the run (group_records=True, the default) and writes report.html to its output
directory. The page is a single file and works offline. The script needs `pip install 'trl_grpo_rewards[report]'`.
"""

import argparse
from pathlib import Path

from trl_grpo_rewards.cli.commands import exit_on
from trl_grpo_rewards.report import write_report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, metavar="OUT", help="output directory of the run")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write; default: OUT/report.html")
    options = parser.parse_args()
    folder = options.run if options.run.is_dir() else options.run.parent
    with exit_on(ImportError, OSError, ValueError):
        print(write_report(options.run, options.out or folder / "report.html"))


if __name__ == "__main__":
    main()
