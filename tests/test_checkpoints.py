"""Which checkpoints a run is resumed from: what each engine of transformers saves, and what a killed run leaves."""

import json

import pytest

from trl_grpo_rewards.checkpoints import find_last_checkpoint


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
    "no scheduler.pt, which save_only_model leaves out": ["optimizer.pt"],
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
        f"error: 'out/checkpoint-13' is not a complete checkpoint: it has {missing}. 'out' contains no complete "
        f"checkpoint. Start a new run from its weights, in another --output_dir.\n"
    )
    finished = command(*CONTINUE[:4], "13", CONTINUE[5], resume)  # a finished run needs no optimizer
    assert (finished.returncode, begun) == (0, [])
    assert finished.stdout.endswith("To go on, start a new run from its weights, in another --output_dir.\n")


@pytest.mark.parametrize("state", ["", '{"epoch": 0.5, "log_his', None])
def test_auto_and_true_choose_the_last_complete_checkpoint(command, tmp_path, state):
    save(tmp_path, 6, COMPLETE["one process"])
    save(tmp_path, 12, COMPLETE["one process"])
    save(tmp_path, 20, COMPLETE["one process"] if state is not None else [], state)
    for resume in ("auto", "true"):
        said = command(*CONTINUE[:4], "12", CONTINUE[5], resume).stdout
        assert said.startswith("The run is finished at step 12; its last checkpoint is out/checkpoint-12.")
