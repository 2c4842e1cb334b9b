"""The scenarios with tools and environments that test_agents.py runs on two ranks."""

from functools import partial

import pytest
import torch.distributed as dist

from helpers.agents import TURNS, Sums, add, half_by_turns, lookup, script_turns
from helpers.gradients import ARGUMENTS, compare_drop, compare_skip
from helpers.models import save_layer
from helpers.two_ranks import config, ranks_have_one_model
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, demo, environment, gate, reward, shortest
from trl_grpo_rewards.records.files import read_records


script_turns(pytest.MonkeyPatch())
TOOLS = {"tools": [add, lookup]}


@reward(grouped=True)
def most_calls(prompt: str, messages: list[list[dict]]) -> list[float]:
    """1 for the completions of the group with the most results, and the number of completions as a check."""
    counts = [sum(message["role"] == "tool" for message in one) for one in messages]
    return [float(count == max(counts)) + 10 * len(counts) for count in counts]


@reward(grouped=True)
def forbidden(completions: list[str], environments: list) -> list[float]:
    return [0.0] * len(completions)


def make(folder, rewards, problems=None, **options):
    options = TURNS | options
    arguments = {name: options.pop(name) for name in ARGUMENTS if name in options}
    problems = problems or demo.arithmetic("train", size=32)
    return FilteredGRPOTrainer(
        save_layer(), rewards, args=config(folder, **options), train_dataset=problems, **arguments
    )


def gradients(folder) -> dict:
    """Skip and drop against TRL, with results of tools masked and groups that straddle the ranks."""
    problems = demo.arithmetic("train", size=64)
    options = {**TURNS, **TOOLS, "per_device_train_batch_size": 6, "max_steps": 2}

    build = partial(config, folder)
    skip = [
        compare_skip(build, problems, (half_by_turns,), **options, loss_type=one, dtype="float64")
        for one in ("dapo", "grpo")
    ]
    return {"skip": skip, "drop": [compare_drop(build, problems, (half_by_turns,), **options)]}  # fmt: skip


def environments(folder) -> dict:
    """Grouped rewards beside environments: a gate by what an environment knows, across the ranks."""
    rewards = (
        0.1 * most_calls() + gate(shortest(boxed()), by=environment("calls", low=0, high=1), otherwise=-1) + boxed()
    )
    trainer = make(folder, rewards, environment_factory=Sums, max_steps=2, log_completions=True)
    trainer.train()
    dist.barrier()
    (file,) = folder.glob("*/groups/*.jsonl")
    lines = [
        {"rewards": line["rewards"], "completions": line["completions"], "outcome": line["outcome_reward"]}
        for line in read_records(file)
    ]
    error = None
    try:
        make(folder, forbidden() + boxed(), environment_factory=Sums).train()
    except ValueError as raised:
        error = str(raised)
    return {"lines": lines, "error": error}


def resampled(folder) -> dict:
    """Batches are filled in rounds, with tools and with environments, and the ranks end with one model."""
    seen = {}
    for name, arguments in {"tools": TOOLS, "environment": {"environment_factory": Sums}}.items():
        options = {"zero_variance": "drop", "max_resample_rounds": 20, "max_steps": 2, "learning_rate": 0.01}
        options |= {"zero_variance_by": "outcome", "outcome_reward": "half_by_turns", "output_dir": str(folder / name)}
        trainer = make(folder, [half_by_turns], **options, **arguments)
        trainer.train()
        equal = ranks_have_one_model(trainer)
        history = [entry for entry in trainer.state.log_history if "groups/rows_computed" in entry]
        dist.barrier()
        seen[name] = {
            "equal": equal,
            "computed": [entry["groups/rows_computed"] for entry in history],
            "rounds": [entry["groups/resample_rounds"] for entry in history],
            "live": [line["step"] for line in read_records(folder / name) if line["outcome"] == "live"],
            "roles": [len(one) for line in read_records(folder / name) for one in line["completions"]],
        }
    return seen
