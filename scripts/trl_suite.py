"""Run TRL's own tests of its GRPO trainer offline, with TRL's trainer or with ours.

    python scripts/trl_suite.py TRL/tests WORK           # writes WORK/trl.txt
    python scripts/trl_suite.py TRL/tests WORK --ours    # writes WORK/ours.txt
    python scripts/trl_suite.py --compare WORK/trl.txt WORK/ours.txt

TRL is a checkout of TRL's source. The tests use models and datasets from the Hub. The script makes replacements with
random weights in WORK. It does not replace all models, so some tests fail with TRL's trainer, too. `--compare` therefore
counts only the tests that pass with TRL's trainer. Further arguments are passed to pytest. Tests of tools are skipped
unless jmespath and psutil are installed.
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
THEIRS = "from trl import GRPOConfig, GRPOTrainer\n"
OURS = "from trl_grpo_rewards import FilteredGRPOConfig as GRPOConfig, FilteredGRPOTrainer as GRPOTrainer\n"


class Results:
    """Writes the outcome of each test to a file immediately, and stops a test that takes too long."""

    def __init__(self, path: Path, timeout: int) -> None:
        self.file, self.timeout = path.open("w", buffering=1), timeout
        signal.signal(signal.SIGALRM, self.stop)

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "call" or report.outcome != "passed":
            print(report.outcome, report.nodeid.split("::", 1)[1], file=self.file)

    def pytest_runtest_setup(self, item) -> None:
        signal.alarm(self.timeout)

    def pytest_runtest_teardown(self, item) -> None:
        signal.alarm(0)

    def stop(self, number: int, frame: object) -> None:
        raise TimeoutError(f"The test took more than {self.timeout} seconds.")


def copy_tests(tests: Path, suite: Path, ours: bool) -> Path:
    """Copy the tests, and return the file of the trainer's tests. It imports our trainer if `ours` is set."""
    shutil.rmtree(suite, ignore_errors=True)
    shutil.copytree(tests, suite / "tests")
    file = suite / "tests" / "test_grpo_trainer.py"
    source = file.read_text()
    if THEIRS not in source:
        raise SystemExit(
            f"{file.name} must import the trainer by {THEIRS.strip()!r}, but does not. Change THEIRS to its import."
        )
    file.write_text(source.replace(THEIRS, OURS if ours else THEIRS))
    return file


def add_missing_checks(utilities: Path) -> None:
    """Add the checks for optional packages that the tests import and the installed TRL does not have."""
    known = importlib.import_module("trl.import_utils")

    for name in re.findall(r"is_\w+_available", utilities.read_text()):
        if not hasattr(known, name):
            setattr(known, name, lambda *args, **kwargs: False)


def run_suite(tests: Path, work: Path, ours: bool, timeout: int, rest: list[str]) -> int:
    os.environ.update(HF_HUB_OFFLINE="1", TRL_EXPERIMENTAL_SILENCE="1", TOKENIZERS_PARALLELISM="false")
    sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]
    import pytest
    import trl_hub

    hub = work / "trl-internal-testing"
    trl_hub.register_processors()
    if not (hub / "zen-multi-image").exists():
        trl_hub.make_hub(hub)
    kind = "ours" if ours else "trl"
    file = copy_tests(tests, work / kind, ours)
    add_missing_checks(file.with_name("testing_utils.py"))
    os.chdir(work)  # `trl-internal-testing/...` is a folder here, so nothing is loaded from the Hub
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(work / kind), "-c", os.devnull]
    return pytest.main([*options, str(file), *rest], plugins=[Results(work / f"{kind}.txt", timeout)])


def read_outcomes(path: Path) -> dict[str, str]:
    return {test: outcome for outcome, test in (line.split(" ", 1) for line in path.read_text().splitlines())}


def compare(theirs: Path, ours: Path) -> int:
    """Print the tests that pass with TRL's trainer but not with ours. Return 1 if there are any, else 0."""
    expected, got = read_outcomes(theirs), read_outcomes(ours)
    passed = [test for test, outcome in expected.items() if outcome == "passed"]
    lost = [test for test in passed if got.get(test) != "passed"]
    print(f"{len(passed)} tests pass with TRL's trainer, and {len(passed) - len(lost)} of them pass with ours.")
    for test in lost:
        print(f"{got.get(test, 'not run')}: {test}")
    return int(bool(lost))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tests", type=Path, nargs="?", help="folder `tests` of TRL's source")
    parser.add_argument("work", type=Path, nargs="?", help="folder for models, datasets and results")
    parser.add_argument("--ours", action="store_true", help="test our trainer and configuration instead of TRL's")
    parser.add_argument(
        "--timeout",
        type=int,
        default=900,
        help="seconds for one test; most take less than ten, but one with tools and images takes more than the default",
    )
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("TRL", "OURS"), help="two files with results")
    args, rest = parser.parse_known_args()
    if args.compare:
        return compare(*args.compare)
    if not args.work:
        parser.error("Either TESTS and WORK or --compare is required.")
    return run_suite(args.tests.resolve(), args.work.resolve(), args.ours, args.timeout, rest)


if __name__ == "__main__":
    sys.exit(main())
