"""Rewards in other libraries: rubrics of OpenEnv and of verifiers, with the real packages where they are installed."""

import asyncio
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from trl_grpo_rewards import boxed, reward, shortest, tags
from trl_grpo_rewards.bridges import as_rubric, from_rubric


@reward
async def slowly(completion: str, solution: str) -> float:
    await asyncio.sleep(0.001)
    return float(solution in completion)


def read(action, observation):
    return {"completion": action.message, "prompt": "What?", "solution": observation.metadata["solution"]}


RIGHT = SimpleNamespace(message=r"<think>a</think>\boxed{4}"), SimpleNamespace(metadata={"solution": "4"})
UNREADABLE = RIGHT[0], SimpleNamespace(metadata={"solution": None})
needs_openenv = pytest.mark.skipif(
    find_spec("openenv") is None or find_spec("openenv.core") is None, reason="openenv is not installed"
)


@needs_openenv
@pytest.mark.filterwarnings("ignore")  # of what OpenEnv imports
def test_an_expression_is_a_rubric_of_openenv():
    from openenv.core.rubrics import Gate, Rubric, Sequential, WeightedSum

    rubric = as_rubric(boxed() + 0.5 * tags("think"), read)
    assert isinstance(rubric, Rubric) and rubric(*RIGHT) == rubric.last_score == 1.5
    assert as_rubric(boxed(), read)(*UNREADABLE) is None
    known = as_rubric(boxed(), read, unscored=0.0)
    assert WeightedSum([known, rubric], [0.5, 0.5])(*RIGHT) == 1.25
    assert Gate(known)(*UNREADABLE) == 0.0 and Sequential(known, as_rubric(tags("think"), read))(*RIGHT) == 1.0


@needs_openenv
@pytest.mark.filterwarnings("ignore")
def test_an_asynchronous_expression_is_awaited_as_openenv_awaits_its_judge():
    from openenv.core.rubrics import WeightedSum

    rubric = as_rubric(boxed() + slowly(), read)

    async def inside():
        both = await WeightedSum([rubric, as_rubric(boxed(), read)], [0.5, 0.5])(*RIGHT)
        return await rubric(*RIGHT), both

    assert asyncio.run(inside()) == (2.0, 1.5) and rubric.last_score == 2.0
    assert rubric(*RIGHT) == 2.0  # outside of an event loop


@needs_openenv
@pytest.mark.filterwarnings("ignore")
def test_a_rubric_cannot_compare_a_group():
    with pytest.raises(
        ValueError, match="scores one completion, but .*shortest.* compares the completions of a group. Leave"
    ):
        as_rubric(boxed() + shortest(boxed()), read)


def right(completion, answer, **kwargs):
    return float(answer in completion)


async def brief(completion, state):
    return 1.0 if len(state["completion"]) == len(completion) < 5 else 0.0


def knows_parser(parser, info):
    return float(parser is not None and info["level"] == 1)


COLUMNS = {"completions": ["it is 4", "5"], "answer": ["4", "4"], "info": [{"level": 1}, {"level": 2}]}


def test_the_functions_of_a_rubric_are_terms():
    rewards = from_rubric(SimpleNamespace(funcs=[right, brief, knows_parser], weights=[1, 0.5, 0], parser=object()))
    assert [term.name for term in rewards.rewards] == ["right", "brief", "knows_parser"]
    assert rewards.weights == [1.0, 0.5, 0.0]
    assert rewards(**COLUMNS, log_metric=print, trainer_state=None) == [1.0, 0.5]
    assert (boxed() + rewards).explain(**COLUMNS, solution=["4"] * 2).scores["knows_parser"] == [1.0, 0.0]
    assert from_rubric(SimpleNamespace(funcs=[right], weights=[1.0])).name == "right"


def test_a_column_that_a_function_needs_is_known():
    def equal(completion, answer, state, hint=None, **columns):
        return float(completion == answer)

    rewards = from_rubric(SimpleNamespace(funcs=[equal], weights=[1.0]))
    assert rewards.columns == {"answer"} and rewards(completions=["4"], answer=["4"]) == [1.0]
    with pytest.raises(ValueError, match="Reward 'equal' needs the column 'answer'; found 'solution'"):
        rewards(completions=["4"], solution=["4"])


def test_what_is_no_rubric_of_single_completions_is_refused():
    with pytest.raises(ValueError, match="must have functions; .* has none. Add one"):
        from_rubric(SimpleNamespace(funcs=[], weights=[]))
    with pytest.raises(
        ValueError, match="'all_of' has the parameter 'completions' and scores a group. Write it with @reward"
    ):
        from_rubric(SimpleNamespace(funcs=[lambda completions: [], all_of][1:], weights=[1.0]))


def all_of(completions):
    return [1.0] * len(completions)


@pytest.mark.filterwarnings("ignore")  # of what verifiers imports
def test_a_rubric_of_verifiers_is_read():
    verifiers = pytest.importorskip("verifiers", reason="verifiers is not installed")
    if not hasattr(verifiers, "Rubric"):
        pytest.skip("this version of verifiers has no rubrics")
    rubric = verifiers.Rubric(funcs=[right, brief], weights=[1.0, 0.5])
    rubric.add_metric(knows_parser)
    rewards = from_rubric(rubric)
    assert rewards(**COLUMNS) == [1.0, 0.5] and rewards.weights == [1.0, 0.5, 0.0]

    async def score(completion, answer, info):
        state = {"prompt": "?", "completion": completion, "answer": answer, "info": info, "task": "", "input": {}}
        state |= {"timing": {"scoring_ms": 0.0, "total_ms": 0.0}, "trajectory": []}
        return [await rubric._call_individual_reward_func(one, state) for one in rubric.funcs]

    theirs = [asyncio.run(score(*row)) for row in zip(*COLUMNS.values(), strict=True)]
    ours = [term(**COLUMNS) for term in rewards.rewards]
    assert [list(row) for row in zip(*ours, strict=True)] == theirs
