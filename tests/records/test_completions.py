"""Completions read from lines of JSON, TRL's tables and group records."""

import json
from pathlib import Path

import pytest

from trl_grpo_rewards.records.files import read_groups


@pytest.fixture
def write(tmp_path):
    def write(name: str, *rows: dict) -> Path:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path / name

    return write


def test_lines_are_grouped_by_runs_of_equal_prompts(write):
    rows = [{"prompt": prompt, "completion": text} for prompt, text in ["a1", "a2", "b3", "a4"]]
    groups = list(read_groups(write("rows.jsonl", *rows)))
    assert [group.columns["prompts"] for group in groups] == [["a", "a"], ["b"], ["a"]]
    assert [group.columns["completions"] for group in groups] == [["1", "2"], ["3"], ["4"]]
    assert [group.size for group in groups] == [2, 1, 1]


def test_steps_part_groups_and_missing_columns_are_none(write):
    rows = [
        {"step": 1, "prompt": "a", "completion": "x", "solution": "7"},
        {"step": 1, "prompt": "a", "completion": "y"},
        {"step": 2, "prompt": "a", "completion": "z"},
    ]
    one, other = read_groups(write("rows.jsonl", *rows))
    assert (one.step, other.step) == (1, 2)
    assert one.columns == {"step": [1, 1], "solution": ["7", None], "completions": ["x", "y"], "prompts": ["a", "a"]}
    assert one.recorded == {}


def test_rows_without_prompts_are_one_group(write):
    (group,) = read_groups(write("rows.jsonl", {"completion": "x"}, {"completion": "y"}))
    assert group.columns == {"completions": ["x", "y"]} and group.step is None


def test_a_table_of_trl_is_read(tmp_path):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"step": [3, 3], "prompt": ["a", "a"], "completion": ["x", "y"], "advantage": [0.5, -0.5]})
    pyarrow.parquet.write_table(table, tmp_path / "completions_00003.parquet")
    (group,) = read_groups(tmp_path / "completions_00003.parquet")
    assert (group.step, group.columns["completions"], group.columns["advantage"]) == (3, ["x", "y"], [0.5, -0.5])


RECORD = {
    "run": 1, "step": 4, "group": 0, "prompt_id": "a", "prompt": "2 + 2?", "completions": ["4", "5"],
    "columns": {"solution": "4"}, "row_columns": {"place": [0, 1]}, "rewards": {"boxed": [1.0, 0.0]},
    "lengths": [1, 1],
}  # fmt: skip


def test_a_record_gives_columns_and_the_scores_of_its_run(write):
    (group,) = read_groups(write("0001-0001.jsonl", RECORD))
    assert group.columns == {
        "solution": ["4", "4"], "place": [0, 1], "prompts": ["2 + 2?", "2 + 2?"], "completions": ["4", "5"],
    }  # fmt: skip
    assert (group.step, group.recorded) == (4, {"boxed": [1.0, 0.0]})


def test_what_holds_no_completions_is_refused(write, tmp_path):
    textless = {name: value for name, value in RECORD.items() if name not in ("prompt", "completions")}
    with pytest.raises(ValueError, match="group_records_text=False"):
        list(read_groups(write("0001-0001.jsonl", textless)))
    with pytest.raises(ValueError, match="'completion'"):
        list(read_groups(write("rows.jsonl", {"completion": "x", "prompt": "a"}, {"text": "y", "prompt": "a"})))
    with pytest.raises(ValueError, match="rows.jsonl"):
        list(read_groups(write("rows.jsonl", {"text": "x"})))
    with pytest.raises(FileNotFoundError):
        list(read_groups(tmp_path / "nowhere"))
