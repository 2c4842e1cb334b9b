"""The decorator `@reward`, and the registry of rewards that expressions can name."""

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from importlib.metadata import entry_points
from typing import Any, Unpack, cast, overload

from .batch import FUNCTION_KINDS
from .errors import describe_plain, name_callable
from .expressions import Reward, read_operand
from .function_rewards import FunctionKindName, FunctionReward, RewardFactory, describe_uncalled, is_coroutine
from .traits import Traits, check_trait


SOLUTION_STR = "solution_str"  # what the model wrote, as verl calls it
REGISTRY: dict[str, RewardFactory] = {}  # the registered rewards by name


@overload
def reward(function: Callable[..., Any], /) -> RewardFactory: ...
@overload
def reward(
    *, batched: bool = ..., grouped: bool = ..., **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], RewardFactory]: ...
def reward(
    function: Callable[..., Any] | None = None,
    *,
    batched: bool = False,
    grouped: bool = False,
    **traits: Unpack[Traits],
) -> Any:
    """
    Register a function as a reward under its name.

    Functions passed as `check`, `columns`, `form`, `worthless`, `lengths`, `ready`, `solves` or `examines` are called
    with the options that they declare as parameters. A parameter with the name of a column of the reward function gets
    the name of the column that is read for it.

    Args:
        function (`Callable`):
            Returns a number, or None if the completion cannot be judged. Its positional parameters receive data, matched
            by name: a dataset column, or an argument that TRL passes (`completion_ids`, `trainer_state`, `log_metric`,
            ...). A function of one completion gets `prompt` and `completion` as text and `messages` as the raw list. A
            reward can read another column: for a parameter `solution`, `my_reward(solution="answer")` reads `answer`.
            Keyword-only parameters are options. If one is annotated as [`Reward`], or for type checkers as
            `Annotated[float | None, Reward]`, the option is a reward and the function gets its score. If its type
            includes [`Column`], the option may be `column("name")`, and the function gets the value of the row.
            `log_metric(name, number)` logs a metric. `log_extra(column, value)` adds a column to TRL's table of
            completions; it takes a list of values if the function scores several completions. Both do nothing if the
            trainer does not offer them.
        batched (`bool`, *optional*, defaults to `False`):
            The function scores the whole batch. It gets `prompts` and `completions` as TRL passes them and returns a
            list with one score per completion. It need not be said of a function with these parameters.
        grouped (`bool`, *optional*, defaults to `False`):
            The function scores a whole group: all completions of one prompt, even if they are on several ranks. It gets
            `prompt` as text, `completions` as a list of texts, `completion_ids`, and the group's value of every other
            column. It returns a list with one score per completion.
        check (`Callable`, *optional*):
            Called when a reward is built. Raises `ValueError` if the options cannot work.
        columns (`Callable`, *optional*):
            Returns the dataset columns that the reward needs because of its options.
        outcome (`bool`, *optional*, defaults to `False`):
            The reward says which completions are right: a score of at least 1 is right, at most 0 is wrong. The trainer
            counts solved groups by it, and checks expect that the dataset's own solutions score well under it.
        asks (`bool`, *optional*):
            The function asks a server or a person, so checks before training do not call it. Defaults to whether the
            function is `async`.
        form (`Callable`, *optional*):
            Returns the [`~trl_grpo_rewards.checks.Form`] of a completion that earns the reward in full. Checks use it to
            write honest completions and attacks.
        worthless (`Callable`, *optional*):
            Returns completions that must earn less than an honest one, as a dict from the name of the attempt to the
            text. Checks try them.
        lengths (`Callable`, *optional*):
            Returns the lengths in tokens that the reward depends on, as a dict from the name of the option to the length.
            The check before training reports those that no completion can reach. A reward that depends on length without
            such an option returns an empty dict.
        ready (`Callable`, *optional*):
            Raises an error if the reward cannot work on this machine, for example because a key is missing. The check
            before training calls it.
        reads (`dict[str, Callable]`, *optional*):
            For a column parameter, a function that takes all values of the column and returns the
            [`~trl_grpo_rewards.checks.Reading`] of each. The check before training reports values that cannot be read.
        solves (`Callable`, *optional*):
            Returns the final part of a right completion for a dataset row, or None. It gets `row` and its options. By
            default, checks write right completions from the answers that `reads` names.
        examines (`Callable`, *optional*):
            Returns [`~trl_grpo_rewards.checks.Findings`] in dataset rows. It gets `rows` and its options. The
            check before training shows it.

    Returns:
        [`RewardFactory`]:
            Called with the options, it returns the reward.

    Raises:
        `ValueError`: another module has registered the name.
        `TypeError`: the function has a parameter that its kind cannot have, or is both batched and grouped.

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

    declared = {name: value for name, value in traits.items() if value is not None}
    for name, value in declared.items():
        check_trait(name, value)

    def register_function(function: Callable[..., Any]) -> RewardFactory:
        if not callable(function) or isinstance(function, type):
            raise TypeError(
                f"@reward must stand above a function; got {function!r}. To name a reward, call it with the name: "
                f"mine(name='short')."
            )
        if batched and grouped:
            raise TypeError(f"Reward '{name_callable(function)}' must not be both batched and grouped. Choose one.")
        as_trl_calls = takes_lists(function) and not grouped
        kind: FunctionKindName = "batch" if batched or as_trl_calls else "group" if grouped else "completion"
        return register(RewardFactory(function, kind, {"asks": is_coroutine(function), **declared}))

    return register_function if function is None else register_function(function)


def combinator(**traits: Any) -> Callable[[Callable[..., Any]], RewardFactory]:
    """Register an `async` function that gets the batch and its options, and scores rewards on the rows that it chooses."""
    return lambda function: register(RewardFactory(function, "combinator", traits))


class Wrapped(RewardFactory):
    """The factory of what TRL can call, without a decorator. That is pickled, since the factory itself has no name."""

    has_options = False

    def __reduce__(self) -> Any:
        return find_wrapped, (self.function,)


class WrappedScorer(Wrapped):
    """
    The factory of a function of one solution, as verl calls it: `compute_score(data_source, solution_str, ground_truth, extra_info)`.

    What the model wrote is its `solution_str`, and all others are columns. It may return a dict with a `score`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, "completion")
        optional = ("data_source", "extra_info")
        self.data = [one.replace(default=None) if one.name in optional else one for one in self.data]
        self.data = [one.replace(name="completion") if one.name == SOLUTION_STR else one for one in self.data]
        self.column_parameters = [one.name for one in self.data if one.name != "completion"]
        self.positional = []
        self.__signature__ = self._build_signature()

    def call(self, arguments: dict[str, Any]) -> Any:
        returned = self.function(**{SOLUTION_STR: arguments.pop("completion")}, **arguments)
        if isinstance(returned, Mapping):
            return returned["score"]
        return returned


def takes_solution(function: Any) -> bool:
    """Whether a function is called as verl calls one."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    return SOLUTION_STR in code.co_varnames[: code.co_argcount]


def takes_lists(function: Callable[..., Any]) -> bool:
    """Whether a function takes the completions, prompts or columns of a batch, as TRL calls it, and not of one of them."""
    try:
        kinds = {name: one.kind for name, one in inspect.signature(function).parameters.items()}
    except ValueError:  # some builtin functions have none
        return False
    is_batch = "prompts" in kinds or "completions" in kinds or inspect.Parameter.VAR_KEYWORD in kinds.values()
    if not is_batch:
        return False
    return kinds.keys().isdisjoint(("prompt", "completion", "messages"))


@read_operand.register
def wrap_function(function: Callable, place: Reward | str = "An expression") -> FunctionReward:
    where = place if isinstance(place, str) else "An expression"
    if isinstance(function, RewardFactory):
        raise TypeError(f"{where} contains {describe_uncalled(function)}")
    is_other = isinstance(function, type) or hasattr(function, "forward")
    is_other |= not (takes_lists(function) or takes_solution(function))
    if is_other or not name_callable(function).isidentifier():
        raise TypeError(f"{where} contains {describe_plain(function)}")
    return find_wrapped(function)()


def read_rewards(given: Any, weights: Sequence[float] | None = None) -> Reward:
    """Return the expression that rewards, functions for TRL, or a list of these mean, as in `reward_funcs`."""
    if isinstance(given, (list, tuple)) and given:
        terms = (weight * read_rewards(one) for weight, one in zip(weights or [1.0] * len(given), given, strict=False))
        return reduce(operator.add, terms)
    if isinstance(given, str):
        raise TypeError(f"The rewards are the text {given!r} instead of a reward. Write parse({given!r}).")
    if callable(given):
        if isinstance(given, Reward):
            return given
        return wrap_function(given, "The argument 'rewards'")
    raise TypeError(
        f"The rewards must be an expression, a function or a list of these; got {given!r}. Write, for example, "
        f"boxed(evaluated=True) + 0.2 * tags('think')."
    )


def find_wrapped(function: Callable[..., Any]) -> RewardFactory:
    known = REGISTRY.get(name_callable(function))
    if known is not None and known.function == function:  # each access to a method makes another object
        return known
    if takes_solution(function):
        return register(WrappedScorer(function))
    return register(Wrapped(function, "batch", {"asks": is_coroutine(function)}))


def register(factory: RewardFactory) -> RewardFactory:
    if factory.data and factory.data[0].name == "self":
        raise TypeError(
            f"@reward must stand above a function, but '{factory.__name__}' is a method with the parameter 'self'. Pass the "
            f"method of an object: reward(scorer.{factory.__name__})()."
        )
    kind = FUNCTION_KINDS.get(factory.kind)
    if kind and (found := kind.foreign & {parameter.name for parameter in factory.data}):
        raise TypeError(
            f"Reward '{factory.__name__}' has the parameter '{min(found)}', but scores {kind.scores}. "
            f"Use {' and '.join(map(repr, kind.own))}, or choose another decorator: @reward(batched=True) for a function as TRL "
            f"calls it, @reward(grouped=True) for all completions of a prompt, or @reward for one."
        )
    if not factory.__name__.isidentifier():
        raise TypeError(f"@reward stands above {describe_plain(factory.function)}")
    other = REGISTRY.setdefault(factory.__name__, factory)
    is_named = not (isinstance(other, Wrapped) and isinstance(factory, Wrapped))  # others are found by their function
    if is_named and other.__module__ != factory.__module__:  # a notebook cell may run twice
        raise ValueError(
            f"Reward '{factory.__name__}' of {factory.__module__} has the same name as one in {other.__module__}. "
            f"Rename it."
        )
    REGISTRY[factory.__name__] = factory
    return factory


def find_factory(name: str) -> RewardFactory:
    """Return the factory that is registered under a name, or that an installed package offers under it."""
    if name in REGISTRY:
        return REGISTRY[name]
    offered = {entry.name: entry for entry in entry_points(group="trl_grpo_rewards")}
    if name in offered:
        return cast(RewardFactory, offered[name].load())
    names = sorted({*REGISTRY, *offered})
    close = get_close_matches(name, names, n=1)
    suggestion = f"Did you mean '{close[0]}'?" if close else "If it is a text, write it in quotes."
    raise ValueError(
        f"There is no reward '{name}'. {suggestion} To use a function of your own, put "
        f"@reward above it and import its module. The available rewards are {', '.join(names)}."
    )
