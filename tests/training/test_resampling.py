"""Resampling: fresh prompts take the place of dead groups."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import TrainerCallback

from helpers.models import save_layer
from helpers.reward_functions import all_dead, first_summand, mostly_dead
from helpers.runs import get_metric
from trl_grpo_rewards import FilteredGRPOTrainer
from trl_grpo_rewards.errors import CheckpointMismatch
from trl_grpo_rewards.training.prompts import PLACE_COLUMN, PromptStream, draw_rows


class Parts(TrainerCallback):
    """The micro-batches of each step."""

    def __init__(self):
        self.steps = []

    def on_step_end(self, args, state, control, **kwargs):
        self.steps.append(list(self.trainer._buffered_inputs))


def trained(config, problems, func, checkpoint=None, **options):
    """Return the trainer, and the micro-batches of its steps."""
    parts = Parts()
    args = config(**{"zero_variance": "drop", "max_resample_rounds": 20, "max_steps": 3, **options})
    trainer = FilteredGRPOTrainer(save_layer(), [func], args=args, train_dataset=problems, callbacks=[parts])
    parts.trainer = trainer
    trainer.train(resume_from_checkpoint=checkpoint)
    return trainer, parts.steps


@pytest.mark.slow
@pytest.mark.parametrize("split", [{}, {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4}])
def test_resample_fills_the_batch_with_live_groups(config, problems, split):
    trainer, steps = trained(config, problems, mostly_dead, **split)
    for step in steps:
        parts = [part for part in step if "silent" not in part]
        assert sum(len(part["advantages"]) for part in parts) == 8
        assert all(part["advantages"].all() and part["completion_mask"].any(1).all() for part in parts)
    assert min(get_metric(trainer, "resample_rounds")) >= 1 and get_metric(trainer, "rows_computed") == [8.0] * 3
    assert trainer._prompts.position >= 3


@pytest.mark.slow
def test_resample_goes_no_further_than_its_rounds(config, problems):
    trainer, _ = trained(config, problems, all_dead, max_resample_rounds=2)
    assert get_metric(trainer, "resample_rounds") == [2.0] * 3 and get_metric(trainer, "rows_computed") == [1.0] * 3
    assert trainer._prompts.position >= 3 * 2 * 2  # steps, rounds, groups that are missing


def test_resample_asks_for_as_many_prompts_as_are_expected_to_fill_the_batch(config, problems):
    """With a quarter of the groups live, one round asks for four times what is missing, but no more than a batch has."""
    calls = []

    def one_of_four(prompts, completions, **kwargs):
        calls.append(prompts[::4])
        return [float(first_summand(prompt) % 4 == 0 and place % 2) for place, prompt in enumerate(prompts)]

    options = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "max_resample_rounds": 20}
    trainer, _ = trained(config, problems, one_of_four, **{**options, "max_steps": 1})
    first, *rounds = calls
    assert len(first) == 8 and len(rounds) == get_metric(trainer, "resample_rounds")[0] > 0
    found = sum(first_summand(prompt) % 4 == 0 for prompt in first)
    assert len(rounds[0]) == min(math.ceil((8 - found) * 9 / (found + 1)), 8)
    asked = [str(prompt) for call in calls for prompt in call]
    assert len({*asked}) == len(asked)  # no prompt twice in a step


def test_resample_ends_when_the_step_has_asked_all_prompts(config, problems):
    trainer, _ = trained(config, problems.select(range(4)), all_dead, max_resample_rounds=50)
    assert get_metric(trainer, "resample_rounds") == [1.0] * 3  # two of the four prompts are in the batch


def test_resample_draws_only_what_is_missing(config, problems):
    trainer, _ = trained(config, problems, lambda completions, **_: [float(i % 4) for i in range(len(completions))])
    assert get_metric(trainer, "resample_rounds") == [0.0] * 3 and trainer._prompts.position == 0


def test_ranks_get_equal_numbers_of_rows_of_the_same_prompts():
    dataset = [{"prompt": f"{place}"} for place in range(10)]
    ranks = [SimpleNamespace(num_processes=4, process_index=rank) for rank in range(4)]
    alike = {"train_dataset": dataset, "num_generations": 2}
    trainers = [SimpleNamespace(**alike, accelerator=rank, _prompts=PromptStream(10, seed=3)) for rank in ranks]
    parts = [draw_rows(trainer, 3) for trainer in trainers]
    assert [len(part) for part in parts] == [2, 2, 2, 2]  # 3 prompts of 2 rows are rounded up to 4
    rows = [row for part in parts for row in part]
    assert [row[PLACE_COLUMN] for row in rows] == [place for place in draw(PromptStream(10, seed=3), 4) for _ in "ab"]
    assert all(row["prompt"] == f"{row[PLACE_COLUMN]}" for row in rows)


def draw(stream, count):
    return [stream.draw() for _ in range(count)]


@pytest.mark.parametrize("shuffle", [True, False])
def test_an_epoch_has_each_prompt_once(shuffle):
    stream = PromptStream(32, 7, shuffle)
    first, second = draw(stream, 32), draw(stream, 32)
    assert sorted(first) == sorted(second) == [*range(32)]
    assert (first == second) == (not shuffle) == (first == [*range(32)])


def test_prompts_go_on_where_a_checkpoint_was_saved_and_those_of_other_data_are_refused(tmp_path):
    stream, again = PromptStream(16, 7), PromptStream(16, 7)
    again.load(tmp_path)
    assert again.position == 0
    draw(stream, 21)
    stream.save(tmp_path)
    again.load(tmp_path)
    assert draw(again, 20) == draw(stream, 20)
    with pytest.raises(CheckpointMismatch, match="resumed with the 16 prompts .*; the dataset has 17. Load the same"):
        PromptStream(17, 7).load(tmp_path)


@given(st.integers(1, 30), st.integers(0, 40), st.sets(st.integers(0, 29)), st.integers(0, 50))
def test_other_rows_come_once_and_are_none_of_those_to_avoid(size, count, avoid, before):
    stream = PromptStream(size, 0)
    draw(stream, before + 1)
    rows = stream.draw_others(count, avoid & {*range(size)})
    others = {*range(size)} - avoid
    assert len({*rows}) == len(rows) <= count and {*rows} <= others
    assert len(rows) == count or {*rows} == others or (before + 1) % size  # an epoch may have begun
