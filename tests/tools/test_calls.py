"""Calls in texts and messages, the forms in which datasets expect them, and matchings against a search through all of them."""

import json
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.tools.calls import (
    MAX_SIMILAR,
    MAX_TAGS,
    Choices,
    ExpectedCall,
    ToolCall,
    align,
    assign,
    find_text_calls,
    is_equal,
    match_calls,
    read_expected_calls,
    read_structured_call,
    write_expected_calls,
)


ADD = {"name": "add", "arguments": {"a": 2}}


def calls(text):
    return [call for _, call in find_text_calls(text)]


@pytest.mark.parametrize("text", [
    f"<tool_call>{json.dumps(ADD)}</tool_call>", f"I add.\n<tool_call>\n{json.dumps(ADD)}\n</tool_call>\n",
    f"<tool_call>[{json.dumps(ADD)}]</tool_call>", json.dumps(ADD), json.dumps([ADD], indent=2),
    f"```json\n{json.dumps([ADD])}\n```", f"```\n{json.dumps(ADD)}\n```", f"[TOOL_CALLS] {json.dumps([ADD])}",
    '{"name": "add", "parameters": {"a": 2}}', "[add(a=2)]",
])  # fmt: skip
def test_forms_of_a_call_in_a_text(text):
    assert calls(text) == [ToolCall("add", {"a": 2})]


@pytest.mark.parametrize("text", [
    "<function=add>\n<parameter=a>\n2\n</parameter>\n<parameter=b>\nx y\n</parameter>\n</function>",
    "add\n<arg_key>a</arg_key>\n<arg_value>2</arg_value>\n<arg_key>b</arg_key>\n<arg_value>x y</arg_value>",
])  # fmt: skip
def test_tags_do_not_tell_texts_from_numbers(text):
    (call,) = calls(f"So. <tool_call>\n{text}\n</tool_call>")
    assert call.name == "add" and [one.list_readings() for one in call.arguments.values()] == [["2", 2], ["x y"]]
    for broken in (
        text + "or",
        text.replace(">b<", ">a<").replace("=b", "=a"),
        text.replace("</parameter>", "", 1) + "<",
    ):
        assert calls(f"<tool_call>{broken}</tool_call>") == [ToolCall()]


@pytest.mark.parametrize("text, made", [
    ("[add(2)]", [ToolCall()]), ("[add(a=2, a=3)]", [ToolCall()]), ("[add(a=f())]", []), ("[add(a=2), 3]", [ToolCall("add", {"a": 2}), ToolCall()]),
    ("[math.add(a=-2.5, b=[True, None], c={'d': 'e'})]", [ToolCall("math.add", {"a": -2.5, "b": [True, None], "c": {"d": "e"}})]),
    ("[add(**{'a': 2})]", [ToolCall()]), ("[add(a=2)] is what I call", []), ("add(a=2)", []), ("[now()]", [ToolCall("now", {})]),
])  # fmt: skip
def test_calls_in_python(text, made):
    assert calls(text) == made


@pytest.mark.parametrize(
    "text", ["", "add", "[]", "[1, 2]", '{"answer": 4}', '{"name": "Ann"}', "{", "```json\n{}\n```"]
)
def test_texts_without_a_call(text):
    assert calls(text) == []


def test_what_is_said_before_each_call():
    text = f"one <tool_call>{json.dumps(ADD)}</tool_call> two <tool_call>? three <tool_call>"
    assert [before for before, _ in find_text_calls(text)] == ["one ", " two ", "? three "]
    assert calls(text) == [ToolCall("add", {"a": 2}), ToolCall(), ToolCall()]


def test_every_tag_counts():
    many = f"<tool_call>{json.dumps(ADD)}</tool_call>" * (MAX_TAGS + 5)
    assert len(calls(many)) == MAX_TAGS + 5 and calls(many).count(ToolCall()) == 5
    assert len(calls(many[:-30])) == MAX_TAGS + 5


@pytest.mark.parametrize("value, call", [
    ({"type": "function", "function": ADD}, ToolCall("add", {"a": 2})), (ADD, ToolCall("add", {"a": 2})),
    ({"function": {"name": "add", "arguments": '{"a": 2}'}}, ToolCall("add", {"a": 2})),
    ({"function": {"name": "now", "arguments": ""}}, ToolCall("now", {})),
    ({"function": {"name": "now"}}, ToolCall("now", {})),
    ({"function": {"name": "add", "arguments": '{"a": 2, "a": 3}'}}, ToolCall("add")),
    ({"function": {"name": "add", "arguments": [2]}}, ToolCall("add")), ({"function": {"name": "add", "arguments": []}}, ToolCall("add")),
    ({"function": {"name": "add", "arguments": json.dumps('{"a": 2}')}}, ToolCall("add")), ({"type": "custom", "name": None}, ToolCall()),
    ({"function": None}, ToolCall()), (None, ToolCall()),
])  # fmt: skip
def test_calls_in_messages(value, call):
    assert read_structured_call(value) == call


TWO = [ExpectedCall("add", {"a": Choices((2,))})]


@pytest.mark.parametrize(
    "value",
    [
        [ADD], ADD, json.dumps([ADD]), json.dumps(ADD), [{"type": "function", "function": ADD}], [{"id": "1", **ADD}],
        [{"function": {"name": "add", "arguments": '{"a": 2}'}}],
        [{"add": {"a": [2]}}], [{"add": {"a": [2], "b": None}, "mul": None}], ({"add": {"a": [2]}},),
    ],
)  # fmt: skip
def test_forms_of_expected_calls(value):
    assert read_expected_calls(value) == TWO


def test_optional_arguments_and_fields():
    value = [{"find": {"where": [{"city": ["Bonn", "bonn"], "zip": ["", 53]}], "unit": ["", "km"], "tags": [[1, 2]]}}]
    (call,) = read_expected_calls(value)
    assert call.arguments["unit"] == Choices(("km",), True)
    assert call.arguments["where"].values[0] == {"city": Choices(("Bonn", "bonn")), "zip": Choices((53,), True)}
    assert calls(write_expected_calls(value)) == [
        ToolCall("find", {"where": {"city": "Bonn", "zip": 53}, "unit": "km", "tags": [1, 2]})
    ]
    (call,) = read_expected_calls([{"f": {"a": [], "b": [""], "c": [{"x": 1.5}]}}])
    assert call.arguments == {
        "a": Choices((), True), "b": Choices(("",), True), "c": Choices(({"x": Choices((1.5,))},)),
    }  # fmt: skip
    assert write_expected_calls([{"f": {"a": [], "b": [""], "c": [{"x": 1.5}]}}]) == (
        '<tool_call>{"name": "f", "arguments": {"c": {"x": 1.5}}}</tool_call>'
    )
    assert read_expected_calls('[{"name": "f", "arguments": {"a": null}}]')[0].arguments == {"a": Choices((None,))}
    (call,) = read_expected_calls([{"name": "f", "arguments": {"a": None, "b": 2}}])  # as in a column of structs
    assert call.arguments == {"a": Choices((None,), True), "b": Choices((2,))}
    assert read_expected_calls(None) is None is write_expected_calls(None)
    assert read_expected_calls([]) == [] and write_expected_calls([]) == ""


@pytest.mark.parametrize(
    "value", ["add", 5, [5], ["add"], [{"name": 5}], [{"f": 1}], [{"f": {"a": 1}}], [{"f": {}, "g": {}}]]
)
def test_other_forms_are_refused(value):
    with pytest.raises(ValueError, match="Expected calls must be a list of calls, such as .* or JSON text of it; got"):
        read_expected_calls(value)


@pytest.mark.parametrize(
    "made, expected, how, equal",
    [
        (2, 2.0, "exact", True), (True, 1, "exact", False), ("2", 2, "exact", False), (None, None, "exact", True),
        ("2", 2, "number", True), ("2.0", "2", "number", True), ("two", 2, "number", False), (True, 1, "number", False),
        ([1, 2], [2, 1], "exact", False), ([1, 2], [2, 1], "set", True), ([1, 1, 2], [1, 2, 2], "set", False),
        ([{"a": [1]}], [{"a": [1.0]}], "set", True), ({"a": 1}, {"a": 1, "b": 2}, "exact", False),
        ("New York, N.Y.", "new york ny", "text", True), ("it's", 'it"s', "text", True), ("a!", "a", "text", False),
        (["A-b"], ["ab"], "text", True), ({"x": "A"}, {"x": "a"}, "text", True), ("9" * 200, int("9" * 200), "number", False),
        ('{"id": 1}', {"id": 1}, "exact", False), (None, 0, "exact", False), ([], {}, "exact", False), ({}, [], "set", False),
    ],
)  # fmt: skip
def test_equality(made, expected, how, equal):
    assert is_equal(made, expected, how) is equal
    assert is_equal(made, Choices((object(), expected)), how) is equal


TABLES = st.integers(0, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=width, max_size=width), max_size=5
    ).map(lambda rows: (rows, width))
)


def search(rows, width, ordered):
    """Every way to give each column a different row or none."""
    places = [*range(len(rows)), *[None] * width]
    best = 0.0
    for chosen in permutations(places, width):
        used = [place for place in chosen if place is not None]
        if not ordered or used == sorted(used):
            best = max(best, sum(rows[place][column] for column, place in enumerate(chosen) if place is not None))
    return best


@given(TABLES)
def test_matchings_are_the_best(table):
    rows, width = table
    assert assign(rows) == pytest.approx(search(rows, width, ordered=False))
    assert align(rows, width) == pytest.approx(search(rows, width, ordered=True))


def test_many_calls_are_matched_in_a_moment():
    expected = [ExpectedCall("f", {"a": Choices((n,)), "b": Choices((n,))}) for n in range(20)]
    made = [ToolCall("f", {"a": n % 20, "b": 21}) for n in range(2000)]
    assert match_calls(made, expected, {}, is_ordered=False, is_whole=False) == 20 * 0.5
    assert len(made) > MAX_SIMILAR


@pytest.mark.parametrize("how", ["exact", "number", "text", "set"])
@pytest.mark.parametrize("wrap", [lambda value: {"a": value}, lambda value: [value]], ids=["objects", "lists"])
def test_what_is_nested_more_deeply_than_any_call_equals_nothing(how, wrap):
    def nest(levels):
        value = 1
        for _ in range(levels):
            value = wrap(value)
        return value

    assert is_equal(nest(100), nest(100), how) and not is_equal(nest(5_000), nest(5_000), how)
    assert not is_equal(nest(100), wrap(nest(100)), how)
