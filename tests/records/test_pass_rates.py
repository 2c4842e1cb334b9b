"""Pass rates by prompt: from records, from a table, and what is refused."""

import json

import pytest

from trl_grpo_rewards.records.fields import hash_prompt
from trl_grpo_rewards.records.files import GroupWriter
from trl_grpo_rewards.records.pass_rates import PassRate, append_pass_rates, count_right, read_pass_rates


PROMPTS = ["2 + 2?", [{"role": "user", "content": "3 + 3?"}]]


def test_a_table_is_read_as_it_was_written(tmp_path):
    rates = [PassRate(1, 4), PassRate(6, 6)]
    append_pass_rates(tmp_path / "rates.jsonl", zip(PROMPTS, rates, strict=True))
    assert read_pass_rates(tmp_path / "rates.jsonl") == dict(zip(map(hash_prompt, PROMPTS), rates, strict=True))
    rows = [json.loads(line) for line in (tmp_path / "rates.jsonl").read_text().splitlines()]
    assert [row["prompt"] for row in rows] == PROMPTS and rows[0]["low"] < 0.25 < rows[0]["high"] < 1


def test_the_interval_is_wilsons():
    for end in PassRate(1, 10).interval:  # at its ends, the rate is as many standard deviations away
        assert abs(end - 0.1) == pytest.approx(1.645 * (end * (1 - end) / 10) ** 0.5)
    low, high = PassRate(0, 8).interval
    assert low == 0 and high == pytest.approx(1.645**2 / (8 + 1.645**2))


def test_records_are_counted_by_the_outcome_reward(tmp_path):
    first = {"prompt_id": "a", "outcome_reward": "right", "rewards": {"form": [1, 1, 1], "right": [1.0, 0.5, None]}}
    second = {"prompt_id": "a", "outcome_reward": "right", "rewards": {"form": [1, 1], "right": [1.0, 1.0]}}
    unscored = {"prompt_id": "b", "outcome_reward": "right", "rewards": {"form": [1], "right": [None]}}
    GroupWriter(tmp_path).write(1, [{"columns": {}, **one} for one in (first, second, unscored)])
    for source in (tmp_path, tmp_path / "groups", tmp_path / "groups" / "0001-0001.jsonl"):
        assert read_pass_rates(source) == {"a": PassRate(3, 4)}
    assert count_right([float("nan"), None]) == PassRate(0, 0)


@pytest.mark.parametrize(
    "row, said",
    [
        ({"prompt": "a", "pass_rate": 57, "samples": 4}, "from 0 to 1, but it has 57. Divide percentages by 100."),
        (
            {"prompt": "a", "pass_rate": float("nan"), "samples": 4},
            "from 0 to 1, but it has nan. If it is not known, write None",
        ),
        (
            {"prompt": "a", "pass_rate": "half", "samples": 4},
            "from 0 to 1, but it has 'half'. Write it as a number. If it is not known, write None",
        ),
        (
            {"prompt": "a", "pass_rate": 0.5, "samples": 0},
            "samples as a whole number of at least 1, but it has 0. Write how many",
        ),
        ({"prompt": "a"}, "must be JSON with prompt, pass_rate and samples, but it is .* Write a table"),
        ([1], "must be JSON with prompt"),
    ],
)
def test_a_line_that_gives_no_rate_is_refused(tmp_path, row, said):
    (tmp_path / "rates.jsonl").write_text("\n" + json.dumps(row))
    with pytest.raises(ValueError, match=f"Line 2 of .*{said}"):
        read_pass_rates(tmp_path / "rates.jsonl")


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no group records"):
        read_pass_rates(tmp_path)
