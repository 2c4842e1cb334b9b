"""The order of prompts, and selective drawing: prompts whose next group is likely to teach something, and none forgotten."""

from itertools import pairwise
from zlib import crc32

import numpy as np
import pytest
from datasets import Dataset

from helpers.models import save_layer
from helpers.runs import get_metric, train_and_read
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, reward
from trl_grpo_rewards.errors import CheckpointMismatch
from trl_grpo_rewards.records.fields import hash_prompt
from trl_grpo_rewards.records.files import read_records
from trl_grpo_rewards.training.prompts import (
    MAX_SKIPS,
    PromptStream,
    SelectiveStream,
    read_prior,
)


GROUP = 8
RATES = np.random.default_rng(1).beta(0.3, 0.3, 512).clip(1e-6, 1 - 1e-6)


def is_live(right):
    return (np.asarray(right) > 0) & (np.asarray(right) < GROUP)


def ask(stream, rates, batches, size=16, seed=0):
    """Draw prompts of these pass rates and answer them. Return the rows and the live groups of each batch."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(batches):
        rows = stream.draw(size)
        right = rng.binomial(GROUP, np.asarray(rates)[rows])
        stream.learn(rows, right.tolist(), [GROUP] * size)
        seen.append((rows, is_live(right)))
    return [np.array(part) for part in zip(*seen, strict=True)]


@pytest.mark.parametrize("shuffle", [True, False])
def test_an_epoch_has_each_prompt_once(shuffle):
    stream = PromptStream(32, 7, shuffle)
    first, second = stream.draw(32), stream.draw(32)
    assert sorted(first) == sorted(second) == [*range(32)]
    assert (first == second) == (not shuffle) == (first == [*range(32)])


def test_the_chance_is_that_of_the_next_group():
    """With one count in total, a uniform pass rate: every number of right completions is equally likely."""
    stream = SelectiveStream(4, 0, True, GROUP, prior=np.array([1 / 16, 0.5, 15 / 16, np.nan]))
    low, middle, high, unknown = map(stream.predict_live, range(4))
    assert low == pytest.approx(high) and low < middle < unknown == 1.0
    stream.counts[:] = 0.5
    assert stream.predict_live(0) == pytest.approx(1 - 2 / (GROUP + 1))


def test_more_groups_are_live_than_in_the_order_itself():
    _, live = ask(SelectiveStream(512, 0, True, GROUP), RATES, 320)
    assert live[64:].mean() > np.mean(1 - RATES**GROUP - (1 - RATES) ** GROUP) + 0.15


def test_prompts_whose_groups_were_dead_are_drawn_less_often_than_others():
    rates = np.tile([0.0, 0.5, 1.0, 0.5], 64)
    rows, _ = ask(SelectiveStream(256, 0, True, GROUP), rates, 160)
    drawn = np.bincount(rows.ravel(), minlength=256).reshape(64, 4).sum(0)
    assert drawn[[0, 2]].max() < 0.4 * drawn[[1, 3]].min()


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_each_prompt_is_drawn_at_least_once_in_ten_passes(rate):
    """Nothing is skipped more than nine times in a row, even if no group was ever live."""
    stream = SelectiveStream(32, 0, False, GROUP)
    passes: list[list[int]] = [[] for _ in range(32)]
    while stream.position < 32 * 50:
        (row,) = stream.draw(1)
        passes[row].append((stream.position - 1) // 32)
        stream.learn([row], [round(GROUP * rate)], [GROUP])
    assert all(0 < after - before <= MAX_SKIPS + 1 for some in passes for before, after in pairwise(some))
    assert all(some[-1] >= 50 - MAX_SKIPS - 1 for some in passes) and max(map(len, passes)) < 20


def test_the_first_pass_is_the_order_itself_and_unscored_prompts_stay_unknown():
    stream, plain = SelectiveStream(64, 7, True, 4), PromptStream(64, 7)
    for _ in range(4):
        rows = stream.draw(16)
        assert rows == plain.draw(16) and stream.skipped == 0.0
        stream.learn(rows, [0] * 16, [0] * 16)
    assert sorted(stream.draw(64)) == [*range(64)]


def test_pass_rates_that_change_at_once_are_followed():
    rates = np.tile([0.5, 0.0], 64)
    stream = SelectiveStream(128, 0, True, GROUP)
    ask(stream, rates, 128)
    ask(stream, 0.5 - rates, 64)
    predicted = np.array([*map(stream.predict_live, range(128))]).reshape(64, 2).mean(0)
    assert predicted[0] < 0.3 < 0.8 < predicted[1]


def test_prompts_that_are_drawn_often_do_not_count_for_more_in_the_pool():
    """Three prompts of four are mostly skipped, since they are hardly ever solved."""
    stream, rates = SelectiveStream(256, 0, True, GROUP), np.tile([0.5, 0.02, 0.02, 0.02], 64)
    pools = [ask(stream, rates, 1, seed=batch) and stream.pool[0] / stream.pool.sum() for batch in range(250)]
    assert abs(np.mean(pools[100:]) - rates.mean()) < 0.05


def test_a_perfect_prior_beats_the_order_itself_and_a_wrong_one_is_outweighed():
    plain = np.mean(1 - RATES**GROUP - (1 - RATES) ** GROUP)
    _, live = ask(SelectiveStream(512, 0, True, GROUP, prior=RATES), RATES, 20)
    assert live.mean() > plain + 0.15
    known_half = np.where(np.arange(512) % 2, RATES, np.nan)
    _, some = ask(SelectiveStream(512, 0, True, GROUP, prior=known_half), RATES, 20)
    assert plain + 0.05 < some.mean() < live.mean()
    wrong = np.random.default_rng(5).permutation(RATES)
    _, late = ask(SelectiveStream(512, 0, True, GROUP, prior=wrong), RATES, 320)
    assert late[64:].mean() > plain + 0.15


@pytest.mark.parametrize("stop", [1, 4, 6])
def test_it_goes_on_where_it_was(tmp_path, stop):
    rates = [float(np.random.default_rng(row).random() ** 3) for row in range(48)]

    def draw_epoch(stream, start=0, stop=None):
        rows = []
        for place, batch in enumerate(stream.draw_batches(6, 8)):
            if place >= start:  # what was trained on before is skipped, as a trainer that resumes does
                rows.append(batch)
                stream.learn(batch, [round(GROUP * rates[row]) for row in batch], [GROUP] * 8)
            if place + 1 == stop:
                stream.save(tmp_path, at_end=stop == 6)
                break
        return rows

    whole, parted, again = (SelectiveStream(48, 0, True, GROUP) for _ in range(3))
    first, second, third = (draw_epoch(whole) for _ in range(3))
    assert draw_epoch(parted) == first and draw_epoch(parted, stop=stop) == second[:stop]
    again.load(tmp_path)
    if stop < 6:
        assert draw_epoch(again, start=stop) == second[stop:]
    assert draw_epoch(again) == third
    assert all(np.array_equal(value, again.get_state()[name]) for name, value in whole.get_state().items())


def test_a_checkpoint_without_counts_has_its_position_only(tmp_path):
    plain, selective = PromptStream(16, 0), SelectiveStream(16, 0, True, GROUP)
    selective.load(tmp_path)
    assert selective.position == 0
    plain.draw(5)
    plain.save(tmp_path, at_end=False)
    selective.load(tmp_path)
    assert selective.draw(8) == plain.draw(8) and not selective.counts.any()


def test_checkpoints_of_other_prompts_are_refused(tmp_path):
    SelectiveStream(16, 0, True, GROUP).save(tmp_path, at_end=True)
    with pytest.raises(CheckpointMismatch, match="resumed with the 16 prompts .*; the dataset has 17. Load the same"):
        SelectiveStream(17, 0, True, GROUP).load(tmp_path)


DATA = Dataset.from_dict({"prompt": ["a", "b", "c"], "rate": [0.0, None, 1.0], "percent": [10.0, 20.0, 100.0]})
DATA = DATA.add_column("empty", [None] * 3)


def test_a_column_is_read_and_may_have_gaps():
    assert read_prior(None, DATA) is None
    np.testing.assert_equal(read_prior("rate", DATA), [0, np.nan, 1])
    assert read_prior("rate", DATA.select([0, 2]).with_format("torch")).tolist() == [0, 1]


def test_an_earlier_run_is_a_prior(config, problems):
    trainer, records = train_and_read(config, problems.select(range(8)), boxed(), max_steps=4)
    given = read_prior(trainer.args.output_dir, problems)
    assert np.isfinite(given[:8]).all() and np.isnan(given[8:]).all()
    for place, row in enumerate(problems.select(range(8))):
        mine = [one["rewards"]["boxed"] for one in records if one["prompt_id"] == hash_prompt(row["prompt"])]
        assert given[place] == pytest.approx(np.mean(mine))
    with pytest.raises(ValueError, match="must have pass rates of the dataset's prompts; it has none for all 3 of"):
        read_prior(trainer.args.output_dir, DATA)


RATE = "Row 0 of the column '{}' must be a pass rate from 0 to 1, .*; got {}. Divide percentages"


@pytest.mark.parametrize(
    "prior, said",
    [
        ("percent", RATE.format("percent", "10.0")), ("prompt", RATE.format("prompt", "'a'")),
        ("empty", "selective_prior='empty' must have pass rates .*; it has none for all 3 of them. Choose another"),
        ("level", "'level' must be a column of the dataset or the output folder .* are 'empty', 'percent'.* Correct"),
    ],
)  # fmt: skip
def test_a_prior_that_cannot_be_used_is_refused(prior, said):
    with pytest.raises(ValueError, match=said):
        read_prior(prior, DATA)


def test_a_run_with_a_prior_draws_by_it_from_the_first_step_on(config):
    data = demo.arithmetic(size=32).add_column("rate", [0.5 if row % 2 else 0.0 for row in range(32)])
    _, records = train_and_read(config, data, boxed(), max_steps=4, selective=True, selective_prior="rate")
    assert sum(record["columns"]["rate"] == 0.5 for record in records) >= 6 and len(records) == 8


@reward
def often_solved(prompt: str, completion: str, place_in_dataset: int | None = None) -> float:
    """Prompts with an even first summand are always solved."""
    assert place_in_dataset is None
    return float(int(prompt.split()[2]) % 2 == 0 or crc32(completion.encode()) % 2)


@pytest.mark.slow
def test_a_run_draws_prompts_that_teach(config):
    """The first prompts of a step come from the sampler, and those that replace dead groups from the stream itself."""
    data = demo.arithmetic("train", size=32)
    options = {"selective": True, "outcome_reward": "often_solved", "zero_variance": "drop", "max_resample_rounds": 4}
    args = config(max_steps=64, max_completion_length=4, **options)
    trainer = FilteredGRPOTrainer(save_layer(), [often_solved(), boxed()], args=args, train_dataset=data)
    trainer.train()
    lines = [*read_records(args.output_dir)]
    assert all({*line["columns"]} == {"solution"} for line in lines)
    half = len(lines) // 2
    dead = [[line["outcome"] == "solved" for line in part] for part in (lines[:16], lines[half:])]
    assert np.mean(dead[1]) < 0.7 * np.mean(dead[0])
    assert max(get_metric(trainer, "skipped_prompts")[-16:]) > 0
    assert {line["prompt_id"] for line in lines} == {hash_prompt(row["prompt"]) for row in data}
