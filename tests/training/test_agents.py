"""Runs with tools and environments: gradients with masked results, dead groups, resampling, records, outcomes."""

from functools import partial

import pytest
import torch.distributed as dist

from helpers.agents import TURNS, Sums, add, half_by_turns, lookup, script_turns
from helpers.gradients import ARGUMENTS, compare_drop, compare_skip
from helpers.models import save_layer
from helpers.ranks import config as config_of_ranks
from helpers.ranks import gather, have_one_model, on_two_ranks
from helpers.reward_functions import first_summand
from helpers.runs import get_metric
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, environment, gate, reward, shortest, tool_errors, turns
from trl_grpo_rewards.records.files import read_records


@pytest.fixture(autouse=True)
def scripted(monkeypatch):
    script_turns(monkeypatch)


TOOLS = {"tools": [add, lookup]}


def build(config, problems, rewards, **options):
    options = TURNS | options
    arguments = {name: options.pop(name) for name in ARGUMENTS if name in options}
    return FilteredGRPOTrainer(save_layer(), rewards, args=config(**options), train_dataset=problems, **arguments)


def train(config, problems, rewards, **options):
    trainer = build(config, problems, rewards, **options)
    trainer.train()
    return trainer, list(read_records(trainer.args.output_dir))


class HalfDead(Sums):
    """Its own reward is constant for the problems that are dead by `half_by_turns`."""

    def reset(self, prompt, **row):
        super().reset(**row)
        self.is_dead = first_summand(prompt) % 2 == 0

    def get_reward(self) -> float:
        return 0.0 if self.is_dead else super().get_reward()


ENVIRONMENT = {"environment_factory": HalfDead}
WAYS = [("dapo", TOOLS), ("grpo", TOOLS), ("dapo", ENVIRONMENT), ("dr_grpo", ENVIRONMENT)]


@pytest.mark.slow
@pytest.mark.parametrize("loss_type, way", WAYS)
def test_gradient_of_skip_equals_trl_with_dead_advantages_at_zero(config, problems, loss_type, way):
    options = {**TURNS, "max_steps": 2, "dtype": "float64", "loss_type": loss_type}
    assert compare_skip(config, problems, (half_by_turns,), **options, **way) <= 2e-7


@pytest.mark.slow
@pytest.mark.parametrize("loss_type", ["dapo", "grpo"])
def test_gradient_of_drop_is_that_of_the_live_groups_alone(config, problems, loss_type):
    options = {**TURNS, "max_steps": 2, "loss_type": loss_type, **TOOLS}
    assert compare_drop(config, problems, (half_by_turns,), **options) <= 1e-6


@pytest.mark.slow
def test_records_keep_every_turn_and_count_the_tokens_of_the_model(config, problems):
    """Not those of the results of tools, which the model did not write. TRL's own metric counts likewise."""
    trainer, records = train(
        config, problems, boxed() + 0.2 * tool_errors() + 0.1 * turns(2), tools=[add, lookup], max_steps=2
    )
    completions = [one for record in records for one in record["completions"]]
    assert len(completions) == 16
    roles = {tuple(message["role"] for message in one) for one in completions}
    assert ("assistant",) in roles and ("assistant", "tool", "assistant") in roles
    said = [message for one in completions for message in one]
    assert any(message.get("tool_calls") for message in said)
    assert any(message["role"] == "tool" and message["content"].startswith("{'error'") for message in said)
    for record in records:
        assert [message["role"] for message in record["prompt"]] == ["user"]  # without the turns
        failed = [
            sum(message["role"] == "tool" and "error" in message["content"] for message in one)
            / max(1, sum(len(message.get("tool_calls") or ()) for message in one))
            for one in record["completions"]
        ]
        assert record["rewards"]["tool_errors"] == pytest.approx([-share for share in failed])
    logged = [entry["tools/failure_frequency"] for entry in trainer.state.log_history if "groups/dead" in entry]
    assert 0 < sum(logged) < 2
    for step, entry in enumerate(trainer.state.log_history[:2], start=1):
        lengths = [length for record in records if record["step"] == step for length in record["lengths"]]
        assert sum(lengths) / len(lengths) == pytest.approx(entry["completions/mean_length"])
    ids = [len(one) for record in records for one in record["completion_ids"]]
    assert sum(ids) > sum(length for record in records for length in record["lengths"])


# --- outcomes and rewards of environments


@pytest.mark.slow
def test_the_reward_of_an_environment_is_the_outcome_unless_a_reward_says_what_is_right(config, problems):
    options = {"environment_factory": Sums, "max_steps": 1}
    assert train(config, problems, turns(2) + boxed(), **options)[1][0]["outcome_reward"] == "boxed"
    named = {**options, "outcome_reward": "Sums"}
    assert train(config, problems, turns(2) + boxed(), **named)[1][0]["outcome_reward"] == "Sums"
    assert train(config, problems, None, **options)[1][0]["outcome_reward"] == "Sums"
    with pytest.raises(ValueError, match="outcome_reward='Sum' must be the name of a reward; the rewards are 'boxed'"):
        train(config, problems, boxed(), outcome_reward="Sum", **options)


@reward(grouped=True)
def most_alike(prompt: str, completions: list[str], environments: list) -> list[float]:
    said = [one.said for one in environments]
    return [said.count(one) / len(said) for one in said]


def test_rewards_read_environments_alone_in_groups_and_behind_gates(config, problems):
    rewards = (
        environment("calls", low=0, high=2)
        + most_alike()
        + gate(shortest(boxed()), by=environment("said", low=0, high=1))
    )
    trainer, records = train(config, problems, rewards, environment_factory=Sums)
    for record in records:
        calls = [sum(message["role"] == "tool" for message in one) for one in record["completions"]]
        results = [
            next((message["content"] for message in reversed(one) if message["role"] == "tool"), None)
            for one in record["completions"]
        ]
        failed = [sum("error" in m["content"] for m in one if m["role"] == "tool") for one in record["completions"]]
        worked = [min(2, count - bad) / 2 for count, bad in zip(calls, failed, strict=True)]
        assert record["rewards"]["environment"] == pytest.approx(worked)
        if not any(failed):
            assert record["rewards"]["most_alike"] == [results.count(one) / 4 for one in results]
        said = [share > 0 for share in worked]
        assert [score is None for score in record["rewards"]["shortest"]] == [not one for one in said]


class Riddles(Sums):
    """Brings its own problems, a different one in each rollout."""

    number = 0

    def reset(self, **row):
        Riddles.number += 1
        super().reset(f"{Riddles.number % 90 + 3}")
        return f"What is {Riddles.number % 90} + 3?"

    def get_reward(self) -> float:
        return 0.0


@reward(grouped=True)
def size_of_group(completions: list[str]) -> list[float]:
    return [float(len(completions))] * len(completions)


def test_groups_are_known_and_resampled_although_each_rollout_has_its_own_prompt(config):
    options = {"environment_factory": Riddles, "zero_variance": "drop", "max_resample_rounds": 3}
    _, records = train(config, None, size_of_group(), **options)
    assert [record["rewards"]["size_of_group"] for record in records] == [[4.0] * 4] * 2 * 4
    assert [message["content"] for message in records[0]["prompt"]] != [""]


# --- two ranks


@reward(grouped=True)
def most_calls(prompt: str, messages: list[list[dict]]) -> list[float]:
    """1 for the completions of the group with the most results, and the number of completions as a check."""
    counts = [sum(message["role"] == "tool" for message in one) for one in messages]
    return [float(count == max(counts)) + 10 * len(counts) for count in counts]


@reward(grouped=True)
def forbidden(completions: list[str], environments: list) -> list[float]:
    return [0.0] * len(completions)


def start(folder, rewards, **options):
    script_turns(pytest.MonkeyPatch())
    trainer = build(partial(config_of_ranks, folder), demo.arithmetic("train", size=32), rewards, **options)
    trainer.train()
    dist.barrier()
    return trainer


@on_two_ranks
def test_ranks_have_trls_gradient_with_masked_results(folder):
    """Groups straddle the ranks."""
    script_turns(pytest.MonkeyPatch())
    problems, make = demo.arithmetic("train", size=64), partial(config_of_ranks, folder)
    options = {**TURNS, **TOOLS, "max_steps": 2}
    for loss in ("dapo", "grpo"):
        found = compare_skip(make, problems, (half_by_turns,), **options, loss_type=loss, dtype="float64")
        assert found <= 1e-6
    assert compare_drop(make, problems, (half_by_turns,), **options) <= 1e-6


@on_two_ranks
def test_ranks_score_groups_next_to_environments(folder):
    """A gate by what an environment knows, across the ranks."""
    rewards = (
        0.1 * most_calls() + gate(shortest(boxed()), by=environment("calls", low=0, high=1), otherwise=-1) + boxed()
    )
    start(folder, rewards, environment_factory=Sums, max_steps=2, log_completions=True)
    (file,) = folder.glob("*/groups/*.jsonl")
    lines = [*read_records(file)]
    for line in lines:
        counts = [sum(message["role"] == "tool" for message in text) for text in line["completions"]]
        assert line["rewards"]["most_calls"] == [40.0 + (count == max(counts)) for count in counts]
        assert line["outcome_reward"] == "boxed"
        assert [*line["rewards"]] == ["most_calls", "shortest", "boxed", "Sums"]
        worked = [any(m["role"] == "tool" and m["content"].isdigit() for m in text) for text in line["completions"]]
        assert [score == -1 for score in line["rewards"]["shortest"]] == [not one for one in worked]
    assert len(lines) == 6 and any(score > -1 for line in lines for score in line["rewards"]["shortest"])
    with pytest.raises(ValueError, match="On several ranks, a grouped reward cannot read environments, because they"):
        start(folder, forbidden() + boxed(), environment_factory=Sums)


@on_two_ranks
def test_ranks_resample_with_tools_and_environments(folder):
    for name, arguments in {"tools": TOOLS, "environment": {"environment_factory": Sums}}.items():
        options = {"zero_variance": "drop", "max_resample_rounds": 20, "max_steps": 2, "learning_rate": 0.01}
        options |= {"zero_variance_by": "outcome", "outcome_reward": "half_by_turns", "output_dir": str(folder / name)}
        trainer = start(folder, [half_by_turns], **options, **arguments)
        rounds, lines = get_metric(trainer, "resample_rounds"), [*read_records(folder / name)]
        assert have_one_model(trainer) and gather(rounds) == [rounds, rounds] and max(rounds) >= 1
        assert get_metric(trainer, "rows_computed") == [12.0] * 2
        live = [line["step"] for line in lines if line["outcome"] == "live"]
        assert min(live.count(step) for step in (1, 2)) >= 3
        assert max(len(one) for line in lines for one in line["completions"]) >= 3
