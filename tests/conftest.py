"""Trainers small enough to run by the dozen: the bundled model, a few problems, a few steps."""

import pytest

from trl_grpo_rewards import FilteredGRPOConfig, demo


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
