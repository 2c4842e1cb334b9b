"""Runs of training.py and other processes that the tests start, each with a log file and a time limit, and their results."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from safetensors.torch import load_file

from trl_grpo_rewards import demo


HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
LIMIT = 480
"""Time limit of a process in seconds. The slowest takes about 60 s on two idle cores; busy machines take longer."""

ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONPATH": f"{CHECKOUT}{os.pathsep}{HERE}",
    "ENGINE_TEST_DUMP_AFTER": str(0.75 * LIMIT),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def started(command: list, log: Path, **environment: str) -> Iterator[psutil.Popen]:
    """Start a process that writes to the log. It and its children end with the block."""
    with log.open("a") as output:
        process = psutil.Popen(
            list(map(str, command)),
            env={**os.environ, **ENVIRONMENT, **environment},
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end(process)


def end(process: psutil.Popen) -> None:
    """End a process and its children, one by one: launchers start each rank in a session of its own."""
    family = [process]
    with suppress(psutil.NoSuchProcess):
        family[:0] = process.children(recursive=True)
    for stop in (psutil.Process.terminate, psutil.Process.kill):
        for member in family:
            with suppress(psutil.NoSuchProcess):
                stop(member)
        _, family = psutil.wait_procs(family, timeout=15)


def run(command: list, log: Path, **environment: str) -> int:
    """Run a process to its end and return its exit status. Raises `TimeoutError` after the limit."""
    with started(command, log, **environment) as process:
        try:
            return process.wait(LIMIT)
        except psutil.TimeoutExpired:
            raise TimeoutError(f"not done after {LIMIT} s:\n{tail(log)}") from None


def tail(log: Path, size: int = 6000) -> str:
    return log.read_text(errors="replace")[-size:]


class Runs:
    """The runs of training.py under one engine, with a command that runs a Python script under it on some ranks."""

    def __init__(self, folder: Path, command: list, ranks: int, **environment: str):
        self.folder, self.command, self.ranks, self.environment = folder, command, ranks, environment

    def launch(self, *names: str, killed: bool = False) -> None:
        log = self.folder / "log.txt"
        status = run([*self.command, HERE / "training.py", self.folder, *names], log, **self.environment)
        assert (status != 0) == killed, tail(log)

    def logged(self, name: str) -> dict:
        return json.loads((self.folder / name / "log.json").read_text())

    def metric(self, name: str, metric: str) -> list[float]:
        return [entry[metric] for entry in self.logged(name)["history"] if metric in entry]

    def asked(self, name: str, since: int = 0) -> list[dict]:
        """Return the calls of the reward function at step `since` and later, first those of rank 0, then of rank 1."""
        files = [self.folder / name / f"{rank}.jsonl" for rank in range(self.ranks)]
        lines = [line for file in files for line in file.read_text().splitlines()]
        return [call for line in lines if (call := json.loads(line))["step"] >= since]

    def passes(self, name: str) -> list[int]:
        """Return the number of forward passes of each rank, without those of generation."""
        return [json.loads((self.folder / name / f"passes-{rank}.json").read_text()) for rank in range(self.ranks)]

    def weights(self, name: str) -> dict:
        files = (self.folder / name / "model").glob("*.safetensors")
        return {key: weight.float() for file in files for key, weight in load_file(file).items()}


def bundled() -> dict:
    return {key: weight.float() for key, weight in load_file(Path(demo.MODEL, "model.safetensors")).items()}


def difference(one: dict, other: dict) -> float:
    """Return the distance between the parameters of two runs, relative to the total update of the second run."""
    start = bundled()
    apart = sum((one[key] - other[key]).square().sum() for key in start) ** 0.5
    learned = sum((other[key] - weight).square().sum() for key, weight in start.items()) ** 0.5
    return float(apart / learned)
