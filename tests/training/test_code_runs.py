"""Programs in training: in records, reports and scores, and on a full disk."""

import contextlib
import subprocess

import pytest

from helpers.runs import small_config
from trl_grpo_rewards import FilteredGRPOTrainer, code, demo
from trl_grpo_rewards.cli.main import main
from trl_grpo_rewards.records import read_records
from trl_grpo_rewards.records.runs import read_run
from trl_grpo_rewards.report.excerpts import select_fields


OPTIONS = {"per_device_train_batch_size": 16, "num_generations": 8, "max_completion_length": 64}


def train(tmp_path, rewards, **options):
    args = small_config(tmp_path, **{**OPTIONS, **options})
    trainer = FilteredGRPOTrainer(demo.CODER, rewards, args=args, train_dataset=demo.programs())
    trainer.train()
    return trainer, list(read_records(args.output_dir))


@pytest.mark.slow
def test_a_failing_case_is_in_the_record_and_in_the_report_and_is_scored_again(tmp_path, run_here):
    trainer, records = train(tmp_path, code(), max_steps=2)
    scores = [score for record in records for score in record["rewards"]["code"]]
    failures = [text for record in records for text in record["logged"]["code/failure"]]
    assert len(scores) == len(failures) == 32 and 0 < sum(scores) < 32
    assert all((text == "") == (score == 1.0) for text, score in zip(failures, scores, strict=True))
    assert any("expected" in text or text == "no code block" for text in failures)
    (fact,) = read_run(trainer.args.output_dir)["machine"].values()
    assert "library" in fact  # how programs are kept in on this machine
    shown = select_fields({**records[0], "step": 1})
    assert shown["logged"] == [["code/failure", records[0]["logged"]["code/failure"]]]
    result = run_here(lambda: main(["score", "code()", trainer.args.output_dir, "--against", "code(partial=True)"]))
    assert "code" in str(result)


def test_records_without_texts_have_no_failing_cases(tmp_path):
    _, records = train(tmp_path, code(), group_records_text=False)
    assert all("logged" not in record for record in records)


@pytest.fixture
def full_disk(tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("only root can make a small disk, and only where mounting is allowed")
    with contextlib.suppress(OSError):
        (folder / "fill").write_bytes(bytes(1 << 20))
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.slow
def test_training_goes_on_if_the_disk_is_full(full_disk, monkeypatch, capsys):
    monkeypatch.setenv("TMPDIR", str(full_disk))
    trainer, records = train(full_disk, code(), max_steps=2)
    assert trainer.state.global_step == 2 and records == []
    history = [entry for entry in trainer.state.log_history if "rewards/code/mean" in entry]
    assert len(history) == 2 and max(entry["rewards/code/mean"] for entry in history) > 0
