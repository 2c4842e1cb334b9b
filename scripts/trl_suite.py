"""Run TRL's own tests of its GRPO trainer offline: with that trainer, or with ours in its place.

    python scripts/trl_suite.py TRL/tests WORK           # writes WORK/trl.txt
    python scripts/trl_suite.py TRL/tests WORK --ours    # writes WORK/ours.txt
    python scripts/trl_suite.py --compare WORK/trl.txt WORK/ours.txt

TRL is a checkout of its source. The models and datasets of the Hub that these tests name are made in WORK, with random
weights. Tests of what is not made fail with TRL's trainer too, hence the comparison. Other arguments are pytest's.
Tests of tools are skipped unless jmespath and psutil are installed.
"""

import argparse
import importlib
import os
import re
import shutil
import signal
import sys
from pathlib import Path


REPOSITORY = Path(__file__).parents[1]
SECONDS = 900
"""For one test. Most take less than ten, but the one with a vocabulary of 248,000 and images from a tool takes minutes."""

THEIRS = "from trl import GRPOConfig, GRPOTrainer\n"
OURS = "from trl_grpo_rewards import FilteredGRPOConfig as GRPOConfig, FilteredGRPOTrainer as GRPOTrainer\n"


class Results:
    """Writes the outcome of every test to a file at once, and ends a test that takes too long."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w", buffering=1)

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "call" or report.outcome != "passed":
            print(report.outcome, report.nodeid.split("::", 1)[1], file=self.file)

    def pytest_runtest_setup(self, item) -> None:
        signal.alarm(SECONDS)

    def pytest_runtest_teardown(self, item) -> None:
        signal.alarm(0)


def give_up(number: int, frame: object) -> None:
    raise TimeoutError(f"The test took more than {SECONDS} seconds.")


def copied(tests: Path, suite: Path, ours: bool) -> Path:
    """The tests, with our trainer's names in place of TRL's."""
    shutil.rmtree(suite, ignore_errors=True)
    shutil.copytree(tests, suite / "tests")
    file = suite / "tests" / "test_grpo_trainer.py"
    source = file.read_text()
    if THEIRS not in source:
        raise SystemExit(f"{file.name} does not import the trainer by {THEIRS.strip()!r}. Adapt THEIRS to its import.")
    file.write_text(source.replace(THEIRS, OURS if ours else THEIRS))
    return file


def forget_names(utilities: Path) -> None:
    """Tests of another version of TRL may ask for optional packages that the installed one does not know."""
    known = importlib.import_module("trl.import_utils")

    for name in re.findall(r"is_\w+_available", utilities.read_text()):
        if not hasattr(known, name):
            setattr(known, name, lambda *args, **kwargs: False)


def run(tests: Path, work: Path, ours: bool, rest: list[str]) -> int:
    os.environ.update(HF_HUB_OFFLINE="1", TRL_EXPERIMENTAL_SILENCE="1", TOKENIZERS_PARALLELISM="false")
    sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]
    import pytest
    import trl_hub

    hub = work / "trl-internal-testing"
    trl_hub.register_processors()
    if not (hub / "zen-multi-image").exists():
        trl_hub.make_hub(hub)
    kind = "ours" if ours else "trl"
    file = copied(tests, work / kind, ours)
    forget_names(file.with_name("testing_utils.py"))
    signal.signal(signal.SIGALRM, give_up)
    os.chdir(work)  # where `trl-internal-testing/...` is a folder, nothing asks the Hub
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(work / kind), "-c", os.devnull]
    return pytest.main([*options, str(file), *rest], plugins=[Results(work / f"{kind}.txt")])


def outcomes(path: Path) -> dict[str, str]:
    return {test: outcome for outcome, test in (line.split(" ", 1) for line in path.read_text().splitlines())}


def compare(theirs: Path, ours: Path) -> int:
    """Prints what passes with TRL's trainer and not with ours; how many these are is the exit status, at most 1."""
    expected, got = outcomes(theirs), outcomes(ours)
    passed = [test for test, outcome in expected.items() if outcome == "passed"]
    lost = [test for test in passed if got.get(test) != "passed"]
    print(f"{len(passed)} tests pass with TRL's trainer; of these, {len(passed) - len(lost)} pass with ours.")
    for test in lost:
        print(f"{got.get(test, 'not run')}: {test}")
    return int(bool(lost))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tests", type=Path, nargs="?", help="the folder `tests` of TRL's source")
    parser.add_argument("work", type=Path, nargs="?", help="a folder for models, datasets and results")
    parser.add_argument("--ours", action="store_true", help="put our trainer and configuration in place of TRL's")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("TRL", "OURS"), help="two files of results")
    args, rest = parser.parse_known_args()
    if args.compare:
        return compare(*args.compare)
    if not args.work:
        parser.error("TESTS and WORK are required, or --compare.")
    return run(args.tests.resolve(), args.work.resolve(), args.ours, rest)


if __name__ == "__main__":
    sys.exit(main())
