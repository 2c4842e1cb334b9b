"""Pass rates sampled by the trainer, written as they come."""

import json

import pytest

from trl_grpo_rewards import boxed, demo
from trl_grpo_rewards.records.pass_rates import read_pass_rates
from trl_grpo_rewards.training.pass_rate_trainer import PassRateTrainer
from trl_grpo_rewards.training.priors import read_given


def test_every_prompt_is_sampled_and_a_second_call_samples_the_rest(config, tmp_path):
    data = demo.arithmetic(size=5)
    args = config(num_generations_eval=4, per_device_eval_batch_size=8, max_completion_length=48)
    trainer = PassRateTrainer(demo.MODEL, boxed(), args=args, train_dataset=data)
    table = tmp_path / "rates.jsonl"
    rates = trainer.sample_pass_rates(table)
    lines = [json.loads(line) for line in table.read_text().splitlines()]
    assert [line["samples"] for line in lines] == [4] * 5 and len(rates) == 5
    assert {json.dumps(line["prompt"]) for line in lines} == {*map(json.dumps, data["prompt"])}
    assert trainer.state.global_step == 0
    assert trainer.already_sampled == 0
    table.write_text("\n".join(table.read_text().splitlines()[:4])[:-20])  # as if it had been killed while it wrote
    again = trainer.sample_pass_rates(table)
    assert trainer.already_sampled == 3
    assert len(table.read_text().splitlines()) == 5 and again.keys() == rates.keys() == read_pass_rates(table).keys()
    assert read_given(str(table), data, data.column_names).shape == (5,)


def test_prompts_without_a_score_are_not_in_the_table(config, tmp_path):
    args = config(num_generations_eval=4, per_device_eval_batch_size=8)
    trainer = PassRateTrainer(
        demo.MODEL,
        [lambda completions, **_: [None] * len(completions)],
        args=args,
        train_dataset=demo.arithmetic(size=2),
    )
    with pytest.raises(ValueError, match="it scored none of the"):
        trainer.sample_pass_rates(tmp_path / "rates.jsonl")
