"""Files in folders that others may write to, and checkpoints: what engines save, and what a killed run leaves."""

import json

import pytest

from trl_grpo_rewards.cli.job_files import choose_checkpoint
from trl_grpo_rewards.files import find_last_checkpoint, replace_file
from trl_grpo_rewards.judging.client import VerdictCache
from trl_grpo_rewards.records.files import GroupWriter
from trl_grpo_rewards.records.runs import LogWriter, write_run
from trl_grpo_rewards.report import write_report


RECORD = {"prompt_id": "x", "rewards": {"boxed": [1.0, 0.0]}, "columns": {}}


def write_all(folder):
    """Write every file of a run, its report and a verdict, as often as a run does."""
    log, groups = LogWriter(folder), GroupWriter(folder)
    log.start([{"step": 1}])
    log.write({"step": 2})
    groups.write(1, [RECORD])
    write_run(folder, {"rewards": "boxed()"})
    VerdictCache(str(folder / "cache")).write("abcdef", {"score": 1})
    if any(file.is_file() for file in folder.glob("groups/*.jsonl")):
        write_report(folder, folder / "report.html")


@pytest.mark.parametrize("is_there", [True, False])
def test_nothing_is_written_through_a_link(tmp_path, is_there, caplog):
    (sample := tmp_path / "sample").mkdir()
    write_all(sample)
    names = [file.relative_to(sample) for file in sample.rglob("*") if file.is_file()]
    assert len(names) == 5
    for name in names:
        folder, victim = tmp_path / f"run of {name.name}", tmp_path / f"victim of {name.name}"
        if is_there:
            victim.write_text("mine")
        (folder / name).parent.mkdir(parents=True)
        (folder / name).symlink_to(victim)
        write_all(folder)
        assert victim.read_text() == "mine" if is_there else not victim.exists()
        if name.parent.name == "groups":  # it is not replaced, since others may have written to it
            assert (folder / name).is_symlink() and (is_there or "cannot be written" in caplog.text)
        else:
            assert (folder / name).read_text() == (sample / name).read_text() or name.name == "report.html"


def test_a_file_that_is_not_finished_leaves_the_old_one(tmp_path):
    (file := tmp_path / "page.html").write_text("old")
    with pytest.raises(KeyboardInterrupt), replace_file(file) as new:
        new.write("half of")
        raise KeyboardInterrupt
    assert [one.read_text() for one in tmp_path.iterdir()] == ["old"]


COMPLETE = {
    "one process": ["optimizer.pt", "scheduler.pt"],
    "FSDP": ["optimizer.bin", "scheduler.pt"],
    "FSDP, sharded": ["optimizer_0/", "scheduler.pt"],
    "FSDP of torch_xla": ["rank0-of-2-optimizer.pt", "scheduler.pt"],
    "DeepSpeed": ["global_step13/"],
}
"""Files and folders of a checkpoint, apart from its trainer state."""

INCOMPLETE = {
    "no optimizer.pt and no scheduler.pt, which save_only_model leaves out": ["model.safetensors", "rng_state.pth"],
    "no optimizer.pt, which save_only_model leaves out": ["scheduler.pt"],
}
"""The same by what is missing."""

CONTINUE = ["train", "--output_dir", "out", "--max_steps", "14", "--resume_from_checkpoint"]


@pytest.fixture
def begun(monkeypatch):
    """The arguments with which training began, which is left out here."""
    calls = []
    monkeypatch.setattr("trl_grpo_rewards.cli.train.main", calls.append)
    return calls


def save(folder, step, names, state=None):
    checkpoint = folder / "out" / f"checkpoint-{step}"
    checkpoint.mkdir(parents=True)
    for name in names:
        (checkpoint / name).mkdir() if name.endswith("/") else (checkpoint / name).touch()
    (checkpoint / "trainer_state.json").write_text(json.dumps({"global_step": step}) if state is None else state)


@pytest.mark.parametrize("resume", ["auto", "true", "out/checkpoint-13"])
@pytest.mark.parametrize("kind", COMPLETE)
def test_a_checkpoint_of_any_engine_is_continued(command, begun, tmp_path, kind, resume):
    save(tmp_path, 13, COMPLETE[kind])
    assert command(*CONTINUE, resume).returncode == 0 and len(begun) == 1
    assert find_last_checkpoint(tmp_path / "out") == str(tmp_path / "out" / "checkpoint-13")


@pytest.mark.parametrize("resume", ["auto", "true", "out/checkpoint-13"])
@pytest.mark.parametrize("missing", INCOMPLETE)
def test_a_checkpoint_without_optimizer_or_schedule_is_refused_and_not_written_over(
    command, begun, tmp_path, missing, resume
):
    save(tmp_path, 13, INCOMPLETE[missing])
    done = command(*CONTINUE, resume)
    assert (done.returncode, begun) == (2, []) and done.stderr.endswith(
        f"error: 'out/checkpoint-13' is not a complete checkpoint: it has {missing}. The complete checkpoints of 'out': none. "
        f"Start a new run from its weights, in another --output_dir.\n"
    )


@pytest.mark.parametrize("state", ["", '{"epoch": 0.5, "log_his', None])
def test_auto_and_true_choose_the_last_complete_checkpoint(tmp_path, state):
    save(tmp_path, 6, COMPLETE["one process"])
    save(tmp_path, 12, COMPLETE["one process"])
    save(tmp_path, 20, COMPLETE["one process"] if state is not None else [], state)
    chosen = {choose_checkpoint(tmp_path / "out", resume) for resume in ("auto", "true")}
    assert chosen == {str(tmp_path / "out" / "checkpoint-12")}
