"""What a run has changed, as the scripts show it, and its report while it goes on."""

import re
from math import nan
from types import SimpleNamespace

import pytest
from pandas import DataFrame

from helpers.made_runs import record, written
from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, tags
from trl_grpo_rewards.cli.train import BeforeAndAfter, ReportWriter, measure
from trl_grpo_rewards.records.files import GroupWriter


@pytest.mark.parametrize("begun, first", [(0, "before"), (6, "step 6")])
def test_the_report_compares_the_end_with_the_beginning(begun, first):
    callback = BeforeAndAfter(SimpleNamespace(state=SimpleNamespace(global_step=7)))
    callback.first_step, callback.seconds = begun, 0.4
    same = {"tags": [0.5, 0.5], "dead groups": [0.0, 1.0], "reward": [1.0, nan], "none": [nan, nan]}
    callback.before, callback.after = (
        (DataFrame({"boxed": [accuracy, 2 * accuracy], **same}), {"2 + 2?": text, "3 + 3?": "6"})
        for accuracy, text in ((0.25, "4"), (0.75, "four"))
    )
    shown = callback.report(examples=1)
    rows = {line[:17].strip(): line[17:].split() for line in shown.splitlines() if line[17:].strip()}
    assert rows["boxed"] == ["0.375", "1.125", "+0.750", "±", "0.490"]  # 1.96 standard errors of 0.5 and 1
    assert rows["tags"] == ["0.500", "0.500", "+0.000", "±", "0.000"]
    assert rows["reward"] == ["1.000", "1.000"] and "none" not in rows  # one prompt says nothing
    assert rows["dead groups"] == ["0.500", "0.500"]  # shares of groups, not scores
    assert shown.startswith("Trained to step 7 in 0 s.") and "3 + 3?" not in shown
    assert shown.endswith(f"2 + 2?\n  {first}: 4\n  after:  four")
    assert re.search(f"^held-out problems +{first} +after", shown, re.MULTILINE)


def test_prompts_are_paired_over_all_batches_of_an_evaluation(tmp_path):
    args = small_config(tmp_path, per_device_eval_batch_size=8, max_completion_length=4)
    problems = demo.arithmetic("test", size=6)
    trainer = FilteredGRPOTrainer(
        demo.MODEL, boxed() + tags("think"), args=args, train_dataset=problems, eval_dataset=problems
    )
    (means, texts), (_, other) = measure(trainer), measure(trainer)
    assert means.shape == (6, 4) and [*texts] == [*other]  # the same order
    assert means["reward"].tolist() == pytest.approx((means["boxed"] + means["tags"]).tolist())
    assert {*means["dead groups"]} <= {0.0, 1.0}


def follow(folder, seconds, is_main=True):
    """
    Return a function that lets training go on for `seconds` and saves a checkpoint, whose report takes `cost` seconds.
    It returns whether there is a report, and the seconds of all reports and of the run.
    """
    clock = SimpleNamespace(now=0.0, cost=0.0)
    args, state = SimpleNamespace(output_dir=str(folder)), SimpleNamespace(is_world_process_zero=is_main)

    def look():
        clock.now += clock.cost
        return clock.now

    writer = ReportWriter(look)

    def save(cost):
        before, clock.now, clock.cost = writer.spent, clock.now + seconds, cost
        writer.on_evaluate(args, state, None, metrics={})
        clock.cost = 0.0
        return writer.spent > before, writer.spent, clock.now

    return save


def test_reports_take_about_a_hundredth_of_a_run_whose_records_grow(tmp_path):
    records, save, written_at = GroupWriter(tmp_path), follow(tmp_path, seconds=60), []
    for step in range(1, 100):
        records.write(step, [record({"boxed": [1.0, 0.0]})] * 4)
        is_written, spent, now = save(cost=0.05 * step)  # it grows with the records
        assert spent <= now / 80
        if is_written:
            written_at.append(step)
            page = (tmp_path / "report.html").read_text()
            assert f'"progress":{{"last":{step},' in page
    assert written_at[0] == 4 and 5 <= len(written_at) < 45  # it may take two seconds
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["report.html"]


def test_a_report_that_cannot_be_written_is_a_warning_and_the_old_one_stays(tmp_path, caplog):
    save = follow(tmp_path, seconds=1000)
    assert not save(cost=0)[0] and not caplog.text  # there are no records yet
    file = written(tmp_path, [(1, record({"boxed": [1.0, 0.0]}))]) / "groups" / "0001-0001.jsonl"
    (tmp_path / "report.html").write_text("old")
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    save(cost=0.1)
    assert caplog.text.count("The report cannot be written to") == 1 and "Training continues" in caplog.text
    assert (tmp_path / "report.html").read_text() == "old"
    file.write_bytes(whole * 2 + whole[:-9])
    save(cost=0.1)
    assert "Training report" in (tmp_path / "report.html").read_text()


def test_other_ranks_write_no_report(tmp_path):
    written(tmp_path, [(1, record({"boxed": [1.0, 0.0]}))])
    follow(tmp_path, seconds=1000, is_main=False)(cost=0)
    assert not (tmp_path / "report.html").exists()
