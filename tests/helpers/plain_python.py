"""What Python itself says of tests: `python plain_python.py` reads pairs of programs and tests, and runs each in a fork.

The program and the tests share one process, as in a file of their own that pytest runs. Nothing is protected.
"""

import contextlib
import inspect
import io
import itertools
import json
import os
import subprocess
import sys
import types
import unittest

import pytest  # noqa: F401, so that the forks need not import it


def ask_python(pairs: list[tuple[str, str]]) -> list[bool]:
    """Return for each program whether its tests pass."""
    command = [sys.executable, __file__]
    found = subprocess.run(command, input=json.dumps(pairs), capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def is_passed(program: str, tests: str) -> bool:
    process = os.fork()
    if process == 0:
        code = 1
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                run(program, tests)
            code = 0
        except SystemExit as error:
            code = int(bool(error.code))
        except BaseException:
            pass
        finally:
            os._exit(code)
    return os.waitpid(process, 0)[1] == 0


def run(program: str, tests: str) -> None:
    module = sys.modules["solution"] = types.ModuleType("solution")
    exec(compile(program, "program.py", "exec"), module.__dict__)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__.update(vars(module))
    main.__dict__["__name__"] = "__main__"
    exec(compile(tests, "tests.py", "exec"), main.__dict__)
    for name, value in [*vars(main).items()]:
        if isinstance(value, types.FunctionType) and name.startswith("test"):
            call(value)
        elif isinstance(value, type) and issubclass(value, unittest.TestCase):
            suite = unittest.defaultTestLoader.loadTestsFromTestCase(value)
            assert suite.run(unittest.TestResult()).wasSuccessful()
        elif isinstance(value, type) and name.startswith("Test"):
            for method in [one for one in dir(value) if one.startswith("test")]:
                getattr(value(), method)()


def call(function) -> None:
    """Call a test function, with each set of the parameters of pytest's mark."""
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    for rows in itertools.product(*(mark.args[1] for mark in marks)):
        names = [name.strip() for mark in marks for name in mark.args[0].split(",")]
        values = [value for row in rows for value in (row if isinstance(row, tuple) else (row,))]
        function(**dict(zip(names, values, strict=True)))
    assert marks or not inspect.signature(function).parameters


if __name__ == "__main__":
    print(json.dumps([is_passed(program, tests) for program, tests in json.load(sys.stdin)]))
