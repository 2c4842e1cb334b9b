"""Start runs on two ranks, either on one machine or on two machines with one rank each."""

import json
import subprocess
import sys
from pathlib import Path

from helpers.paths import TESTS
from helpers.processes import build_environment, find_free_port


def launch(command: list[str], **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, env=build_environment(), capture_output=True, text=True, timeout=240, **options)


def launch_on_two_ranks(scenario: str, folder: Path, script: str = "two_ranks.py") -> subprocess.CompletedProcess:
    """Run a scenario of a script in `tests/helpers` under torchrun."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    port = ["--master_port", str(find_free_port())]
    return launch([*torchrun, *port, str(TESTS / "helpers" / script), scenario, str(folder)])


def run_on_two_ranks(scenario: str, folder: Path, fails: bool = False, script: str = "two_ranks.py") -> list[dict]:
    """Run a scenario and return what each rank saw."""
    run = launch_on_two_ranks(scenario, folder, script)
    assert (run.returncode != 0) == fails, run.stdout[-2000:] + run.stderr[-6000:]
    return read_ranks(folder)


def run_on_two_machines(scenario: str, folder: Path, script: str) -> list[dict]:
    """Run a scenario in two processes as if each ran on its own machine, and return what each process saw."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc_per_node", "1"]
    launcher += ["--master_addr", "127.0.0.1", "--master_port", str(find_free_port())]
    machines = [
        subprocess.Popen(
            [*launcher, "--node_rank", str(rank), str(TESTS / "helpers" / script), scenario, str(folder)],
            env=build_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        for machine in machines:
            said, _ = machine.communicate(timeout=240)
            assert machine.returncode == 0, said[-4000:]
    finally:
        for machine in machines:
            machine.kill()
    return read_ranks(folder)


def read_ranks(folder: Path) -> list[dict]:
    seen = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]
    assert [one["world_size"] for one in seen] == [2, 2]
    return seen
