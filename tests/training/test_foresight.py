"""The choice among models of pass rates, and what they give as reasons."""

import numpy as np
import pytest

from helpers.made_prompts import ask, make_prompts
from trl_grpo_rewards.training.foresight import Foresight
from trl_grpo_rewards.training.prompt_features import PromptFeatures
from trl_grpo_rewards.training.selective_stream import SelectiveStream


def train(data, rates, columns, given=None, batches=40):
    foresight = Foresight(PromptFeatures(data, columns, given))
    list(ask(SelectiveStream(len(data), 0, True, 8, foresight), rates, batches))
    return foresight


def test_the_column_that_carries_the_prediction_is_named():
    data, rates = make_prompts("level", 1024)
    foresight = train(data, rates, ["prompt", "level"])
    parts = [foresight.explain(row) for row in range(200)]
    assert foresight.source == "features" and {*parts[0]} == {"prompt", "level"}
    spread = {column: np.std([part.get(column, 0.0) for part in parts]) for column in ("prompt", "level")}
    assert spread["level"] > 3 * spread["prompt"]


@pytest.mark.parametrize("by, source", [("wording", "features"), ("nothing", "pool")])
def test_features_are_used_only_where_they_tell_something(by, source):
    data, rates = make_prompts(by, 1024)
    foresight = train(data, rates, ["prompt"])
    assert foresight.source == source
    assert (foresight.explain(0) == {}) == (source == "pool")
    rates = {round(right / (right + wrong), 6) for right, wrong in map(foresight.foresee, range(20))}
    assert (len(rates) == 1) == (source == "pool")


def test_given_rates_are_used_at_once_and_features_where_they_add_something():
    data, rates = make_prompts("wording", 1024)
    noisy = np.log(rates / (1 - rates)) + np.random.default_rng(0).normal(0, 3, 1024)
    assert Foresight(PromptFeatures(data, ["prompt"], noisy)).source == "given"
    assert train(data, rates, ["prompt"], noisy).source == "features"
    exact = np.log(rates / (1 - rates))
    foresight = train(data, rates, [], exact)
    assert foresight.source == "given"
    right, wrong = foresight.foresee(3)
    assert right / (right + wrong) == pytest.approx(rates[3], abs=0.15)


def test_the_state_of_other_options_is_refused():
    data, _ = make_prompts("wording", 64)
    state = Foresight(PromptFeatures(data, ["prompt"])).get_state()
    with pytest.raises(ValueError, match="same selective_prior and selective_columns.* Set the options of the run"):
        Foresight(PromptFeatures(data, ["prompt"], np.zeros(64))).set_state(state)
    given = np.linspace(-2, 2, 64)
    state = Foresight(PromptFeatures(data, [], given)).get_state()
    with pytest.raises(ValueError, match=r"the columns \[\], and given pass rates. Set the options of the run"):
        Foresight(PromptFeatures(data, [], -given)).set_state(state)
    other = data.add_column("size", [*range(64)]).add_column("luck", [*range(64)])
    state = Foresight(PromptFeatures(other, ["size"])).get_state()
    with pytest.raises(
        ValueError, match=r"9 features of the columns \['luck'\], no given pass rates. Set the options"
    ):
        Foresight(PromptFeatures(other, ["luck"])).set_state(state)
    again, state = (Foresight(PromptFeatures(data, ["prompt"])) for _ in range(2))
    state = state.get_state()
    again.set_state(train(data, np.full(64, 0.5), ["prompt"]).get_state())
    assert again.get_state().keys() == state.keys()
    Foresight(PromptFeatures(data, ["prompt"], np.zeros(64))).set_state({"counts": np.zeros(3)})  # an earlier version
