"""`@reward`, and the dict of names that it fills.

In a reward function, positional parameters are data and keyword-only parameters are options; `*names` collects the
options given by position. The decorator returns a [`Maker`], which is called with the options and gives the reward.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any, Literal, get_type_hints

from .functions import FunctionReward
from .options import FrozenDict, described, fits, freeze, named_by, typed


Kind = Literal["completion", "batch", "group", "combinator"]
"""What a function gets: the data of one completion, of a batch, of a group, or rewards that are not scored yet."""

WRONG_DATA = {
    "completion": ({"prompts", "completions"}, "one completion at a time", "'prompt' and 'completion'"),
    "batch": ({"prompt", "completion"}, "a whole batch", "'prompts' and 'completions'"),
    "group": ({"prompts", "completion"}, "a whole group", "'prompt' and 'completions'"),
}
"""Names that a kind of function cannot ask for, since they are another kind's."""


class Maker:
    """
    What `@reward` makes of a function: called with the options, it gives the reward.

    Args:
        function (`Callable`):
            Scores one completion or a batch; plain or `async`.
        kind (`str`):
            What it gets: `"completion"`, `"batch"`, `"group"` or `"combinator"`.
        check (`Callable`, *optional*):
            Called with the options that it names when a reward is built; raises where they do not fit together.
        columns (`Callable`, *optional*):
            Called with the options that it names; gives the dataset columns that they need.
    """

    def __init__(
        self,
        function: Callable,
        kind: Kind,
        check: Callable[..., None] | None = None,
        columns: Callable[..., set[str]] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        parameters = list(inspect.signature(function).parameters.values())
        self.function, self.kind, self.check, self.columns = function, kind, check, columns
        self.is_async = kind != "combinator" and inspect.iscoroutinefunction(function)
        self.data = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.data = [] if kind == "combinator" else self.data
        self.collected = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None)
        self.takes_rest = any(p.kind == p.VAR_KEYWORD for p in parameters)
        self.options = {p.name: p for p in parameters if p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)}
        self._check_declaration()
        self.__signature__ = self._signature()

    def _check_declaration(self) -> None:
        names = {p.name for p in self.data}
        if "name" in self.options:
            raise TypeError(f"Reward '{self.__name__}' declares the option 'name', which every reward has. Rename it.")
        wrong, scored, right = WRONG_DATA.get(self.kind, (set(), "", ""))
        if wrong & names:
            raise TypeError(
                f"Reward '{self.__name__}' asks for '{min(wrong & names)}', but scores {scored}. "
                f"Ask for {right}, or register it as what it is: @reward, @reward(batched=True), @reward(grouped=True)."
            )

    def _signature(self) -> inspect.Signature:
        """How the maker is called: with options only, by position too unless `*names` takes those."""
        options = list(self.options.values())
        if not self.collected:
            options = [p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in options]
        name = inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=str | None)
        return inspect.Signature([*options, name])

    @functools.cached_property
    def annotations(self) -> dict[str, Any]:
        return get_type_hints(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> FunctionReward:
        if "completions" in kwargs:
            raise TypeError(uncalled(self))
        name = kwargs.pop("name", None)
        if name is not None and not (isinstance(name, str) and name):
            raise TypeError(f"The name given to '{self.__name__}' is {name!r}. Give it a text that is not empty.")
        options = {option: self._option(option, value) for option, value in self._bound(args, kwargs).items()}
        if self.check is not None:
            self.check(**named_by(self.check, options))
        return FunctionReward(self, FrozenDict(options), name)

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        for option in kwargs:
            if option not in self.options or option == self.collected:
                close = get_close_matches(option, self.options, n=1)
                remedy = f"Did you mean '{close[0]}'?" if close else "Choose one of these."
                if option in {p.name for p in self.data}:
                    remedy = f"In the function '{option}' is data; declared after a '*' it would be an option."
                raise TypeError(
                    f"Reward '{self.__name__}' has no option '{option}'; it takes {self.declaration}. {remedy}"
                )
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"Reward '{self.__name__}': {error}. It takes {self.declaration}.") from None
        bound.apply_defaults()
        return {option: value for option, value in bound.arguments.items() if option != "name"}

    def _option(self, option: str, value: Any) -> Any:
        what = f"Option '{option}' of '{self.__name__}'"
        if maker := next(iter(makers_in(value)), None):
            raise TypeError(f"{what} has {uncalled(maker)}")
        value = freeze(value, what)
        annotation = self.annotations.get(option, Any)
        for one in value if option == self.collected else [value]:
            if typed(one) != typed(self.options[option].default) and not fits(one, annotation):
                raise TypeError(f"{what} is {one!r}; it takes {described(annotation)}. Give it one.")
        return float(value) if annotation is float and isinstance(value, int) else value

    @property
    def declaration(self) -> str:
        return ", ".join(str(p.replace(annotation=p.empty)) for p in self.__signature__.parameters.values())

    def _combined(self, *other: Any) -> None:
        raise TypeError(f"An expression has {uncalled(self)}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _combined

    def __reduce__(self) -> str:  # pickled by reference, as functions are
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<reward {self.__name__}({self.declaration})>"


REGISTRY: dict[str, Maker] = {}
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
        [`Maker`]:
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
    return register(Maker(function, kind, check, columns))


def combinator(
    function: Callable | None = None,
    *,
    check: Callable[..., None] | None = None,
    columns: Callable[..., set[str]] | None = None,
) -> Any:
    """Register an `async` function of a batch and of rewards that it scores itself, on the rows it chooses."""
    if function is None:
        return functools.partial(combinator, check=check, columns=columns)
    return register(Maker(function, "combinator", check, columns))


def register(maker: Maker) -> Maker:
    other = REGISTRY.get(maker.__name__)
    if other is not None and other.__module__ != maker.__module__:  # a notebook cell may run twice
        raise ValueError(
            f"Reward '{maker.__name__}' of {maker.__module__} has the name of one in {other.__module__}. Rename it."
        )
    REGISTRY[maker.__name__] = maker
    return maker


def find(name: str) -> Maker:
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


def uncalled(maker: Maker) -> str:
    return f"'{maker.__name__}' itself, which makes a reward. Call it with its options: {maker.__name__}({maker.declaration})."


def makers_in(value: Any) -> list[Maker]:
    if isinstance(value, Maker):
        return [value]
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [maker for item in items for maker in makers_in(item)]
