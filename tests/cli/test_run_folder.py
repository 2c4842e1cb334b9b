"""A run that has all its steps is not trained on, and nothing of it is overwritten."""

import json
import re

import pytest

from trl_grpo_rewards.cli.job_files import check_output, choose_checkpoint


@pytest.fixture
def run(tmp_path):
    def write(step, epoch=0.5):
        folder = tmp_path / "out" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": step, "epoch": epoch}))
        for name in ("optimizer.pt", "scheduler.pt"):
            (folder / name).touch()

    return write


@pytest.mark.parametrize(
    "resume, options, epoch, goal",
    [
        ("auto", ["--max_steps", "9"], 0.5, "--max_steps above 12"),
        ("true", ["--max_steps", "12"], 0.5, "--max_steps above 12"),
        ("out/checkpoint-12", ["--max_steps", "12"], 0.5, "--max_steps above 12"),
        ("auto", ["--max_steps", "-1", "--num_train_epochs", "2"], 2.0, "--num_train_epochs above 2"),
        ("auto", ["--max_steps", "13"], 0.5, None),
        ("auto", ["--max_steps", "-1", "--num_train_epochs", "2"], 1.5, None),
        ("out/checkpoint-6", ["--max_steps", "12"], 0.5, None),
    ],
)
def test_a_finished_run_is_not_trained_on(command, run, monkeypatch, tmp_path, resume, options, epoch, goal):
    begun = []
    monkeypatch.setattr("trl_grpo_rewards.cli.train.main", begun.append)
    run(6, epoch)
    run(12, epoch)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = command("train", "--output_dir", "out", "--resume_from_checkpoint", resume, *options)
    said = f"The run is finished at step 12; its last checkpoint is out/checkpoint-12. To go on, raise {goal}.\n"
    assert (done.stdout, done.stderr, len(begun)) == (said if goal else "", "", 0 if goal else 1)
    assert done.returncode == 0 or begun
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == written


def test_other_ranks_end_without_a_word(command, run, monkeypatch):
    run(12)
    monkeypatch.setenv("RANK", "1")
    done = command("train", "--output_dir", "out", "--resume_from_checkpoint", "auto", "--max_steps", "12")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_only_auto_starts_anew_without_a_checkpoint(tmp_path):
    assert choose_checkpoint(tmp_path, None) is None and choose_checkpoint(tmp_path, "mine") == "mine"
    assert choose_checkpoint(tmp_path, "auto") is None and choose_checkpoint(tmp_path, "true") == "true"


@pytest.mark.parametrize("state", [None, "", '{"epoch": 0.5, "log_his'])
def test_a_checkpoint_that_is_not_complete_is_refused(run, tmp_path, state):
    run("best")
    (broken := tmp_path / "out" / "checkpoint-1").mkdir()
    if state is not None:
        (broken / "trainer_state.json").write_text(state)
    out = tmp_path / "out"
    refused = f"'{broken}' is not a complete checkpoint: it has no trainer_state.json, which is written last. "
    has = f"'{out}' contains the complete checkpoints {out / 'checkpoint-best'}. Pass --resume_from_checkpoint auto"
    for resume, said in [(str(broken), refused + has), ("true", has)]:
        with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
            check_output(out, resume)
