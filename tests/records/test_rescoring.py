"""Recorded completions under other rewards: scores, dead groups, and differences, counted by hand."""

import asyncio
import math
from dataclasses import replace

import pytest

from trl_grpo_rewards import keywords, reward
from trl_grpo_rewards.records.dead_groups import Rule
from trl_grpo_rewards.records.files import Group
from trl_grpo_rewards.records.rescoring import GROUPS_AT_ONCE, MAX_EXAMPLES, Tally, measure_surprise, rescore


FLYING = {"now": 0, "most": 0}


@reward
def read_value(completion: str) -> float | None:
    return None if completion == "-" else float(completion)


@reward
async def await_value(completion: str) -> float:
    FLYING["now"] += 1
    FLYING["most"] = max(FLYING.values())
    await asyncio.sleep(0.01)
    FLYING["now"] -= 1
    return float(completion)


@reward(grouped=True)
def is_last(completions: list[str]) -> list[float]:
    return [float(text == max(completions)) for text in completions]


@reward
def step_before(completion: str, trainer_state) -> float:
    return float(trainer_state.global_step)


def group(*texts, step=None, **recorded) -> Group:
    return Group({"completions": [*texts], "prompts": ["q"] * len(texts)}, step, recorded)


def score(rewards, *groups) -> list:
    return list(rescore(rewards, groups))


def test_terms_are_scored_by_themselves_and_summed_with_their_weights():
    (one,) = score(read_value() - 0.5 * is_last(), group("1", "2", "-"))
    assert one.scores == {"read_value": [1.0, 2.0, None], "is_last": [0.0, 1.0, 0.0]}
    assert one.totals == [1.0, 1.5, 0.0] and one.seconds.keys() == one.scores.keys()


def test_groups_of_one_prompt_stay_apart():
    # a trainer would take the four completions of equal prompts for one group
    assert [one.scores["is_last"] for one in score(is_last(), group("1", "2"), group("8", "9"))] == [[0.0, 1.0]] * 2


def test_a_reward_sees_the_step_before_the_one_that_was_taken():
    assert [one.totals for one in score(step_before(), group("x", step=1), group("x", step=5))] == [[0.0], [4.0]]


def test_groups_are_awaited_together_and_arrive_in_order():
    groups = [group(str(place)) for place in range(GROUPS_AT_ONCE + 2)]
    scored = score(await_value(), *groups)
    assert [one.totals for one in scored] == [[float(place)] for place in range(GROUPS_AT_ONCE + 2)]
    assert FLYING == {"now": 0, "most": GROUPS_AT_ONCE}


def test_the_most_surprising_rows_are_kept():
    tally = Tally()
    for one in score(read_value(), *(group("0", str(gap)) for gap in range(MAX_EXAMPLES))):
        tally.add(one)
    kept = sorted(surprise for surprise, *_ in tally.surprising)
    assert kept == sorted([gap for gap in range(MAX_EXAMPLES) for _ in range(2)])[-MAX_EXAMPLES:]


def test_a_surprise_is_the_distance_from_the_mean_of_the_others():
    assert measure_surprise([1.0, 0.0, 0.0, None]) == [1.0, 0.5, 0.5, 0.0]
    assert measure_surprise([1.0, None]) == [0.0, 0.0]


def test_a_score_is_as_recorded_to_the_precision_of_float32():
    recorded, tally = [math.ldexp(13421773, -27), 0.1, None, 0.0, None], Tally()
    (one,) = score(read_value(), group("0.1", "0.1", "-", "-", "0", read_value=recorded))
    tally.add(one)
    assert tally.matches == {"read_value": (2, 5)}


def test_a_difference_counts_rows_both_ways():
    old = score(read_value(), group("1", "2", "-", "3"), group("1", "1"))
    new = score(
        read_value() + keywords(all=("2",)) - keywords(all=("3",), name="other"),
        group("1", "2", "5", "3"),
        group("1", "1"),
    )
    tally = Tally()
    for one, other in zip(new, old, strict=True):
        tally.add(one, other)
    assert tally.changes == {"equal": 3, "more": 2, "less": 1} and (tally.groups, tally.dead_before) == (2, 1)
    examples = {way: [(then, now) for then, now, *_ in rows] for way, rows in tally.examples.items()}
    assert examples == {"more": [(2.0, 3.0)], "less": [(3.0, 2.0)]}  # one example of a group


@reward
def read_length(completion: str) -> float:
    return float(len(completion))


def test_a_completion_that_only_terms_of_weight_0_score_is_unscored():
    """So is it in the trainer, also if the outcome has weight 0."""
    for dead_by, expected in (("total", True), ("outcome", True)):
        rule = Rule("read_length", dead_by)
        (one,) = score(read_value() + 0 * read_length(), replace(group("-", "11"), rule=rule))
        assert one.totals == [None, 11.0] and one.is_dead is expected
        assert one.scores["read_length"] == [1.0, 2.0]
    (one,) = score(0 * read_value() + read_length(), replace(group("1", "1.0"), rule=Rule(dead_by="outcome")))
    assert not one.is_dead  # without an outcome among the terms: the first that has a weight


@pytest.mark.parametrize(
    "rule, texts, is_dead",
    [
        (Rule(), ("1", "1.0"), False),
        (Rule(dead_by="outcome"), ("1", "1.0"), True),  # without an outcome among the terms: the first
        (Rule("read_length", "outcome"), ("1", "1.0"), False), (Rule("gone", "outcome"), ("1", "1.0"), True),
        (Rule(dead_by="each"), ("1", "1.0"), True),  # the length has weight 0
        (Rule(tolerance=5.0), ("1", "1.0"), True), (Rule(), ("-", "11"), False),
        (Rule(unscored="row"), ("-", "11"), True),
    ],
)  # fmt: skip
def test_a_group_is_dead_by_the_rule_of_its_run(rule, texts, is_dead):
    weight = 0.0 if rule.dead_by == "each" else 0.5
    (one,) = score(read_value() + weight * read_length(), replace(group(*texts), rule=rule))
    assert one.is_dead is is_dead
