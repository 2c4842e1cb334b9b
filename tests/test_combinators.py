"""gate, clip, schedule and route: which rows are passed on, what is logged, and what happens to None."""

import asyncio

import pytest
from transformers import TrainerState

from trl_grpo_rewards import boxed, clip, gate, keywords, length, parse, reward, route, schedule, share, shortest, tags


@reward
def judged(completion: str, log_extra, *, seen: tuple = ()) -> float | None:
    log_extra("seen", True)
    return None if "?" in completion else len(completion) / 10


@reward
async def awaited(completion: str) -> float:
    await asyncio.sleep(0)
    return float(len(completion))


RIGHT, WRONG = r"\boxed{4}", r"\boxed{5}"


def test_gate_passes_on_only_the_open_rows():
    extra = {}
    scores = gate(judged(), by=boxed())(
        completions=[WRONG, RIGHT, "none", RIGHT + "?"], solution=["4"] * 4, log_extra=extra.__setitem__
    )
    assert scores == [0.0, 0.9, 0.0, None]
    assert extra == {"judged/seen": [None, True, None, True]}


def test_gate_opens_at_its_threshold():
    """More of `gate` is in `test_expressions.py`."""
    call = {"completions": [RIGHT, WRONG, "none"], "solution": ["4"] * 3}
    assert gate(awaited(), by=length(9, unit="chars"))(completions=[RIGHT, "short"]) == [9.0, 0.0]
    assert gate(boxed(), by=keywords(all=("a",))).columns == gate(judged(), by=boxed()).columns == {"solution"}
    assert gate(judged(), by=boxed(partial=0.5), at_least=0.5, otherwise=0.25)(**call) == [0.9, 0.9, 0.25]


def test_a_combinator_takes_the_name_of_its_inner_reward():
    for value, name in {
        gate(judged(), by=boxed()): "judged", gate(judged(name="quality"), by=boxed()): "quality",
        gate(judged(), by=boxed(), name="paid"): "paid", clip(gate(judged() + tags("a"), by=boxed()), high=1): "judged+tags",
        schedule(judged(), steps={0: 1.0}): "judged", route("task", {"math": boxed()}): "route",
    }.items():  # fmt: skip
        assert value.name == name


def test_clip_bounds_the_score_and_leaves_none():
    call = {"completions": ["a" * 20, "a" * 5, "?"]}
    assert clip(judged(), high=1.0)(**call) == [1.0, 0.5, None]
    assert clip(judged(), low=0.75)(**call) == [2.0, 0.75, None]
    assert clip(2 * judged() - keywords(any=("a",)), low=0, high=1)(completions=["a" * 20, "a"]) == [1.0, 0.0]
    assert clip(awaited(), high=2)(completions=["abc", "a"]) == [2.0, 1.0]


@pytest.mark.parametrize(
    "step, weight", [(0, 0.5), (10, 0.5), (15, 0.75), (20, 1.0), (30, 0.0), (40, -1.0), (41, 0.25), (10**6, 0.25)]
)
def test_schedule_is_linear_between_its_points(step, weight):
    value = schedule(judged(), steps=((10, 0.5), (20, 1.0), (40, -1.0), (41, 0.25)))
    scores = value(completions=["a" * 10, "?"], trainer_state=TrainerState(global_step=step))
    assert scores == [pytest.approx(weight), None]


def test_schedule_needs_the_step():
    value = boxed() + schedule(tags("think"), steps=[[0, 0.0], [100, 1.0]])
    with pytest.raises(ValueError, match="no 'trainer_state'. GRPOTrainer passes it, but AsyncGRPO"):
        value(completions=["a"], solution=["4"])


def test_schedule_takes_weights_by_step():
    by_step, points = schedule(judged(), steps={10: 0, 20: 1.0}), schedule(judged(), steps=((10, 0), (20, 1.0)))
    call = {"completions": ["a" * 10], "trainer_state": TrainerState(global_step=15)}
    assert by_step(**call) == points(**call) == [0.5]
    assert parse(str(by_step)) == by_step and str(by_step) == "schedule(judged(), steps={10: 0, 20: 1.0})"


def test_route_gives_each_row_to_the_reward_of_its_value():
    extra = {}
    by_task = route("task", {"math": boxed(), 7: judged()}, default=clip(judged(name="rest"), high=0.2))
    call = {"completions": [RIGHT, "abc", WRONG, "long enough", "?"], "task": ["math", 7, "math", None, "other"]}
    scores = by_task(**call, solution=["4", None, "4", None, None], log_extra=extra.__setitem__)
    assert scores == [1.0, 0.3, 0.0, 0.2, None]
    assert extra["route/judged/seen"] == [None, True, None, None, None] and len(extra) == 2
    assert extra["route/rest/seen"] == [None, None, None, True, True]
    assert by_task.columns == {"task", "solution"}


def test_route_without_a_default_knows_all_values():
    by_task = route("task", {"math": boxed(), "code": judged()})
    with pytest.raises(ValueError, match="no reward for task='maths', only for 'math', 'code'. Add one, or a default"):
        by_task(completions=[RIGHT, "abc"], task=["math", "maths"], solution=["4", "4"])


GROUPS = {"prompts": ["p"] * 4 + ["q"] * 4, "solution": ["4"] * 8, "completion_ids": [[1] * n for n in range(8)]}


def test_share_is_the_mean_of_each_group():
    completions = [RIGHT, WRONG, RIGHT, RIGHT, *[WRONG] * 3, RIGHT]
    assert share(boxed())(completions=completions, **GROUPS) == [0.75] * 4 + [0.25] * 4
    assert share(judged())(completions=["a" * 10, "?", "", "?", *["?"] * 4], **GROUPS) == [0.5] * 4 + [None] * 4


def test_brevity_is_paid_only_where_the_group_mostly_succeeds():
    brief = gate(shortest(boxed()), by=share(boxed()), at_least=0.5)
    scores = brief(completions=[RIGHT, RIGHT, WRONG, WRONG, *[WRONG] * 3, RIGHT], **GROUPS)
    assert scores == pytest.approx([0.5, 1 / 6, -1 / 6, -0.5, *[0.0] * 4])
    assert not share(boxed()).is_outcome and share(boxed()).is_grouped


CALLS = []


@reward
def costly(completion: str, log_extra) -> float:
    CALLS.append(completion)
    log_extra("length", len(completion))
    return float(len(completion))


@reward
async def costly_async(completion: str) -> float:
    CALLS.append(completion)
    await asyncio.sleep(0)
    return float(len(completion))


def test_equal_rewards_in_one_expression_are_computed_once():
    CALLS.clear()
    extra = []
    total = costly() + gate(tags("a"), by=costly(), at_least=2) + clip(costly(), high=1, name="clipped")
    call = {"completions": ["a", "bc"], "log_extra": lambda column, values: extra.append((column, values))}
    assert total(**call) == [2.0, 3.0]
    assert CALLS == ["a", "bc"] and extra == [("costly/length", [1, 2])]
    CALLS.clear()
    assert (costly_async() + clip(costly_async(), high=1, name="clipped"))(**call) == [2.0, 3.0] and CALLS == [
        "a",
        "bc",
    ]


@pytest.mark.parametrize("inner", [costly(), costly_async()])
def test_a_reward_that_decides_is_not_computed_again_for_the_rows_that_pass(inner):
    CALLS.clear()
    brief = gate(shortest(clip(inner, high=1)), by=inner, at_least=2)
    scores = brief(completions=["a", "bc", "de"], prompts=["p"] * 3, completion_ids=[[1], [1, 2], [1]])
    assert scores == [0.0, -0.5, 0.5]
    assert CALLS == ["a", "bc", "de"]


def test_the_same_columns_are_logged_in_every_call():
    seldom = gate(costly(), by=boxed(), name="seldom")
    logged = {"seldom/costly/length": [9]}, {"seldom/costly/length": [None]}
    for completion, expected in ((WRONG, {}), (RIGHT, logged[0]), (WRONG, logged[1])):
        extra = {}
        seldom(completions=[completion], solution=["4"], log_extra=extra.__setitem__)
        assert extra == expected
