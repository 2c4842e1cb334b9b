"""What a reward declares about itself: what may be declared, and what follows from it for expressions."""

import pytest

from helpers.checks import make_problems
from trl_grpo_rewards import boxed, gate, parse, reward, route, tags
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.forms import Form
from trl_grpo_rewards.traits import Reading, Traits


def misdeclared(completion: str, solution: str) -> float:
    return 1.0


@pytest.mark.parametrize("traits, message", [
    ({"reads": {"solution": lambda values: []}}, "'reads' of reward 'misdeclared' must return one Reading for each"),
    ({"reads": {"solution": lambda values: ["7"] * 3}}, "must return Readings of the kinds 'whole', .* got '7'"),
    ({"reads": {"solution": lambda values: [Reading("most")] * 3}}, "got Reading.kind='most'"),
    ({"reads": {"result": lambda values: []}}, "Reward 'misdeclared' needs the column 'result'"),
    ({"reads": ["solution"]}, "The trait 'reads' must be a dict from a dataset column to a function"),
    ({"form": Form(tags=("think",))}, "The trait 'form' must be a function of the reward's options"),
    ({"form": lambda: {"tags": ("think",)}}, "The trait 'form' must return a Form; got .* Return Form"),
    ({"form": lambda: Form(tags="think")}, "Form needs tags as a tuple of texts; got 'think'. Write tags="),
    ({"form": lambda: Form(length=100)}, "Form needs length as a number and 'tokens', 'words' or 'chars'; got 100"),
    ({"form": lambda: Form(answer="Answer:")}, "Form needs an answer that contains {} in the place of the answer"),
    ({"worthless": lambda: ["nothing"]}, "The trait 'worthless' must return a dict from what a completion tries"),
    ({"lengths": lambda: 100}, "The trait 'lengths' must return a dict from the name of an option"),
    ({"lengths": 100}, "The trait 'lengths' must be a function of the reward's options"),
    ({"outcome": "yes"}, "The traits 'outcome' and 'asks' must be True or False; got outcome='yes'"),
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


@pytest.mark.parametrize("name", ["form", "worthless", "chooses"])
def test_a_trait_that_depends_on_options_is_a_function(name):
    with pytest.raises(TypeError, match=f"The trait '{name}' must be a function .*; got 'think'. Write {name}=lambda"):
        Traits(**{name: "think"})
    assert getattr(Traits(**{name: dict}), name) is dict


def test_a_reward_that_awaits_asks_somebody_unless_it_says_otherwise():
    async def pondered(completion: str) -> float:
        return 0.0

    assert [reward(asks=asks)(pondered)().asks for asks in (None, True, False)] == [True, True, False]
    assert gate(boxed(), by=reward(pondered)()).asks and not gate(boxed(), by=tags("a")).asks


def test_an_option_of_a_route_is_tried_only_on_its_rows():
    inner = boxed(), tags("think")
    routed = route("kind", {"math": inner[0]}, default=inner[1])
    assert routed.list_inner({"kind": "math"}) == [inner[0]] and routed.list_inner({"kind": "?"}) == [inner[1]]
    assert {*routed.list_inner()} == {*inner}
