"""The recorder: rows of all ranks, and a thread that writes them, on disks that are slow, full or gone."""

import datetime
import json
import resource
import shutil
import threading
from pathlib import Path

import pytest
from transformers import TrainerControl, TrainerState

from helpers.ranks import run_on_forked_ranks
from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, demo
from trl_grpo_rewards.records.files import read_records
from trl_grpo_rewards.training import recorder as recorder_module
from trl_grpo_rewards.training.recorder import Recorder


RECORD = {"prompt_id": "x", "rewards": {}, "columns": {}}


@pytest.fixture
def recorder(config):
    recorder = Recorder(config())
    yield recorder
    recorder.thread.shutdown()


def collect(recorder: Recorder, prompts: str = "aabb") -> None:
    inputs = [{"prompt": prompt, "solution": prompt * 2} for prompt in prompts]
    ids = [[5, place, 1] for place in range(len(prompts))]
    recorder.collect(inputs, list(prompts), [f"text {place}" for place in range(len(prompts))], ids, {1})


def steps(recorder: Recorder) -> list[int]:
    return [record["step"] for record in read_records(recorder.args.output_dir)]


def end_step(recorder: Recorder) -> None:
    recorder.on_step_end(recorder.args, TrainerState(), TrainerControl())


def begin(recorder: Recorder, finished_steps: int) -> None:
    recorder.on_train_begin(recorder.args, TrainerState(global_step=finished_steps), TrainerControl())


def test_rows_are_kept_until_they_are_gathered(recorder):
    collect(recorder)
    rows = recorder.gather()
    assert [row.prompt for row in rows] == list("aabb") and rows[3].columns == {"solution": "bb"}
    assert [row.text for row in rows][1] == "text 1" and rows[1].ids and not rows[1].is_truncated
    assert recorder.gather() == []
    collect(recorder, "cc")
    collect(recorder, "dd")  # a generation replaces one that was not gathered
    assert [row.prompt for row in recorder.gather()] == ["d", "d"]


@pytest.mark.parametrize(
    "options, has_rows, has_text, has_ids",
    [
        ({"group_records": False}, False, False, False),
        ({"group_records_text": False}, True, False, True),
        ({"group_records_ids": False}, True, True, False),
    ],
)
def test_only_what_the_options_ask_for_is_kept(config, options, has_rows, has_text, has_ids):
    recorder = Recorder(config(**options))
    collect(recorder)
    rows = recorder.gather()
    assert len(rows) == 4 * has_rows
    assert all((row.text is not None, row.ids is not None) == (has_text, has_ids) for row in rows)
    assert not Path(recorder.args.output_dir).exists()  # nothing is written before there are records


def test_the_main_process_gets_the_rows_of_all_ranks(tmp_path):
    def gather(rank: int) -> list[tuple]:
        recorder = Recorder(small_config(tmp_path))
        collect(recorder, ["aab", "bcc"][rank])
        return [(row.prompt, row.text, row.ids, row.columns) for row in recorder.gather()]

    one, other = run_on_forked_ranks(gather)
    assert [row[:2] for row in one] == [(prompt, f"text {place % 3}") for place, prompt in enumerate("aabbcc")]
    assert one[3][2:] == (one[0][2], {"solution": "bb"}) and other == []


def test_a_step_ends_when_its_records_are_on_disk(recorder):
    may_go_on = threading.Event()

    def records():
        yield RECORD
        may_go_on.wait(30)
        yield RECORD

    recorder.write(1, records())
    threading.Timer(0.1, may_go_on.set).start()
    end_step(recorder)
    assert may_go_on.is_set() and steps(recorder) == [1, 1] and recorder.writing is None


def test_the_thread_works_on_one_generation_at_a_time(recorder):
    may_go_on, order = threading.Event(), []

    def records(step, wait):
        order.append(step)
        may_go_on.wait(30 * wait)
        order.append(step)
        yield RECORD

    recorder.write(1, records(1, wait=True))
    threading.Timer(0.1, may_go_on.set).start()
    recorder.write(2, records(2, wait=False))
    assert order[:2] == [1, 1]  # the second call returned only after the first generation was written
    recorder.flush()
    assert order == [1, 1, 2, 2] and steps(recorder) == [1, 2]


def test_each_training_starts_a_run_of_its_own(recorder):
    for finished in (0, 2):
        begin(recorder, finished)
        for step in (finished + 1, finished + 2, finished + 3):
            recorder.write(step, [RECORD])
        recorder.flush()
    assert [(record["run"], record["step"]) for record in read_records(recorder.args.output_dir)] == [
        (1, 1), (1, 2), (2, 3), (2, 4), (2, 5),
    ]  # fmt: skip
    files = sorted(Path(recorder.args.output_dir, "groups").iterdir())
    assert [json.loads(file.read_text().splitlines()[0])["first_step"] for file in files] == [1, 3]


def test_a_folder_that_is_removed_costs_the_records_in_it(recorder):
    recorder.write(1, [RECORD])
    recorder.flush()
    shutil.rmtree(recorder.args.output_dir)
    recorder.write(2, [RECORD])
    end_step(recorder)
    assert steps(recorder) == [2]


def test_a_full_disk_does_not_stop_the_run(recorder, caplog):
    unlimited, ceiling = resource.getrlimit(resource.RLIMIT_FSIZE)
    recorder.write(1, [RECORD])
    end_step(recorder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, ceiling))
    try:
        for step in (2, 3):
            recorder.write(step, [{**RECORD, "note": "long " * 100}])
            end_step(recorder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, ceiling))
    recorder.write(4, [RECORD])
    end_step(recorder)
    (record,) = caplog.records
    assert "Group records cannot be written to" in record.message and "File too large" in record.message
    assert steps(recorder) == [1, 4] and "not complete records" not in caplog.text


class Hostile:
    def __getattribute__(self, name):
        raise RuntimeError(name)

    __repr__ = __str__ = __eq__ = __reduce_ex__ = __getattribute__


def make_odd() -> list:
    deep, cycle = {}, []
    for _ in range(5_000):
        deep = {"a": [deep]}
    cycle.append(cycle)
    return [
        deep, cycle, {(1, 2): 3}, "\ud800", "\ud83d\ude00", 10**10_000, float("nan"), float("inf"), b"\xff",
        datetime.date(2026, 1, 1), Hostile(), {1, 2}, object(), lambda: 1,
    ]  # fmt: skip


def test_training_goes_on_whatever_completions_columns_and_rewards_hold(config, problems, monkeypatch):
    odd = make_odd()

    class Odd(FilteredGRPOTrainer):
        def _generate_and_score_completions(self, inputs):
            inputs = [{**row, "odd": odd[place % len(odd)]} for place, row in enumerate(inputs)]
            return super()._generate_and_score_completions(inputs)

    def log_odd(completions, log_extra, **kwargs):
        log_extra("odd", [odd[place % len(odd)] for place in range(len(completions))])
        return [float(place) for place in range(len(completions))]

    pack = recorder_module.pack_rows

    def pack_odd(inputs, prompts, completions, *args):
        return pack(
            inputs, prompts, [[{"role": "assistant", "content": "a", "tool_calls": one}] for one in odd], *args
        )

    monkeypatch.setattr(recorder_module, "pack_rows", pack_odd)
    size = len(odd)
    args = config(max_steps=2, per_device_train_batch_size=size, num_generations=size, gradient_accumulation_steps=1)
    trainer = Odd(demo.MODEL, [log_odd], args=args, train_dataset=problems)
    trainer.train()
    records = list(read_records(args.output_dir))
    assert [record["step"] for record in records] == [1, 2] and trainer.state.global_step == 2
    assert records[0]["logged"]["odd"][2:] == records[1]["logged"]["odd"][2:]
    assert records[0]["logged"]["odd"][2:6] == [{"[1, 2]": 3}, "\\ud800", "\\ud83d\\ude00", "<int>"]
    assert [one[0]["tool_calls"] for one in records[0]["completions"]][6:11] == [
        "NaN", "Infinity", "<bytes>", "<date>", "<Hostile>",
    ]  # fmt: skip


@pytest.mark.parametrize("fails", ["pack_rows", "describe"])
def test_an_error_in_a_record_is_logged_once_and_the_group_is_counted(recorder, monkeypatch, caplog, fails):
    size = recorder.args.num_generations

    def fail(*args):
        raise ZeroDivisionError("unforeseen")

    def describe(step):
        if fails == "describe" and step == 2:
            raise ZeroDivisionError("unforeseen")
        yield from ({"prompt_id": row.prompt, "rewards": {}, "columns": {}} for row in recorder.gather()[::size])

    for step in (1, 2, 3):
        with monkeypatch.context() as patch:
            if fails == "pack_rows" and step == 2:
                patch.setattr(recorder_module, "pack_rows", fail)
            collect(recorder, "a" * size)
        recorder.write(step, describe(step))
        end_step(recorder)
    assert steps(recorder) == [1, 3] and recorder.writer.lost == 1
    recorder.on_train_end(recorder.args, TrainerState(), TrainerControl())
    assert caplog.text.count("The record of a group cannot be made: ZeroDivisionError in ") == 1
    assert "1 group(s) of this run have no record" in caplog.text


def test_a_rank_that_cannot_describe_its_rows_costs_the_records_of_all(tmp_path):
    def gather(rank: int) -> list:
        recorder = Recorder(small_config(tmp_path))
        collect(recorder, "aa")
        if rank == 1:
            recorder.rows = None
        return recorder.gather()

    assert run_on_forked_ranks(gather) == [[], []]
