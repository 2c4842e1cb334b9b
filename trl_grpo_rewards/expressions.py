"""Rewards as values: what TRL calls, and arithmetic on it.

A [`Reward`] is frozen, comparable, hashable and picklable, and prints as the expression that builds it. Its logic is
written once, in `score`, and reached by two doors: TRL's synchronous call, or a coroutine where anything in it awaits.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import get_close_matches
from numbers import Real
from typing import Any, TypeAlias

from .batch import Batch
from .distributed import score_groups


SOLUTION_COLUMNS = ("solution", "answer", "final_answer", "ground_truth", "gold", "target", "label")
"""Usual names of the column with the right answer, to guess what a dataset calls it."""

Score: TypeAlias = float | None
"""A number, or None where the completion could not be judged."""


COLUMNS_LOGGED: "dict[Reward, set[str]]" = defaultdict(set)
"""Columns that each reward has logged in this process."""


class Reward(ABC):
    """
    A reward: scores every completion of a batch, as TRL calls it.

    Called with TRL's keyword arguments (`prompts`, `completions`, `completion_ids`, one list per dataset column, and
    where the trainer offers them `trainer_state`, `log_extra` and `log_metric`), it returns one number or None per
    completion. `reward_funcs` takes it as it is.
    """

    name: str
    terms: "tuple[tuple[float, Reward], ...]"

    @abstractmethod
    async def _score(self, batch: Batch) -> list[Score]:
        """One score per row of the batch."""

    @property
    @abstractmethod
    def is_async(self) -> bool:
        """Whether scoring awaits anything, so that TRL runs it beside the other asynchronous rewards."""

    @property
    @abstractmethod
    def is_grouped(self) -> bool:
        """Whether scoring needs whole groups, so that it must gather them from all ranks."""

    @property
    @abstractmethod
    def columns(self) -> frozenset[str]:
        """Dataset columns that scoring needs."""

    @property
    @abstractmethod
    def is_outcome(self) -> bool:
        """Whether it says which completions are right: a score of at least 1 is right, one of at most 0 is wrong."""

    @property
    @abstractmethod
    def asks(self) -> bool:
        """Whether scoring asks a server or a person, so that checks before training must not call it."""

    @property
    def rewards(self) -> "list[Reward]":
        """The terms as a new list, for `reward_funcs`."""
        return [reward for _, reward in self.terms]

    @property
    def weights(self) -> list[float]:
        """The weights of the terms as a new list, for `reward_weights`."""
        return [weight for weight, _ in self.terms]

    @property
    def __name__(self) -> str:  # TRL logs a reward as rewards/<__name__>/mean
        return self.name

    @property
    def __call__(self) -> Callable:  # TRL looks at `__call__` to tell the two kinds apart
        # TRL awaits rewards in a thread of its own, where ranks must not gather: a grouped one is never awaited there
        return self._call_async if self.is_async and not self.is_grouped else self._call

    def _call(self, completions: list, prompts: list | None = None, **columns: Any) -> list[Score]:
        batch = Batch.from_call({"prompts": prompts, "completions": completions, **columns})
        run = in_own_loop if self.is_async else finished
        if self.is_grouped:
            scores = score_groups(batch, lambda part: run(self.score(part)))
        else:
            scores = run(self.score(batch))
        self._hand_over(batch)
        return scores

    async def _call_async(self, completions: list, prompts: list | None = None, **columns: Any) -> list[Score]:
        batch = Batch.from_call({"prompts": prompts, "completions": completions, **columns})
        scores = await self.score(batch)
        self._hand_over(batch)
        return scores

    def total(self, scores: Sequence[Score]) -> Score:
        """
        Return the weighted total of one completion from the score of each term, as TRL forms it.

        A None counts as 0 if another term has a score. The total is None if every term is.
        """
        if all(score is None for score in scores):
            return None
        return sum(weight * score for weight, score in zip(self.weights, scores, strict=True) if score is not None)

    async def score(self, batch: Batch) -> list[Score]:
        """One score per row of the batch; a reward that occurs twice in an expression is computed once."""
        if self not in batch.scored:
            scoring = self._score(batch)
            batch.scored[self] = asyncio.ensure_future(scoring) if self.is_async else await scoring
        scores = batch.scored[self]
        return list(await scores if self.is_async else scores)

    def _hand_over(self, batch: Batch) -> None:
        """Give TRL what was logged: the same columns in every call, since its table is made of whole columns."""
        COLUMNS_LOGGED[self].update(batch.log.columns)
        for column in sorted(COLUMNS_LOGGED[self]) if "log_extra" in batch.hooks else ():
            batch.hooks["log_extra"](column, batch.log.columns[column])

    def __add__(self, other: Any) -> "Reward":
        return add(self.terms + other.terms) if isinstance(other, Reward) else NotImplemented

    def __radd__(self, other: Any) -> "Reward":
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum(...) works

    def __sub__(self, other: Any) -> "Reward":
        return self + -other if isinstance(other, Reward) else NotImplemented

    def __mul__(self, factor: Any) -> "Reward":
        if not isinstance(factor, Real):
            return NotImplemented
        if not math.isfinite(factor):
            raise ValueError(f"The weight of '{self}' is {factor}. Give it a finite weight.")
        return add(tuple((float(factor) * weight, reward) for weight, reward in self.terms))

    __rmul__ = __mul__

    def __neg__(self) -> "Reward":
        return -1 * self

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class Sum(Reward):
    """
    A weighted sum of rewards; made by `+`, `-` and `*`.

    As one callable it gives what TRL computes from its `rewards` and `weights`: a None beside a score counts as 0, and
    the sum is None where every term is.
    """

    terms: tuple[tuple[float, Reward], ...]

    @property
    def name(self) -> str:
        return "+".join(reward.name for reward in self.rewards)

    @property
    def is_async(self) -> bool:
        return any(reward.is_async for reward in self.rewards)

    @property
    def is_grouped(self) -> bool:
        return any(reward.is_grouped for reward in self.rewards)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset().union(*(reward.columns for reward in self.rewards))

    @property
    def is_outcome(self) -> bool:
        return False  # a term of it may be

    @property
    def asks(self) -> bool:
        return any(reward.asks for reward in self.rewards)

    async def _score(self, batch: Batch) -> list[Score]:
        scores = await together((reward.score(batch) for reward in self.rewards), concurrent=self.is_async)
        return [self.total(row) for row in zip(*scores, strict=True)]

    def __str__(self) -> str:
        text = "".join(
            f" {'-' if weight < 0 else '+'} {_scaled(abs(weight), reward)}" for weight, reward in self.terms
        )
        return text.removeprefix(" + ") if text.startswith(" + ") else f"-{text[3:]}"


def _scaled(weight: float, reward: Reward) -> str:
    return str(reward) if weight == 1 else f"{weight!r} * {reward}"


def add(terms: tuple[tuple[float, Reward], ...]) -> Reward:
    """The sum of the terms; the reward itself where it stands alone with weight 1."""
    if len(terms) == 1 and terms[0][0] == 1:
        return terms[0][1]
    check_names([reward.name for _, reward in terms])
    return Sum(terms)


def check_names(names: list[str]) -> None:
    """TRL averages the metrics of rewards of one name without a word."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(
            f"Two rewards are named '{twice[0]}'; together they are {', '.join(names)}. "
            f"Give one of them another name: {twice[0]}(..., name='other')."
        )


def missing_column(reward: str, column: str, available: Iterable[str]) -> ValueError:
    """The error for a reward that needs what is not there."""
    available = sorted(available)
    usual = SOLUTION_COLUMNS if column == "solution" else ()
    close = [*(name for name in usual if name in available), *get_close_matches(column, available, n=1)]
    return ValueError(
        f"Reward '{reward}' needs the column '{column}'; there is {', '.join(map(repr, available)) or 'none'}. "
        + (f"Rename it: dataset.rename_column('{close[0]}', '{column}')." if close else "Add it to the dataset.")
    )


def finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Result of a coroutine in which nothing awaits the outside, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise RuntimeError("A synchronous reward awaited something. Declare its function with `async def`.")


def score_known_groups(reward: Reward, arguments: dict[str, Any], groups: list[int]) -> list[Score]:
    """Scores of a call outside a trainer, of which the group of each row is known."""
    return in_own_loop(reward.score(replace(Batch.from_call(arguments), groups=groups)))


def in_own_loop(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Result of a coroutine, from an event loop in a thread of its own: this one may have a loop that runs already."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


async def together(scoring: Iterable[Awaitable], *, concurrent: bool) -> list:
    """Await all, at once where an event loop runs; one by one is lazy, so that an error leaves nothing unawaited."""
    return await asyncio.gather(*scoring) if concurrent else [await one for one in scoring]
