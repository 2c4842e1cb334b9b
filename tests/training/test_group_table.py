"""The table of groups in Weights & Biases and in Trackio."""

import json
import sqlite3
from pathlib import Path

import pytest
from transformers import TrainerState

from helpers.processes import run_in_spawned_child
from helpers.runs import small_config, train_and_read
from trl_grpo_rewards import boxed, demo, tags
from trl_grpo_rewards.training.group_table import MAX_GROUPS, GroupTable, show_completion


SIZE, PROMPTS = 4, 6
"""Number of completions in a group, and of groups in a step."""


def train_with_trackers(folder: Path, queue) -> None:
    """Train two steps, and put the records into the queue."""

    def config(**options):
        return small_config(folder, **options)

    options = {"max_steps": 2, "per_device_train_batch_size": SIZE * PROMPTS, "report_to": ["wandb", "trackio"]}
    queue.put(train_and_read(config, demo.arithmetic("train", size=64), boxed() + tags("think"), **options)[1])


def read_tables_of_wandb(folder: Path) -> list[list[dict]]:
    files = [json.loads(file.read_text()) for file in folder.glob("wandb/offline-*/files/media/table/groups_*.json")]
    tables = [[dict(zip(file["columns"], row, strict=True)) for row in file["data"]] for file in files]
    return sorted(tables, key=lambda table: table[0]["step"])


def read_tables_of_trackio(folder: Path) -> list[list[dict]]:
    (file,) = folder.glob("*.db")
    with sqlite3.connect(file) as database:
        logged = [json.loads(metrics) for (metrics,) in database.execute("SELECT metrics FROM metrics ORDER BY id")]
    return [entry["groups"]["_value"] for entry in logged if "groups" in entry]


@pytest.mark.slow
def test_each_log_has_a_table_with_a_row_for_each_completion(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    records = run_in_spawned_child(train_with_trackers, tmp_path)
    for tables in (read_tables_of_wandb(tmp_path), read_tables_of_trackio(tmp_path)):
        assert len(tables) == 2
        for step, table in enumerate(tables, start=1):
            assert [*table[0]] == [
                "step", "group", "outcome", "prompt", "completion", "boxed", "tags", "total", "advantage", "tokens"
            ]  # fmt: skip
            wanted = [record for record in records if record["step"] == step][:MAX_GROUPS]
            assert [row["total"] for row in table] == [total for record in wanted for total in record["total"]]
            assert [row["completion"] for row in table] == [
                completion[0]["content"] for record in wanted for completion in record["completions"]
            ]
            assert len(table) == MAX_GROUPS * SIZE and len(wanted) < PROMPTS

    with sqlite3.connect(next(tmp_path.glob("*.db"))) as database:
        (count,) = database.execute("SELECT count(*) FROM traces").fetchone()
    assert count == 2 * MAX_GROUPS * SIZE


def test_a_trace_has_the_messages_of_a_completion_and_what_it_earned(config):
    turns = [{"role": "assistant", "tool_calls": [{"name": "add"}]}, {"role": "tool", "content": "2"}]
    record = {
        "prompt": "1 + 1?", "completions": ["3", turns], "outcome": "live", "rewards": {"boxed": [0.0, 1.0]},
        "total": [0.0, 1.0], "advantages": [-1.0, 1.0], "lengths": [1, 5],
    }  # fmt: skip
    table = GroupTable(config(report_to=["trackio"]))
    assert [*table.keep(7, [record])] == [record]
    wrong, right = table.list_traces(lambda messages, metadata: (messages, metadata)).values()
    question = {"role": "user", "content": "1 + 1?"}
    assert wrong[0] == [question, {"role": "assistant", "content": "3"}] and right[0] == [question, *turns]
    assert right[1] == {
        "step": 7, "group": 0, "outcome": "live", "boxed": 1.0, "total": 1.0, "advantage": 1.0, "tokens": 5
    }  # fmt: skip


def test_a_run_of_wandb_that_has_not_begun_gets_no_table(config):
    record = {
        "prompt": "1 + 1?", "completions": ["2"], "outcome": "solved", "rewards": {"boxed": [1.0]}, "total": [1.0],
        "advantages": [0.0], "lengths": [1],
    }  # fmt: skip
    table = GroupTable(config(report_to=["wandb"]))
    assert [*table.keep(1, [record])] == [record]
    state = TrainerState(is_world_process_zero=True)
    table.on_log(None, state, None, {"reward": 1.0})  # Weights & Biases would raise an error


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"report_to": ["wandb", "tensorboard"]}, ["wandb"]),
        ({"report_to": ["trackio", "wandb"]}, ["wandb", "trackio"]),
        ({"report_to": "none"}, []),
        ({"report_to": ["wandb"], "log_completions": True}, []),  # TRL logs a table
        ({"report_to": ["wandb"], "group_records_text": False}, []),
        ({"report_to": ["wandb"], "group_records": False}, []),
    ],
)
def test_where_there_is_a_table(config, options, expected):
    assert GroupTable(config(**options)).trackers == expected


def test_all_turns_of_a_completion_are_shown():
    assert show_completion([{"role": "assistant", "content": "4"}]) == "4" == show_completion("4")
    turns = [{"role": "assistant", "tool_calls": [{"name": "add"}]}, {"role": "tool", "content": "é"}]
    assert '"add"' in show_completion(turns) and "é" in show_completion(turns)
