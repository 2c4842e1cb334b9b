"""vLLM as a server on two ranks: TRL gathers the prompts, asks once for each, and sends the completions back to the ranks."""

import pytest

from helpers.ranks import run_on_two_ranks


SCENARIOS = {"skip": 4, "resample": 4, "resample_selectively": 8}
"""The size of a group in each scenario. The second group of a generation has rows on both ranks."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    return run_on_two_ranks([*SCENARIOS], folder, "two_ranks_of_vllm")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_completion_belongs_to_the_prompt_that_was_asked(seen, scenario):
    (one, other), size = seen[scenario], SCENARIOS[scenario]
    assert one["world_size"] == other["world_size"] == 2 and (one["clients"], other["clients"]) == (1, 0)
    groups = [one["answers"][start : start + size] for start in range(0, len(one["answers"]), size)]
    assert len(groups) == sum(one["requests"])  # one request for each prompt
    assert sorted(one["scored"] + other["scored"]) == sorted(one["answers"])
    assert sorted(one["recorded"]) == sorted(groups)
    assert max(one["largest"], other["largest"]) < 1e-4  # the trainer's own log-probabilities of what was sampled


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_ranks_train_alike_with_completions_of_a_server(seen, scenario):
    one, other = seen[scenario]
    assert one["weights"] == other["weights"] and one["dead"] == other["dead"] and one["rounds"] == other["rounds"]
    assert one["updates"] == 4 and 0 < max(one["dead"]) <= 1
    assert (max(one["rounds"]) > 0) == (scenario != "skip")
    assert len(one["requests"]) == 4 + sum(one["rounds"])  # the ranks ask for fresh prompts in every round
