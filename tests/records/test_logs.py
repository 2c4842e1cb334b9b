"""The trainer's log as a file."""

import json
import logging

from trl_grpo_rewards.records.runs import LOG_FILE, LogWriter, list_log_files, read_log


def test_entries_are_read_as_they_are_written(tmp_path):
    writer = LogWriter(tmp_path / "out")
    writer.start([{"step": 0, "eval_reward": 0.5}])
    assert read_log(tmp_path / "out") == [{"step": 0, "eval_reward": 0.5}]
    writer.write({"step": 5, "entropy": float("nan"), "odd": object})
    (tmp_path / "out" / "groups").mkdir()
    assert [entry["step"] for entry in read_log(tmp_path / "out" / "groups")] == [0, 5]


def test_a_run_that_starts_again_replaces_the_log(tmp_path):
    first = LogWriter(tmp_path)
    first.start([])
    for step in (5, 10, 15):
        first.write({"step": step})
    resumed = LogWriter(tmp_path)
    resumed.start([{"step": 5}, {"step": 10}])
    resumed.write({"step": 12})
    assert [entry["step"] for entry in read_log(tmp_path)] == [5, 10, 12]
    assert [file.name for file in tmp_path.iterdir()] == [LOG_FILE]


def test_a_torn_line_is_left_out_and_written_over(tmp_path):
    writer = LogWriter(tmp_path)
    writer.start([{"step": 1}])
    with (tmp_path / LOG_FILE).open("a") as file:
        file.write('{"step": 2, "entr')
    assert read_log(tmp_path) == [{"step": 1}]
    writer.write({"step": 3})
    assert read_log(tmp_path) == [{"step": 1}, {"step": 3}]


def test_odd_lines_are_left_out(tmp_path):
    (tmp_path / LOG_FILE).write_text('[1]\n"step"\n{"reward": 1}\n{"step": "x"}\n{"step": -1}\n{"step": 4}\n\n')
    assert read_log(tmp_path) == [{"step": 4}]
    (tmp_path / LOG_FILE).write_bytes(b"\xff\xfe{")
    assert read_log(tmp_path) == []


def test_a_run_of_an_earlier_version_has_the_log_of_its_last_checkpoint(tmp_path):
    for step in (9, 10):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text(json.dumps({"log_history": [{"step": step}]}))
    (tmp_path / "checkpoint-best").mkdir()
    (tmp_path / "checkpoint-best" / "trainer_state.json").write_text("[]")
    assert read_log(tmp_path) == [{"step": 10}]
    (tmp_path / "trainer_state.json").write_text('{"log_history": [{"step": 11}]}')
    assert read_log(tmp_path) == [{"step": 11}]
    (tmp_path / "trainer_state.json").write_text('{"log_history": 3}')
    assert read_log(tmp_path) == [{"step": 10}]
    assert list_log_files(tmp_path / "nowhere") == [] == read_log(tmp_path / "nowhere")


def test_a_disk_that_cannot_be_written_is_said_once_and_no_error(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    writer = LogWriter(tmp_path / "file" / "out")
    with caplog.at_level(logging.WARNING):
        writer.start([])
        writer.write({"step": 1})
    assert caplog.text.count("The log of the run cannot be written to") == 1


def test_what_json_cannot_hold_and_what_is_nested_deeply_cost_one_entry(tmp_path, caplog):
    writer = LogWriter(tmp_path)
    writer.start([{"step": 1}])
    writer.write({"step": 2, (1, 2): 3})
    writer.write({"step": 3})
    with (tmp_path / LOG_FILE).open("a") as file:
        file.write("[" * 100_000 + "\n")
    assert read_log(tmp_path) == [{"step": 1}, {"step": 3}] and caplog.text.count("Training continues") == 1
