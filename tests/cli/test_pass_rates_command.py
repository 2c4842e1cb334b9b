"""`trl-grpo-rewards pass-rates` as a user starts it, and a run that uses its table."""

import json
import re

import pytest

from trl_grpo_rewards import demo
from trl_grpo_rewards.cli.pass_rates import describe_rates
from trl_grpo_rewards.records.pass_rates import PassRate


SAMPLING = ["--num_generations_eval", "4", "--per_device_eval_batch_size", "32", "--max_completion_length", "32"]


@pytest.mark.slow
def test_a_table_is_sampled_and_used_by_a_run(command, tmp_path):
    rows = [{"prompt": f"What is {n} + {n}?", "solution": str(2 * n)} for n in range(1, 13)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    job = ["--dataset_name", "json", "--data_files", "sums.jsonl", "--model_name_or_path", demo.MODEL]
    job += ["--eval_prompts", "2", "--output_dir", "runs/sums", "--report_to", "none", *SAMPLING]
    sampled = command("pass-rates", *job)
    assert sampled.returncode == 0 and re.search(
        r"^10 prompts, 40 completions: \d+% of the completions are right\. "
        r"Number of prompts with no right completion: \d+; with only right ones: \d+; with both: \d+\.$",
        sampled.stdout,
        re.MULTILINE,
    )
    table = tmp_path / "runs/sums-pass-rates.jsonl"
    assert table.read_text().count("\n") == 10
    again = command("pass-rates", *job)
    assert "10 of these prompts were in the table before and were not sampled again. If the model" in again.stdout
    use = re.search(r"--selective true --selective_prior (\S+)", sampled.stdout)[1]
    batch = ["--max_steps", "2", "--num_generations", "4", "--per_device_train_batch_size", "8", "--no_check", "true"]
    trained = command("train", *job, *batch, "--selective", "true", "--selective_prior", use, "--save_strategy", "no")
    assert trained.returncode == 0, trained.stderr
    (records,) = (tmp_path / "runs/sums/groups").glob("*.jsonl")
    assert '"predicted_from": {"selective_prior": ' in records.read_text()


def test_pass_rates_are_summed_up_in_a_sentence():
    rates = [PassRate(0, 4), PassRate(4, 4), PassRate(2, 4), PassRate(6, 8)]
    assert describe_rates(rates) == (
        "4 prompts, 20 completions: 60% of the completions are right. Number of prompts with no right "
        "completion: 1; with only right ones: 1; with both: 2."
    )


def test_what_cannot_be_sampled_is_one_sentence(command):
    failed = command("pass-rates", "--rewards", "boxxed()")
    assert failed.returncode != 0 and "Traceback" not in failed.stderr and "boxed" in failed.stderr
    failed = command("pass-rates", "--num_generations_eval", "6", "--per_device_eval_batch_size", "8")
    assert failed.returncode == 2 and failed.stderr.strip().splitlines()[-1] == (
        "error: per_device_eval_batch_size times the number of processes must be a multiple of num_generations_eval=6, "
        "but it is 8 * 1. Set --per_device_eval_batch_size 12."
    )
