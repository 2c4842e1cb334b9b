"""Adding a constraint to the table, and how its arguments are read."""

import pytest

from trl_grpo_rewards.constraints import table
from trl_grpo_rewards.constraints.sentences import is_verb, response_language
from trl_grpo_rewards.constraints.table import (
    CONSTRAINTS,
    Position,
    Relation,
    UnreadableConstraint,
    constraint,
    meets_relation,
)


@pytest.fixture
def own(monkeypatch):
    monkeypatch.setattr(table, "CONSTRAINTS", {})

    @constraint("own:any")
    def any_of(text: str, words: list[str], count: int, place: Position, share: float, relation: Relation) -> bool:
        return meets_relation(sum(word in text for word in words), relation, count)

    return table.CONSTRAINTS["own:any"]


GIVEN = {"words": ["a"], "count": 1.0, "place": 1, "share": 2, "relation": "at least"}


def test_a_constraint_is_a_function_with_typed_arguments(own):
    check = own.bind(GIVEN)
    assert check("a") and not check("b")
    assert own.read_arguments(GIVEN) == {**GIVEN, "share": 2.0}


@pytest.mark.parametrize(
    "wrong",
    [{"words": "a"}, {"words": [""]}, {"count": 1.5}, {"count": "1"}, {"place": 0}, {"share": True}, {"relation": "at most"}],
)  # fmt: skip
def test_other_values_cannot_be_read(own, wrong):
    with pytest.raises(UnreadableConstraint, match=f"own:any: {next(iter(wrong))} is "):
        own.bind({**GIVEN, **wrong})


def test_a_package_that_is_missing_is_an_error(monkeypatch):
    monkeypatch.setattr(table, "find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match="'language:response_language' needs the package 'langdetect'.*\\[instructions\\]"
    ):
        CONSTRAINTS["language:response_language"].bind({"language": "de"})


def test_a_language_must_be_known():
    with pytest.raises(UnreadableConstraint, match="'tlh' is unknown; langdetect has af, ar"):
        response_language("nuqneH", "tlh")
    assert response_language("今天天气很好，我们去河边散步", "zh")


def test_verbs_have_forms():
    assert all(map(is_verb, ["write", "writes", "writing", "stopped", "tries", "making", "whirring", "is"]))
    assert not any(map(is_verb, ["", "s", "the", "nothing", "king", "red", "during", "poem", "i"]))
