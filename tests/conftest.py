"""Trainers small enough to run by the dozen: the bundled model, a few problems, a few steps."""

import pytest

from trl_grpo_rewards import FilteredGRPOConfig, demo


@pytest.fixture
def config(tmp_path):
    """A configuration for a run of a few seconds, without the noise of bf16; any option can be given."""

    def make(cls=FilteredGRPOConfig, **options):
        return cls(
            **{
                "output_dir": str(tmp_path / f"run-{len(list(tmp_path.iterdir()))}"),
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
                **options,
            }
        )

    return make


@pytest.fixture
def problems():
    return demo.arithmetic("train", size=64)
