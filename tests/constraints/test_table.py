"""Adding a constraint to the table, how its arguments are read, the forms of a row's constraints, and the two readings."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.constraints import table
from trl_grpo_rewards.constraints.sentences import is_verb, response_language
from trl_grpo_rewards.constraints.table import (
    CONSTRAINTS,
    CountRelation,
    Position,
    UnreadableConstraint,
    constraint,
    list_verdicts,
    meets_relation,
    read_constraints,
)


@pytest.fixture
def own(monkeypatch):
    monkeypatch.setattr(table, "CONSTRAINTS", {})

    @constraint("own:any")
    def any_of(
        text: str, words: list[str], count: int, place: Position, share: float, relation: CountRelation
    ) -> bool:
        return meets_relation(sum(word in text for word in words), relation, count)

    return table.CONSTRAINTS["own:any"]


GIVEN = {"words": ["a"], "count": 1.0, "place": 1, "share": 2, "relation": "at least"}


def test_a_constraint_is_a_function_with_typed_arguments(own):
    check = own.bind(GIVEN).function
    assert check("a") and not check("b") and check.keywords == {**GIVEN, "share": 2.0}


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


IDS = ["punctuation:no_comma", "length_constraints:number_words"]
ARGUMENTS = [{}, {"relation": "at least", "num_words": 3}]
ABSENT = {"relation": None, "num_words": None, "keywords": None}
DICTS = [{"id": IDS[0]}, {"id": IDS[1], **ARGUMENTS[1]}]
NESTED = [{"instruction_id": one, "kwargs": given} for one, given in zip(IDS, ARGUMENTS, strict=True)]
FORMS = [
    (IDS, ARGUMENTS), (tuple(IDS), [None, {**ABSENT, **ARGUMENTS[1]}]),
    (IDS, [ABSENT, {**ABSENT, "relation": "at least", "num_words": 3.0}]), (IDS, json.dumps(ARGUMENTS)),
    (IDS, [json.dumps(one) for one in ARGUMENTS]), (json.dumps(IDS), json.dumps(ARGUMENTS)), (DICTS, None),
    (json.dumps(DICTS), None), (NESTED, None), (str(NESTED), None),
    ([{"instruction_id": IDS, "kwargs": ARGUMENTS}], None), (str({"instruction_id": IDS, "kwargs": ARGUMENTS}), None),
]  # fmt: skip
UNREADABLE = [
    (None, None), ([], []), ("[]", None), ("", None), (3, None), ([None], [None]), ([[]], [{}]), ({}, None), ([{}], None),
    (IDS, [{}]), (IDS, None), (IDS, "{"), (IDS, "[{}, 3]"), (IDS, 3), (IDS, [{}, "num_words"]), (["no_comma"], [{}]),
    (["Punctuation:no_comma"], [{}]), ([{"id": 3}], None), ("[" * 9999, None), ("[__import__('os')]", None),
    ([IDS[0], {"id": IDS[0]}], [{}, {}]), ([{"id": IDS[0], "kwargs": [1]}], None),
]  # fmt: skip


def test_all_forms_are_the_same_constraints():
    for names, arguments in FORMS:
        constraints = read_constraints(names, arguments)
        assert [one.name for one in constraints] == IDS, names
        assert list_verdicts("one two, three", constraints) == [False, True], names
        assert list_verdicts("one two", constraints) == [True, False], names


def test_what_cannot_be_read():
    for names, arguments in UNREADABLE:
        with pytest.raises(UnreadableConstraint):
            print(names, arguments, read_constraints(names, arguments))


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.sampled_from([*IDS, "id", "kwargs"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "kwargs", "num_words"]), inner),
    max_leaves=6,
)


@given(json_values, json_values)
def test_no_value_of_a_column_raises_another_error(names, arguments):
    try:
        assert read_constraints(names, arguments)
    except UnreadableConstraint:
        pass


@pytest.mark.parametrize("text, strict, loose", [
    ("Sure, here it is:\none two three", False, True), ("one two three\nIs that all right, or not?", False, True),
    ("Sure, here:\none two three\nOr, else", False, True), ("one, two, three", False, False),
    ("one two three", True, True),
])  # fmt: skip
def test_the_loose_reading_forgives_the_first_and_the_last_line(text, strict, loose):
    constraints = read_constraints(["punctuation:no_comma"], [{}])
    assert list_verdicts(text, constraints) == [strict]
    assert list_verdicts(text, constraints, loose=True) == [loose]


def test_the_loose_reading_forgives_asterisks():
    constraints = read_constraints(["startend:quotation"], [{}])
    assert list_verdicts('**"So it is."**', constraints, loose=True) == [True]


@given(st.text(alphabet='a,*"\n .', max_size=30))
def test_what_is_met_strictly_is_met_loosely(text):
    constraints = read_constraints([*IDS, "startend:quotation"], [*ARGUMENTS, {}])
    pairs = zip(list_verdicts(text, constraints), list_verdicts(text, constraints, loose=True), strict=True)
    assert all(loose or not strict for strict, loose in pairs)


PROMPT = "Write about the sun. Include a title in double angular brackets, such as <<poem of joy>>, and use no commas at all."


def test_a_part_of_the_prompt_meets_only_constraints_that_ask_for_one():
    constraints = read_constraints(["detectable_format:title"], [{}])
    quote = PROMPT.partition(". ")[2]
    assert list_verdicts(quote, constraints) == [True]
    assert list_verdicts(f" {quote}\n", constraints, prompt=PROMPT) == [False]
    assert list_verdicts("<<poem of joy>>", constraints, prompt=PROMPT) == [True]
    copied = read_constraints(["repeat:repeat_span"], [{"prompt_to_repeat": PROMPT, "n_start": 0, "n_end": 200}])
    assert list_verdicts(PROMPT, copied, prompt=PROMPT) == [True]
