"""All checks of a job, one after another."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from ..expressions import Reward
from ..text.forms import ContradictoryForms
from .chat_templates import check_template
from .contract import check_contract
from .example_completions import form_of
from .findings import Findings
from .solutions import check_solutions
from .trials import check_attacks, check_dry_run, without_asking, words


if TYPE_CHECKING:
    from datasets import Dataset
    from trl import GRPOConfig


def check(
    rewards: Reward,
    dataset: "Dataset",
    config: "GRPOConfig | None" = None,
    tokenizer: Any = None,
    threshold: float = 0.05,
) -> list[Findings]:
    """
    What is wrong with a job, as far as can be told without a model.

    Args:
        rewards ([`Reward`]):
            Expression of rewards.
        dataset ([`~datasets.Dataset`]):
            Prompts to train on.
        config ([`~trl.GRPOConfig`], *optional*):
            Configuration of the trainer.
        tokenizer (*optional*):
            That of the model; without it, a token is a word, and no chat template is looked at.
        threshold (`float`, *optional*, defaults to `0.05`):
            Share of solutions that cannot be read, above which it is a fault.

    Returns:
        `list[Findings]`: one for each check. Where a column is missing, nothing more can be checked.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, demo
    >>> from trl_grpo_rewards.checks import check

    >>> found = check(boxed(evaluated=True), demo.arithmetic(size=64))
    >>> [fault for one in found for fault in one.faults]
    []

    ```
    """
    found = [check_contract(rewards, dataset, config)]
    if found[0].faults:
        return found
    found += check_solutions(rewards, dataset, threshold)
    if tokenizer is not None:
        options = getattr(config, "chat_template_kwargs", None)
        found.append(check_template(rewards, dataset, tokenizer, options))
    return [*found, *try_rewards(rewards, dataset, tokenizer, config)]


def try_rewards(rewards: Reward, dataset: "Dataset", tokenizer: Any, config: "GRPOConfig | None") -> list[Findings]:
    """Score made completions with the rewards, except for those that ask a server or a person."""
    tried, skipped = without_asking(rewards), [reward.name for reward in rewards.rewards if reward.asks]
    found = Findings("rewards that were not tried")
    if skipped:
        found.lines.append(f"{', '.join(skipped)}: checks call no server and no person")
    if tried is None:
        return [found]
    try:
        form_of(tried)
    except ContradictoryForms as error:
        found.warnings.append(f"No attack was tried. {error}")
        return [found]
    tokens: Callable = words if tokenizer is None else cache(lambda text: tokenizer(text)["input_ids"])
    trials = [check_attacks(tried, dataset, tokens), check_dry_run(tried, dataset, tokens, config)]
    return [found, *trials] if skipped else trials
