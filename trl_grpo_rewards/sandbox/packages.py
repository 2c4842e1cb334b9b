"""What installed packages consist of, as the interpreter that runs them sees it: `python packages.py NAME...`."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any


SURVEY_SECONDS = 60.0  # time limit for the survey of an interpreter's packages, in seconds of wall time


def list_top_level(packages: Iterable[str], python: str | None = None) -> frozenset[str]:
    """Return the names by which installed distributions, and those that they need, are imported."""
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
    """Return where packages are (`path`, `folders`), what is imported (`named`, and `needed` by it), or `missing` ones."""
    found = find_distributions(packages)
    missing = [name for name in packages if name not in found]
    if missing:
        return {"missing": missing}
    named = {one.metadata["Name"] for one in map(found.get, packages) if one}
    modules: dict[str, set[str]] = {"named": set(), "needed": set()}
    for one in found.values():
        modules["named" if one.metadata["Name"] in named else "needed"] |= list_modules(one)
    return {
        "path": [os.path.abspath(path) for path in sys.path if os.path.isdir(path)],
        **{kind: sorted(names) for kind, names in modules.items()},
        "folders": sorted(
            {str(one.locate_file(part)) for one in found.values() for part in list_installed_parts(one)}
        ),
    }


def find_distributions(packages: Iterable[str]) -> dict[str, Distribution]:
    """Return the installed distributions of some names, and those that they need. Those of extras are left out."""
    found: dict[str, Distribution] = {}
    names = [*packages]
    for name in names:  # which grows
        if name not in found:
            with contextlib.suppress(PackageNotFoundError):
                found[name] = distribution(name)
                required = [one for one in found[name].requires or () if not re.search("extra *==", one)]
                names += [re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in required]
    return found


def list_installed_parts(package: Distribution) -> set[str]:
    """Return the files and folders of a distribution in the folder where it is installed, without what describes it."""
    parts = {file.parts[0] for file in package.files or ()}
    return {part for part in parts if part not in ("..", "__pycache__", "/") and not part.endswith(("-info", ".pth"))}


def list_modules(package: Distribution) -> set[str]:
    parts = list_installed_parts(package) or {*(package.read_text("top_level.txt") or "").split()}
    modules = {part.split(".")[0] for part in parts if part.endswith((".py", ".so")) or "." not in part}
    return {name for name in modules if name.isidentifier() and not name.startswith("__editable__")}


if __name__ == "__main__":
    json.dump(describe_packages(sys.argv[1:]), sys.stdout)
