"""Make a page about a training run: what its groups taught, what went wrong, and the groups themselves.

    python scripts/report.py runs/addition

Reads the group records of the run (group_records=True, the default) and writes report.html beside them. The page is one
file, opens without a network, and needs `pip install 'trl_grpo_rewards[report]'` to be made.
"""

import argparse
import sys
from pathlib import Path

from trl_grpo_rewards.report import write_report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, metavar="OUT", help="output directory of the run")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write; default: OUT/report.html")
    options = parser.parse_args()
    folder = options.run if options.run.is_dir() else options.run.parent
    try:
        print(write_report(options.run, options.out or folder / "report.html"))
    except (ImportError, OSError, ValueError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
