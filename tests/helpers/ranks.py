"""Runs on two ranks, on one machine or as if on two, and functions on ranks that are forked from the test."""

import gc
import importlib
import json
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from accelerate import PartialState

from helpers.processes import find_free_port, fork_fresh


def launch_on_two_ranks(
    scenarios: Sequence[str], folder: Path, script: str = "two_ranks", machines: int = 1
) -> list[int | None]:
    """
    Run scenarios of a module in `tests/helpers`, one after another in the same two processes, and return their exit codes.

    With two machines, each process is the first of its own. Every scenario has a folder, in which each rank leaves what it
    saw. What the ranks print is in `folder`.
    """
    port, ranks = find_free_port(), []
    for scenario in scenarios:
        (folder / scenario).mkdir(exist_ok=True)
    try:
        for rank in range(2):
            place = {"RANK": rank, "LOCAL_RANK": rank % (2 // machines), "LOCAL_WORLD_SIZE": 2 // machines}
            place |= {"WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            place = {name: str(value) for name, value in place.items()}
            ranks.append(fork_fresh(_run_scenarios, scenarios, folder, script, place))
        end = time.monotonic() + 600
        while any(rank.exitcode is None for rank in ranks) and time.monotonic() < end:
            time.sleep(0.1)
            if any(rank.exitcode for rank in ranks):  # the other one may wait for it
                end = min(end, time.monotonic() + 30)
        return [rank.exitcode for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()


def run_on_two_ranks(
    scenarios: Sequence[str], folder: Path, script: str = "two_ranks", machines: int = 1
) -> dict[str, list[dict]]:
    """Run scenarios as `launch_on_two_ranks` does, and return what each rank saw in each of them."""
    codes = launch_on_two_ranks(scenarios, folder, script, machines)
    assert codes == [0, 0], f"{codes}\n" + "\n".join(file.read_text()[-4000:] for file in folder.glob("rank-*"))
    return {scenario: read_ranks(folder / scenario) for scenario in scenarios}


def _run_scenarios(scenarios: Sequence[str], folder: Path, script: str, place: dict[str, str]) -> None:
    os.environ.update(place)
    with open(folder / f"rank-{os.environ['RANK']}", "w") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    gc.freeze()  # TRL collects garbage after each run
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    known = vars(importlib.import_module(f"helpers.{script}"))
    for scenario in scenarios:
        write_rank(folder / scenario, known[scenario](folder / scenario))
    dist.barrier()
    sys.stderr.flush()
    os._exit(0)  # threads of gloo that are at work while Python closes may abort it


def write_rank(folder: Path, seen: dict) -> None:
    """Leave what this rank saw."""
    world = {"world_size": dist.get_world_size()}
    (folder / f"{dist.get_rank()}.json").write_text(json.dumps({**world, **seen}))


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
