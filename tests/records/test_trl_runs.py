"""Runs without group records: which there are, the weights in their log, and what is no such run."""

import json

import pytest

from helpers.made_runs import story, written
from helpers.trl_logs import entry, evaluation, saved
from trl_grpo_rewards.records.trl_runs import find_weights


@pytest.mark.parametrize(
    ("change", "weights"),
    [
        ({}, {"correct": 1.0, "style": 0.5}),
        ({"weight": 1.0}, {"correct": 1.0, "style": 1.0}),
        ({"weight": 0.0}, {"correct": 1.0, "style": 0.0}),
        ({"style": 0.0}, {"correct": 1.0, "style": 1.0}),  # any weight would do
        ({"right": 0.0}, {"correct": 1.0, "style": 0.5}),
        ({"right": 0.0, "style": 0.0}, {"correct": 1.0, "style": 1.0}),
        ({"right": 0.5}, {}),  # as many weights as entries would do
        ({"reward": 1.0}, {}),
        ({"rewards/style/mean": None}, {}),
    ],
)  # fmt: skip
def test_weights_are_known_if_nothing_else_gives_the_totals(change, weights):
    log = [entry(step, **{"right": step % 3 / 4, "style": step % 2 / 2, **change}) for step in range(1, 9)]
    log = log if change != {"right": 0.5} else log[:1]
    assert find_weights([evaluation(0, 0.5), *log]) == weights


SFT = [{"step": step, "epoch": 0.1, "loss": 1.0, "mean_token_accuracy": 0.5} for step in range(1, 9)]
DPO = [{"step": step, "loss": 1.0, "rewards/chosen": 1.0, "rewards/rejected": 0.0} for step in range(1, 9)]
WHOLE = [entry(step) for step in range(1, 61)]
FILES = {
    "sft": (SFT, "trainer_state.json' is the log of another trainer, with 'loss', 'mean_token_accuracy' and without 'reward'. Pass"),
    "dpo": (DPO, "with 'loss', 'rewards/chosen', 'rewards/rejected' and without 'reward'. Pass the output_dir"),
    "early": ([], "trainer_state.json' has no logged step. Train for longer, or with a smaller logging_steps."),
    "before": ([evaluation(0, 0.5)], "has no logged step. Train for longer"),
    "torn": (json.dumps(WHOLE)[:999], "trainer_state.json' is cut off or is not JSON. Pass an earlier checkpoint."),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_log_of_grpo_is_one_sentence(name, tmp_path, command):
    log, message = FILES[name]
    for source in (saved(tmp_path / "checkpoint-8", log).parent, tmp_path / "checkpoint-8" / "trainer_state.json"):
        done = command("report", source)
        assert (
            done.returncode == 2 and done.stderr.count("\n") == 1 and done.stderr.startswith("error: A report needs")
        )
        assert message in done.stderr


def test_a_folder_with_several_runs_or_none_is_one_sentence(tmp_path, command):
    saved(tmp_path / "runs" / "b" / "checkpoint-60", WHOLE)
    written(tmp_path / "runs" / "a", story(steps=1))
    (tmp_path / "runs" / "notes").mkdir()
    for source, message in [
        ("runs", f"'runs' contains a, b. Pass one of these, such as {'runs/a'}."),
        ("runs/notes", "'runs/notes' contains nothing. Pass the output_dir of a run"),
        ("nowhere", "'nowhere' does not exist. Pass the output_dir of a run"),
    ]:
        done = command("report", source)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and message in done.stderr
    assert command("report", "runs/a", "runs/b").returncode == 0
