"""Start runs on two ranks, on one machine or on two, and functions on ranks that are forked from the test."""

import json
import multiprocessing
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from accelerate import PartialState

from helpers.paths import TESTS
from helpers.processes import build_environment, find_free_port


def launch(command: list[str], **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, env=build_environment(), capture_output=True, text=True, timeout=600, **options)


def launch_on_two_ranks(scenario: str, folder: Path, script: str = "two_ranks.py") -> subprocess.CompletedProcess:
    """Run a scenario of a script in `tests/helpers` under torchrun, or several that are separated by commas."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    port = ["--master_port", str(find_free_port())]
    return launch([*torchrun, *port, str(TESTS / "helpers" / script), scenario, str(folder)])


def run_together_on_two_ranks(
    scenarios: Sequence[str], folder: Path, script: str = "two_ranks.py"
) -> dict[str, list[dict]]:
    """Run scenarios one after another in the same two processes, and return what each rank saw in each of them."""
    for scenario in scenarios:
        (folder / scenario).mkdir(exist_ok=True)
    run = launch_on_two_ranks(",".join(scenarios), folder, script)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-6000:]
    return {scenario: read_ranks(folder / scenario) for scenario in scenarios}


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


def run_on_forked_ranks(target: Callable[[int], Any], count: int = 2) -> list[Any]:
    """
    Return what `target(rank)` returns on each rank of a process group of forked processes.

    A fork starts in milliseconds, since nothing is imported again. The target must not use autograd or a GPU.
    """
    context, port = multiprocessing.get_context("fork"), find_free_port()
    pipes = [context.Pipe(duplex=False) for _ in range(count)]
    ranks = [
        context.Process(target=_run_rank, args=(target, rank, count, port, sending), daemon=True)
        for rank, (_, sending) in enumerate(pipes)
    ]
    try:
        for rank in ranks:
            rank.start()
        results = [receiving.recv() if receiving.poll(30) else (None, "no answer in 30 s") for receiving, _ in pipes]
    finally:
        for rank in ranks:
            rank.kill()
            rank.join()
    assert not any(error for _, error in results), results
    return [result for result, _ in results]


def _run_rank(target: Callable[[int], Any], rank: int, count: int, port: int, sending: Any) -> None:
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()}, MASTER_ADDR="127.0.0.1")
    try:
        PartialState._reset_state()  # it knows the parent, which is alone
        PartialState(cpu=True)
        sending.send((target(rank), None))
    except BaseException:
        sending.send((None, traceback.format_exc()))
    time.sleep(30)  # until it is killed, so that no rank loses a partner that it still talks to
