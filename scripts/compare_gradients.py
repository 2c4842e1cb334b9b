"""Compare our trainer's gradients with TRL's in the settings of the tests, and print a table in Markdown.

    python scripts/compare_gradients.py                        # all settings, in about four minutes on two cores
    python scripts/compare_gradients.py "KL term" "two ranks"  # the settings with one of these texts in their names
    python scripts/compare_gradients.py --all architecture     # 70 tiny models of other architectures

A tiny model with random weights is trained in float64 by TRL's `GRPOTrainer` and by ours, from the same seed. The table
shows the largest relative difference between the gradients of an optimizer step, the completions that our trainer
computes with gradient, and the tokens that it computes with and without gradient, padding included, both as shares of
TRL's. Models that can compute everything in float64 do so. The exit status is 1 if a difference is above what the setting
allows, which is 1e-11 for these models.
"""

import argparse
import gc
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path


os.environ.setdefault("MKL_ENABLE_INSTRUCTIONS", "AVX2")  # models sample the same completions on every CPU

REPOSITORY = Path(__file__).parents[1]


def start_worker() -> None:
    """Print nothing, since the trainers do, and use one thread, since the model is tiny."""
    import torch

    sys.stdout = sys.stderr = open(os.devnull, "w")
    torch.set_num_threads(1)


def compare_one(place: int) -> list[tuple]:
    """Return the comparisons of a setting, one for each of its modes."""
    from helpers.grid import compare
    from helpers.settings import BY_HAND, SETTINGS

    gc.freeze()  # TRL collects garbage after each run, which would look through all modules
    with tempfile.TemporaryDirectory() as folder:
        return compare([*SETTINGS, *BY_HAND][place], Path(folder))


def compare_on_ranks() -> dict[str, list[tuple]]:
    from helpers.grid import compare_on_two_ranks

    with tempfile.TemporaryDirectory() as folder:
        return compare_on_two_ranks(Path(folder))


def print_rows(name: str, comparisons: list[tuple]) -> float:
    """Print the rows of a setting, and return the largest difference."""
    for one in comparisons:
        shares = f"{one.rows / one.rows_of_trl:.2f} | {one.tokens / one.tokens_of_trl:.2f}"
        print(f"| {name} | `{one.mode}` | {one.difference:.1e} | {shares} |", flush=True)
    return max(one.difference for one in comparisons)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "texts", nargs="*", help="texts in the names of settings; by default, all settings are compared"
    )
    parser.add_argument("--all", action="store_true", help="also compare settings that no test compares")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="settings compared at the same time")
    args = parser.parse_args()
    sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]
    os.environ["OMP_NUM_THREADS"] = "1"
    from helpers.settings import BY_HAND, RANKS, SETTINGS

    def is_wanted(name: str) -> bool:
        return not args.texts or any(text in name for text in args.texts)

    settings = [*SETTINGS, *(BY_HAND if args.all else [])]
    places = [place for place, setting in enumerate(settings) if is_wanted(setting.name)]
    of_ranks = any(is_wanted(setting.name) for setting in RANKS)
    if not places and not of_ranks:
        parser.error(f"The texts must be in the name of a setting; got {args.texts}. See tests/helpers/settings.py.")
    print("| setting | mode | largest difference | completions with gradient | tokens |\n|---|---|---|---|---|")
    with ProcessPoolExecutor(args.processes, get_context("spawn"), start_worker) as pool:
        found = zip(places, pool.map(compare_one, places), strict=True)
        highest = {settings[place].name: print_rows(settings[place].name, one) for place, one in found}
    if of_ranks:
        found = {name: one for name, one in compare_on_ranks().items() if is_wanted(name)}
        highest |= {name: print_rows(name, one) for name, one in found.items()}
    print(f"\n{len(highest)} settings; largest difference {max(highest.values()):.1e}")
    return int(any(highest.get(one.name, 0) > one.most for one in [*settings, *RANKS]))


if __name__ == "__main__":
    sys.exit(main())
