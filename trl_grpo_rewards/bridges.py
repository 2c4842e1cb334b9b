"""Rewards in other libraries: an expression as a rubric of OpenEnv, and the functions of a rubric of verifiers as rewards."""

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .batch import HOOKS, select_row
from .expressions import Reward, add
from .function_rewards import FunctionReward, RewardFactory
from .options import FrozenDict
from .scores import Score


if TYPE_CHECKING:
    from openenv.core.rubrics import Rubric

__all__ = ["as_rubric", "from_rubric"]


GROUP_DATA = {"states", "prompts", "completions", "answers", "tasks", "infos"}
"""Parameters by which verifiers knows a function of a whole group."""

ROW_DATA = {"prompt", "completion", "parser", "state"}
"""Parameters that a function of one completion may have, other than dataset columns."""

UNNAMED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def as_rubric(
    rewards: Reward, read: Callable[[Any, Any], Mapping[str, Any]], *, unscored: float | None = None
) -> "Rubric":
    """
    Return a rubric of [OpenEnv](https://github.com/meta-pytorch/OpenEnv) that pays what an expression of rewards pays.

    Args:
        rewards ([`Reward`]):
            Expression of rewards. It scores one completion at a time, so it cannot compare those of a group.
        read (`Callable`):
            Takes the action and the observation. Returns the `completion`, the `prompt` if a reward reads it, and the
            values of the dataset columns that the rewards read.
        unscored (`float`, *optional*):
            Score of a completion that the rewards cannot judge. OpenEnv's containers compute with it, so give a number
            where the rubric is in one.

    Returns:
        `openenv.core.rubrics.Rubric`:
            A call gives the total. Like OpenEnv's own judge, it is awaited if a reward is asynchronous and an event loop
            runs.

    Raises:
        `ValueError`: the rewards compare the completions of a group.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed
    >>> from trl_grpo_rewards.bridges import as_rubric

    >>> def read(action, observation):
    ...     return {"completion": action.message, "solution": observation.metadata["solution"]}

    >>> rubric = as_rubric(boxed(), read)  # doctest: +SKIP

    ```
    """
    from openenv.core.rubrics import Rubric

    if rewards.is_grouped:
        raise ValueError(
            f"A rubric scores one completion, but {rewards} compares the completions of a group. Leave out its grouped "
            f"rewards, and add them in the trainer."
        )

    class ExpressionRubric(Rubric):
        """An expression of rewards."""

        def forward(self, action: Any, observation: Any) -> Any:
            plural = {"prompt": "prompts", "completion": "completions"}
            row = read(action, observation)
            scores = rewards(**{plural.get(name, name): [value] for name, value in row.items()})
            return self.wait(scores) if inspect.iscoroutine(scores) else take(scores)

        async def wait(self, scores: Any) -> Score:
            return take(await scores)

    def take(scores: list[Score]) -> Score:
        return unscored if scores[0] is None else scores[0]

    return ExpressionRubric()


def from_rubric(rubric: Any) -> Reward:
    """
    Return the functions of a rubric of [verifiers](https://github.com/PrimeIntellect-ai/verifiers) as a sum of rewards.

    This reads the class `Rubric` of verifiers before 0.4. A function gets what it declares of `prompt`, `completion`,
    `parser`, the dataset's columns (such as `answer` and `info`) and a `state` with these values. A function of weight 0
    is logged and not trained on, as a metric in verifiers. Text cannot name these rewards, and they
    cannot be pickled.

    Args:
        rubric (`verifiers.Rubric`):
            Anything with lists `funcs` and `weights`, and optionally a `parser`.

    Raises:
        `ValueError`: the rubric has no functions, or one that scores a whole group.

    Example:

    ```python
    >>> from types import SimpleNamespace
    >>> from trl_grpo_rewards.bridges import from_rubric

    >>> def short(completion, answer):
    ...     return float(len(completion) <= len(answer))

    >>> rewards = from_rubric(SimpleNamespace(funcs=[short], weights=[0.5]))  # in place of a rubric
    >>> rewards(completions=["4", "four"], answer=["4", "4"])
    [0.5, 0.0]

    ```
    """
    if not rubric.funcs:
        raise ValueError(
            f"A rubric must have functions; {rubric!r} has none. Add one: rubric.add_reward_func(function)."
        )
    terms = zip(rubric.weights, rubric.funcs, strict=True)
    return add(tuple((float(weight), wrap_function(one, rubric)) for weight, one in terms))


def wrap_function(function: Callable[..., Any], rubric: Any) -> Reward:
    parameters = inspect.signature(function).parameters
    name = getattr(function, "__name__", "function")
    if found := GROUP_DATA.intersection(parameters):
        raise ValueError(
            f"A reward reads functions of one completion, but '{name}' has the parameter '{min(found)}' and scores a group. "
            f"Write it with @reward(grouped=True)."
        )
    takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters.values())

    async def score(completions: list, prompts: list | None = None, **columns: Any) -> list[Score]:
        given = {name: values for name, values in columns.items() if name not in HOOKS}
        given |= {"completion": completions, "prompt": prompts or [None] * len(completions)}
        scores = []
        for place in range(len(completions)):
            row = select_row(given, place)
            row |= {"state": dict(row), "parser": getattr(rubric, "parser", None)}
            result = function(**(row if takes_all else {name: row[name] for name in parameters if name in row}))
            scores.append(await result if inspect.isawaitable(result) else result)
        return scores

    score.__name__ = name
    plain = {one.name for one in parameters.values() if one.default is one.empty and one.kind not in UNNAMED}
    factory: RewardFactory[...] = RewardFactory(score, "batch", columns=lambda: plain - ROW_DATA)
    return FunctionReward(factory, FrozenDict({}))
