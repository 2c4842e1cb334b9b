"""Datasets of made-up problems, and what the checks find in them."""

from datasets import Dataset

from trl_grpo_rewards.checks import check


def make_problems(*solutions, prompts=None):
    prompts = prompts or [f"Ann has {place} apples. How many?" for place in range(len(solutions))]
    return Dataset.from_dict({"prompt": prompts, "solution": [*solutions]})


def find_faults(rewards, dataset, **options) -> list[str]:
    return [fault for one in check(rewards, dataset, **options) for fault in one.faults]


def get_section(title, rewards, dataset, **options):
    return next(one for one in check(rewards, dataset, **options) if one.title.startswith(title))


def open_think(tokenizer):
    """Let the tokenizer's chat template open the first tag."""
    tokenizer.chat_template = tokenizer.chat_template + "{% if add_generation_prompt %}{{ '<think>\\n' }}{% endif %}"
    return tokenizer
