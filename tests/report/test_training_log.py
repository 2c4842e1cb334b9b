"""What the page says of the trainer's log."""

import pytest

from trl_grpo_rewards.report.excerpts import round_numbers
from trl_grpo_rewards.report.trends import (
    MAX_METRICS,
    MAX_POINTS,
    compare_held_out,
    describe_progress,
    measure_time,
    select_curves,
)


def test_curves_are_those_that_were_logged_and_are_not_always_0():
    log = [
        {"step": 5, "entropy": 0.5, "grad_norm": float("nan"), "clip_ratio/region_mean": 0.0, "loss": 1.0},
        {"step": 10, "entropy": 0.25, "grad_norm": 2.0, "clip_ratio/region_mean": 0.0, "kl": None},
        {"step": 10, "eval_runtime": 1.0, "eval_entropy": 9.0},
    ]
    assert round_numbers(select_curves(log)) == {
        "steps": [[5, 5], [10, 10]],
        "series": [["entropy", [0.5, 0.25]], ["grad_norm", [None, 2.0]]],
    }
    assert select_curves([]) == {"steps": [], "series": []}


def test_what_rewards_log_is_a_curve_and_what_trainers_log_is_none():
    trainers = {"loss": 1.0, "rewards/tidy/mean": 0.5, "completions/mean_length": 9.0, "epoch": 0.5, "num_tokens": 5.0}
    log = [
        {"step": step, "reward": 0.5, "tidy/chars": 10.0 * step, "words": 3.0, "zero": 0.0, "text": "a", **trainers}
        for step in (1, 2)
    ]
    log.append({"step": 2, "eval_reward": 0.5, "eval_tidy/chars": 7.0, "eval_runtime": 1.0})
    assert select_curves(log)["series"] == [["tidy/chars", [10.0, 20.0]], ["words", [3.0, 3.0]]]
    many = {"step": 1, "reward": 1.0, **{f"metric {place}": 1.0 for place in range(500)}}
    assert len(select_curves([many])["series"]) == MAX_METRICS


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


def test_evaluations_without_a_step_between_them_are_one():
    """Those of a finished run that was resumed."""

    def evaluation(step, reward):
        return {"step": step, "eval_runtime": 1.0, "eval_reward": reward}

    (found,) = compare_held_out([evaluation(6, 0.5), evaluation(6, 0.25)])
    assert found["evaluations"] == 1 and found["steps"] == [6, 6]
    (found,) = compare_held_out([evaluation(0, 0.1), evaluation(6, 0.5), evaluation(6, 0.25)])
    assert found["evaluations"] == 2 and found["values"] == [("total reward", [0.1, 0.25])]


@pytest.mark.parametrize(
    ("names", "dataset"),
    [
        (["eval_reward"], ""),
        (["eval_easy_runtime", "eval_reward"], "easy"),
        (["eval_easy_runtime", "eval_easy_reward"], "easy"),
        (["eval_hard_reward"], "hard"),
        (["test_runtime", "eval_reward"], "test"),
        (["reward", "mine_runtime"], None),
        (["train_runtime"], None),
    ],
)
def test_evaluations_of_other_names_are_known(names, dataset):
    found = compare_held_out([{"step": step, **dict.fromkeys(names, float(step))} for step in (0, 9)])
    assert [one["dataset"] for one in found] == ([] if dataset is None else [dataset])
    assert all(one["values"] == [("total reward", [0.0, 9.0])] for one in found)


@pytest.mark.parametrize("entry", [{"eval_runtime": 1.0}, {"eval_runtime": 1.0, "eval_reward": "high"}])
def test_an_evaluation_without_numbers_is_no_error(entry):
    (found,) = compare_held_out([{"step": 0, **entry}])
    assert all(pair == [None, None] for _, pair in found["values"])


@pytest.mark.parametrize(
    ("options", "log", "planned", "ended"),
    [
        ({"max_steps": 60, "num_train_epochs": 3.0}, [{"step": 30, "epoch": 0.5}], 60, False),
        ({"max_steps": -1, "num_train_epochs": 3.0}, [{"step": 30, "epoch": 0.3}], 300, False),
        ({"max_steps": -1, "num_train_epochs": 1.5}, [{"step": 1, "epoch": 0.02}, {"step": 7, "epoch": 7 / 55}], 83, False),
        ({"max_steps": 60}, [{"step": 30, "train_runtime": 9.0}, {"step": 30, "eval_runtime": 1.0}], 60, True),
        ({"max_steps": 60}, [{"step": 20, "train_runtime": 9.0}], 60, False),
        ({"max_steps": -1}, [{"step": 30, "epoch": 0.5}], None, False),
        ({"num_train_epochs": "many", "max_steps": "all"}, [{"step": 30, "epoch": 5e-324}, {"step": 0, "epoch": -1}], None, False),
        ({}, [], None, False),
    ],
    ids=["steps", "epochs", "part of a step", "ended", "resumed", "no epochs", "odd", "nothing known"],
)  # fmt: skip
def test_progress_is_known_from_options_or_the_share_of_an_epoch(options, log, planned, ended):
    assert describe_progress(30, options, log, False) == {"last": 30, "planned": planned, "ended": ended}
