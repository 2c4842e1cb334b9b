"""Trainers small enough to run by the dozen, and what their runs leave behind."""

import gc
from pathlib import Path

from trl_grpo_rewards import FilteredGRPOConfig, FilteredGRPOTrainer, demo
from trl_grpo_rewards.records.files import read_records


def small_config(folder: Path, cls: type = FilteredGRPOConfig, **options):
    """Return a configuration for a run of a few seconds, without the noise of bf16. Any option can be given."""
    defaults = {
        "output_dir": str(folder / f"run-{len(list(folder.iterdir()))}"),
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "per_device_train_batch_size": 8,
        "num_generations": 4,
        "max_completion_length": 12,
        "max_steps": 1,
        "learning_rate": 0.0,
        "max_grad_norm": 1e9,
        "logging_steps": 1,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "seed": 3,
    }
    return cls(**{**defaults, **options})


def train_and_read(config, problems, rewards, **options):
    """Train the bundled model and return the trainer and the records of the run."""
    trainer = FilteredGRPOTrainer(demo.MODEL, rewards, args=config(**options), train_dataset=problems)
    trainer.train()
    return trainer, list(read_records(trainer.args.output_dir))


def get_metric(trainer, name: str) -> list[float]:
    """Return the values of the metric `groups/{name}`, log by log."""
    return [entry[f"groups/{name}"] for entry in trainer.state.log_history if f"groups/{name}" in entry]


def read_prompts(folder) -> list[tuple[int, int, str]]:
    """Return the step, the group and the prompt of each record."""
    return [(line["step"], line["group"], line["prompt_id"]) for line in read_records(folder)]


def read_contents(folder) -> list[dict]:
    """Return the records without the number and the first step of the run that wrote them."""
    return [{name: line[name] for name in line if name not in ("run", "first_step")} for line in read_records(folder)]


def find_lists_of_ids(known: set[tuple[int, ...]]) -> list[list[int]]:
    """Return the lists in this process that hold one of these completions."""
    gc.collect()
    lists = [one for one in gc.get_objects() if type(one) is list and 0 < len(one) < 100]
    return [one for one in lists if {*map(type, one)} == {int} and tuple(one) in known]


def roll_out(prompts, trainer) -> dict:
    """Return completions by TRL, with a mask of what the environment said and a score that the reward reads."""
    ids, _, fields = trainer._tokenize_prompts(prompts)
    completions, _ = trainer._generate_single_turn(ids, None, fields, trainer.num_generations)
    return {
        "prompt_ids": ids,
        "completion_ids": completions,
        "logprobs": None,
        "env_mask": [[place % 3 > 0 for place in range(len(one))] for one in completions],
        "said": [len({*one}) for one in completions],
    }
