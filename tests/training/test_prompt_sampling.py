"""Selective drawing: prompts whose next group is likely to teach something, and none forgotten."""

import random

import numpy as np
import pytest

from helpers.runs import get_metric, train_and_read
from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, boxed, demo, reward
from trl_grpo_rewards.records.fields import hash_prompt
from trl_grpo_rewards.training.prompt_sampling import MAX_SKIPS, PromptStream, SelectiveStream


def asked(stream, rates, batches, size=16, group=8, seed=0, gain=0.0):
    """
    Draw and answer prompts of these pass rates, whose odds grow by `gain` from batch to batch; of each batch the rows,
    what was predicted and what was live.
    """
    rng = np.random.default_rng(seed)
    for batch in range(batches):
        rows = stream.draw(size)
        predicted = [stream.predict_live(row) for row in rows]
        odds = np.array([rates[row] / (1 - rates[row]) for row in rows]) * np.exp(gain * batch)
        right = rng.binomial(group, odds / (1 + odds))
        stream.learn(rows, right.tolist(), [group] * size)
        yield rows, predicted, (right > 0) & (right < group)


def test_more_groups_are_live_and_as_many_as_predicted():
    rates = np.random.default_rng(1).beta(0.3, 0.3, 512).clip(1e-6, 1 - 1e-6)
    plain = np.mean(1 - rates**8 - (1 - rates) ** 8)
    seen = list(asked(SelectiveStream(512, 0, True, 8), rates, 320))[64:]
    live, predicted = np.ravel([live for *_, live in seen]), np.ravel([predicted for _, predicted, _ in seen])
    assert live.mean() > plain + 0.15
    for fifth in np.array_split(np.argsort(predicted), 5):
        assert abs(live[fifth].mean() - predicted[fifth].mean()) < 0.05


@pytest.mark.parametrize("gain", [0.01, 0.02, 0.03])
def test_as_many_groups_are_live_as_predicted_while_the_model_learns(gain):
    rates = np.random.default_rng(1).beta(0.3, 0.3, 512).clip(1e-6, 1 - 1e-6)
    seen = list(asked(SelectiveStream(512, 0, True, 8), rates, 320, gain=gain))
    for part in (seen[32:128], seen[128:]):  # from the second epoch on
        assert abs(np.mean([live for *_, live in part]) - np.mean([predicted for _, predicted, _ in part])) < 0.05


def test_no_prompt_is_forgotten():
    """Drawn again within eleven passes over the dataset, of which each has its own order, and the turns of a batch."""
    stream, turn, most = (
        SelectiveStream(256, 0, True, 8),
        dict.fromkeys(range(256), 0),
        (MAX_SKIPS + 2) * 256 + 16 * 10,
    )
    for rows, _, _ in asked(stream, [0.0] * 256, 400):
        for row in rows:
            assert stream.position - turn[row] <= most
            turn[row] = stream.position
    assert min(turn.values()) > stream.position - most


def test_the_first_pass_is_the_order_itself_and_unscored_prompts_stay_unknown():
    stream, plain = SelectiveStream(64, 7, True, 4), PromptStream(64, 7)
    for _ in range(4):
        rows = stream.draw(16)
        assert rows == plain.draw(16) and stream.skipped == 0.0
        stream.learn(rows, [0] * 16, [0] * 16)
    assert sorted(stream.draw(64)) == list(range(64))


def test_its_memory_is_small():
    stream = SelectiveStream(1_000_000, 0, True, 8)
    stream.learn(stream.draw(32), [4] * 32, [8] * 32)
    held = [stream.counts, stream.counted, stream.passed_over, stream.order.numpy(), stream.luck.numpy()]
    assert sum(array.nbytes for array in held) <= 45 * 1_000_000


def test_it_goes_on_where_it_was(tmp_path):
    rates = [random.Random(row).random() ** 3 for row in range(48)]

    def drawn(stream, start, end, stop=None):
        rows = []
        for place, batch in enumerate(stream.draw_batches(6, 8)):
            if place >= start:  # what was trained on before is skipped, as a trainer that resumes does
                rows.append(batch)
                stream.learn(batch, [round(8 * rates[row]) for row in batch], [8] * 8)
            if place + 1 == stop:
                stream.save(tmp_path, at_end=False)
                break
        return rows

    whole = SelectiveStream(48, 0, True, 8)
    first, second, third = (drawn(whole, 0, 6) for _ in range(3))
    parted = SelectiveStream(48, 0, True, 8)
    assert drawn(parted, 0, 6) == first and drawn(parted, 0, 6, stop=4) == second[:4]
    again = SelectiveStream(48, 0, True, 8)
    again.load(tmp_path)
    assert drawn(again, 4, 6) == second[4:] and drawn(again, 0, 6) == third


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
