"""What the report says about predictions, counted by hand."""

import pytest

from trl_grpo_rewards.report.predictions import Predictions


def make_record(predicted, scores, **fields):
    rewards = {"rewards": {"right": scores}, "outcome_reward": "right"}
    return {"predicted_live": predicted, "step": 1, "outcome": "live", **rewards, **fields}


def test_epochs_ranges_and_columns_are_counted():
    predictions = Predictions()
    predictions.add(make_record(0.9, [1, 0], epoch=1, is_new_prompt=True, predicted_from={"prompt": 2.0, "level": 0}))
    predictions.add(make_record(0.7, [1, 1], epoch=1, is_new_prompt=True, predicted_from={"prompt": 0.0, "level": 1}))
    predictions.add(make_record(0.72, [0, 0], epoch=2, is_new_prompt=False))
    predictions.add(make_record(1.0, [None, None], epoch=2))  # never scored
    predictions.add({"step": 1, "rewards": {}, "outcome": "live"})  # not drawn selectively
    found = predictions.describe()
    assert found["epochs"] == [["1", 2, 0.8, 0.5, 1.0], ["2", 1, 0.72, 0.0, 0.0]]
    assert found["ranges"] == [["70–80%", 2, 0.71, 0.0, 0.5], ["90–100%", 1, 0.9, 1.0, 1.0]]
    assert found["columns"] == [["prompt", 0.8], ["level", 0.2]] and found["foreseen"] == 2


def test_a_run_without_predictions_has_no_section():
    assert Predictions().describe() is None


def test_a_certain_prediction_is_in_the_last_range():
    predictions = Predictions()
    predictions.add(make_record(1.0, [1, 0]))
    assert predictions.describe()["ranges"][0][0] == "90–100%" and predictions.describe()["columns"] == []
    assert predictions.describe()["epochs"][0][2] == pytest.approx(1.0)
