"""Rewards as values: TRL can call them, and they can be added, multiplied by each other and multiplied by numbers."""

import asyncio
import contextlib
import functools
import logging
import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, TypeAlias, cast

from .batch import Batch
from .distributed import gather_and_score_groups
from .loops import await_all, run_in_own_loop, run_without_loop
from .scores import Score, ScoreTable, to_float


logger = logging.getLogger(__name__)
PlainFunction: TypeAlias = Callable[..., Sequence[Score] | Awaitable[Sequence[Score]]]  # a function that trl can call
LOGGED_COLUMNS: "dict[Reward, set[str]]" = defaultdict(set)  # columns that each reward has logged in this process


class Terms(list):
    """The rewards of a sum as a trainer gets them. It keeps this list, which shows whether their weights were left out."""

    weights: Sequence[float] = ()


class Reward(ABC):
    """
    A reward function with its options, or an expression of several rewards. TRL calls it to score completions.

    It takes the keyword arguments that TRL passes: `prompts`, `completions`, `completion_ids`, one list per dataset
    column, and `trainer_state`, `log_extra` and `log_metric` if the trainer offers them. It returns one number or None
    per completion. It can be passed in `reward_funcs`.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the reward in logs."""

    @property
    def terms(self) -> "tuple[tuple[float, Reward], ...]":
        """The terms that this reward is the sum of, as pairs of a weight and a reward."""
        return ((1.0, self),)

    @property
    @abstractmethod
    def children(self) -> "list[Reward]":
        """The rewards that this one is made of."""

    @abstractmethod
    async def _score(self, batch: Batch) -> list[Score]:
        """Return one score per row of the batch."""

    @functools.cached_property
    def functions(self) -> list[Any]:
        """The reward functions of this expression, and those among their options."""
        return [one for child in self.children for one in child.functions]

    @functools.cached_property
    def is_async(self) -> bool:
        """Whether scoring awaits anything. TRL runs asynchronous rewards concurrently."""
        return any(one.factory.is_async for one in self.functions)

    @functools.cached_property
    def is_grouped(self) -> bool:
        """Whether scoring needs whole groups, which are then gathered from all ranks."""
        return any(one.factory.kind == "group" for one in self.functions)

    @functools.cached_property
    def is_awaited(self) -> bool:
        """Whether TRL awaits this reward, in a separate thread. Ranks must not gather and users' plain functions not run there."""
        is_plain = any(one.factory.is_foreign and not one.factory.is_async for one in self.functions)
        return self.is_async and not (self.is_grouped or is_plain)

    @property
    def columns(self) -> frozenset[str]:
        """Dataset columns that scoring needs."""
        return frozenset().union(*(one.own_columns for one in self.functions))

    @property
    def asks(self) -> bool:
        """Whether scoring asks a server or a person, so that checks before training must not call it."""
        return any(one.factory.traits.get("asks") for one in self.functions)

    @property
    def is_outcome(self) -> bool:
        """Whether the reward says which completions are right: a score of at least 1 is right, at most 0 is wrong."""
        return False

    def list_alone(self) -> "list[Reward]":
        """Return the rewards in this one that read environments, so that only the rank of these can score them."""
        alone = [
            one for one in self.functions if any(parameter.name == "environments" for parameter in one.factory.data)
        ]
        for one in alone:
            if one.is_grouped:
                raise ValueError(
                    f"On several ranks, a grouped reward cannot read environments, because they never leave their rank; "
                    f"got {one}. Give it an option that is a reward instead, and pass environment('score')."
                )
        return alone

    @property
    def rewards(self) -> "list[Reward]":
        """The rewards of the terms as a new list, for `reward_funcs`."""
        terms = Terms(reward for _, reward in self.terms)
        terms.weights = self.weights
        return terms

    @property
    def weights(self) -> list[float]:
        """The weights of the terms as a new list, for `reward_weights`."""
        return [weight for weight, _ in self.terms]

    @property
    def __name__(self) -> str:  # TRL logs a reward as rewards/<__name__>/mean
        return self.name

    @property
    def __call__(self) -> Callable[..., Any]:  # TRL looks at `__call__` to see whether a reward is asynchronous
        if self.is_awaited:
            return AwaitedInLoop(Reward.call_async, self)
        return self.call_sync

    def call_sync(self, /, completions: list[Any], prompts: list[Any] | None = None, **columns: Any) -> list[Score]:
        """Score completions as TRL does, but without `await`, also while an event loop runs."""
        batch = Batch.from_call({"prompts": prompts, "completions": completions, **columns})
        if self.is_grouped:
            scores = gather_and_score_groups(
                batch, self.score_now, lambda part: {reward: reward.score_now(part) for reward in self.list_alone()}
            )
        else:
            scores = self.score_now(batch)
        self._hand_over_log(batch)
        return scores

    async def call_async(
        self, /, completions: list[Any], prompts: list[Any] | None = None, **columns: Any
    ) -> list[Score]:
        batch = Batch.from_call({"prompts": prompts, "completions": completions, **columns})
        scores = await self.score(batch)
        self._hand_over_log(batch)
        return scores

    def total(self, scores: Sequence[Score]) -> Score:
        """
        Return the weighted total of one completion from the score of each term, as TRL computes it.

        A None counts as 0 if another term has a score. If all terms are None, the total is None. Unlike in TRL, the score
        of a term of weight 0 does not count as one here, unless all weights are 0.
        """
        scored = [(weight, score) for weight, score in zip(self.weights, scores, strict=True) if score is not None]
        if not scored or (any(self.weights) and not any(weight for weight, _ in scored)):
            return None
        return sum(weight * score for weight, score in scored)

    def explain(self, completions: list[Any], prompts: list[Any] | None = None, **columns: Any) -> ScoreTable:
        """
        Score completions as a trainer would, and return a table with the score by each term, for reading.

        Args:
            completions (`list`):
                Completions, as text or as lists of messages.
            prompts (`list`, *optional*):
                Prompt of each completion. Grouped rewards need it: consecutive rows with equal prompts are a group.
            **columns (`list`):
                One value per completion for each dataset column that the rewards read.

        Returns:
            [`ScoreTable`]:
                The `scores` by each term, the `totals`, and what the rewards `logged`. A notebook shows it as a table.

        Example:

        ```python
        >>> from trl_grpo_rewards import boxed, tags

        >>> table = (boxed() + 0.2 * tags("think")).explain([r"\\boxed{4}", "4"], solution=["4", "4"])
        >>> table.scores
        {'boxed': [1.0, 0.0], 'tags': [0.0, 0.0]}
        >>> table.totals
        [1.0, 0.0]

        ```
        """
        logged: dict[str, list[Any]] = {}
        call = {"prompts": prompts, "completions": completions, "log_extra": logged.__setitem__, **columns}
        scores = {reward.name: reward.call_sync(**call) for reward in self.rewards}
        totals = [self.total(row) for row in zip(*scores.values(), strict=True)]
        return ScoreTable(str(self), completions, scores, totals, logged)

    def score_now(self, batch: Batch) -> list[Score]:
        """Score a batch without `await`. Plain functions are called in this thread."""
        run = run_in_own_loop if self.is_async else run_without_loop
        return run(self.score(batch))

    async def score(self, batch: Batch) -> list[Score]:
        """Return one score per row of the batch. A reward that occurs twice in an expression is computed once."""
        if self not in batch.scored:
            scoring = self._score(batch)
            batch.scored[self] = asyncio.ensure_future(scoring) if self.is_async else await scoring
        if not isinstance(scores := batch.scored[self], list):
            scores = batch.scored[self] = await scores
        return list(scores)

    async def _score_children(self, batch: Batch) -> list[list[Score]]:
        return await await_all((child.score(batch) for child in self.children), concurrent=self.is_async)

    def _hand_over_log(self, batch: Batch) -> None:
        """Pass the logged columns to TRL. Its table needs the same columns in every call, so None fills the gaps."""
        if trainer := getattr(batch.hooks.get("log_metric"), "__self__", None):
            warn_of_missing_weights(getattr(trainer, "reward_funcs", None), getattr(trainer, "args", None))
        LOGGED_COLUMNS[self].update(batch.logged)
        for column in sorted(LOGGED_COLUMNS[self]) if "log_extra" in batch.hooks else ():
            batch.hooks["log_extra"](column, batch.logged[column])

    def __add__(self, other: "Reward | PlainFunction") -> "Reward":
        return combine_operands(lambda one, two: add(one.terms + two.terms), self, other)

    def __radd__(self, other: "int | PlainFunction") -> "Reward":
        if isinstance(other, int) and other == 0:  # so that sum(...) works
            return self
        return combine_operands(lambda one, two: add(one.terms + two.terms), other, self)

    def __sub__(self, other: "Reward | PlainFunction") -> "Reward":
        return combine_operands(lambda one, two: one + -two, self, other)

    def __rsub__(self, other: "PlainFunction") -> "Reward":
        return -self + other

    def __mul__(self, factor: "float | Reward | PlainFunction") -> "Reward":
        if not isinstance(factor, Real):
            return combine_operands(multiply, self, factor)
        products = tuple((to_float(factor) * weight, reward) for weight, reward in self.terms)
        for weight, reward in products:
            if not math.isfinite(weight):
                raise ValueError(f"The weight of '{reward}' must be finite; got {weight}. Choose a smaller weight.")
        return add(products)

    def __rmul__(self, factor: "float | PlainFunction") -> "Reward":
        if isinstance(factor, Real):
            return self * factor
        return combine_operands(multiply, factor, self)

    def __neg__(self) -> "Reward":
        return -1 * self

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return str(self)


class AwaitedInLoop(functools.partial[Any]):
    """The asynchronous call of a reward: a coroutine inside an event loop, where TRL awaits it; else it runs itself."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        coroutine = super().__call__(*args, **kwargs)
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop()
            return coroutine
        return run_in_own_loop(coroutine)


@dataclass(frozen=True, repr=False)
class Sum(Reward):
    """A weighted sum, made by `+`, `-` and `*`. Called as one function, it returns the total that TRL would compute."""

    summands: tuple[tuple[float, Reward], ...]

    @property
    def name(self) -> str:
        return "+".join(reward.name for reward in self.rewards)

    @property
    def terms(self) -> tuple[tuple[float, Reward], ...]:
        return self.summands

    @property
    def children(self) -> list[Reward]:
        return self.rewards

    async def _score(self, batch: Batch) -> list[Score]:
        return [self.total(row) for row in zip(*await self._score_children(batch), strict=True)]

    def __str__(self) -> str:
        text = "".join(
            f" {'-' if weight < 0 else '+'} {format_term(abs(weight), reward)}" for weight, reward in self.terms
        )
        if text.startswith(" + "):
            return text.removeprefix(" + ")
        return f"-{text[3:]}"


@dataclass(frozen=True, repr=False)
class Product(Reward):
    """
    A product of rewards, made by `*`, of which none is a product or has a weight. Its score is None if that of a factor is.

    It is one term of a sum. All factors are computed for every row; [`gate`] computes a reward only where another pays.
    """

    factors: tuple[Reward, ...]

    @property
    def name(self) -> str:
        return "*".join(f"({factor.name})" if "+" in factor.name else factor.name for factor in self.factors)

    @property
    def children(self) -> list[Reward]:
        return [*self.factors]

    @property
    def is_outcome(self) -> bool:
        return all(factor.is_outcome for factor in self.factors)

    async def _score(self, batch: Batch) -> list[Score]:
        rows = zip(*await self._score_children(batch), strict=True)
        return [None if None in row else math.prod(row) for row in rows]

    def __str__(self) -> str:
        return " * ".join(f"({factor})" if isinstance(factor, Sum) else str(factor) for factor in self.factors)


def format_term(weight: float, reward: Reward) -> str:
    """Return a term as text. A product that begins with a sum is in brackets, or the weight would be one of the sum."""
    text = str(reward)
    if isinstance(reward, Product) and isinstance(reward.factors[0], Sum):
        text = f"({text})"
    return text if weight == 1 else f"{weight!r} * {text}"


def add(terms: tuple[tuple[float, Reward], ...]) -> Reward:
    """Return the sum of the terms. A single reward with weight 1 is returned unchanged."""
    if len(terms) == 1 and terms[0][0] == 1:
        return terms[0][1]
    check_names([reward.name for _, reward in terms])
    return Sum(terms)


def multiply(*rewards: Reward) -> Reward:
    """Return the product of the rewards. The weight of a single term becomes a weight of the product."""
    product_weight = 1.0
    factors: list[Reward] = []
    for reward in rewards:
        if len(reward.terms) == 1:
            ((weight, reward),) = reward.terms
            product_weight *= weight
        factors += reward.factors if isinstance(reward, Product) else [reward]
    return product_weight * Product(tuple(factors))


def combine_operands(operation: Callable[..., Reward], *operands: Any) -> Reward:
    """Return what an operator makes of its operands, of which one is a reward. Others may become one."""
    (place,) = [one for one in operands if isinstance(one, Reward)][:1]
    rewards = [one if isinstance(one, Reward) else read_operand(one, place) for one in operands]
    if NotImplemented in rewards:
        return cast(Reward, NotImplemented)
    return operation(*rewards)


@functools.singledispatch
def read_operand(operand: Any, place: Reward | str) -> Any:
    """Return the reward that an operand, or an option that is described, becomes. What cannot become one is left to Python."""
    if isinstance(operand, Real):
        raise TypeError(
            f"A number cannot be added to a reward; got {operand}. It would be the same for all completions of a group, so it "
            f"would change no advantage. Leave it out: {place}."
        )
    return NotImplemented


def leave_out_witnesses(reward: Reward) -> Reward:
    """Return the terms that train, or the reward itself if all weights are 0."""
    terms = tuple((weight, term) for weight, term in reward.terms if weight)
    return add(terms) if terms else reward


def find_first_outcome(functions: Sequence[Any], weights: Sequence[float], own: int | None = None) -> int:
    """Return the index of the first function that is an outcome, such as `own`, else of the first; weight 0 comes last."""

    def rank(place: int) -> tuple[bool, bool]:
        return not is_outcome(functions[place]) and place != own, weights[place] == 0

    return min(range(len(functions)), key=rank, default=0)


def is_outcome(function: Any) -> bool:
    """Whether a reward function says which completions are right."""
    return isinstance(function, Reward) and function.is_outcome


def check_names(names: list[str]) -> None:
    """Check that rewards have different names. TRL silently averages the metrics of rewards with the same name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"Rewards must have different names. Two rewards are named '{repeated[0]}'; the names are {', '.join(names)}. "
            f"Rename one of them: write name='other' into its call. A function without options is named by its def."
        )


def score_known_groups(reward: Reward, arguments: dict[str, Any], groups: list[int]) -> list[Score]:
    """Score the rows of a call outside a trainer, given the group of each row."""
    return reward.score_now(replace(Batch.from_call(arguments), groups=groups))


def warn_of_missing_weights(functions: Any, args: Any) -> None:
    """Warn once if a trainer was given the rewards of a sum without their weights."""
    if not isinstance(functions, Terms) or args.reward_weights is not None:
        return
    if {*functions.weights} <= {1.0}:
        return
    if args.process_index == 0:
        logger.warning(
            f"The rewards are the terms of a sum with the weights {functions.weights}, but reward_weights is not set, so "
            f"each has the weight 1. Set reward_weights={functions.weights}, or pass the sum itself as reward_funcs."
        )
    functions.weights = ()
