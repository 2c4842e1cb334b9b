"""Kernels that refuse a part of the jail: the kernel really refuses the call. Nothing runs unprotected."""

import errno
import json
import platform
import subprocess
import sys

import pytest

from helpers.attacked import WITHOUT_CALL
from helpers.processes import build_environment


SCRIPT = """
import json, logging, sys
from helpers.program_runner import Limits, LocalSandbox  # without the rest of the package, which takes seconds
from trl_grpo_rewards.sandbox.protocol import SandboxMissing
logging.basicConfig(format="%(levelname)s %(name)s")
sandbox = LocalSandbox(int(sys.argv[1]))
try:
    tier = sandbox.find_tier()
    runs = [sandbox.run_once(program, b"", Limits()) for program in (b"print(1)", b"open('/etc/passwd')")]
    print(json.dumps([*tier, runs[0].output, runs[1].errors.splitlines()[-1]]))
except SandboxMissing as error:
    print(json.dumps([str(error)]))
sandbox.stop()
"""

IS_X86 = platform.machine() == "x86_64"
SECCOMP, CAPSET, PRLIMIT, MEMFD, PRCTL = (317, 126, 302, 319, 157) if IS_X86 else (277, 91, 261, 279, 167)
PIDFD_OPEN = 434

ERRORS = {
    errno.ENOSYS: "ENOSYS: the kernel was built without it",
    errno.EPERM: "EPERM: the profile of the container, or another sandbox, forbids it",
    errno.EINVAL: "EINVAL: Invalid argument",
}


def try_without(call, workers=1):
    command = [sys.executable, WITHOUT_CALL, call, sys.executable, "-c", SCRIPT, str(workers)]
    found = subprocess.run(command, capture_output=True, text=True, env=build_environment())
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout), found.stderr


@pytest.mark.parametrize(
    ("call", "error", "workers"), [(444, errno.ENOSYS, 2), (445, errno.EPERM, 1), (446, errno.EINVAL, 1)]
)
def test_without_landlock_no_file_can_be_opened(call, error, workers):
    (tier, about, output, refusal), logged = try_without(f"{call}:{error}", workers)
    assert tier == "no files" and f"lacks Landlock ({ERRORS[error]})" in about
    assert output == "1\n" and refusal.startswith("FileNotFoundError")
    assert logged == "WARNING trl_grpo_rewards.sandbox.local\n"  # once for two workers


@pytest.mark.parametrize(
    ("call", "layer", "error"),
    [
        (f"{SECCOMP}", "seccomp filters that can kill a process", errno.ENOSYS),
        (f"{SECCOMP}:{errno.EPERM}", "seccomp filters that can kill a process", errno.EPERM),
        (f"{PRCTL}:{errno.EPERM}:22", "seccomp filters that can kill a process", errno.EPERM),
        (f"{PRCTL}:{errno.EINVAL}:38", "no_new_privs", errno.EINVAL),
        (f"{PRCTL}:{errno.EPERM}:4", "PR_SET_DUMPABLE", errno.EPERM),
        (f"{PRCTL}:{errno.EPERM}:1", "PR_SET_PDEATHSIG", errno.EPERM),
        (f"{CAPSET}:{errno.EPERM}", "capset", errno.EPERM),
        (f"{PRLIMIT}:{errno.EPERM}", "limits of resources", errno.EPERM),
        (f"{MEMFD}", "files in memory", errno.ENOSYS),
    ],
)
def test_without_another_layer_nothing_runs(call, layer, error):
    (message,), _ = try_without(call)
    assert f"This machine lacks {layer} ({ERRORS[error]})." in message, message
    assert "Nothing was run" in message and "backend='my_module:MySandbox'" in message


def test_descriptors_of_processes_are_not_needed():
    (tier, _, output, _), logged = try_without(str(PIDFD_OPEN))
    assert (tier, output, logged) == ("landlock", "1\n", "")
