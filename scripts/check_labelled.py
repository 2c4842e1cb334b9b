"""Check labelled rewards, broken and healthy ones, and print which are found, missed, or called faulty though they are not.

    python scripts/check_labelled.py
    python scripts/check_labelled.py --json

The rewards and their data are in `tests/helpers/labelled_rewards.txt`.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from datasets import Dataset

from trl_grpo_rewards.checks import check
from trl_grpo_rewards.checks.contract import check_readiness
from trl_grpo_rewards.cli.console import format_table


sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from helpers.labelled_rewards import DATA, LABELLED


def try_labelled() -> list[dict[str, Any]]:
    """Check each labelled reward with its data. The result is found, missed, quiet, warned, a false alarm, or not run."""
    results = []
    for name, said, rewards, data in LABELLED:
        is_ready = not check_readiness(rewards).faults
        found = check(rewards, Dataset.from_dict(DATA[data])) if is_ready else []
        faults, warnings = ([text for one in found for text in getattr(one, kind)] for kind in ("faults", "warnings"))
        meant = [text for text in faults + warnings if re.search(said, text)]
        result = "false alarm" if faults else "warned" if warnings else "quiet"
        result = "not run" if not is_ready else result if not said else "found" if meant else "missed"
        row = {"reward": name, "data": data, "is_broken": bool(said), "result": result}
        results.append({**row, "finding": (meant or [""])[0]})
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print the results with their findings as JSON")
    is_json, results = parser.parse_args().json, try_labelled()
    broken, healthy = ([one["result"] for one in results if one["is_broken"] is kind] for kind in (True, False))
    missed, alarms = broken.count("missed"), healthy.count("false alarm")
    if is_json:
        print(json.dumps(results, indent=2))
    else:
        rows = [
            [one["reward"], one["data"], "broken" if one["is_broken"] else "healthy", one["result"]] for one in results
        ]
        print(*format_table([["reward", "data", "it is", "result"], *rows], "<<<<"), sep="\n")
        print(
            f"\n{broken.count('found')} of {len(broken)} broken rewards found, {missed} missed; {alarms} of {len(healthy)} "
            f"healthy rewards called faulty, {healthy.count('warned')} with a warning."
        )
    sys.exit(bool(missed or alarms))


if __name__ == "__main__":
    main()
