"""Rewards made from functions: how a function is called, and how it gets its data and options."""

import asyncio
import functools
import inspect
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from .batch import FUNCTION_KINDS, TRAINER_DATA, Batch, FunctionKind, cut_column, scatter
from .errors import SOLUTION_COLUMNS, MissingColumn, name_callable, named_in_errors, suggest_parameter
from .expressions import Reward, Sum, add, leave_out_witnesses, score_known_groups
from .loops import call_in_caller
from .options import (
    Column,
    FrozenDict,
    check_bounds,
    check_column_name,
    fill_options,
    find_inside,
    format_annotation,
    freeze,
    has_type,
    is_same_option,
    strip_annotation,
)
from .scores import Score, read_scores
from .traits import ContradictoryForms, Form, ReadColumn, check_trait


# A combinator scores a batch by other rewards.
FunctionKindName = Literal["completion", "batch", "group", "combinator"]


class RewardFactory:
    """A registered reward function. Called with options and with the columns that parameters read, it returns a reward."""

    __name__: str
    __qualname__: str

    has_options = True  # whether parameters after `*` are options; without a decorator, they are data

    # Traits of combinators: `outcome` has the options that must all be outcomes, `chooses` returns the rewards that score a
    # dataset `row`, and `unasked` is the option with the reward that takes its place where nobody may be asked.
    def __init__(
        self, function: Callable[..., Any], kind: FunctionKindName, traits: Mapping[str, Any] = FrozenDict({})
    ) -> None:
        functools.update_wrapper(self, find_code(function), updated=())
        self.__name__ = name_callable(function)
        self.function = function
        self.kind = kind
        self.traits = traits
        self.is_async = kind != "combinator" and is_coroutine(function)
        only, either, args, keyword, rest = sort_parameters(function)
        data = only + either
        options = args + keyword
        if not self.has_options:
            data += keyword
            options = []
        self.positional = [p.name for p in only + either]
        self.data = [] if kind == "combinator" else data
        self.column_parameters = [p.name for p in self.data if p.name not in {*TRAINER_DATA, "name"}]
        self.takes_kwargs = bool(rest)
        self.options = {p.name: p for p in options}
        self.args_option = args[0].name if args and self.has_options else ""
        self.__signature__ = self._build_signature()

    def _build_signature(self) -> inspect.Signature:
        """Return the signature of a call: options, which may be positional unless there are `*names`, and columns."""
        if "name" in self.options:
            raise TypeError(
                f"Reward '{self.__name__}' must not declare the option 'name', which every reward has. Rename it."
            )
        for passed in self.options.keys() & TRAINER_DATA:
            raise TypeError(
                f"Reward '{self.__name__}' declares '{passed}' after '*', which makes it an option, but the trainer passes it. "
                f"Declare '{passed}' before the '*'."
            )
        options = list(self.options.values())
        if not self.args_option:
            options = [p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in options]
        by_keyword = inspect.Parameter.KEYWORD_ONLY
        columns = [inspect.Parameter(p, by_keyword, default=p, annotation=str) for p in self.column_parameters]
        name = inspect.Parameter("name", by_keyword, default=None, annotation=str | None)
        return inspect.Signature([*options, *columns, name])

    def call(self, arguments: dict[str, Any]) -> Any:
        positional = [arguments.pop(name) for name in self.positional]
        return self.function(*positional, *arguments.pop(self.args_option, ()), **arguments)

    @property
    def is_foreign(self) -> bool:
        return str(self.__module__).partition(".")[0] != __name__.partition(".")[0]

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
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            problem, remedy = self._describe_misuse(error, kwargs)
            raise TypeError(f"Reward '{self.__name__}'{problem} options are {self.declaration}. {remedy}") from None
        bound.apply_defaults()
        return bound.arguments

    def _describe_misuse(self, error: TypeError, kwargs: dict[str, Any]) -> tuple[str, str]:
        """Return what is wrong with the arguments of a call, and what to do."""
        parameters = self.__signature__.parameters
        for name in kwargs:
            if name not in parameters or name == self.args_option:
                return f" has no option '{name}'; its", self._suggest_option(name)
        required = [p for p in parameters.values() if p.default is p.empty and p.kind != p.VAR_POSITIONAL]
        return f": {error}. Its", f"Write {self.__name__}({', '.join(f'{p.name}=...' for p in required)})."

    def _suggest_option(self, unknown: str) -> str:
        if unknown in {p.name for p in self.data}:
            return f"The trainer passes '{unknown}', so leave it out."
        close = get_close_matches(unknown, self.__signature__.parameters, n=1)
        return f"Did you mean '{close[0]}'?" if close else "Choose one of these."

    def _read_column(self, parameter: str, column: Any) -> str:
        remedy = f"Name the column, or declare '{parameter}' after '*' to make it an option."
        if isinstance(column, Column):
            remedy = f"Write only the name: {self.__name__}({parameter}={column.name!r})."
        return check_column_name(column, f"'{parameter}' of '{self.__name__}'", remedy)

    def _read_option(self, option: str, value: Any) -> Any:
        what = f"Option '{option}' of '{self.__name__}'"
        value = freeze(value, what)
        parameter = self.options[option]
        for item in value if option == self.args_option else [value]:
            self._check_type(item, parameter, what)
            check_bounds(item, parameter.annotation, what)
        is_float = strip_annotation(parameter.annotation) is float
        if is_float and isinstance(value, int):
            return float(value)
        return value

    def _check_type(self, value: Any, parameter: inspect.Parameter, what: str) -> None:
        annotation = strip_annotation(parameter.annotation)
        if is_same_option(value, parameter.default) or has_type(value, annotation):
            return
        remedy = "Pass such a value."
        if isinstance(value, str) and len(self.column_parameters) == 1:
            remedy = f"If it is a column, write {self.__name__}({self.column_parameters[0]}={value!r})."
        raise TypeError(f"{what} must be of type {format_annotation(annotation)}; got {value!r}. {remedy}")

    @property
    def declaration(self) -> str:
        parameters = self.__signature__.parameters.values()
        return ", ".join(str(p.replace(annotation=p.empty)) for p in parameters)

    def _refuse_arithmetic(self, *other: Any) -> None:
        raise TypeError(f"An expression contains {describe_uncalled(self)}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _refuse_arithmetic

    def __reduce__(self) -> str:  # pickled by reference, as functions are
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<reward {self.__name__}>"


def sort_parameters(function: Callable[..., Any]) -> list[list[inspect.Parameter]]:
    """Return the parameters by kind: positional ones, those that may be keywords, `*args`, keywords, `**kwargs`."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except Exception:  # types that only type checkers import or understand
        signature = inspect.signature(function)
    parameters = signature.parameters.values()
    return [[p for p in parameters if p.kind == kind] for kind in inspect._ParameterKind]


def find_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a partial function or an object runs when it is called."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function):
        return function
    return type(function).__call__


def list_constants(reward: "FunctionReward") -> Iterator[Any]:
    """Yield the constants and the variables of its module that a reward's function and the functions which it calls there use."""
    function = inspect.unwrap(find_code(reward.factory.function))
    variables = getattr(function, "__globals__", {})
    codes = [function.__code__] if hasattr(function, "__code__") else []
    for code in codes:
        used = [*(variables[name] for name in code.co_names if name in variables), *code.co_consts]
        yield from used
        called = [value.__code__ for value in used if inspect.isfunction(value) and value.__globals__ is variables]
        codes += [one for one in (*filter(inspect.iscode, used), *called) if one not in codes]


def list_names(function: "FunctionReward") -> Iterator[dict[int, str]]:
    """Yield the names of classes in the constants and module variables that a function uses."""
    for value in list_constants(function):
        if isinstance(value, list | tuple | Mapping):
            pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
            named = [sorted(pair, key=lambda part: isinstance(part, str)) for pair in pairs]
            if len(named) > 1 and {(type(number), type(name)) for number, name in named} == {(int, str)}:
                yield dict(named)


def is_coroutine(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(find_code(function))


def describe_uncalled(factory: RewardFactory) -> str:
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
        inner = None
        if self.factory.kind == "combinator":
            inner = self.options.get("reward")
        return self.given_name or (inner.name if inner else self.factory.__name__)

    @functools.cached_property
    def children(self) -> list[Reward]:
        return find_inside(self.options, Reward)

    @property
    def is_outcome(self) -> bool:
        trait: bool | tuple[str, ...] = self.factory.traits.get("outcome", False)
        if isinstance(trait, bool):
            return trait
        return all(reward.is_outcome for option in trait for reward in find_inside(self.options[option], Reward))

    @functools.cached_property
    def functions(self) -> "list[FunctionReward]":
        return [self, *super().functions]

    @functools.cached_property
    def own_columns(self) -> frozenset[str]:
        """Dataset columns that the function needs, without those of the rewards among its options."""
        required = {p.name for p in self.factory.data if p.default is p.empty} - TRAINER_DATA
        needed = {self.column_of.get(name, name) for name in required}
        needed |= {*self.named_columns.values()}
        needed |= {column.name for column in find_inside(self.options, Column)}
        return frozenset(needed.union(self.ask_trait("columns") or ()))

    @property
    def column_of(self) -> dict[str, str]:
        """The dataset column that each data parameter reads. One called `name` is left out: the option has this keyword."""
        return {name: self.named_columns.get(name, name) for name in self.factory.column_parameters}

    def find_columns(self, names: Iterable[str] = ()) -> set[str]:
        """Return the columns that the function needs, and those for solutions, or of these names, that it takes if they exist."""
        taken = {name for name in self.column_of.values() if name in SOLUTION_COLUMNS}
        return {*self.own_columns} | taken | self.find_mentioned(names)

    def find_mentioned(self, names: Iterable[str]) -> set[str]:
        """Return the columns among these names that a function which takes all of them has as texts in its code."""
        if not self.factory.takes_kwargs:
            return set()
        texts = {value for value in list_constants(self) if isinstance(value, str)}
        return {*names} & texts - {"prompt", "completion"}

    @property
    def is_formless(self) -> bool:
        """Whether the function says nothing about the form of its answer."""
        return self.factory.kind != "combinator" and self.factory.traits.keys().isdisjoint(("form", "solves"))

    @property
    def readers(self) -> dict[str, ReadColumn]:
        """The functions that return how the reward reads the values of a column, by the column."""
        chosen = {name: value.name for name, value in self.options.items() if isinstance(value, Column)}
        columns = {**self.column_of, **chosen}
        readers = {}
        for name, read in self.factory.traits.get("reads", {}).items():
            if name in chosen or name not in self.options:
                readers[columns.get(name, name)] = read
        return readers

    def call_with_options(self, function: Callable[..., Any], **more: Any) -> Any:
        """Call a function with more and with the options and columns that it declares, or all options if it has `**kwargs`."""
        declared = inspect.signature(function).parameters
        takes_all = any(parameter.kind == parameter.VAR_KEYWORD for parameter in declared.values())
        names = {*declared, *(self.options if takes_all else ()), *more}
        values = {**self.column_of, **self.options, **more}
        return function(**{name: value for name, value in values.items() if name in names})

    def ask_trait(self, trait: str, **more: Any) -> Any:
        """Return what a trait that is a function returns for these options, or None if it is not declared."""
        if trait not in self.factory.traits:
            return None
        with named_in_errors(self):
            result = self.call_with_options(self.factory.traits[trait], **more)
            check_trait(trait, result, is_result=True)
        return result

    @property
    def form(self) -> Form:
        """The form that earns this reward in full, without the forms of the rewards among its options."""
        return self.ask_trait("form") or Form()

    def check_columns(self, available: Collection[str]) -> None:
        for column in sorted(self.own_columns.difference(available)):
            raise self.describe_missing(column, available)

    def describe_missing(self, column: str, available: Collection[str]) -> MissingColumn:
        """Return the error for a column that is not available. It says by which keyword another one can be named."""
        taken = {p.name for p in self.factory.data} & TRAINER_DATA - {"prompt", "prompts"}
        remedy = None
        if self.factory.is_foreign and not (taken or self.factory.takes_kwargs or self.children):
            name = "completion" if self.factory.kind == "completion" else "completions"
            remedy = f"What the model wrote is the parameter '{name}'."
        elif not self.factory.has_options:
            remedy = suggest_parameter(column, available)
        return MissingColumn(self.name, column, available, self._write_call_with(column), remedy)

    def _write_call_with(self, column: str) -> str | None:
        """Return the start of a call that names another column in place of this one, or None if it cannot be named."""
        values = {**self.column_of, **self.options}
        written = (column, f"column({column!r})")
        keyword = next((name for name, value in values.items() if str(value) in written), None)
        if not keyword:
            return None
        opening = "column(" if isinstance(values[keyword], Column) else ""
        others = ""
        if {*self._write_options()} - {keyword}:
            others = "..., "
        return f"{self.factory.__name__}({others}{keyword}={opening}"

    async def _score(self, batch: Batch) -> list[Score]:
        batch = batch.enter(self.name)
        with named_in_errors(self):
            self.check_columns(batch.dataset_columns)
            if self.factory.kind == "combinator":
                returned = await self.factory.function(batch, **self.options)
            else:
                returned = await self._call_function(batch)
            return read_scores(returned, self.name, batch.size)

    async def _call_function(self, batch: Batch) -> list[Any]:
        """Return what the function returns for each row. It gets the scores of rewards among its options."""
        factory = self.factory
        kind = FUNCTION_KINDS[factory.kind]
        calls = batch.split(factory.kind)
        data = self._get_data(batch, kind, calls)
        inner: dict[Any, list[Any]] = {}
        for column in find_inside(self.options, Column):
            inner[column] = cut_column(batch.columns[column.name], calls, kind.lists is None)
        for reward, scores in zip(self.children, await self._score_children(batch), strict=True):
            inner[reward] = cut_column(scores, calls, not kind.is_single)
        arguments = []
        options = dict(self.options)
        for place in range(len(calls)):
            if inner:
                values_inside = {item: values[place] for item, values in inner.items()}
                options = fill_options(self.options, values_inside)
            row_data = {name: values[place] for name, values in data.items()}
            arguments.append({**row_data, **options})
        if factory.is_async:
            returned = await asyncio.gather(*map(factory.call, arguments))
        else:
            # Not with `map`, which a StopIteration of the function would end.
            returned = await call_in_caller(lambda: [factory.call(values) for values in arguments])
        if kind.is_single:
            return returned
        sized = (read_scores(scores, self.name, len(rows)) for scores, rows in zip(returned, calls, strict=True))
        return scatter(batch.size, zip(calls, sized, strict=True))

    def _get_data(self, batch: Batch, kind: FunctionKind, calls: Sequence[Sequence[int]]) -> dict[str, Sequence[Any]]:
        """Return what each call gets for each data parameter, and for `**kwargs`."""
        renamed = batch.rename_columns(self.named_columns)
        defaults = {p.name: p.default for p in self.factory.data}
        data = renamed.get_data(kind, defaults, calls)
        for name in defaults.keys() - data:
            if defaults[name] is inspect.Parameter.empty:
                raise ValueError(
                    f"Reward '{self.name}' needs '{name}', which GRPOTrainer passes but this call does not. "
                    f"Pass it, or give the parameter a default."
                )
            data[name] = [defaults[name]] * len(calls)
        if self.factory.takes_kwargs:
            rest = {*renamed.columns, *kind.rest} - {*defaults, *self.options}
            if kind.is_single:
                rest -= kind.foreign
            data |= renamed.get_data(kind, rest, calls, is_raw=kind.is_single)
        return data

    def _write_options(self) -> dict[str, str]:
        """Return how the options and columns that are not the default ones are written in a call, by name."""
        written: dict[str, str] = {}
        for index, (option, value) in enumerate(self.options.items()):
            if option == self.factory.args_option:
                if value:
                    written[option] = ", ".join(map(repr, value))
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
    inner = reward.children
    if isinstance(reward, FunctionReward):
        yield reward
        if row is not None and "chooses" in reward.factory.traits:
            inner = reward.call_with_options(reward.factory.traits["chooses"], row=row)
    elif isinstance(reward, Sum) and paid_only:
        inner = [term for weight, term in reward.terms if weight >= 0]
    for child in inner:
        yield from find_functions(child, paid_only=paid_only, row=row)


def find_needed(function: FunctionReward, columns: Mapping[str, list[Any]], names: Iterable[str]) -> set[str]:
    """Return the columns of these names without which a function that takes all of them fails, or gives other scores."""

    def call(left_out: str = "") -> Any:
        kept = {name: values for name, values in columns.items() if name != left_out}
        try:
            return score_known_groups(function, kept, [*range(len(columns["completions"]))])
        except Exception as error:  # a function that misses a column raises errors of any type
            return type(error)

    whole = call()
    if not function.factory.takes_kwargs or call() != whole:
        return set()
    return {name for name in names if call(name) != whole}


def find_outcomes(rewards: Reward) -> list[FunctionReward]:
    """Return the functions that say which completions are right. A function of weight 0 does so only if there is no other."""
    trained = [function for function in find_functions(leave_out_witnesses(rewards)) if function.is_outcome]
    return trained or [function for function in find_functions(rewards) if function.is_outcome]


def find_answer_column(rewards: Reward, names: Iterable[str] = ()) -> str:
    """Return the column with the right answers, which outcomes or else own functions read: `solution` or another usual one."""
    functions = find_outcomes(rewards)
    columns = {column for one in functions for column in one.readers or one.columns.union(one.find_mentioned(names))}
    if not functions:
        own = (one for one in find_functions(leave_out_witnesses(rewards)) if one.factory.is_foreign)
        columns = {column for one in own for column in one.find_columns(names)}
    usual = [name for name in SOLUTION_COLUMNS if name in columns]
    return columns.pop() if len(columns) == 1 else [*usual, "solution"][0]


def merge_declared_forms(rewards: Reward, row: Mapping[str, Any]) -> Form:
    """Return the form that earns all rewards of a row in full, or raise [`ContradictoryForms`]."""
    functions = [*find_functions(rewards, paid_only=True, row=row)]
    for first, second in itertools.combinations(functions, 2):
        try:
            first.form.merge(second.form)
        except ContradictoryForms as error:
            raise ContradictoryForms(
                f"No completion can earn both '{first.name}' and '{second.name}': {error}. Change or remove one of them."
            ) from None
    return functools.reduce(Form.merge, [function.form for function in functions], Form())


def has_own_code(reward: Reward) -> bool:
    """Whether any function of an expression is not of this package."""
    return any(function.factory.is_foreign for function in find_functions(reward))


def without_asking(rewards: Reward) -> Reward | None:
    """Return the terms that ask no server and no person, or None if all of them ask."""
    kept = tuple((weight, unasked) for weight, reward in rewards.terms if not (unasked := stop_asking(reward)).asks)
    return add(kept) if kept else None


def stop_asking(reward: Reward) -> Reward:
    """Return the reward that decides first in one that asks only about what it leaves open, or else the reward itself."""
    option = reward.factory.traits.get("unasked") if isinstance(reward, FunctionReward) else None
    return stop_asking(reward.options[option]) if isinstance(reward, FunctionReward) and option else reward
