"""What a worker loads before it forks, so that programs can import the whole standard library and the named packages."""

import _sitebuiltins
import builtins
import contextlib
import ctypes
import importlib
import io
import os
import pkgutil
import selectors
import sys
import zoneinfo
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from . import landlock
from .execution import PROGRAM_NAME, open_file


PRELOADED = (
    "abc array bisect calendar cmath collections.abc copy ctypes dataclasses datetime decimal enum fractions functools "
    "hashlib heapq itertools json math numbers operator queue random re statistics string textwrap typing uuid"
)
"""Modules that programs often import."""

UNIMPORTED, SHALLOW = {"antigravity"}, {"idlelib", "turtledemo"}
"""Modules of the library that open a browser or a window when they, or modules inside them, are imported."""

DEPTH = 3
"""How deep modules of the library are nested that a program can import where it cannot open files."""

FIND_UNLOADABLE = b"""
import ctypes, glob, sys
for path in (path for folder in sys.path for path in glob.glob(folder + "/*.so")):
    try:
        ctypes.CDLL(path)
    except OSError:
        print(path)
"""
"""The first program of each worker. It writes which extension modules need files that the jail hides."""


def prepare_interpreter() -> None:
    """Give programs what the interpreter gives a script, and what stands in for what the jail forbids."""
    for module in PRELOADED.split():
        importlib.import_module(module)
    for name in ("exit", "quit"):  # the module `site` makes them, which is not loaded
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    builtins.open = io.open = open_file
    selectors.DefaultSelector = selectors.PollSelector  # type: ignore[misc, assignment]  # needs fewer system calls
    sys.argv[:] = [PROGRAM_NAME]
    sys.orig_argv[:] = [sys.executable, PROGRAM_NAME]


def import_all(names: Iterable[str], depth: int = 0) -> None:
    """Import modules that can be imported, with the modules inside them to a depth."""
    for name in names:
        with contextlib.suppress(BaseException):
            module = importlib.import_module(name)
            inside = pkgutil.iter_modules(getattr(module, "__path__", ())) if depth else ()
            parts = (part.name for part in inside if not part.name.startswith(("__", "test", "conftest")))
            import_all([f"{name}.{part}" for part in parts], depth - 1)


class PackageFinder:
    """Finds named packages and no others, so that they do without optional packages that happen to be installed."""

    def __init__(self, names: Iterable[str], path: list[str]) -> None:
        self.names, self.path = {*names}, path

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, self.path) if name in self.names else None


def import_packages(packages: dict[str, Any]) -> None:
    """Import packages that [`packages.describe_packages`] describes. Those that others need may be missing."""
    if packages["named"]:
        sys.meta_path.append(PackageFinder([*packages["named"], *packages["needed"]], packages["path"]))
    for name in packages["named"]:
        importlib.import_module(name)
    import_all(packages["needed"])


def load_extensions(paths: Iterable[str]) -> None:
    """Load libraries for good, so that programs can import the modules inside them."""
    for path in paths:
        with contextlib.suppress(OSError):
            ctypes.CDLL(path)


def import_everything(packages: dict[str, Any]) -> None:
    """Import the whole library and packages with the modules inside them, for programs that cannot open files."""
    import_all([*packages["named"], *packages["needed"]], depth=1)
    import_all(SHALLOW)
    import_all(sorted(sys.stdlib_module_names - UNIMPORTED - SHALLOW), DEPTH)


def list_readable(packages: dict[str, Any]) -> list[str]:
    """Return the files and folders that programs may read."""
    modules = [sys.modules[name] for name in (*packages["named"], *packages["needed"]) if name in sys.modules]
    paths = {path for one in modules for path in getattr(one, "__path__", None) or [getattr(one, "__file__", None)]}
    found = {os.path.realpath(path) for path in (*paths, *packages["folders"], *zoneinfo.TZPATH) if path}
    return [*landlock.list_library(), *sorted(path for path in found if os.path.exists(path))]
