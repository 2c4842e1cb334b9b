"""Run the gradient tests of this project with the source of another version of TRL, without installing it.

    python scripts/trl_checkout.py --trl TRL                  # all gradient tests
    python scripts/trl_checkout.py --trl TRL -m "not slow"    # further arguments are passed to pytest

TRL is a checkout or an unpacked release, with the folder `trl` and the file VERSION. Everything else, such as transformers,
is the installed version.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path


REPOSITORY = Path(__file__).parents[1]
SHOW = "import trl; print(trl.__version__, trl.__file__)"


def read_version(source: Path) -> str:
    """Return the version of a source tree of TRL."""
    for file in (source / "VERSION", source / "trl" / "VERSION"):
        if file.exists():
            return file.read_text().strip()
    raise SystemExit(f"{source} must be the source of TRL, with the file VERSION; there is none. Pass --trl CHECKOUT.")


def build_environment(source: Path, folder: Path) -> dict[str, str]:
    """Return an environment in which Python imports TRL from its source. The folder gets metadata with its version."""
    version = read_version(source)
    metadata = folder / f"trl-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: trl\nVersion: {version}\n")
    paths = [str(folder), str(source), str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run_tests(source: Path, rest: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        environment = build_environment(source, Path(folder))
        shown = subprocess.run(
            [sys.executable, "-c", SHOW], env=environment, capture_output=True, text=True, check=True
        )
        version, place = shown.stdout.strip().split(" ", 1)
        if not Path(place).is_relative_to(source):
            raise SystemExit(f"TRL must be imported from {source}, but is imported from {place}. Uninstall that one.")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/training", "-k", "gradient"]
        status = subprocess.run([*command, *rest], cwd=REPOSITORY, env=environment).returncode
    print(f"The gradient tests {'fail' if status else 'pass'} with trl {version} in {source}.")
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trl", type=Path, required=True, help="folder with TRL's source")
    args, rest = parser.parse_known_args()
    return run_tests(args.trl.resolve(), rest)


if __name__ == "__main__":
    sys.exit(main())
