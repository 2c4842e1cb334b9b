"""Does the chat template fit? What a model is given, and what the rewards expect it to begin with."""

from typing import TYPE_CHECKING, Any

from ..expressions import Reward
from ..function_rewards import FunctionReward
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
        if reward.maker.__name__ == "tags":
            found.faults += faults_of(reward, rendered)
    return found


def faults_of(reward: FunctionReward, rendered: str) -> list[str]:
    opening = f"<{reward.options['names'][0]}>"
    opened, prefilled = rendered.rstrip().endswith(opening), reward.options["prefilled"]
    names = ", ".join(map(repr, reward.options["names"]))
    if opened and not prefilled:
        return [
            f"Reward '{reward.name}' looks for {opening} in the completion, and the chat template ends the prompt with "
            f"it, so that the reward would be 0 for ever. Write tags({names}, prefilled=True)."
        ]
    if prefilled and not opened:
        return [
            f"Reward '{reward.name}' has prefilled=True, and the chat template does not end the prompt with {opening}: "
            f"it ends with {rendered[-30:]!r}. Write tags({names})."
        ]
    return []
