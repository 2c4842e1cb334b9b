"""What TRL logs of micro-batches is the mean over tokens or sequences, however these are packed."""

import pytest
from trl import GRPOTrainer

from helpers.gradients import SGD, train_for_gradients
from helpers.marks import slow_except
from helpers.metric_means import compare_means
from trl_grpo_rewards import FilteredGRPOTrainer
from trl_grpo_rewards.training.metric_means import MetricMeans, Weights


def never_dead(prompts, completion_ids, **kwargs):
    return [float(sum(ids)) + row for row, ids in enumerate(completion_ids)]


SETTINGS = [
    {"zero_variance": "skip"},
    {"zero_variance": "drop", "beta": 0.1},
    {"beta": 0.1},
    {"loss_type": "grpo", "importance_sampling_level": "sequence"},
    {"loss_type": "cispo", "epsilon_high": 0.9},
    {"loss_type": "bnpo"},
    {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 8, "logging_steps": 1},
]


@pytest.mark.parametrize("options", slow_except(SETTINGS[1:2], SETTINGS), ids=str)
def test_what_is_logged_is_the_mean_over_live_tokens_or_sequences(config, problems, options):
    difference, names = compare_means(config, problems, **options)
    assert difference <= 1e-6
    assert "entropy" in names and any("clip" in name for name in names), names


def test_without_dead_groups_rows_of_equal_lengths_have_the_means_of_trl(config, problems):
    options = {"beta": 0.1, "num_iterations": 2, "generation_kwargs": {"min_new_tokens": 12}, "max_steps": 4, **SGD}
    options |= {
        "gradient_accumulation_steps": 4,
        "per_device_train_batch_size": 4,
        "learning_rate": 0.3,
        "dtype": "float64",
    }
    ours, trl = (
        train_for_gradients(cls, config, problems, [never_dead], **options)[1].state.log_history
        for cls in (FilteredGRPOTrainer, GRPOTrainer)
    )
    names = [name for name in trl[0] if name in ("entropy", "kl") or "clip_ratio/" in name and "mean" in name]
    assert len(names) == 5
    for one, other in zip(ours[:-1], trl[:-1], strict=True):
        assert [one[name] for name in names] == pytest.approx([other[name] for name in names], rel=1e-6, abs=1e-6)


def test_means_begin_again_when_they_were_logged():
    means, metrics = MetricMeans(has_sequence_ratios=True), {}
    for weights, values in (
        (Weights(3, 1, 1, 2.0), (1.0, 0.5, 8.0)),
        (Weights(1, 2), (5.0, 1.0, 2.0)),
        (Weights(0, 0), (9.0,) * 3),
    ):
        with means.weigh(metrics, weights):
            for name, value in zip(("kl", "vespo/phi_seq_mean", "policy_loss"), values, strict=True):
                metrics.setdefault(name, []).append(value)
    assert metrics == {
        "kl": [2.0],
        "vespo/phi_seq_mean": [pytest.approx(2 / 3)],
        "policy_loss": [pytest.approx(19 / 4)],
    }
    metrics["kl"].clear()
    with means.weigh(metrics, Weights(2, 1)):
        metrics["kl"].append(7.0)
    with means.weigh(metrics, None):
        metrics["entropy"] = [4.0, 5.0]  # of an evaluation, or without packing
    assert metrics["kl"] == [7.0] and metrics["entropy"] == [4.0, 5.0]
