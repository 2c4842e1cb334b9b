"""Trainers small enough to run by the dozen: the bundled model, a few problems, a few steps; and scripts run here."""

import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from chat_server import Scripted, free_port, started

from trl_grpo_rewards import FilteredGRPOConfig, demo
from trl_grpo_rewards.judging import limits, servers
from trl_grpo_rewards.registry import REGISTRY


os.environ.setdefault("OMP_NUM_THREADS", "1")  # for processes that tests start: threads of tiny models only wait
torch.set_num_threads(1)

SCRIPTS = Path(__file__).parents[1] / "scripts"


def small_config(folder, cls=FilteredGRPOConfig, **options):
    """A configuration for a run of a few seconds, without the noise of bf16; any option can be given."""
    defaults = {
        "output_dir": str(folder / f"run-{len(list(folder.iterdir()))}"),
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 16,
        "max_steps": 1,
        "learning_rate": 0.0,
        "max_grad_norm": 1e9,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "seed": 3,
    }
    return cls(**{**defaults, **options})


@pytest.fixture
def config(tmp_path):
    return lambda cls=FilteredGRPOConfig, **options: small_config(tmp_path, cls, **options)


@pytest.fixture
def problems():
    return demo.arithmetic("train", size=64)


@pytest.fixture(scope="session")
def chat_server():
    port = free_port()
    with started(str(Path(__file__).with_name("chat_server.py")), str(port), url=f"http://127.0.0.1:{port}/seen"):
        yield Scripted(port)


@pytest.fixture
def server(chat_server):
    """The scripted judge of chat_server.py, of which nothing is known yet."""
    for known in (servers.STRUCTURED, servers.FAILED, servers.SHOWN, limits.ACCEPTED):
        known.clear()
    return chat_server()


@pytest.fixture
def script(tmp_path, monkeypatch, capsys):
    """Runs a script as its process would, in a folder of its own, but here: what it imports need not be loaded again."""

    def run(name, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        monkeypatch.setattr(sys, "path", [str(SCRIPTS), *sys.path])
        before, said = dict(REGISTRY), None
        try:
            runpy.run_path(str(SCRIPTS / name), run_name="__main__")
        except SystemExit as exit:
            said = exit.code
        finally:
            REGISTRY.clear()
            REGISTRY.update(before)
        out, error = capsys.readouterr()
        status = int(said is not None) if isinstance(said, str) or said is None else int(said)
        return SimpleNamespace(returncode=status, stdout=out, stderr=f"{error}{said if isinstance(said, str) else ''}")

    return run
