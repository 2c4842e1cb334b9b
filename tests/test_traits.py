"""What a reward declares about itself: what may be declared, and what follows from it for expressions."""

import pytest

from helpers.checks import make_problems
from trl_grpo_rewards import boxed, gate, parse, reward, route, tags
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.function_rewards import find_functions
from trl_grpo_rewards.traits import ContradictoryForms, Form


def misdeclared(completion: str, solution: str) -> float:
    return 1.0


@pytest.mark.parametrize("traits, message", [
    ({"reads": {"result": lambda values: []}}, "Reward 'misdeclared' needs the column 'result'"),
    ({"reads": ["solution"]}, r"'reads' must be of the type dict\[.*; got \['solution'\]. help"),
    ({"form": Form(tags=("think",))}, r"'form' must be of the type Callable\[..., Form\]; got "),
    ({"form": lambda: {"tags": ("think",)}}, "The trait 'form' must return a value of the type Form; got {'tags'"),
    ({"form": lambda: Form(tags="think")}, r"Form needs tags of the type tuple\[str, ...\]; got 'think'. Write, for example,"),
    ({"form": lambda: Form(length=100)}, "Form needs length of .*'tokens', 'words', 'chars'.*; got 100"),
    ({"form": lambda: Form(answer="Answer:")}, "Form needs an answer that contains {} in the place of the answer"),
    ({"worthless": lambda: ["nothing"]}, r"must return a value of the type dict\[str, str\]; got \['nothing'\]. help"),
    ({"lengths": lambda: 100}, r"'lengths' must return a value of the type dict\[str, int\]; got 100"),
    ({"lengths": 100}, "The trait 'lengths' must be of the type Callable"),
    ({"outcome": "yes"}, r"'outcome' must be of the type bool; got 'yes'. help"),
])  # fmt: skip
def test_a_trait_that_is_declared_wrongly_is_said_in_a_sentence(monkeypatch, traits, message):
    with pytest.raises((TypeError, ValueError), match=message):
        monkeypatch.setitem(globals(), "misdeclared", reward(**traits)(misdeclared))  # it is pickled by its name
        for one in check(misdeclared(), make_problems("7", "8", "9")):
            for fault in one.faults:  # what fails while completions are tried
                raise ValueError(fault)


@pytest.mark.parametrize(
    "expression, is_outcome",
    [
        ("boxed()", True), ("answer()", True), ("exact()", True), ("choice()", True), ("tags('think')", False),
        ("gate(boxed(), by=tags('think'))", True), ("gate(tags('think'), by=boxed())", False),
        ("route('kind', {'math': boxed(), 'text': exact()})", True),
        ("route('kind', {'math': boxed()}, default=tags('think'))", False),
        ("clip(boxed(), high=0.5)", False), ("cosine(boxed(), max_tokens=9)", False), ("boxed() + exact()", False),
    ],
)  # fmt: skip
def test_which_expressions_say_what_is_right(expression, is_outcome):
    assert parse(expression).is_outcome is is_outcome


def test_a_reward_that_awaits_asks_somebody_unless_it_says_otherwise():
    async def pondered(completion: str) -> float:
        return 0.0

    assert [reward(asks=asks)(pondered)().asks for asks in (None, True, False)] == [True, True, False]
    assert gate(boxed(), by=reward(pondered)()).asks and not gate(boxed(), by=tags("a")).asks


def test_an_option_of_a_route_is_tried_only_on_its_rows():
    inner = boxed(), tags("think")
    routed = route("kind", {"math": inner[0]}, default=inner[1])
    for row, scored in ((None, inner), ({"kind": "math"}, inner[:1]), ({"kind": "?"}, inner[1:])):
        assert [*find_functions(routed, row=row)] == [routed, *scored]


def test_a_merged_form_has_what_both_ask_for():
    one = Form(tags=("think",), words=("so",), without=("sorry",))
    other = Form(tags=("think", "answer"), words=("so", "thus"), length=(9, "words"), answer="#### {}")
    merged = Form(("think", "answer"), False, ("so", "thus"), ("sorry",), "", (9, "words"), "#### {}")
    assert one.merge(other) == other.merge(one) == merged and one.merge(Form()) == one


@pytest.mark.parametrize("one, other, message", [
    (Form(words=("so",)), Form(without=("so",)), "one needs the text 'so'"),
    (Form(tags=("think",)), Form(tags=("plan",)), "one needs the tags"),
    (Form(tags=("think",), prefilled=True), Form(tags=("think",)), "the tag <think> to be open already"),
    (Form(length=(9, "words")), Form(length=(8, "words")), "one needs the length"),
    (Form(choices="AB"), Form(choices="ABC"), "one needs the choices 'AB', and another 'ABC'"),
])  # fmt: skip
def test_what_no_completion_has_is_said(one, other, message):
    with pytest.raises(ContradictoryForms):
        other.merge(one)
    with pytest.raises(ContradictoryForms, match=message):
        one.merge(other)


def test_a_form_wraps_its_parts_in_its_tags():
    assert Form().wrap("w", "f") == "w\nf"
    assert Form(tags=("a",), prefilled=True).wrap("w", "f") == "w</a>\nf"
    assert Form(tags=("a", "b", "c")).wrap("w", "f") == "<a>w</a>\n<b>w</b>\n<c>f</c>"
    assert Form().write_answer("7") == "\\boxed{7}" and Form(answer="#### {}").write_answer("7") == "#### 7"
