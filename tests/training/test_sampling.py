"""The place of a resumed run in the prompts: the rest of the epoch, and the epochs after it, have the same order."""

from itertools import islice

import pytest
from trl.trainer.utils import RepeatSampler

from trl_grpo_rewards.training.drawing import PromptStream, SelectiveStream
from trl_grpo_rewards.training.sampling import SelectiveSampler, build_sampler, resume_order


ITERATIONS, BATCH = 3, 4
"""How often TRL repeats a batch of prompts, and how many prompts there are in it."""


def build(size: int, shuffle: bool) -> RepeatSampler:
    return RepeatSampler(range(size), 2, BATCH, ITERATIONS, shuffle, seed=5)


@pytest.mark.parametrize("size", [3, 8, 10])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("epochs", [0, 1, 2, 7])
def test_epochs_after_a_resume_are_those_of_an_uninterrupted_run(size, shuffle, epochs):
    whole, resumed = build(size, shuffle), build(size, shuffle)
    first = [list(whole) for _ in range(epochs)]
    assert resume_order(resumed, float(epochs), 2 * BATCH) == sum(map(len, first)) / (2 * BATCH)
    rest = [list(whole) for _ in range(3)]
    assert [list(resumed) for _ in range(3)] == rest
    assert size == 3 or not shuffle or len({*map(tuple, first + rest)}) == epochs + 3


def test_micro_batches_before_a_checkpoint_are_counted_at_each_of_them():
    steps = len(build(70, True)) // (2 * BATCH)
    assert steps == 17 * ITERATIONS
    for step in range(3 * steps):
        sampler = build(70, True)
        assert resume_order(sampler, step // steps + step % steps / steps, 2 * BATCH) == step
        whole = build(70, True)
        assert [*islice(sampler, 8)] == [[*islice(whole, 8)] for _ in range(step // steps + 1)][-1]


def test_a_stream_has_no_sampler():
    assert resume_order((), 2.5, 8) == 0


def test_only_a_selective_stream_replaces_the_sampler():
    repeated = build(8, True)
    assert build_sampler(repeated, None) is build_sampler(repeated, PromptStream(8, 0)) is repeated
    selective = build_sampler(repeated, SelectiveStream(8, 0, True, 2))
    assert isinstance(selective, SelectiveSampler) and len(selective) == len(repeated) == len([*selective])
