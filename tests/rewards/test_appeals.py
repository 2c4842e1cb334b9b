"""appeal: which rows are asked, what their scores become, what it costs, and how a model could buy a verdict."""

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import appeal, boxed, exact, gate, judge, keywords, parse, reward, route, share, tags
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.checks.dry_run import DRY_RUN
from trl_grpo_rewards.demo import arithmetic


ASKED = []


@reward(asks=True)
def kind(completion: str) -> float | None:
    """Finds everything right that does not say otherwise."""
    ASKED.append(completion)
    return None if "down" in completion else 0.5 if "half" in completion else 0.0 if "wrong" in completion else 1.0


@reward
def rule(completion: str) -> float | None:
    return {"n": None, "r": 1.0, "p": 0.25, "m": -1.0}.get(completion[:1], 0.0)


def box(text):
    return rf"\boxed{{{text}}}"


def score(value, completions, solution=None):
    """Return the scores, the metrics and the fates of one call."""
    ASKED.clear()
    metrics, extra = {}, {}
    columns = {} if solution is None else {"solution": solution}
    hooks = {"log_metric": metrics.__setitem__, "log_extra": extra.__setitem__}
    scores = value(completions=completions, **columns, **hooks)
    return scores, metrics, extra[f"{value.name}/appeal"]


def test_only_what_the_rule_leaves_open_is_asked():
    scores, metrics, fates = score(appeal(rule(), to=kind()), ["none", "right", "part", "zero", "minus", "n wrong"])
    assert scores == [1.0, 1.0, 0.25, 0.0, -1.0, 0.0] and ASKED == ["none", "n wrong"]
    assert fates == ["decided", None, None, None, None, "decided"]
    assert metrics == {f"rule/appeal/{name}": 0 for name in ("unanswered", "overturned", "upheld")} | {
        "rule/appeal/asked": 2
    }


def test_a_refusal_is_overturned_only_by_a_score_that_says_right():
    completions = ["zero", "minus", "z half", "z wrong", "z down", "n half", "n down", "part"]
    scores, metrics, fates = score(appeal(rule(), to=kind(), refused=True), completions)
    assert scores == [1.0, 1.0, 0.0, 0.0, 0.0, 0.5, None, 0.25] and ASKED == completions[:-1]
    assert fates == ["overturned"] * 2 + ["upheld"] * 2 + ["unanswered", "decided", "unanswered", None]
    counts = {"asked": 7, "unanswered": 2, "overturned": 2, "upheld": 2, "wrong_refusals": 0.5}
    assert metrics == {f"rule/appeal/{name}": value for name, value in counts.items()}
    lenient = appeal(rule(), to=kind(), refused=True, at_least=0.5)
    assert score(lenient, completions)[0] == [1.0, 1.0, 0.5, 0.0, 0.0, 0.5, None, 0.25]


@given(
    st.lists(st.sampled_from(["none", "right", "zero", "minus", "part", "n down", "z wrong"]), max_size=12),
    st.floats(0, 1),
    st.booleans(),
)
def test_laws(completions, budget, refused):
    value = appeal(rule(), to=kind(), refused=refused, budget=budget)
    scores, metrics, fates = score(value, completions) if completions else ([], {"rule/appeal/asked": 0}, [])
    ruled, given = rule()(completions=completions), kind()(completions=completions)
    assert metrics["rule/appeal/asked"] <= math.ceil(budget * len(completions))
    for mine, one, other, fate in zip(scores, ruled, given, fates, strict=True):
        assert mine == (other if fate in ("decided", "overturned") else one)
        assert (fate is None) == (one is not None and (one > 0 or not refused))
    first = [row for row, one in enumerate(ruled) if one is None]
    open_rows = [fates[row] != "over budget" for row in first]
    assert open_rows == sorted(open_rows, reverse=True)
    if not all(open_rows):  # a refusal is never asked before a row without any score
        assert not {*fates} & {"overturned", "upheld"}


NUMBERS = ["7", "-3", "3/4", r"\frac{22}{7}", r"\sqrt{2}", r"\pi", "1,000", "0.5"]


@pytest.mark.parametrize("gold", NUMBERS)
@pytest.mark.parametrize(
    "text",
    [
        box("8"), box("3.14"), box(r"x = 8"), box("8 apples"), box(r"8\text{ km}"), "The answer is 8.", box("B. 8"),
        box("8") + " or rather " + box(r"\text{the right one}"), box(r"\text{the right one}") + " or " + box("8"),
        box(r"\frac{8}{9}"), box("8%"), box("2+6"), "<think>" + box("seven, of course") + "</think>" + box("8"),
    ],
)  # fmt: skip
def test_no_number_buys_an_appeal_against_a_number(gold, text):
    scores, _, fates = score(appeal(boxed(), to=kind(), refused=True), [text], [gold])
    assert (scores, ASKED, fates) == ([0.0], [], ["plain numbers"])


@pytest.mark.parametrize(
    "gold, text",
    [
        ("7", box("x + 1")), ("7", box(r"\text{none of them}")), ("x + 1", box("7")), ("Paris", box("7")), ("7", "none at\nall"),
        ("5 km", box("5000 m")), (None, box("7")),
    ],
)  # fmt: skip
def test_what_is_not_two_numbers_may_appeal(gold, text):
    assert score(appeal(boxed(), to=kind(), refused=True), [text], [gold])[2] in (["overturned"], ["decided"])


def test_any_accepted_solution_that_is_a_number_makes_a_number_final():
    value = appeal(boxed(), to=kind(), refused=True)
    assert score(value, [box("8"), box("Lyon")], [["7", "seven men"]] * 2)[2] == ["plain numbers", "overturned"]


def test_solutions_are_looked_for_in_the_columns_of_the_rule():
    value = appeal(boxed(solution="gold"), to=kind(), refused=True)
    ASKED.clear()
    assert value(completions=[box("8")] * 2, gold=["7", "Lyon"], solution=["Lyon", "7"]) == [0.0, 1.0]
    routed = appeal(route("level", {3: boxed()}), to=kind(), refused=True)
    assert routed(completions=[box("8")] * 2, level=[3, 3], solution=["x + 1", "7"]) == [1.0, 0.0]
    hidden = appeal(gate(boxed(), by=keywords(any=("box",))), to=kind(), refused=True)
    assert hidden(completions=[box("8")], solution=["7"]) == [0.0]


def test_it_remains_the_outcome_and_has_the_name_of_the_rule():
    value = appeal(boxed(), to=kind())
    assert value.is_outcome and value.name == "boxed" and value.columns == {"solution"} and value.asks
    assert not appeal(tags("a"), to=boxed()).is_outcome
    assert str(value) == "appeal(boxed(), to=kind())"
    assert parse(str(value)) == value == pickle.loads(pickle.dumps(value))


def test_checks_ask_nobody_and_try_the_rule():
    ASKED.clear()
    value = appeal(boxed(evaluated=True), to=kind(), refused=True) + 0.1 * share(boxed())
    found = {one.title: one for one in check(value, arithmetic(size=32))}
    assert not ASKED and not [fault for one in found.values() for fault in one.faults]
    assert found["attacks"].is_run and found[DRY_RUN].is_run and "rewards that were not tried" not in found


def ask_judge(server, **options):
    return judge(model="m", rubric="Is it right?", base_url=server.base_url, retries=0, reference=True, **options)


def test_a_judge_is_asked_only_about_appeals_and_sees_the_solution(server):
    server(score=10)
    value = appeal(boxed(), to=ask_judge(server), refused=True)
    completions, solutions = [box("7"), box("8"), box(r"\text{none}"), box("x")], ["7", "7", "7", None]
    assert value(completions=completions, prompts=["?"] * 4, solution=solutions) == [1.0, 0.0, 1.0, 1.0]
    assert server.calls == 2 and all(any(one in text for text in server.messages) for one in completions[2:])
    assert "\n7\n" in "".join(server.messages)


def test_a_judge_that_is_down_leaves_what_the_rule_said(server):
    down = judge(model="m", rubric="Right?", base_url="http://127.0.0.1:9/v1", retries=0, max_failures=1.0)
    metrics, extra = {}, {}
    value = appeal(exact(), to=down, refused=True)
    scores = value(
        completions=["Lyon", "Paris", "Rome"],
        solution=["Paris", "Paris", None],
        log_metric=metrics.__setitem__,
        log_extra=extra.__setitem__,
    )
    assert scores == [0.0, 1.0, None] and metrics["exact/appeal/unanswered"] == metrics["exact/appeal/asked"] == 2
    assert extra["exact/appeal"] == ["unanswered", None, "unanswered"]
    assert extra["exact/judge/reason"][1] is None and "no verdict" in extra["exact/judge/reason"][0]
