"""Selective drawing in a run: prompts whose next group is likely to teach something, and none forgotten."""

import numpy as np
import pytest

from helpers.runs import get_metric, train_and_read
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, reward
from trl_grpo_rewards.records.fields import hash_prompt


@reward
def often_solved(prompt: str, completion: str, place_in_dataset: int | None = None) -> float:
    """Prompts with an even first summand are always solved."""
    assert place_in_dataset is None
    return float(int(prompt.split()[2]) % 2 == 0 or len(completion) % 2)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"zero_variance": "drop", "max_resample_rounds": 4}])
def test_a_run_draws_prompts_that_teach(config, options):
    data = demo.arithmetic("train", size=32)
    options = {"selective": True, "outcome_reward": "often_solved", **options}
    trainer, lines = train_and_read(config, data, [often_solved(), boxed()], max_steps=64, **options)
    assert all({*line["columns"]} == {"solution"} for line in lines)
    half = len(lines) // 2
    dead = [[line["outcome"] == "solved" for line in part] for part in (lines[:16], lines[half:])]
    assert np.mean(dead[1]) < 0.7 * np.mean(dead[0])
    assert all(0 <= line["predicted_live"] <= 1 for line in lines)
    assert max(get_metric(trainer, "skipped_prompts")[-16:]) > 0 and len(get_metric(trainer, "predicted_live")) == 64
    assert {line["prompt_id"] for line in lines} == {hash_prompt(row["prompt"]) for row in data}


def test_each_record_has_what_was_expected_of_its_own_prompt(config):
    data = demo.arithmetic("train", size=32).add_column("rate", [0.2, 0.8] * 16)
    options = {"selective": True, "selective_prior": "rate", "selective_columns": []}
    _, lines = train_and_read(config, data, boxed(), per_device_train_batch_size=32, **options)
    low, high = ([line for line in lines if line["columns"]["rate"] == rate] for rate in (0.2, 0.8))
    for line in low:
        assert all(line["predicted_pass_rate"] < other["predicted_pass_rate"] for other in high)
        assert line["predicted_from"]["selective_prior"] < 0
    assert low and high and all(line["predicted_from"]["selective_prior"] > 0 for line in high)


def test_a_stream_cannot_be_drawn_from(config, problems):
    with pytest.raises(
        ValueError, match="selective=True requires a dataset that can be indexed, but train_dataset is"
    ):
        FilteredGRPOTrainer(
            demo.MODEL,
            boxed(),
            args=config(FilteredGRPOConfig, selective=True),
            train_dataset=problems.to_iterable_dataset(),
        )
