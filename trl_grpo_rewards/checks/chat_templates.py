"""Does the chat template fit? What a model is given, and what the rewards expect it to begin with."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..expressions import Reward
from ..function_rewards import FunctionReward
from ..options import FrozenDict
from .findings import Findings, parts


if TYPE_CHECKING:
    from datasets import Dataset


def check_template(rewards: Reward, dataset: "Dataset", tokenizer: Any, options: dict | None = None) -> Findings:
    """
    Whether the template opens a tag that a reward expects the model to open, or does not where it should.

    Then the completion begins inside the tag, and a reward that looks for its opening is 0 for a whole run.

    Args:
        rewards ([`Reward`]):
            Expression of rewards.
        dataset ([`~datasets.Dataset`]):
            Its first prompt is rendered.
        tokenizer:
            That of the model.
        options (`dict`, *optional*):
            The configuration's `chat_template_kwargs`.
    """
    found = Findings("chat template")
    prompt = dataset[0]["prompt"]
    if isinstance(prompt, str):
        found.lines.append("prompts are text, which no template changes")
        rendered = prompt
    elif not getattr(tokenizer, "chat_template", None):
        found.faults.append(
            "Prompts are messages, and the tokenizer has no chat template to make them text. "
            "Name a model that was tuned to chat, set chat_template_path, or give prompts as text."
        )
        return found
    else:
        rendered = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False, **options or {})
    found.lines.append(f"a prompt ends with {rendered[-60:]!r}")
    for reward in parts(rewards):
        if reward.form.tags:
            found.faults += template_faults(reward, rendered)
    return found


def template_faults(reward: FunctionReward, rendered: str) -> list[str]:
    opening = f"<{reward.form.tags[0]}>"
    is_open = rendered.rstrip().endswith(opening)
    if is_open and not reward.form.prefilled:
        return [
            f"Reward '{reward.name}' expects {opening} in the completion, but the chat template ends the prompt with it. "
            f"The reward would stay at 0. Write {with_prefilled(reward, True)}."
        ]
    if reward.form.prefilled and not is_open:
        return [
            f"Reward '{reward.name}' expects the chat template to end the prompt with {opening}, but it ends with "
            f"{rendered[-30:]!r}. Write {with_prefilled(reward, False)}."
        ]
    return []


def with_prefilled(reward: FunctionReward, prefilled: bool) -> str:
    """Return how the reward is written for a template that does or does not open its first tag."""
    if "prefilled" not in reward.options:
        return f"{reward.maker.__name__}() so that its form has prefilled={prefilled}"
    return str(replace(reward, options=FrozenDict({**reward.options, "prefilled": prefilled})))
