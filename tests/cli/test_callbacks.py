"""What a run has changed, as the scripts show it, and its report while it goes on."""

import math
import re
from types import SimpleNamespace

import pytest
from pandas import DataFrame, Series

from helpers.made_runs import record, written
from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, tags
from trl_grpo_rewards.cli.callbacks import (
    BeforeAndAfter,
    Measurement,
    ReportWriter,
    RewardProgress,
    describe_change,
    measure,
)
from trl_grpo_rewards.records.files import GroupWriter


@pytest.mark.parametrize("dead, begun, first", [(0.25, 0, "before"), (None, 6, "step 6")])
def test_the_report_compares_the_end_with_the_beginning(dead, begun, first):
    callback = BeforeAndAfter(SimpleNamespace(state=SimpleNamespace(global_step=7)))
    callback.first_step, callback.seconds = begun, 0.4
    callback.before, callback.after = (
        Measurement(
            {"boxed": accuracy, "tags": 0.5, "reward": accuracy + 0.1, "dead groups": dead},
            {"2 + 2?": text, "3 + 3?": "6"},
            DataFrame({"boxed": [accuracy, 2 * accuracy], "tags": [0.5, 0.5], "reward": [1.0, math.nan]}),
        )
        for accuracy, text in ((0.25, "4"), (0.75, "four"))
    )
    shown = callback.report(examples=1)
    rows = {line[:17].strip(): line[17:].split() for line in shown.splitlines() if line[17:].strip()}
    assert rows["boxed"] == ["0.250", "0.750", "+0.750", "±", "0.490"]
    assert rows["tags"] == ["0.500", "0.500", "+0.000", "±", "0.000"]
    assert rows["reward"] == ["0.350", "0.850"] and ("dead groups" in rows) == (dead is not None)
    assert shown.startswith("Trained to step 7 in 0 s.") and "3 + 3?" not in shown
    assert shown.endswith(f"2 + 2?\n  {first}: 4\n  after:  four")
    assert re.search(f"^held-out problems +{first} +after", shown, re.MULTILINE)


def test_a_change_has_an_interval_over_the_prompts_that_have_scores():
    before, after, one = map(Series, ([0.0, 1.0, 0.25, math.nan], [1.0, 1.0, math.nan, 1.0], [math.nan, 1.0] * 2))
    assert describe_change(before, before) == "+0.000 ± 0.000"
    assert describe_change(before, after) == "+0.500 ± 0.980"  # 1.96 standard errors of 0 and 1
    assert describe_change(before, one) == ""  # one prompt says nothing


def test_prompts_are_paired_over_all_batches_of_an_evaluation(tmp_path):
    args = small_config(tmp_path, per_device_eval_batch_size=8, max_completion_length=4)
    problems = demo.arithmetic("test", size=6)
    trainer = FilteredGRPOTrainer(
        demo.MODEL, boxed() + tags("think"), args=args, train_dataset=problems, eval_dataset=problems
    )
    first, second = measure(trainer), measure(trainer)
    assert first.means.shape == (6, 3) and [*first.completions] == [*second.completions]  # the same order
    assert {**first.rows, **first.means.mean()} == pytest.approx(first.rows) and len(first.rows) == 4


def test_the_progress_bar_has_the_reward_and_the_share_of_dead_groups():
    seen = []
    progress = RewardProgress()
    progress.training_bar = SimpleNamespace(set_postfix=lambda **values: seen.append(values))
    for is_main, logs in [
        (True, {"reward": 0.5, "groups/dead": 0.125}),
        (True, {"loss": 1.0}),
        (True, {"reward": None, "groups/dead": None}),
        (False, {"reward": 1.0}),
    ]:
        progress.on_log(None, SimpleNamespace(is_world_process_zero=is_main), None, logs=logs)
    assert seen == [{"reward": "0.500", "dead": "0.12"}, {"reward": "-", "dead": "-"}]


class Clock:
    """A clock on which everything between two looks takes `cost` seconds."""

    now, cost = 0.0, 0.0

    def __call__(self):
        self.now += self.cost
        return self.now


def follow(folder, seconds, is_main=True):
    """Return a function that lets training go on for `seconds` and saves a checkpoint, and the seconds of all reports."""
    clock, args, state = (
        Clock(),
        SimpleNamespace(output_dir=str(folder)),
        SimpleNamespace(is_world_process_zero=is_main),
    )
    writer = ReportWriter(clock)

    def save(cost):
        before = writer.spent
        clock.now, clock.cost = clock.now + seconds, cost
        writer.on_evaluate(args, state, None, metrics={})
        clock.cost = 0.0
        return writer.spent > before, writer.spent, clock.now

    return save


def test_reports_take_at_most_a_hundredth_of_a_run_whose_records_grow(tmp_path):
    records, save, written_at = GroupWriter(tmp_path), follow(tmp_path, seconds=60), []
    for step in range(1, 100):
        records.write(step, [record({"boxed": [1.0, 0.0]})] * 4)
        is_written, spent, now = save(cost=0.05 * step)  # it grows with the records
        assert spent <= now / 100
        if is_written:
            written_at.append(step)
            page = (tmp_path / "report.html").read_text()
            assert f'"progress":{{"last":{step},' in page
    assert written_at[0] == 2 and 8 <= len(written_at) < 45  # a second is a hundredth of 100 seconds
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["report.html"]


def test_large_records_wait_for_their_first_report(tmp_path):
    written(tmp_path, [(1, record({"boxed": [1.0, 0.0]}, completions=["word " * 650_000] * 2))])  # 6.5 MB
    save = follow(tmp_path, seconds=100)
    assert [save(cost=0.1)[0] for _ in range(7)] == [False] * 6 + [True]


def test_a_report_that_cannot_be_written_is_one_warning_and_the_old_one_stays(tmp_path, caplog):
    save = follow(tmp_path, seconds=1000)
    assert not save(cost=0)[0] and not caplog.text  # there are no records yet
    file = written(tmp_path, [(1, record({"boxed": [1.0, 0.0]}))]) / "groups" / "0001-0001.jsonl"
    (tmp_path / "report.html").write_text("old")
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    save(cost=0.1), save(cost=0.1)
    assert caplog.text.count("The report cannot be written to") == 1 and "Training continues" in caplog.text
    assert (tmp_path / "report.html").read_text() == "old"
    caplog.clear()
    file.write_bytes(whole * 2 + whole[:-9])
    save(cost=0.1), save(cost=0.1)
    assert "Training report" in (tmp_path / "report.html").read_text()


def test_other_ranks_write_no_report(tmp_path):
    written(tmp_path, [(1, record({"boxed": [1.0, 0.0]}))])
    follow(tmp_path, seconds=1000, is_main=False)(cost=0)
    assert not (tmp_path / "report.html").exists()
