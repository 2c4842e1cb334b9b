"""What installed packages consist of, as the interpreter that runs them sees it: `python packages.py NAME...`."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any


SURVEY_SECONDS = 60.0
"""Time limit for the survey of an interpreter's packages, in seconds of wall time."""


def list_top_level(packages: Iterable[str], python: str | None = None) -> frozenset[str]:
    """
    Return the names by which packages, and the packages that they need, are imported.

    Args:
        packages (`list[str]`):
            Names of installed distributions, such as `"scikit-learn"`.
        python (`str`, *optional*):
            Interpreter that has them installed. By default, it is the one of this process.

    Raises:
        `ValueError`: one of them is not installed.
    """
    found = survey_packages(python or sys.executable, tuple(sorted(packages)))
    return frozenset([*found["named"], *found["needed"]])


@cache
def survey_packages(python: str, packages: tuple[str, ...]) -> dict[str, Any]:
    """Ask an interpreter about packages. See [`describe_packages`] for the result."""
    if not packages:
        return {"path": [], "named": [], "needed": [], "folders": []}
    command = [python, "-P", "-B", __file__, *packages]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=SURVEY_SECONDS)
    found: dict[str, Any] = json.loads(asked.stdout) if asked.returncode == 0 else {"missing": [*packages]}
    if "missing" in found:
        names = ", ".join(map(repr, found["missing"]))
        raise ValueError(
            f"packages={packages!r} must name distributions that are installed for {python}; it has no {names}. Install "
            f"them with '{python} -m pip install', or leave them out. {asked.stderr[-300:]}".strip()
        )
    return found


def describe_packages(packages: Iterable[str]) -> dict[str, Any]:
    """
    Return where packages are (`path`, `folders`) and what they are imported as (`named`, and `needed` by them), or which
    ones are `missing`.
    """
    missing = [name for name in packages if not is_installed(name)]
    if missing:
        return {"missing": missing}
    named = [importlib.metadata.distribution(name) for name in packages]
    needed = [
        one for one in list_needed(packages) if one.metadata["Name"] not in {two.metadata["Name"] for two in named}
    ]
    folders = {str(one.locate_file(part)) for one in (*named, *needed) for part in list_parts(one)}
    return {
        "path": [os.path.abspath(path) for path in sys.path if os.path.isdir(path)],
        "named": sorted({name for one in named for name in list_modules(one)}),
        "needed": sorted({name for one in needed for name in list_modules(one)}),
        "folders": sorted(folders),
    }


def is_installed(package: str) -> bool:
    try:
        importlib.metadata.distribution(package)
        return True
    except importlib.metadata.PackageNotFoundError:
        return False


def list_needed(packages: Iterable[str]) -> list[importlib.metadata.Distribution]:
    """Return the installed distributions that others need, directly or not. Those of extras are left out."""
    found: dict[str, importlib.metadata.Distribution] = {}
    names = [*packages]
    for name in names:  # which grows
        if name not in found and is_installed(name):
            found[name] = importlib.metadata.distribution(name)
            required = [
                one for one in found[name].requires or () if "extra ==" not in one.replace("extra==", "extra ==")
            ]
            names += [re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in required]
    return [*found.values()]


def list_parts(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return the files and folders of a distribution in the folder where it is installed, without what describes it."""
    parts = {file.parts[0] for file in distribution.files or ()}
    return {part for part in parts if part not in ("..", "__pycache__", "/") and not part.endswith(("-info", ".pth"))}


def list_modules(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return the names by which a distribution is imported."""
    parts = list_parts(distribution) or {*(distribution.read_text("top_level.txt") or "").split()}
    modules = {part.split(".")[0] for part in parts if part.endswith((".py", ".so")) or "." not in part}
    return {name for name in modules if name.isidentifier() and not name.startswith("__editable__")}


if __name__ == "__main__":
    json.dump(describe_packages(sys.argv[1:]), sys.stdout)
