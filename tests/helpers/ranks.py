"""Functions and tests that run on two ranks, on one machine or as if on two, and functions on forked ranks."""

import functools
import gc
import importlib
import inspect
import multiprocessing
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from accelerate import PartialState
from trl import GRPOConfig, GRPOTrainer

from helpers.models import save_layer
from helpers.processes import find_free_port, fork_fresh
from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, Reward, demo


def on_two_ranks(scenario: Callable | None = None, *, machines: int = 1) -> Any:
    """Make a test of a function that checks in two processes, given a folder that both have, what each of them sees."""
    if scenario is None:
        return functools.partial(on_two_ranks, machines=machines)

    def test(tmp_path):
        run_on_two_ranks(scenario, tmp_path, machines=machines)

    test.scenario, test.__name__, test.__doc__ = scenario, scenario.__name__, scenario.__doc__
    return pytest.mark.slow(test)


def run_on_two_ranks(target: Callable, folder: Path, *arguments: Any, machines: int = 1) -> list[Any]:
    """Return what `target(folder, *arguments)` returns on each rank. What the ranks print is next to the folder."""
    codes = launch_on_two_ranks(target, folder, *arguments, machines=machines)
    assert codes == [0, 0], f"{codes}\n" + "\n".join(file.read_text()[-4000:] for file in folder.glob("rank-*"))
    return [pickle.loads((folder / f"returned-{rank}").read_bytes()) for rank in range(2)]


def launch_on_two_ranks(target: Callable, folder: Path, *arguments: Any, machines: int = 1) -> list[int | None]:
    """Call a function in two processes, each of which can be the first of its machine, and return their exit codes."""
    port, ranks = find_free_port(), []
    (folder / "runs").mkdir(exist_ok=True)
    try:
        for rank in range(2):
            place = {"RANK": rank, "LOCAL_RANK": rank % (2 // machines), "LOCAL_WORLD_SIZE": 2 // machines}
            place |= {"WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            known = (target.__module__, target.__name__, str(Path(inspect.getfile(target)).parent))
            ranks.append(fork_fresh(_run_target, *known, folder, arguments, place))
        end = time.monotonic() + 600
        while any(rank.exitcode is None for rank in ranks) and time.monotonic() < end:
            time.sleep(0.1)
            if any(rank.exitcode for rank in ranks):  # the other one may wait for it
                end = min(end, time.monotonic() + 30)
        return [rank.exitcode for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()


def _run_target(module: str, name: str, path: str, folder: Path, arguments: tuple, place: dict[str, Any]) -> None:
    os.environ.update({key: str(value) for key, value in place.items()})
    with open(folder / f"rank-{place['RANK']}", "w") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    gc.freeze()  # TRL collects garbage after each run
    torch.set_num_threads(1)
    sys.path.append(path)
    target = getattr(importlib.import_module(module), name)
    save_layer()  # before the ranks join, since then only the first one would save
    dist.init_process_group("gloo")
    assert dist.get_world_size() == 2
    try:
        returned = getattr(target, "scenario", target)(folder / "runs", *arguments)
    except Exception as error:  # the values of variables, as pytest prints them for other tests
        print(*traceback.TracebackException.from_exception(error, capture_locals=True).format(), file=sys.stderr)
        raise
    (folder / f"returned-{place['RANK']}").write_bytes(pickle.dumps(returned))
    dist.barrier()
    sys.stderr.flush()
    os._exit(0)  # threads of gloo that are at work while Python closes may abort it


def gather(value: Any) -> list[Any]:
    """Return the values of both ranks."""
    values = [None, None]
    dist.all_gather_object(values, value)
    return values


def config(folder: Path, cls: type = FilteredGRPOConfig, **options: Any) -> Any:
    """Six rows a rank and groups of four: the second of three groups straddles the ranks."""
    return small_config(folder, cls, **{"per_device_train_batch_size": 6, "per_device_eval_batch_size": 6, **options})


def trainer_of(
    cls: type, folder: Path, funcs: Any, data: Any = None, size: int = 32, model: Any = None, **options: Any
):
    args = config(folder, FilteredGRPOConfig if cls is FilteredGRPOTrainer else GRPOConfig, **options)
    if isinstance(funcs, Reward) and cls is GRPOTrainer:
        args.reward_weights, funcs = funcs.weights, funcs.rewards
    if data is None:
        data = demo.arithmetic("train", size=size)
    return cls(model or save_layer(), funcs, args=args, train_dataset=data, eval_dataset=data.select(range(6)))


def have_one_model(trainer: Any) -> bool:
    """Return whether both ranks have the same finite weights."""
    one, other = gather(torch.cat([parameter.detach().flatten() for parameter in trainer.model.parameters()]))
    return torch.equal(one, other) and bool(one.isfinite().all())


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
