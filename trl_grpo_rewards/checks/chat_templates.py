"""Check of the chat template: rewards may expect that it opens the first tag."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..expressions import Reward
from ..function_rewards import FunctionReward, find_functions
from ..options import FrozenDict
from .findings import Findings


if TYPE_CHECKING:
    from datasets import Dataset

TEMPLATE = "chat template"
"""Title of this check."""


def check_template(rewards: Reward, dataset: "Dataset", tokenizer: Any, options: dict | None = None) -> Findings:
    """Check that the chat template opens no tag that a reward looks for in the completion, or it is 0 for the whole run."""
    found = Findings(TEMPLATE)
    prompt = dataset[0]["prompt"]
    if isinstance(prompt, str):
        found.lines.append("prompts are text, so no template is applied")
        rendered = prompt
    elif not getattr(tokenizer, "chat_template", None):
        found.faults.append(
            "Prompts are messages, but the tokenizer has no chat template to render them. "
            "Use a chat model, set chat_template_path, or store the prompts as text."
        )
        return found
    else:
        rendered = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False, **options or {})
    found.lines.append(f"a prompt ends with {rendered[-60:]!r}")
    for reward in find_functions(rewards):
        if reward.form.tags:
            found.faults += find_template_faults(reward, rendered)
    return found


def find_template_faults(reward: FunctionReward, rendered: str) -> list[str]:
    opening = f"<{reward.form.tags[0]}>"
    is_open = rendered.rstrip().endswith(opening)
    if is_open and not reward.form.prefilled:
        return [
            f"Reward '{reward.name}' expects {opening} in the completion, but the chat template ends the prompt with it. "
            f"The reward would stay at 0. Write {suggest_prefilled(reward, prefilled=True)}."
        ]
    if reward.form.prefilled and not is_open:
        return [
            f"Reward '{reward.name}' expects the chat template to end the prompt with {opening}, but it ends with "
            f"{rendered[-30:]!r}. Write {suggest_prefilled(reward, prefilled=False)}."
        ]
    return []


def suggest_prefilled(reward: FunctionReward, prefilled: bool) -> str:
    """Return the reward with the one option changed that gives its form this `prefilled`, or else what to change."""
    for option, value in reward.options.items():
        if isinstance(value, bool):
            changed = replace(reward, options=FrozenDict({**reward.options, option: not value}))
            if changed.form.prefilled == prefilled:
                return str(changed)
    return f"{reward.factory.__name__}() so that its form has prefilled={prefilled}"
