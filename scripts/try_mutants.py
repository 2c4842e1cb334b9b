"""Let functions of right programs return what could pass any test, and print the tests that pay them.

    python scripts/try_mutants.py rows.jsonl --number 5000 --seed 1

Each line has a right `program`, its `tests`, and perhaps an `entry_point`; see `tests/helpers/mutated_programs.py`. Where
other functions of the program call the replaced one, their values may be right by luck.
"""

import argparse
import json
import sys
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", type=Path, help="JSONL file")
    parser.add_argument("--number", type=int, default=1000, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from helpers.mutated_programs import find_paid

    rows = map(json.loads, args.rows.read_text("utf-8").splitlines())
    programs = [(row["program"], row["tests"], row.get("entry_point")) for row in rows]
    paid, tried = find_paid(programs, args.number, args.seed)
    print("\n\n".join([*paid, f"{len(paid)} of {tried} mutants are paid or not judged"]))


if __name__ == "__main__":
    main()
