"""Rewards made from functions: how a function is called, and how it gets its data and options."""

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Generic, Literal, ParamSpec, get_type_hints, overload

from .batch import KINDS, TRAINER_DATA, Batch, scatter, take
from .errors import MissingColumn, name_callable, named_in_errors
from .expressions import Reward, Sum, await_all
from .options import (
    Column,
    FrozenDict,
    check_bounds,
    check_column,
    fill_in,
    find_inside,
    format_annotation,
    freeze,
    has_type,
    is_same_option,
)
from .scores import Score, read_scores
from .traits import Form, ReadColumn, check_trait


Options = ParamSpec("Options")

FunctionKind = Literal["completion", "batch", "group", "combinator"]
"""What a function scores: one completion, a batch or a group. A combinator scores a batch by calling other rewards."""


class RewardFactory(Generic[Options]):
    """A registered reward function. Called with options and with the columns that parameters read, it returns a reward."""

    __name__: str
    __qualname__: str

    has_options = True
    """Whether parameters after `*` are options. Without a decorator, they are data, which TRL passes by keyword."""

    # Traits of combinators: `outcome` has the options that must all be outcomes, `chooses` returns the rewards that score a
    # dataset `row`, and `unasked` is the option with the reward that takes its place where nobody may be asked.
    def __init__(
        self, function: Callable[..., Any], kind: FunctionKind, traits: Mapping[str, Any] = FrozenDict({})
    ) -> None:
        functools.update_wrapper(self, find_code(function), updated=())
        self.__name__ = name_callable(function)
        self.own_signature = inspect.signature(function)
        parameters = list(self.own_signature.parameters.values())
        self.function, self.kind, self.traits = function, kind, traits
        self.is_async = kind != "combinator" and is_coroutine(function)
        options = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY)[: 2 * self.has_options]
        data = [p for p in parameters if p.kind not in (*options, p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        self.data = [] if kind == "combinator" else data
        self.column_parameters = [p.name for p in self.data if p.name not in {*TRAINER_DATA, "name"}]
        self.takes_kwargs = next((p.name for p in parameters if p.kind == p.VAR_KEYWORD), None)
        self.options = {p.name: p for p in parameters if p.kind in options}
        self.args_option = next((p.name for p in self.options.values() if p.kind == p.VAR_POSITIONAL), None)
        self.__signature__ = self._build_signature()

    def _build_signature(self) -> inspect.Signature:
        """Return the signature of a call: options, which may be positional unless there are `*names`, and columns."""
        if "name" in self.options:
            raise TypeError(
                f"Reward '{self.__name__}' must not declare the option 'name', which every reward has. Rename it."
            )
        options = list(self.options.values())
        if not self.args_option:
            options = [p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in options]
        by_keyword = inspect.Parameter.KEYWORD_ONLY
        columns = [inspect.Parameter(p, by_keyword, default=p, annotation=str) for p in self.column_parameters]
        name = inspect.Parameter("name", by_keyword, default=None, annotation=str | None)
        return inspect.Signature([*options, *columns, name])

    @property
    def is_foreign(self) -> bool:
        """Whether the function is not one of this package."""
        return self.__module__.partition(".")[0] != __name__.partition(".")[0]

    @functools.cached_property
    def hints(self) -> dict[str, Any]:
        """The annotation of each parameter."""
        try:
            return get_type_hints(find_code(self.function), include_extras=True)
        except NameError:  # types that only type checkers import
            return {}

    @functools.cached_property
    def annotations(self) -> dict[str, Any]:
        """The type of each parameter. An option is a reward if it is annotated as `Annotated[..., Reward]`."""
        rewards = {name: Reward for name, hint in self.hints.items() if Reward in getattr(hint, "__metadata__", ())}
        return {**get_type_hints(find_code(self.function)), **rewards} if self.hints else {}

    @overload
    def __call__(self, *args: Options.args, **kwargs: Options.kwargs) -> "FunctionReward": ...

    @overload
    def __call__(self, *, name: str | None, **options: Any) -> "FunctionReward": ...  # types cannot add a keyword

    def __call__(self, *args: Any, **kwargs: Any) -> "FunctionReward":
        if "completions" in kwargs:
            raise TypeError(f"Completions were passed to {describe_uncalled(self)}")
        name = kwargs.pop("name", None)
        if name is not None and not (isinstance(name, str) and name):
            raise TypeError(f"The name of '{self.__name__}' must be a non-empty string; got {name!r}.")
        bound = self._bind(args, kwargs)
        options = {option: self._read_option(option, bound[option]) for option in self.options}
        columns = {one: self._read_column(one, bound[one]) for one in self.column_parameters}
        named = {parameter: column for parameter, column in columns.items() if column != parameter}
        built = FunctionReward(self, FrozenDict(options), name, FrozenDict(named))
        if "check" in self.traits:
            built.call_with_options(self.traits["check"])
        return built

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        for option in kwargs:
            if option not in self.__signature__.parameters or option == self.args_option:
                close = get_close_matches(option, self.__signature__.parameters, n=1)
                remedy = f"Did you mean '{close[0]}'?" if close else "Choose one of these."
                if option in {p.name for p in self.data}:
                    remedy = f"The trainer passes '{option}', so leave it out."
                raise TypeError(
                    f"Reward '{self.__name__}' has no option '{option}'; its options are {self.declaration}. {remedy}"
                )
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            required = [p.name for p in self.__signature__.parameters.values() if p.default is p.empty]
            call = f"{self.__name__}({', '.join(f'{one}=...' for one in required if one != self.args_option)})"
            raise TypeError(
                f"Reward '{self.__name__}': {error}. Its options are {self.declaration}. Write {call}."
            ) from None
        bound.apply_defaults()
        return bound.arguments

    def _read_column(self, parameter: str, column: Any) -> str:
        remedy = f"Name the column, or declare '{parameter}' after '*' to make it an option."
        if isinstance(column, Column):
            remedy = f"Write only the name: {self.__name__}({parameter}={column.name!r})."
        return check_column(column, f"'{parameter}' of '{self.__name__}'", remedy)

    def _read_option(self, option: str, value: Any) -> Any:
        what = f"Option '{option}' of '{self.__name__}'"
        value = freeze(value, what)
        annotation = self.annotations.get(option, Any)
        for one in value if option == self.args_option else [value]:
            if not is_same_option(one, self.options[option].default) and not has_type(one, annotation):
                is_column = isinstance(one, str) and len(self.column_parameters) == 1
                call = f"{self.__name__}({self.column_parameters[0]}={one!r})" if is_column else ""
                remedy = f" If it is a column, write {call}." if is_column else ""
                raise TypeError(f"{what} must be of type {format_annotation(annotation)}; got {one!r}.{remedy}")
            check_bounds(one, self.hints.get(option), what)
        return float(value) if annotation is float and isinstance(value, int) else value

    @property
    def declaration(self) -> str:
        """The options with their defaults, as in a signature."""
        return ", ".join(str(p.replace(annotation=p.empty)) for p in self.__signature__.parameters.values())

    def _refuse_arithmetic(self, *other: Any) -> None:
        raise TypeError(f"An expression contains {describe_uncalled(self)}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _refuse_arithmetic

    def __reduce__(self) -> str:  # pickled by reference, as functions are
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<reward {self.__name__}>"


def find_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a partial function or an object runs when it is called."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def is_coroutine(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(find_code(function))


def describe_uncalled(factory: RewardFactory) -> str:
    """Return the end of an error about a factory in place of a reward."""
    name = factory.__name__
    return f"the reward factory '{name}' instead of a reward. Call it with its options: {name}({factory.declaration})."


@dataclass(frozen=True, repr=False)
class FunctionReward(Reward):
    """A reward function with its options, its name if that is not the default one, and the columns that parameters read."""

    factory: RewardFactory
    options: FrozenDict
    given_name: str | None = None
    named_columns: FrozenDict = FrozenDict({})

    @property
    def name(self) -> str:
        inner = self.options.get("reward") if self.factory.kind == "combinator" else None
        return self.given_name or (inner.name if inner else self.factory.__name__)

    @property
    def children(self) -> list[Reward]:
        return find_inside(self.options, Reward)

    @property
    def is_async(self) -> bool:
        return self.factory.is_async or super().is_async

    @property
    def is_grouped(self) -> bool:
        return self.factory.kind == "group" or super().is_grouped

    @property
    def columns(self) -> frozenset[str]:
        return self.own_columns | super().columns

    @property
    def is_outcome(self) -> bool:
        trait: bool | tuple[str, ...] = self.factory.traits.get("outcome", False)
        if isinstance(trait, bool):
            return trait
        return all(reward.is_outcome for option in trait for reward in find_inside(self.options[option], Reward))

    @property
    def asks(self) -> bool:
        return self.factory.traits.get("asks", False) or super().asks

    def list_alone(self) -> list[Reward]:
        if not any(parameter.name == "environments" for parameter in self.factory.data):
            return super().list_alone()
        if self.is_grouped:
            raise ValueError(
                f"On several ranks, a grouped reward cannot read environments, because they never leave their rank; "
                f"got {self}. Give it an option that is a reward instead, and pass environment('score')."
            )
        return [self]

    @property
    def own_columns(self) -> frozenset[str]:
        """Dataset columns that the function needs, without those of the rewards among its options."""
        required = {p.name for p in self.factory.data if p.default is p.empty} - TRAINER_DATA
        needed = {self.column_of.get(name, name) for name in required}.union(self.named_columns.values())
        needed |= {column.name for column in find_inside(self.options, Column)}
        return frozenset(needed.union(self.ask_trait("columns") or ()))

    @property
    def column_of(self) -> dict[str, str]:
        """The dataset column that each data parameter reads. One called `name` is left out: the option has this keyword."""
        return {name: self.named_columns.get(name, name) for name in self.factory.column_parameters}

    @property
    def readers(self) -> dict[str, ReadColumn]:
        """The functions that return how the reward reads the values of a column, by the column."""
        chosen = {name: value.name for name, value in self.options.items() if isinstance(value, Column)}
        return {
            {**self.column_of, **chosen}.get(name, name): read
            for name, read in self.factory.traits.get("reads", {}).items()
            if name in chosen or name not in self.options
        }

    def call_with_options(self, function: Callable[..., Any], **more: Any) -> Any:
        """Call a function with more and with the options and columns that it declares, or all options if it has `**kwargs`."""
        declared = inspect.signature(function).parameters
        takes_all = any(parameter.kind == parameter.VAR_KEYWORD for parameter in declared.values())
        names = {*declared, *(self.options if takes_all else ()), *more}
        given = {**self.column_of, **self.options, **more}
        return function(**{name: value for name, value in given.items() if name in names})

    def ask_trait(self, trait: str, **more: Any) -> Any:
        """Return what a trait that is a function returns for these options, or None if it is not declared."""
        if trait not in self.factory.traits:
            return None
        with named_in_errors(self):
            said = self.call_with_options(self.factory.traits[trait], **more)
            check_trait(trait, said, is_result=True)
        return said

    @property
    def form(self) -> Form:
        """The form that earns this reward in full, without the forms of the rewards among its options."""
        return self.ask_trait("form") or Form()

    def check_columns(self, available: Collection[str]) -> None:
        """Check that the function can get the columns that it needs."""
        for column in sorted(self.own_columns.difference(available)):
            raise self.describe_missing(column, available)

    def describe_missing(self, column: str, available: Collection[str]) -> MissingColumn:
        """Return the error for a column that is not available. It says by which keyword another one can be named."""
        given = {**self.column_of, **self.options}
        keyword = next((name for name, value in given.items() if value in (column, Column(column))), None)
        opening = "column(" if keyword and isinstance(given[keyword], Column) else ""
        others = "..., " if {*self._write_options()} - {keyword} else ""
        call = f"{self.factory.__name__}({others}{keyword}={opening}" if keyword else None
        taken = {p.name for p in self.factory.data} & TRAINER_DATA - {"prompt", "prompts"}
        is_lacking = self.factory.is_foreign and not (taken or self.factory.takes_kwargs or self.children)
        name = "completion" if self.factory.kind == "completion" else "completions"
        remedy = f"What the model wrote is the parameter '{name}'." if is_lacking else None
        return MissingColumn(self.name, column, available, call, remedy)

    def list_inner(self, row: Mapping[str, Any] | None = None) -> list[Reward]:
        """Return the rewards among the options. With a dataset row, only those that score it."""
        if row is None or "chooses" not in self.factory.traits:
            return self.children
        chosen: list[Reward] = self.call_with_options(self.factory.traits["chooses"], row=row)
        return chosen

    async def _score(self, batch: Batch) -> list[Score]:
        batch = batch.enter(self.name)
        with named_in_errors(self):
            self.check_columns(batch.dataset_columns)
            if self.factory.kind == "combinator":
                returned = await self.factory.function(batch, **self.options)
            else:
                parts = batch.split(self.factory.kind)
                inner = dict(zip(self.children, await self._score_children(batch), strict=True))
                own = batch.rename_columns(self.named_columns)
                columns = {one: batch.columns[one.name] for one in find_inside(self.options, Column)}
                calls = (self._call_function(own, rows, inner, columns) for rows in parts)
                scores = await await_all(calls, concurrent=self.is_async)
                returned = scatter(batch.size, zip(parts, scores, strict=True))
            return read_scores(returned, self.name, batch.size)

    async def _call_function(
        self,
        batch: Batch,
        rows: Sequence[int],
        inner: Mapping[Reward, Sequence[Score]],
        columns: Mapping[Column, Sequence[Any]],
    ) -> Sequence[Any]:
        """Return the scores of rows by one call of the function, given the scores and columns among the options."""
        factory, kind = self.factory, KINDS[self.factory.kind]
        names = {p.name for p in factory.data}
        rest = {*batch.columns, *kind.rest} - names - {*self.options} if factory.takes_kwargs else set()
        available = batch.get_data(kind, rows, names if kind.is_single else names | rest)
        given: dict[Any, Any] = {one: kind.read("", take(values, rows)) for one, values in columns.items()}
        for reward, scores in inner.items():
            given[reward] = scores[rows[0]] if kind.is_single else take(scores, rows)
        arguments = {p.name: self._find_value(p, available) for p in factory.data} | fill_in(self.options, given)
        if factory.takes_kwargs:
            row = {name: batch.columns[name][rows[0]] for name in rest - kind.foreign} if kind.is_single else available
            arguments[factory.takes_kwargs] = {name: value for name, value in row.items() if name in rest}
        bound = inspect.BoundArguments(factory.own_signature, OrderedDict(arguments))
        returned = factory.function(*bound.args, **bound.kwargs)
        returned = await returned if factory.is_async else returned
        return [returned] if kind.is_single else read_scores(returned, self.name, len(rows))

    def _find_value(self, parameter: inspect.Parameter, available: Mapping[str, Any]) -> Any:
        if parameter.name in available:
            return available[parameter.name]
        if parameter.default is not parameter.empty:
            return parameter.default
        raise ValueError(
            f"Reward '{self.name}' needs '{parameter.name}', which GRPOTrainer passes but this call does not. "
            f"Pass it, or give the parameter a default."
        )

    def _write_options(self) -> dict[str, str]:
        """Return how the options and columns that are not the default ones are written in a call, by name."""
        written: dict[str, str] = {}
        for index, (option, value) in enumerate(self.options.items()):
            if option == self.factory.args_option:
                written |= {option: ", ".join(map(repr, value))} if value else {}
            elif index == 0 and isinstance(value, Reward):
                written[option] = str(value)
            elif not is_same_option(value, self.factory.options[option].default):
                written[option] = f"{option}={value!r}"
        return written | {parameter: f"{parameter}={column!r}" for parameter, column in self.named_columns.items()}

    def __str__(self) -> str:
        name = [f"name={self.given_name!r}"] if self.given_name else []
        return f"{self.factory.__name__}({', '.join([*self._write_options().values(), *name])})"


def find_functions(
    reward: Reward, *, paid_only: bool = False, row: Mapping[str, Any] | None = None
) -> Iterator[FunctionReward]:
    """Yield the functions of an expression and those among their options; with a dataset row, those that score it."""
    if isinstance(reward, FunctionReward):
        yield reward
        inner = reward.list_inner(row)
    elif isinstance(reward, Sum) and paid_only:
        inner = [term for weight, term in reward.terms if weight >= 0]
    else:
        inner = reward.children
    for one in inner:
        yield from find_functions(one, paid_only=paid_only, row=row)
