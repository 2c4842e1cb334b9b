"""`@reward`, and the dict of names that it fills.

In a reward function, positional parameters are data and keyword-only parameters are options; `*names` collects the
options given by position. The decorator returns a [`RewardFactory`], which is called with the options and gives the reward.
"""

import functools
from collections.abc import Callable
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any

from .function_rewards import RewardFactory


REGISTRY: dict[str, RewardFactory] = {}
"""The rewards that an expression can name."""


def reward(
    function: Callable | None = None,
    *,
    batched: bool = False,
    grouped: bool = False,
    check: Callable[..., None] | None = None,
    columns: Callable[..., set[str]] | None = None,
) -> Any:
    """
    Register a function as a reward under its name.

    Args:
        function (`Callable`):
            Its positional parameters are data, matched by name: a dataset column, or what TRL passes
            (`completion_ids`, `trainer_state`, `log_metric`, ...). A function of one completion gets `prompt` and
            `completion` as text and `messages` as the raw list. Keyword-only parameters are options; one annotated
            as [`Reward`] takes a reward, and the function gets its score. `log_metric(name, number)` and
            `log_extra(column, value)`, for TRL's table of completions, may be called anywhere (with a list of values
            where the function scores several completions), and do nothing where TRL offers none. It returns a number,
            or None where the completion cannot be judged.
        batched (`bool`, *optional*, defaults to `False`):
            The function scores the whole batch: it gets `prompts` and `completions` as TRL passes them and returns a
            list with one score per completion.
        grouped (`bool`, *optional*, defaults to `False`):
            The function scores a whole group, all completions of one prompt, on any number of ranks: it gets `prompt`
            as text, `completions` as a list of texts, `completion_ids`, and of every column the one value that the
            group has; it returns a list with one score per completion.
        check (`Callable`, *optional*):
            Called with the options that it names when a reward is built; raises `ValueError` where they do not fit.
        columns (`Callable`, *optional*):
            Called with the options that it names; gives the dataset columns that the reward needs because of them.

    Returns:
        [`RewardFactory`]:
            Called with the options, it gives the reward.

    Raises:
        `ValueError`: another module has registered the name.

    Example:

    ```python
    >>> from trl_grpo_rewards import reward

    >>> @reward
    ... def mentions(completion: str, *, at_least: int = 1) -> float:
    ...     return float(completion.count("[") >= at_least)

    >>> mentions(at_least=2)
    mentions(at_least=2)
    >>> mentions()(completions=["See [1].", "See there."])
    [1.0, 0.0]

    ```
    """
    if function is None:
        return functools.partial(reward, batched=batched, grouped=grouped, check=check, columns=columns)
    if batched and grouped:
        raise TypeError(f"Reward '{function.__name__}' is both batched and grouped. Choose what it scores at a time.")
    kind = "batch" if batched else "group" if grouped else "completion"
    return register(RewardFactory(function, kind, check, columns))


def combinator(
    function: Callable | None = None,
    *,
    check: Callable[..., None] | None = None,
    columns: Callable[..., set[str]] | None = None,
) -> Any:
    """Register an `async` function of a batch and of rewards that it scores itself, on the rows it chooses."""
    if function is None:
        return functools.partial(combinator, check=check, columns=columns)
    return register(RewardFactory(function, "combinator", check, columns))


def register(maker: RewardFactory) -> RewardFactory:
    other = REGISTRY.get(maker.__name__)
    if other is not None and other.__module__ != maker.__module__:  # a notebook cell may run twice
        raise ValueError(
            f"Reward '{maker.__name__}' of {maker.__module__} has the name of one in {other.__module__}. Rename it."
        )
    REGISTRY[maker.__name__] = maker
    return maker


def find(name: str) -> RewardFactory:
    """The reward registered under the name, or the one that an installed package offers under it."""
    if name in REGISTRY:
        return REGISTRY[name]
    offered = {entry.name: entry for entry in entry_points(group="trl_grpo_rewards")}
    if name in offered:
        return offered[name].load()
    names = sorted({*REGISTRY, *offered})
    close = get_close_matches(name, names, n=1)
    raise ValueError(
        f"There is no reward '{name}'; there are {', '.join(names)}. "
        + (f"Did you mean '{close[0]}'?" if close else "Choose one, or import the module that registers it.")
    )
