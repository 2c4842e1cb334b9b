"""gate and clip: which rows are passed on, and what happens to None."""

import asyncio

import pytest

from trl_grpo_rewards import boxed, clip, gate, keywords, length, reward, tags


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


def test_gate_is_none_where_its_condition_is():
    assert gate(judged(), by=boxed())(completions=[RIGHT, RIGHT], solution=[None, "4"]) == [None, 0.9]


def test_gate_calls_nothing_when_every_row_is_closed():
    @reward
    def never(completion: str) -> float:
        raise AssertionError("called")

    assert gate(never(), by=boxed(), otherwise=-1)(completions=[WRONG] * 2, solution=["4"] * 2) == [-1.0, -1.0]


def test_gate_opens_at_its_threshold():
    call = {"completions": [RIGHT, WRONG, "none"], "solution": ["4"] * 3}
    assert gate(awaited(), by=boxed(partial=0.5), at_least=0.5, otherwise=0.25).is_async
    assert gate(judged(), by=boxed(partial=0.5), at_least=0.5, otherwise=0.25)(**call) == [0.9, 0.9, 0.25]


def test_gate_takes_the_name_of_what_it_guards():
    assert gate(judged(), by=boxed()).name == "judged"
    assert gate(judged(name="quality"), by=boxed()).name == "quality"
    assert gate(judged(), by=boxed(), name="paid").name == "paid"
    assert clip(gate(judged() + tags("a"), by=boxed()), high=1).name == "judged+tags"


def test_gates_nest_and_keep_rows_aligned():
    inner = gate(judged(), by=keywords(any=("yes",)), otherwise=0.5)
    extra = {}
    call = {"completions": [f"no {RIGHT}", WRONG, f"yes {RIGHT}"], "solution": ["4"] * 3}
    assert gate(inner, by=boxed())(**call, log_extra=extra.__setitem__) == [0.5, 0.0, 1.3]
    assert extra == {"judged/seen": [None, None, True]}


def test_gate_awaits_either_side():
    assert asyncio.run(gate(awaited(), by=length(9, unit="chars"))(completions=[RIGHT, "short"])) == [9.0, 0.0]
    assert asyncio.run(gate(length(9, unit="chars"), by=awaited())(completions=[RIGHT, ""])) == [1.0, 0.0]


def test_gate_needs_the_columns_of_both():
    assert gate(boxed(), by=keywords(all=("a",))).columns == gate(judged(), by=boxed()).columns == {"solution"}


def test_clip_bounds_the_score_and_leaves_none():
    call = {"completions": ["a" * 20, "a" * 5, "?"]}
    assert clip(judged(), high=1.0)(**call) == [1.0, 0.5, None]
    assert clip(judged(), low=0.75)(**call) == [2.0, 0.75, None]
    assert clip(2 * judged() - keywords(any=("a",)), low=0, high=1)(completions=["a" * 20, "a"]) == [1.0, 0.0]
    assert asyncio.run(clip(awaited(), high=2)(completions=["abc", "a"])) == [2.0, 1.0]


@pytest.mark.parametrize(
    "bounds, message", [({}, "neither 'low' nor 'high'"), ({"low": 1, "high": 0}, "low=1 above high=0. Exchange them")]
)
def test_clip_checks_its_bounds(bounds, message):
    with pytest.raises(ValueError, match=message):
        clip(judged(), **bounds)
