"""All checks of a job, one after another."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from ..expressions import Reward
from .chat_templates import check_template
from .contract import check_contract
from .findings import Findings
from .solutions import check_golds
from .trials import check_attacks, check_dry_run, without_judges, words


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
    if golds := check_golds(rewards, dataset, threshold):
        found.append(golds)
    if tokenizer is not None:
        options = getattr(config, "chat_template_kwargs", None)
        found.append(check_template(rewards, dataset, tokenizer, options))
    tokens: Callable = words if tokenizer is None else cache(lambda text: tokenizer(text)["input_ids"])
    ours = without_judges(rewards)
    if ours is None:
        return [*found, Findings("attacks and a dry run", ["all rewards ask a judge, which costs; none was tried"])]
    return [*found, check_attacks(ours, dataset, tokens), check_dry_run(ours, dataset, tokens, config)]
