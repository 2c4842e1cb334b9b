"""Where a run is read from, and the weights in a log."""

import pytest

from helpers.made_runs import story, written
from helpers.trl_logs import entry, evaluation, saved
from trl_grpo_rewards.records.runs import find_run, find_weights


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


def test_a_run_is_read_from_its_records_if_it_has_any(tmp_path):
    written(tmp_path / "a", story(steps=1))
    state = saved(tmp_path / "a" / "checkpoint-1", [entry(1)]) / "trainer_state.json"
    assert [find_run(source) for source in (state, state.parent, tmp_path / "a" / "groups")] == [
        tmp_path / "a", tmp_path / "a", tmp_path / "a" / "groups"
    ]  # fmt: skip
    other = saved(tmp_path / "b" / "checkpoint-1", [entry(1)])
    assert find_run(other) == other and find_run(tmp_path / "b") == tmp_path / "b"
