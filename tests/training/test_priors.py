"""What is known of prompts before training: a column, an earlier run, a table; and what is refused."""

import numpy as np
import pytest
from datasets import Dataset

from helpers.runs import train_and_read
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo
from trl_grpo_rewards.records.pass_rates import PassRate, append_pass_rates
from trl_grpo_rewards.training.config import check_config
from trl_grpo_rewards.training.priors import build_foresight, read_given
from trl_grpo_rewards.training.selective_stream import SelectiveStream


DATA = Dataset.from_dict({"prompt": ["a", "b", "c"], "rate": [0.0, None, 1.0], "percent": [10.0, 20.0, 100.0]})
DATA = DATA.add_column("empty", [None] * 3)


def test_a_column_is_read_and_may_have_gaps():
    low, gap, high = read_given("rate", DATA, DATA.column_names).tolist()
    assert np.isnan(gap) and -3.5 < low < -2 and high == -low
    rates = DATA.select([0, 2]).with_format("torch")
    assert read_given("rate", rates, DATA.column_names).tolist() == [low, high]


def test_a_table_is_matched_by_prompt_and_more_samples_say_more(tmp_path):
    table = tmp_path / "rates.jsonl"
    append_pass_rates(table, [("a", PassRate(4, 4)), ("c", PassRate(64, 64)), ("x", PassRate(1, 2))])
    few, gap, many = read_given(str(table), DATA, DATA.column_names).tolist()
    assert 0 < few < many and np.isnan(gap)


def test_a_table_of_few_prompts_says_so_and_the_others_are_drawn_in_order(tmp_path, caplog):
    table, data = tmp_path / "rates.jsonl", Dataset.from_dict({"prompt": [f"question {n}" for n in range(32)]})
    append_pass_rates(table, [("question 3", PassRate(0, 8))])
    foresight = build_foresight(data, str(table), None)
    assert caplog.messages == [
        f"Only 1 of 32 prompts have a pass rate in selective_prior='{table}'. For the others, nothing is known before "
        "training."
    ]
    stream = SelectiveStream(32, 0, False, 8, foresight)
    drawn = stream.draw(28)
    assert [row for row in drawn if row != 3] == [row for row in range(32) if row != 3][: len(drawn) - (3 in drawn)]
    assert not stream.predict(5).is_foreseen and stream.predict(3).is_foreseen


def test_an_earlier_run_is_a_prior(config, problems):
    trainer, records = train_and_read(config, problems.select(range(8)), boxed(), max_steps=4, num_generations=4)
    given = read_given(trainer.args.output_dir, problems, problems.column_names)
    assert np.isfinite(given[:8]).all() and np.isnan(given[8:]).all()
    passed = {record["prompt"][0]["content"]: sum(record["rewards"]["boxed"]) for record in records}
    best = problems[int(np.nanargmax(given))]["prompt"][0]["content"]
    assert passed[best] == max(passed.values())


@pytest.mark.parametrize(
    "prior, columns, said",
    [
        ("percent", None, r"Row 0 of the column 'percent' must have a pass rate from 0 to 1, but it has 10.0. Divide"),
        (
            "prompt",
            None,
            "Row 0 of the column 'prompt' must have a pass rate from 0 to 1, but it has 'a'. Write it as a number. If it is",
        ),
        (
            "empty",
            None,
            "selective_prior='empty' must have pass rates, but all 3 values of the column are None. Choose",
        ),
        (
            "difficulty",
            None,
            "must be a column of the dataset, the output .* columns are .* Correct the name, or write",
        ),
        (
            None,
            ["levle"],
            r"selective_columns=\['levle'\] must be columns of the dataset, .* Correct the name 'levle'",
        ),
    ],
)
def test_a_prior_that_cannot_be_used_is_refused(prior, columns, said):
    with pytest.raises(ValueError, match=said):
        build_foresight(DATA, prior, columns)


def test_a_table_of_other_prompts_is_refused(tmp_path):
    append_pass_rates(tmp_path / "rates.jsonl", [("x", PassRate(1, 2))])
    with pytest.raises(ValueError, match="must have pass rates of the dataset's prompts, .* same system prompt"):
        build_foresight(DATA, str(tmp_path / "rates.jsonl"), None)


def test_a_prior_is_refused_before_the_model_loads(config, problems):
    with pytest.raises(ValueError, match="selective_prior='rate' must be a column"):
        args = config(selective=True, selective_prior="rate")
        FilteredGRPOTrainer("no-such-model", boxed(), args=args, train_dataset=problems)
    for options in ({"selective_prior": "rate"}, {"selective_columns": ["rate"]}):
        with pytest.raises(ValueError, match="got selective=False. Set selective=True, or leave out selective_"):
            check_config(config(**options))
    with pytest.raises(ValueError, match=r"must be a list of columns, but it is 'level'. Write \['level'\]"):
        check_config(config(selective=True, selective_columns="level"))


def test_a_run_with_a_prior_draws_by_it_and_records_what_it_expected(config):
    data = demo.arithmetic(size=32)
    data = data.add_column("rate", [0.5 if row % 2 else 0.001 for row in range(32)])
    options = {"selective": True, "selective_prior": "rate", "selective_columns": []}
    _, records = train_and_read(config, data, boxed(), max_steps=4, **options)
    first = records[:4]
    assert sum(record["columns"]["rate"] == 0.5 for record in first) >= 3
    assert all({*record["predicted_from"]} == {"selective_prior"} for record in first)
    assert all(record["is_new_prompt"] and record["epoch"] == 1 for record in first[:2])
    assert all(0 < record["predicted_pass_rate"] < 1 for record in first)
