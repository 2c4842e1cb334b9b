"""Start runs of training.py, read their results, and compare their models."""

import json
from pathlib import Path

from processes import HERE, run, tail
from safetensors.torch import load_file

from trl_grpo_rewards import demo


class Runs:
    """
    The runs of training.py under one engine.

    Args:
        folder (`Path`):
            Folder for the results.
        command (`list`):
            Command that runs a Python script under the engine.
        ranks (`int`):
            Number of ranks.
        environment (`str`):
            Environment variables.
    """

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
