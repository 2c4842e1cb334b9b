"""Group records: what a run writes, and what is read of it, whatever became of the run."""

import base64
import json
import resource
import shutil
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import datasets
import numpy as np
import pytest
from transformers import TrainerCallback

from helpers.made_runs import record
from helpers.reward_functions import lengths_of_some
from helpers.runs import find_lists_of_ids, train_and_read
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, length
from trl_grpo_rewards.records import files as records
from trl_grpo_rewards.records.fields import hash_prompt
from trl_grpo_rewards.records.files import GroupWriter, find_record_files, read_groups, read_records
from trl_grpo_rewards.texts import completion_text


def test_a_record_says_what_its_group_was(config, problems, tmp_path):
    data = problems.map(lambda row, index: {"asked": datetime(2026, 1, 1), "index": index}, with_indices=True)
    options = {"max_steps": 3, "log_completions": True, "reward_weights": [1.0, 0.5]}
    trainer, lines = train_and_read(config, data, [lengths_of_some, boxed()], **options)
    assert [(line["run"], line["step"], line["group"]) for line in lines] == [
        (1, s, g) for s in (1, 2, 3) for g in (0, 1)
    ]
    history = [entry for entry in trainer.state.log_history if "groups/dead" in entry]
    for step, entry in enumerate(history, start=1):
        mine = [line for line in lines if line["step"] == step]
        assert sum(line["outcome"] != "live" for line in mine) / 2 == entry["groups/dead"]
        assert sum(line["spread"] for line in mine) / 2 == pytest.approx(entry["groups/spread"])
        assert sum(line["duplicates"] for line in mine) / 8 == entry["groups/duplicates"]
        assert sum(sum(line["lengths"]) for line in mine) / 8 == entry["completions/mean_length"]
        assert sum(sum(line["truncated"]) for line in mine) / 8 == entry["completions/clipped_ratio"]
        assert sum(sum(line["rewards"]["boxed"]) for line in mine) / 8 == entry["rewards/boxed/mean"]
    last = [line for line in lines if line["step"] == 3]
    asked = [line["prompt"][-1]["content"] for line in last for _ in range(4)]
    assert all(text in str(logged) for text, logged in zip(asked, trainer._logs["prompt"], strict=True))
    told = [completion_text(one) for line in last for one in line["completions"]]  # TRL 1.14 logs text
    assert told == [completion_text(logged) for logged in trainer._logs["completion"]]
    assert [value for line in last for value in line["advantages"]] == list(trainer._logs["advantages"])
    for line in lines:
        solution = str(sum(map(int, line["prompt"][-1]["content"][8:-1].split(" + "))))
        assert line["columns"]["solution"] == solution
        assert {*line["columns"]} == {"solution", "index"}  # JSON has no dates
        assert line["outcome_reward"] == "boxed" and line["prompt_id"] == hash_prompt(line["prompt"])
        assert line["weights"] == {"lengths_of_some": 1.0, "boxed": 0.5} and [*line["rewards"]] == [*line["weights"]]
        decoded = trainer.processing_class.batch_decode(line["completion_ids"], skip_special_tokens=True)
        assert decoded == [completion[0]["content"] for completion in line["completions"]]
        length, box = line["rewards"].values()
        assert line["total"] == pytest.approx([one + 0.5 * other for one, other in zip(length, box, strict=True)])
        assert line["mean"] == pytest.approx(sum(line["total"]) / 4)
        assert (line["outcome"] == "live") == any(line["advantages"]) == (line["spread"] > 1e-6)

    files = f"{trainer.args.output_dir}/groups/*.jsonl"
    loaded = datasets.load_dataset("json", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded["step"] == [1, 1, 2, 2, 3, 3] and loaded[0]["rewards"] == lines[0]["rewards"]


def test_records_without_text_and_no_records(config, problems):
    _, lines = train_and_read(config, problems, boxed(), group_records_text=False)
    assert len(lines) == 2 and not {"prompt", "completions"} & {*lines[0]} and lines[0]["completion_ids"]
    trainer = FilteredGRPOTrainer(demo.MODEL, boxed(), args=config(group_records=False), train_dataset=problems)
    trainer.train()
    assert not Path(trainer.args.output_dir, "groups").exists()
    with pytest.raises(FileNotFoundError, match="There are no group records in .* Pass the output_dir of a run"):
        list(read_records(trainer.args.output_dir))


@pytest.mark.slow
def test_records_hold_every_round_and_every_generation_of_a_step(config, problems):
    options = {"zero_variance": "drop", "max_resample_rounds": 20, "max_steps": 2}
    trainer, lines = train_and_read(config, problems, [lengths_of_some], **options)
    for step in (1, 2):
        mine = [line for line in lines if line["step"] == step]
        assert [line["group"] for line in mine] == list(range(len(mine)))
        assert sum(line["outcome"] == "live" for line in mine) >= 2
        assert len({line["prompt_id"] for line in mine}) == len(mine)
    assert 4 < len(lines) <= 4 + trainer._prompts.position  # drawn prompts that the step had asked are left out
    _, lines = train_and_read(config, problems, boxed(), gradient_accumulation_steps=4, steps_per_generation=2)
    assert [(line["step"], line["group"]) for line in lines] == [(1, group) for group in range(8)]


def places(source) -> list[tuple[int, int, int]]:
    return [(line["run"], line["step"], line["group"]) for line in read_records(source)]


def write(writer, step, count):
    writer.write(step, ({"prompt_id": "x", "rewards": {}, "columns": {}} for _ in range(count)))


@pytest.mark.slow
def test_a_run_supersedes_the_records_of_earlier_ones_from_its_first_step_on(config, problems, caplog):
    """Runs that resume from a checkpoint, that leave a branch, and that start again."""

    def again(**options):
        args = replace(trainer.args, generation_batch_size=None, steps_per_generation=None, **options)
        return FilteredGRPOTrainer(demo.MODEL, boxed(), args=args, train_dataset=problems)

    def groups(run, *steps):
        return [(run, step, group) for step in steps for group in (0, 1)]

    trainer, first = train_and_read(config, problems, boxed(), max_steps=4, save_strategy="steps", save_steps=2)
    folder = trainer.args.output_dir
    file = Path(folder, "groups", "0001-0001.jsonl")
    file.write_text(file.read_text()[:-100])  # as if it had been killed while writing
    again().train(resume_from_checkpoint=f"{folder}/checkpoint-2")
    assert places(folder) == groups(1, 1, 2) + groups(2, 3, 4) and "1 line(s) of" in caplog.text
    assert [line["completions"] for line in read_records(folder)] == [line["completions"] for line in first]
    again(max_steps=5).train(resume_from_checkpoint=f"{folder}/checkpoint-4")
    assert places(folder) == groups(1, 1, 2) + groups(2, 3, 4) + groups(3, 5)
    again(max_steps=3).train(resume_from_checkpoint=f"{folder}/checkpoint-2")
    assert places(folder) == groups(1, 1, 2) + groups(4, 3)


def test_records_are_read_while_a_run_goes_on(tmp_path):
    with pytest.raises(FileNotFoundError):
        places(tmp_path)
    first = GroupWriter(tmp_path)
    write(first, 1, 2)
    assert places(tmp_path) == [(1, 1, 0), (1, 1, 1)]
    write(first, 1, 1)
    write(first, 2, 1)
    write(GroupWriter(tmp_path, 3), 3, 1)  # resumed where the first one ended
    assert places(tmp_path) == [(1, 1, 0), (1, 1, 1), (1, 1, 2), (1, 2, 0), (2, 3, 0)]
    write(GroupWriter(tmp_path, 2), 2, 1)  # resumed from an earlier checkpoint
    assert places(tmp_path) == [(1, 1, 0), (1, 1, 1), (1, 1, 2), (3, 2, 0)]


def test_records_of_earlier_versions_are_read_and_superseded(tmp_path):
    rest = {"group": 0, "prompt_id": "x", "rewards": {}, "columns": {}, "completion_ids": [[7, 8]]}
    old = [{"run": run, "step": step, **rest} for run, step in ((1, 1), (1, 2), (1, 3), (2, 2))]
    (tmp_path / "groups").mkdir()
    for line in old:
        with (tmp_path / "groups" / f"000{line['run']}-0001.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
    assert list(read_records(tmp_path)) == [old[0], old[3]]
    write(GroupWriter(tmp_path, 2), 3, 2)  # it has written nothing of its first step
    assert places(tmp_path) == [(1, 1, 0), (3, 3, 0), (3, 3, 1)]


@pytest.mark.parametrize("name", ["run", "step", "group", "first_step"])
def test_a_line_with_an_endless_number_or_without_rows_is_damaged(tmp_path, name, caplog):
    write(GroupWriter(tmp_path), 1, 2)
    place = {"run": 1, "step": 2, "group": 0, "first_step": 1}
    rest = {"prompt_id": "x", "rewards": {"boxed": []}, "columns": {}}
    with (tmp_path / "groups" / "0001-0001.jsonl").open("a") as file:
        file.write(json.dumps({**place, name: 0, **rest}).replace(f'"{name}": 0', f'"{name}": {"9" * 5000}') + "\n")
        file.write(json.dumps({**place, "step": 3, **rest}) + "\n")
    assert [record["step"] for record in read_records(tmp_path)] == [1, 1]
    assert "2 line(s)" in caplog.text


@pytest.mark.slow
def test_token_ids_are_compact_or_left_out(config, problems):
    given = []

    def reward(completion_ids, **kwargs):
        given.extend(map(list, completion_ids))
        return [float(len(ids)) for ids in completion_ids]

    trainer, lines = train_and_read(config, problems, [reward], max_steps=2)
    assert [ids for line in lines for ids in line["completion_ids"]] == given
    written = Path(trainer.args.output_dir, "groups", "0001-0001.jsonl").read_text().splitlines()
    for line, ids in zip(map(json.loads, written), range(0, 16, 4), strict=True):
        packed = [base64.b64decode(text) for text in line["completion_ids"]]
        assert [np.frombuffer(one, "<i4").tolist() for one in packed] == given[ids : ids + 4]
    trainer, lines = train_and_read(config, problems, boxed() + 0.01 * length(8), group_records_ids=False)
    assert not any("completion_ids" in line for line in lines) and lines[0]["completions"]
    assert all(len(line["lengths"]) == len(line["truncated"]) == 4 for line in lines)
    groups = list(read_groups(trainer.args.output_dir))
    assert boxed()(**groups[0].columns) == lines[0]["rewards"]["boxed"]
    with pytest.raises(ValueError, match="needs 'completion_ids', but the call has none"):
        length(8)(**groups[0].columns)


class AtSteps(TrainerCallback):
    """Calls a function at the end of some steps."""

    def __init__(self, calls):
        self.calls = calls

    def on_step_end(self, args, state, control, **kwargs):
        self.calls.get(state.global_step, lambda: None)()


def test_records_that_cannot_be_written_are_said_once_and_supersede_all_the_same(tmp_path, caplog):
    folder, earlier, writer = tmp_path / "groups", GroupWriter(tmp_path), GroupWriter(tmp_path, 1)
    for step in range(1, 5):
        write(earlier, step, 2)
    folder.rename(tmp_path / "aside")
    folder.write_text("in the way")
    write(writer, 1, 2)
    write(writer, 2, 2)
    folder.unlink()
    (tmp_path / "aside").rename(folder)
    write(writer, 3, 2)
    (said,) = [record.message for record in caplog.records if record.name == records.__name__]
    assert said.startswith("The records of the run cannot be written to") and "File exists" in said
    assert places(folder) == [(2, 3, 0), (2, 3, 1)]


def test_a_record_that_cannot_be_encoded_does_not_take_others_along(tmp_path, caplog):
    good = record({"boxed": [0.0, 1.0]})
    GroupWriter(tmp_path).write(1, [good, {**good, "columns": {"made": object()}}, good])
    assert [found["group"] for found in read_records(tmp_path)] == [0, 2]
    assert "The record of a group of the run cannot be written to" in caplog.text and "TypeError" in caplog.text


def test_records_go_on_in_a_folder_that_was_removed(tmp_path):
    writer = GroupWriter(tmp_path)
    write(writer, 1, 2)
    shutil.rmtree(tmp_path / "groups")
    write(writer, 2, 1)
    assert places(tmp_path) == [(1, 2, 0)]


@pytest.mark.usefixtures("capsys")  # keeps the log in memory: pytest's own file would be refused, too
def test_a_full_disk_costs_the_records_of_its_steps_only(tmp_path, caplog):
    writer, file = GroupWriter(tmp_path), tmp_path / "groups" / "0001-0001.jsonl"
    write(writer, 1, 2)
    unlimited, ceiling = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:  # the system refuses, as on a full disk, what goes beyond a part of the next line
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 100, ceiling))
        write(writer, 2, 2)
        write(writer, 3, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, ceiling))
    assert not file.read_bytes().endswith(b"\n")
    write(writer, 4, 2)
    assert caplog.text.count("Training continues without it") == 1
    assert places(tmp_path) == [(1, 1, 0), (1, 1, 1), (1, 4, 0), (1, 4, 1)]
    assert "not complete records" not in caplog.text  # the part of a line has been removed


@pytest.mark.slow
def test_a_step_is_on_disk_before_it_counts_as_done_and_when_training_raises(config, problems, monkeypatch):
    """So before its checkpoint is saved and before callbacks of users see its end, on a disk that is slow."""
    write_at_once = GroupWriter.write

    def write_slowly(*args):
        time.sleep(0.3)  # longer than the rest of the step
        write_at_once(*args)

    class Fails(FilteredGRPOTrainer):
        def compute_loss(self, *args, **kwargs):
            if self.state.global_step == 1:
                raise RuntimeError("out of memory")
            return super().compute_loss(*args, **kwargs)

    monkeypatch.setattr(GroupWriter, "write", write_slowly)
    args, seen = config(max_steps=2), []
    look = AtSteps({1: lambda: seen.extend(places(args.output_dir))})
    trainer = Fails(demo.MODEL, boxed(), args=args, train_dataset=problems, callbacks=[look])
    with pytest.raises(RuntimeError, match="out of memory"):
        trainer.train()
    assert seen == [(1, 1, 0), (1, 1, 1)]
    assert places(args.output_dir) == [(1, 1, 0), (1, 1, 1), (1, 2, 0), (1, 2, 1)]


def test_a_run_keeps_none_of_the_completions_that_it_has_recorded(config, problems):
    given = set()

    def reward(completion_ids, **kwargs):
        given.update(map(tuple, completion_ids))
        return [float(len(ids)) for ids in completion_ids]

    held = []
    look = AtSteps({2: lambda: held.extend(find_lists_of_ids(given))})
    args = config(max_steps=2)
    FilteredGRPOTrainer(demo.MODEL, [reward], args=args, train_dataset=problems, callbacks=[look]).train()
    assert len(given) > 4 and held == []


def test_a_file_is_closed_once_it_is_large_enough(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MAX_FILE_SIZE", 1000)
    writer = GroupWriter(tmp_path)
    for step in range(1, 41):
        write(writer, step, 1)
    files = find_record_files(tmp_path)
    sizes = [file.stat().st_size for file in files]
    assert len(sizes) > 2 and all(1000 <= size < 1100 for size in sizes[:-1]) and sizes[-1] < 1100
    assert [file.name for file in files[:2]] == ["0001-0001.jsonl", "0001-0002.jsonl"]
    lines = list(read_records(tmp_path))
    assert [record["step"] for record in lines] == [*range(1, 41)] and lines == list(read_records(tmp_path / "groups"))
    first, second = (list(read_records(file)) for file in files[:2])
    assert first + second == lines[: len(first) + len(second)] and len(second) > 2


# --- completions of other files -------------------------------------------------------------------------------------


@pytest.fixture
def write_rows(tmp_path):
    def write(name: str, *rows: dict) -> Path:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("rows", "steps", "columns"),
    [
        (
            [{"prompt": prompt, "completion": text} for prompt, text in ["a1", "a2", "b3", "a4"]], [None] * 3,
            [{"completions": [*texts], "prompts": [*prompts]} for texts, prompts in [("12", "aa"), "3b", "4a"]],
        ),
        (
            [{"step": 1, "prompt": "a", "completion": "x", "solution": "7"}, {"step": 1, "prompt": "a", "completion": "y"},
             {"step": 2, "prompt": "a", "completion": "z"}], [1, 2],
            [{"step": [1, 1], "solution": ["7", None], "completions": ["x", "y"], "prompts": ["a", "a"]},
             {"step": [2], "completions": ["z"], "prompts": ["a"]}],
        ),
        ([{"completion": "x"}, {"completion": "y"}], [None], [{"completions": ["x", "y"]}]),
    ],
    ids=["runs of equal prompts", "steps, and missing columns", "no prompts"],
)  # fmt: skip
def test_lines_are_grouped(write_rows, rows, steps, columns):
    groups = list(read_groups(write_rows("rows.jsonl", *rows)))
    assert [group.step for group in groups] == steps and [group.columns for group in groups] == columns
    assert all(group.recorded == {} and group.size == len(group.columns["completions"]) for group in groups)


def test_a_table_of_trl_is_read(tmp_path):
    rows = {"step": [3, 3], "prompt": ["a", "a"], "completion": ["x", "y"], "advantage": [0.5, -0.5]}
    datasets.Dataset.from_dict(rows).to_parquet(tmp_path / "completions_00003.parquet")
    (group,) = read_groups(tmp_path / "completions_00003.parquet")
    assert (group.step, group.columns["completions"], group.columns["advantage"]) == (3, ["x", "y"], [0.5, -0.5])


RECORD = {
    "run": 1, "step": 4, "group": 0, "prompt_id": "a", "prompt": "2 + 2?", "completions": ["4", "5"],
    "columns": {"solution": "4"}, "row_columns": {"place": [0, 1]}, "rewards": {"boxed": [1.0, 0.0]},
    "lengths": [1, 1],
}  # fmt: skip


def test_a_record_gives_columns_and_the_scores_of_its_run(write_rows):
    (group,) = read_groups(write_rows("0001-0001.jsonl", RECORD))
    assert group.columns == {
        "solution": ["4", "4"], "place": [0, 1], "prompts": ["2 + 2?", "2 + 2?"], "completions": ["4", "5"],
    }  # fmt: skip
    assert (group.step, group.recorded) == (4, {"boxed": [1.0, 0.0]})


def test_what_holds_no_completions_is_refused(write_rows, tmp_path):
    textless = {name: value for name, value in RECORD.items() if name not in ("prompt", "completions")}
    odd = {"completion": "x", "prompt": "a"}, {"text": "y", "prompt": "a"}
    for said, name, rows in [
        ("group_records_text=False", "0001-0001.jsonl", [textless]),
        ("'completion'", "rows.jsonl", odd),
        ("rows.jsonl", "rows.jsonl", [{"text": "x"}]),
    ]:
        with pytest.raises(ValueError, match=said):
            list(read_groups(write_rows(name, *rows)))
    with pytest.raises(FileNotFoundError):
        list(read_groups(tmp_path / "nowhere"))
