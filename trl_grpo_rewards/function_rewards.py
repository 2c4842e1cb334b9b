"""Rewards made of functions: how the function gets its data, and what its scores must look like."""

import functools
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, get_type_hints

from .batch import GIVEN, HOOKS, PER_COMPLETION, PER_GROUP, Batch, spread
from .expressions import Reward, Score, missing_column, together
from .options import FrozenDict, described, fits, freeze, named_by, replace_rewards, rewards_in, typed
from .text.forms import Form
from .traits import Traits


Kind = Literal["completion", "batch", "group", "combinator"]
"""What a function gets: the data of one completion, of a batch, of a group, or rewards that are not scored yet."""

WRONG_DATA = {
    "completion": ({"prompts", "completions"}, "one completion at a time", "'prompt' and 'completion'"),
    "batch": ({"prompt", "completion"}, "a whole batch", "'prompts' and 'completions'"),
    "group": ({"prompts", "completion"}, "a whole group", "'prompt' and 'completions'"),
}
"""Names that a kind of function cannot ask for, since they are another kind's."""


class RewardFactory:
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
        traits ([`Traits`], *optional*):
            What checks and the trainer need to know of it.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self,
        function: Callable,
        kind: Kind,
        check: Callable[..., None] | None = None,
        columns: Callable[..., set[str]] | None = None,
        traits: Traits | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        parameters = list(inspect.signature(function).parameters.values())
        self.function, self.kind, self.check, self.columns = function, kind, check, columns
        self.traits = traits or Traits()
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

    def __call__(self, *args: Any, **kwargs: Any) -> "FunctionReward":
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


@dataclass(frozen=True, repr=False)
class FunctionReward(Reward):
    """
    A reward function with its options; made by calling what `@reward` returned.

    The function's data is matched by name. A reward among the options is scored first, and the function gets its
    score in its place: one number for a function of one completion, a list for a function of the batch.
    """

    maker: "RewardFactory"
    options: FrozenDict
    given_name: str | None = None

    @property
    def name(self) -> str:
        inner = self.options.get("reward") if self.maker.kind == "combinator" else None
        return self.given_name or (inner.name if inner else self.maker.__name__)

    @property
    def terms(self) -> tuple[tuple[float, Reward], ...]:
        return ((1.0, self),)

    @property
    def children(self) -> list[Reward]:
        return rewards_in(self.options)

    @property
    def is_async(self) -> bool:
        return self.maker.is_async or any(child.is_async for child in self.children)

    @property
    def is_grouped(self) -> bool:
        return self.maker.kind == "group" or any(child.is_grouped for child in self.children)

    @property
    def columns(self) -> frozenset[str]:
        needed = {p.name for p in self.maker.data if p.default is p.empty} - GIVEN
        if self.maker.columns is not None:
            needed |= self.maker.columns(**named_by(self.maker.columns, self.options))
        return frozenset(needed).union(*(child.columns for child in self.children))

    @property
    def is_outcome(self) -> bool:
        trait = self.maker.traits.outcome
        if isinstance(trait, bool):
            return trait
        return all(reward.is_outcome for option in trait for reward in rewards_in(self.options[option]))

    @property
    def asks(self) -> bool:
        return self.maker.traits.asks or any(child.asks for child in self.children)

    @property
    def form(self) -> Form:
        """The form that earns this reward in full, without that of the rewards among its options."""
        make = self.maker.traits.form
        return make(**named_by(make, self.options)) if make else Form()

    @property
    def worthless(self) -> dict[str, str]:
        """Completions that must not earn what an honest one earns, by what they try."""
        make = self.maker.traits.worthless
        return make(**named_by(make, self.options)) if make else {}

    async def _score(self, batch: Batch) -> list[Score]:
        batch = batch.under(self.name)
        with self._named_in_errors():
            if self.maker.kind == "combinator":
                return self._checked(await self.maker.function(batch, **self.options), batch)
            children = self.children
            inner = await together((child.score(batch) for child in children), concurrent=self.is_async)
            by_kind = {"completion": self._score_rows, "batch": self._score_batch, "group": self._score_groups}
            return self._checked(await by_kind[self.maker.kind](batch, dict(zip(children, inner, strict=True))), batch)

    async def _score_batch(self, batch: Batch, inner: Mapping[Reward, list[Score]]) -> Any:
        found = {**batch.columns, **batch.hooks, "log_extra": batch.log_extra, "log_metric": batch.log_metric}
        data = [self._found(p, found, batch) for p in self.maker.data]
        return await self._called(data, self._rest(found), inner)

    async def _score_rows(self, batch: Batch, inner: Mapping[Reward, list[Score]]) -> list:
        logged: dict[str, list] = defaultdict(lambda: [None] * batch.size)
        data = [self._per_row(p, batch, logged) for p in self.maker.data]
        rest = self._rest({name: v for name, v in batch.columns.items() if name not in ("prompts", "completions")})
        calls = (
            self._called(
                [values[row] for values in data],
                {name: values[row] for name, values in rest.items()},
                {child: scores[row] for child, scores in inner.items()},
            )
            for row in range(batch.size)
        )
        scores = await together(calls, concurrent=self.is_async)
        for column, values in logged.items():
            batch.log_extra(column, values)
        return scores

    async def _score_groups(self, batch: Batch, inner: Mapping[Reward, list[Score]]) -> list:
        rows_of: dict[int, list[int]] = defaultdict(list)
        for row, group in enumerate(batch.groups or ()):
            rows_of[group].append(row)
        calls = (self._score_group(batch.take(rows), rows, inner) for rows in rows_of.values())
        scores = await together(calls, concurrent=self.is_async)
        return spread(batch.size, zip(rows_of.values(), scores, strict=True))

    async def _score_group(self, group: Batch, rows: list[int], inner: Mapping[Reward, list[Score]]) -> list[Score]:
        hooks = {**group.hooks, "log_extra": group.log_extra, "log_metric": group.log_metric}
        shared = {name: values[0] for name, values in group.columns.items()}
        given = {name: to(group.columns[of]) for name, (of, to) in PER_GROUP.items() if of in group.columns}
        found = {**shared, **given, **hooks}
        data = [self._found(p, found, group) for p in self.maker.data]
        scores = {child: [values[row] for row in rows] for child, values in inner.items()}
        return self._checked(await self._called(data, self._rest(found), scores), group)

    async def _called(self, data: list, rest: dict[str, Any], inner: Mapping[Reward, Any]) -> Any:
        options = replace_rewards(self.options, inner)
        collected = options.pop(self.maker.collected, ())
        result = self.maker.function(*data, *collected, **options, **rest)
        return await result if self.maker.is_async else result

    def _per_row(self, parameter: inspect.Parameter, batch: Batch, logged: dict[str, list]) -> list:
        if parameter.name == "log_extra":  # a value a row here, which TRL gets as a column
            return [functools.partial(_log_row, logged, row) for row in range(batch.size)]
        if parameter.name == "log_metric":
            return [batch.log_metric] * batch.size
        if parameter.name in HOOKS:
            return [self._found(parameter, batch.hooks, batch)] * batch.size
        source, convert = PER_COMPLETION.get(parameter.name, (parameter.name, None))
        if source not in batch.columns:
            return [self._found(parameter, {}, batch)] * batch.size
        return [convert(value) for value in batch.columns[source]] if convert else batch.columns[source]

    def _found(self, parameter: inspect.Parameter, found: Mapping[str, Any], batch: Batch) -> Any:
        if parameter.name in found:
            return found[parameter.name]
        if parameter.default is not parameter.empty:
            return parameter.default
        if parameter.name in GIVEN:
            raise ValueError(
                f"Reward '{self.name}' asks for '{parameter.name}', which GRPOTrainer passes and this call does not. "
                f"Pass it, or give the parameter a default."
            )
        raise missing_column(self.name, parameter.name, {*batch.columns} - GIVEN)

    def _rest(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """All that a function which takes `**kwargs` has not named."""
        named = {*self.options, *(p.name for p in self.maker.data)}
        return {name: found[name] for name in found if name not in named} if self.maker.takes_rest else {}

    def _checked(self, scores: Any, batch: Batch) -> list[Score]:
        if isinstance(scores, (str, Mapping)) or not hasattr(scores, "__iter__"):
            raise ValueError(
                f"Reward '{self.name}' returned {scores!r} for {batch.size} completions. "
                f"Return a list with one number or None per completion."
            )
        scores = list(scores)
        if len(scores) != batch.size:
            raise ValueError(
                f"Reward '{self.name}' returned {len(scores)} scores for {batch.size} completions. "
                f"Return one number or None per completion."
            )
        return [score if score is None else self._number(score, row) for row, score in enumerate(scores)]

    def _number(self, score: Any, row: int) -> float:
        try:
            number = float("nan") if isinstance(score, str) else float(score)
        except (TypeError, ValueError):
            number = float("nan")
        if number - number != 0:  # not finite
            raise ValueError(
                f"Reward '{self.name}' gave {score!r} for row {row} of the batch. "
                f"Return a finite number, or None where the completion cannot be judged."
            )
        return number

    @contextmanager
    def _named_in_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            error.add_note(f"(raised in the reward {self})")
            raise

    def __str__(self) -> str:
        written = []
        for index, (option, value) in enumerate(self.options.items()):
            if option == self.maker.collected:
                written += [repr(item) for item in value]
            elif index == 0 and isinstance(value, Reward):
                written.append(str(value))
            elif typed(value) != typed(self.maker.options[option].default):
                written.append(f"{option}={value!r}")
        if self.given_name:
            written.append(f"name={self.given_name!r}")
        return f"{self.maker.__name__}({', '.join(written)})"


def _log_row(logged: dict[str, list], row: int, column: str, value: Any) -> None:
    logged[column][row] = value


def uncalled(maker: RewardFactory) -> str:
    return f"'{maker.__name__}' itself, which makes a reward. Call it with its options: {maker.__name__}({maker.declaration})."


def makers_in(value: Any) -> list[RewardFactory]:
    if isinstance(value, RewardFactory):
        return [value]
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [maker for item in items for maker in makers_in(item)]
