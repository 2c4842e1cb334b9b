"""What a run needs of its machine: all cores."""

from types import SimpleNamespace

import pytest
import torch

from trl_grpo_rewards.cli.train import describe_processes, use_all_cores
from trl_grpo_rewards.distributed import count_cores


CPU, GPU = (SimpleNamespace(device=torch.device(name), world_size=1) for name in ("cpu", "cuda"))


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    "launcher, training, threads",
    [
        ({"ACCELERATE_MIXED_PRECISION": "no"}, CPU, count_cores()),
        ({"TORCHELASTIC_RUN_ID": "none", "LOCAL_WORLD_SIZE": "2"}, CPU, max(1, count_cores() // 2)),
        ({"TORCHELASTIC_RUN_ID": "none", "LOCAL_WORLD_SIZE": "1000"}, CPU, 1),
        ({"ACCELERATE_MIXED_PRECISION": "no"}, GPU, 1),
        ({}, CPU, 1),
    ],
    ids=["one process", "two processes", "more processes than cores", "on a GPU", "not launched"],
)
def test_a_launched_process_on_a_cpu_gets_its_share_of_the_cores(monkeypatch, launcher, training, threads):
    for name in ("ACCELERATE_MIXED_PRECISION", "TORCHELASTIC_RUN_ID", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in launcher.items():
        monkeypatch.setenv(name, value)
    said = describe_processes(training)
    assert said.startswith(f"1 process on the {training.device.type.upper()}.")
    assert ("To start two, write accelerate launch --multi_gpu --num_processes 2." in said) == bool(
        training is CPU and launcher
    )
    use_all_cores(training)
    assert torch.get_num_threads() == threads
