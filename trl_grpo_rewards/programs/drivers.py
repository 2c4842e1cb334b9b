"""What is sent to a back end for the cases of a row: a function of [`inside`] with its arguments."""

import functools
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import inside
from .cases import CallCase, OutputCase, PythonTests
from .names import find_use


FOLDER = Path(inside.__file__).parent

PACKAGE = "programs.inside"
"""Name of the package inside the sandbox."""

NAMES = tuple(
    "nodes prelude plain_data sharing dialogue calls program_side stand_ins pytest_stand_in tests_side collection "
    "runner side_by_side".split()
)
"""Modules of [`inside`], each after those that it imports."""

MODULES = tuple(f"{PACKAGE}.{name}" for name in NAMES)
"""Modules that a back end on this machine may load in advance."""


def write_driver(program: str, case: OutputCase | CallCase) -> tuple[str, str]:
    """Return the source that runs a program for a case, and its standard input. Neither holds what is expected."""
    match case:
        case OutputCase(input=text):
            return write_call("calls", "run_script", program), text
        case CallCase(function=function, arguments=arguments):
            return write_call("calls", "answer_call", program, function), arguments


def write_pair(program: str, case: PythonTests, partial: bool) -> tuple[str, str]:
    """Return the source that runs the tests, and the source that runs the program."""
    return (
        write_call("runner", "run_tests", asdict(case) | asdict(find_use(case)), partial),
        write_call("program_side", "serve_program", program),
    )


def write_call(module: str, function: str, *arguments: Any) -> str:
    """Return the source of a call of a function inside, in ASCII."""
    return f"from {PACKAGE}.{module} import {function}\n{function}({', '.join(map(ascii, arguments))})\n"


def bundle(source: str, last: str = NAMES[-1]) -> str:
    """Return a source for a back end that has not loaded the modules: they travel with it, up to the last one needed."""
    return f"{write_loader(last)}\n{source}"


@functools.cache
def write_loader(last: str) -> str:
    names = NAMES[: NAMES.index(last) + 1]
    sources = {name: (FOLDER / f"{name}.py").read_text(encoding="utf-8") for name in names}
    return (
        "import sys, types\n"
        f"for name in ('programs', '{PACKAGE}'):\n"
        "    sys.modules[name] = types.ModuleType(name)\n"
        "    sys.modules[name].__path__ = []\n"
        f"for name, source in {sources!a}.items():\n"
        f"    module = sys.modules['{PACKAGE}.' + name] = types.ModuleType('{PACKAGE}.' + name)\n"
        f"    module.__package__ = '{PACKAGE}'\n"
        f"    setattr(sys.modules['{PACKAGE}'], name, module)\n"
        "    exec(compile(source, name + '.py', 'exec'), module.__dict__)\n"
    )
