"""`@reward`, and the dict of names that it fills.

In a reward function, positional parameters are data and keyword-only parameters are options; `*names` collects the
options given by position. The decorator returns a [`RewardFactory`], which is called with the options and gives the reward.
"""

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any, overload

from .function_rewards import Kind, RewardFactory
from .text.forms import Form
from .traits import ReadColumn, Traits


REGISTRY: dict[str, RewardFactory] = {}
"""The rewards that an expression can name."""


@overload
def reward(function: Callable[..., Any], /) -> RewardFactory: ...


@overload
def reward(
    *,
    batched: bool = ...,
    grouped: bool = ...,
    check: Callable[..., None] | None = ...,
    columns: Callable[..., set[str]] | None = ...,
    outcome: bool = ...,
    asks: bool | None = ...,
    form: Callable[..., Form] | None = ...,
    worthless: Callable[..., dict[str, str]] | None = ...,
    reads: Mapping[str, ReadColumn] | None = ...,
) -> Callable[[Callable[..., Any]], RewardFactory]: ...


def reward(
    function: Callable | None = None,
    *,
    batched: bool = False,
    grouped: bool = False,
    check: Callable[..., None] | None = None,
    columns: Callable[..., set[str]] | None = None,
    outcome: bool = False,
    asks: bool | None = None,
    form: Callable[..., Form] | None = None,
    worthless: Callable[..., dict[str, str]] | None = None,
    reads: Mapping[str, ReadColumn] | None = None,
) -> RewardFactory | Callable[[Callable[..., Any]], RewardFactory]:
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
        outcome (`bool`, *optional*, defaults to `False`):
            The reward says which completions are right: a score of at least 1 is right, one of at most 0 is wrong. The
            trainer counts solved groups by it, and checks expect it to pay the dataset's own solutions.
        asks (`bool`, *optional*):
            The function asks a server or a person, so checks before training do not call it. By default an `async`
            function does and another one does not.
        form (`Callable`, *optional*):
            Called with the options that it names; returns the [`~trl_grpo_rewards.checks.Form`] of a completion that
            earns the reward in full, so that checks can write honest completions and attacks.
        worthless (`Callable`, *optional*):
            Called with the options that it names; returns completions that must not earn what an honest one earns, as
            a dict from what they try to the text. Checks try them.
        reads (`dict[str, Callable]`, *optional*):
            For a dataset column, a function that takes all of its values and returns the
            [`~trl_grpo_rewards.checks.Reading`] of each. The check before training reports what cannot be read.

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

    def registered(function: Callable[..., Any]) -> RewardFactory:
        if batched and grouped:
            raise TypeError(
                f"Reward '{function.__name__}' is both batched and grouped. Choose what it scores at a time."
            )
        kind: Kind = "batch" if batched else "group" if grouped else "completion"
        is_asking = inspect.iscoroutinefunction(function) if asks is None else asks
        return register(
            RewardFactory(function, kind, check, columns, Traits(outcome, is_asking, form, worthless, reads or {}))
        )

    return registered if function is None else registered(function)


def combinator(
    *,
    check: Callable[..., None] | None = None,
    columns: Callable[..., set[str]] | None = None,
    outcome: tuple[str, ...] | bool = False,
) -> Callable[[Callable[..., Any]], RewardFactory]:
    """
    Register an `async` function of a batch and of rewards that it scores itself, on the rows that it chooses.

    It is an outcome if all rewards in the options named by `outcome` are.
    """

    def registered(function: Callable[..., Any]) -> RewardFactory:
        return register(RewardFactory(function, "combinator", check, columns, Traits(outcome)))

    return registered


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
