"""Resampling: dead groups give way to live groups that the last step kept, and to fresh prompts."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, TrainerCallback

from helpers.models import save_layer
from helpers.reward_functions import all_dead, first_summand, live_if_odd, mostly_dead
from helpers.runs import get_metric, read_contents
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


GROUPS = {"zero_variance": "drop", "max_resample_rounds": 5, "num_generations": 2, "learning_rate": 1e-3}
GROUPS |= {"gradient_accumulation_steps": 2, "save_strategy": "steps", "save_steps": 1}
"""Eight groups in a batch, of which half are live, so that the last round of a step often finds too many."""


def run(config, problems, checkpoint=None, **options):
    """Train for six steps."""
    return trained(config, problems, live_if_odd, checkpoint, **{"max_steps": 6, **GROUPS, **options})


def list_rows(parts):
    """Yield the tokens of each prompt and completion, and the log-probabilities that these had when sampled."""
    for part in parts:
        for row in range(len(part["advantages"])):
            on, written = (part[name][row].bool() for name in ("prompt_mask", "completion_mask"))
            yield (
                part["prompt_ids"][row][on],
                part["completion_ids"][row][written],
                part["old_per_token_logps"][row][written],
            )


def compute_logps(model, prompt, completion):
    """Return the log-probabilities that a model gives to the tokens of a completion."""
    with torch.no_grad():
        logits = model(torch.cat([prompt, completion])[None]).logits[0, len(prompt) - 1 : -1]
    return logits.log_softmax(-1).gather(1, completion[:, None])[:, 0]


@pytest.mark.slow
def test_resample_trains_on_the_surplus_of_the_step_before_with_the_log_probabilities_of_its_sampling(
    config, problems
):
    trainer, steps = run(config, problems, num_iterations=2)
    carried, folder = get_metric(trainer, "carried_over"), Path(trainer.args.output_dir)
    assert carried[0] == 0 and sum(carried) >= 1
    models = [save_layer(), *(folder / f"checkpoint-{step}" for step in (2, 4))]  # a generation is used for two steps
    policies = [AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval() for path in models]
    old = [0, 0, 0]
    for generation, step in enumerate(steps[::2]):
        for prompt, completion, logps in list_rows(step):
            gaps = [float((compute_logps(policy, prompt, completion) - logps).abs().max()) for policy in policies]
            if len(completion) > 1:
                nearest = gaps.index(min(gaps))
                assert min(gaps) < 1e-4 and generation - nearest in (0, 1)
                old[generation] += nearest < generation
    assert [math.ceil(count / 2) for count in old] == carried  # groups of two


def test_resample_takes_no_more_of_the_surplus_than_is_missing(config, problems):
    live = iter([4, 8, 7])  # groups: of the first generation, of its only round, and of the second generation

    def live_by_call(completions, **kwargs):
        rows = 2 * next(live)
        return [float(row % 2 and row < rows) for row in range(len(completions))]

    trainer, _ = trained(config, problems, live_by_call, **{**GROUPS, "num_iterations": 2, "max_steps": 4})
    assert get_metric(trainer, "carried_over") == [0, 1] and get_metric(trainer, "resample_rounds") == [1, 0]
    assert get_metric(trainer, "rows_computed") == [16, 16] and next(live, None) is None


def test_resample_keeps_no_surplus_without_log_probabilities(config, problems):
    trainer, _ = run(config, problems, max_steps=3)
    assert get_metric(trainer, "carried_over") == [0, 0, 0] and trainer._resampler.surplus == []


@pytest.mark.slow
def test_resample_surplus_outlives_a_resume(config, problems):
    whole, _ = run(config, problems, num_iterations=2)
    carried, folder = get_metric(whole, "carried_over"), Path(whole.args.output_dir)
    after = next(place for place, count in enumerate(carried) if count)  # the generation that got some
    rest, _ = run(config, problems, f"{folder}/checkpoint-{2 * after}", num_iterations=2)
    assert get_metric(rest, "carried_over") == carried
    assert read_contents(rest.args.output_dir) == [one for one in read_contents(folder) if one["step"] > 2 * after]
    pairs = zip(whole.model.parameters(), rest.model.parameters(), strict=True)
    assert all(torch.equal(expected, got) for expected, got in pairs)


def test_ranks_get_equal_numbers_of_rows_of_the_same_prompts():
    dataset = [{"prompt": f"{place}"} for place in range(10)]
    parts = [
        draw_rows(PromptStream(10, seed=3), dataset, 3, 2, SimpleNamespace(num_processes=4, process_index=rank))
        for rank in range(4)
    ]
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
