"""What programs can import and use: the whole standard library, named packages, and what scripts rely on."""

import os
import subprocess
import sys

import pytest

from helpers.attacked import TIERS, force_tier, start_runner
from helpers.processes import build_environment
from trl_grpo_rewards.sandbox.local import LocalSandbox
from trl_grpo_rewards.sandbox.protocol import Limits


IMPORT_ALL = """
import importlib, sys
failed = []
for name in sorted(sys.stdlib_module_names - {"antigravity"}):  # which opens a browser
    try:
        importlib.import_module(name)
    except Exception as error:
        failed.append(f"{name}:{type(error).__name__}")
print()
print(*failed)
"""


@pytest.fixture(scope="module", params=TIERS)
def runner(request):
    prefix = force_tier(request.param, sys.executable)
    with start_runner(None, {"PATH": os.environ["PATH"]}, sys.executable, prefix) as runner:
        runner.tier = request.param
        yield runner


def test_the_whole_standard_library_can_be_imported(runner):
    command = [sys.executable, "-S", "-c", IMPORT_ALL]
    outside = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    (inside,) = runner.run(IMPORT_ALL, seconds=20.0, memory_mb=1024)
    assert inside["status"] == "finished", inside
    expected, found = (set(text.splitlines()[-1].split()) for text in (outside.stdout, inside["output"]))
    assert found <= expected


def test_time_zones_are_known(runner):
    if runner.tier == "no files" or not os.path.exists("/usr/share/zoneinfo/Europe/Paris"):
        pytest.skip("time zones are read from files")
    (result,) = runner.run("import zoneinfo; print(zoneinfo.ZoneInfo('Europe/Paris'))", seconds=5.0)
    assert result["output"] == "Europe/Paris\n", result


def test_standard_input_and_the_source_cannot_be_changed(runner):
    (result,) = runner.run("import os\nos.lseek(0, 0, 0)\nos.write(0, b'x')", ("given",))
    assert "PermissionError" in result["errors"]


def test_nothing_that_modules_print_is_output(runner):
    (result,) = runner.run("")
    assert (result["output"], result["errors"]) == ("", "")


def test_pending_signals_are_limited(runner):
    program = """
import ctypes, os, signal
libc, sent = ctypes.CDLL(None), 0
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while libc.syscall(234 if os.uname().machine == "x86_64" else 131, os.getpid(), os.getpid(), 40) == 0:
    sent += 1
print(sent)
"""
    (result,) = runner.run(program, seconds=5.0)
    assert 0 < int(result["output"]) <= 256, result


PACKAGE = {"name": "sortedcontainers", "use": "import sortedcontainers; print(sortedcontainers.SortedList([2, 1]))"}


@pytest.fixture(scope="module")
def with_package():
    pytest.importorskip("sortedcontainers")
    sandbox = LocalSandbox(1, packages=("sortedcontainers",))
    yield sandbox
    sandbox.stop()


def test_named_packages_can_be_imported(with_package):
    result = with_package.run_once(PACKAGE["use"].encode(), b"", Limits())
    assert (result.status, result.output) == ("finished", "SortedList([1, 2])\n"), result


def test_other_packages_cannot_be_imported(with_package):
    result = with_package.run_once(b"import pytest", b"", Limits())
    assert result.status == "crashed" and "No module named 'pytest'" in result.errors
    look = f"import os; print(os.listdir({os.path.dirname(pytest.__file__)!r}))"
    assert "PermissionError" in with_package.run_once(look.encode(), b"", Limits()).errors


def test_packages_come_with_those_that_they_need():
    pytest.importorskip("pandas")
    sandbox = LocalSandbox(1, packages=("pandas",))
    assert {"pandas", "numpy", "dateutil"} <= sandbox.importable
    program = b"import pandas, numpy.fft, numpy.linalg; print(int(pandas.DataFrame({'a': [1, 2]}).a.sum()))"
    try:
        assert sandbox.run_once(program, b"", Limits(seconds=10.0)).output == "3\n"
    finally:
        sandbox.stop()


def test_packages_without_landlock():
    pytest.importorskip("sortedcontainers")
    script = (
        "from helpers.program_runner import Limits, LocalSandbox\n"
        "sandbox = LocalSandbox(1, packages=('sortedcontainers',))\n"
        f"print(sandbox.find_tier()[0], sandbox.run_once({PACKAGE['use']!r}.encode(), b'', Limits()).output)\n"
        "sandbox.stop()"
    )
    command = [*force_tier("no files", sys.executable), sys.executable, "-c", script]
    found = subprocess.run(command, capture_output=True, text=True, env=build_environment())
    assert found.stdout == "no files SortedList([1, 2])\n\n", found.stderr


def test_a_package_that_is_not_installed():
    message = (
        r"packages=\('no-such-package',\) must name installed distributions; .* has no 'no-such-package'. Install them"
    )
    sandbox = LocalSandbox(1, packages=("no-such-package",))
    for check in (sandbox.check_ready, lambda: sandbox.importable):
        with pytest.raises(ValueError, match=message):
            check()
