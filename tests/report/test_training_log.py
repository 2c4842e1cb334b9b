"""What the page says of the trainer's log."""

import pytest

from trl_grpo_rewards.report.training_log import compare_held_out, measure_time, select_curves
from trl_grpo_rewards.report.trends import MAX_POINTS


def test_curves_are_those_that_were_logged_and_are_not_always_0():
    log = [
        {"step": 5, "entropy": 0.5, "grad_norm": float("nan"), "clip_ratio/region_mean": 0.0, "loss": 1.0},
        {"step": 10, "entropy": 0.25, "grad_norm": 2.0, "clip_ratio/region_mean": 0.0, "kl": None},
        {"step": 10, "eval_runtime": 1.0, "eval_entropy": 9.0},
    ]
    assert select_curves(log) == {
        "steps": [[5, 5], [10, 10]],
        "series": [["entropy", [0.5, 0.25]], ["grad_norm", [None, 2.0]]],
    }
    assert select_curves([]) == {"steps": [], "series": []}


def test_a_long_log_has_few_points():
    found = select_curves([{"step": step, "entropy": float(step)} for step in range(1, 5001)])
    assert MAX_POINTS / 2 < len(found["steps"]) <= MAX_POINTS
    assert found["steps"][0][0] == 1 and found["steps"][-1][1] == 5000


def test_the_time_of_steps_between_entries_is_counted():
    log = [
        {"step": 0, "eval_runtime": 9.0}, {"step": 5, "step_time": 2.0}, {"step": 5, "step_time": 7.0},
        {"step": 7, "step_time": 1.0}, {"step": 7, "train_runtime": 40.0},
    ]  # fmt: skip
    assert measure_time(log) == [[5, 10.0], [7, 12.0]]
    assert measure_time([{"step": 3}]) == [] == measure_time([])
    long = measure_time([{"step": step, "step_time": 1.0} for step in range(1, 1001)])
    assert len(long) <= 2 * MAX_POINTS and long[-1] == [1000, 1000.0]


def test_held_out_values_are_those_of_the_first_and_the_last_evaluation():
    def entry(step, reward, **more):
        values = {
            "eval_reward": reward,
            "eval_rewards/boxed/mean": reward / 2,
            "eval_groups/dead": 0.5,
            "eval_loss": 3.0,
        }
        return {"step": step, "eval_runtime": 1.0, **values, **more}

    (found,) = compare_held_out([entry(0, 1.0), {"step": 5, "reward": 9.0}, entry(5, 7.0), entry(10, 2.0)])
    assert (found["dataset"], found["evaluations"], found["steps"]) == ("", 3, [0, 10])
    assert found["values"] == [("boxed", [0.5, 1.0]), ("total reward", [1.0, 2.0]), ("dead groups", [0.5, 0.5])]


def test_datasets_of_an_evaluation_are_told_apart():
    log = [
        {"step": step, f"eval_{name}_runtime": 1.0, "eval_reward": value}
        for step, name, value in [(0, "easy", 1.0), (0, "hard", 0.0), (9, "easy", 2.0), (9, "hard", 0.5)]
    ]
    assert [(one["dataset"], one["values"]) for one in compare_held_out(log)] == [
        ("easy", [("total reward", [1.0, 2.0])]), ("hard", [("total reward", [0.0, 0.5])])
    ]  # fmt: skip


@pytest.mark.parametrize("entry", [{"eval_runtime": 1.0}, {"eval_runtime": 1.0, "eval_reward": "high"}])
def test_an_evaluation_without_numbers_is_no_error(entry):
    (found,) = compare_held_out([{"step": 0, **entry}])
    assert all(pair == [None, None] for _, pair in found["values"])
