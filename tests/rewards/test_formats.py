"""The form of a completion: closed-form scores, attacks, and linear time."""

import importlib.util
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import json_text, script, tags, xml_text


def score(completion, *names, **options):
    return tags(*names, **options)(completions=[completion])[0]


@pytest.mark.parametrize(
    "completion, paid",
    [
        ("<think>a</think>", 1.0), ("<think>a</think>4", 1.0), ("\n <think>\na\n</think>\n\nanswer\n", 1.0),
        ("<think>a < b</think>x", 1.0), ("Well, <think>a</think>4", 0.0), ("<think></think>4", 0.0),
        ("<think> \n </think>4", 0.0), ("<think>a", 0.0), ("a</think>4", 0.0), ("</think>a<think>", 0.0),
        ("<think>a</think><think>b</think>", 0.0), ("<think><think>a</think></think>", 0.0),
        ("<think>a</think></think>", 0.0), ("<Think>a</Think>", 0.0), ("<thinking>a</thinking>", 0.0),
        ("<think >a</think>", 0.0), ("", 0.0),
    ],
)  # fmt: skip
def test_one_tag_then_any_text(completion, paid):
    assert score(completion, "think") == paid


@pytest.mark.parametrize(
    "completion, strict, partial",
    [
        ("<think>a</think><answer>b</answer>", 1.0, 1.0), (" <think>a</think>\n\n<answer>b</answer> \n", 1.0, 1.0),
        ("<think>a</think> so <answer>b</answer>", 0.0, 0.5), ("<think>a</think><answer>b</answer> done", 0.0, 0.5),
        ("<answer>b</answer>", 0.0, 0.5), ("<think>a</think>", 0.0, 0.5),
        ("<answer>b</answer><think>a</think>", 0.0, 0.0), ("<think>a<answer>b</answer></think>", 0.0, 0.5),
        ("<think></think><answer>b</answer>", 0.0, 0.5), ("<think>a</think><answer></answer>", 0.0, 0.5),
        ("x<think>a</think><answer>b</answer>", 0.0, 0.5),
        ("<think>a</think><answer>b</answer><answer>c</answer>", 0.0, 0.5),
        ("<think><answer></think></answer>", 0.0, 0.5), ("nothing", 0.0, 0.0),
    ],
)  # fmt: skip
def test_two_tags_in_order_and_nothing_else(completion, strict, partial):
    assert score(completion, "think", "answer") == strict
    assert score(completion, "think", "answer", partial=True) == partial


@pytest.mark.parametrize(
    "completion, paid",
    [("a</think>4", 1.0), ("\na\n</think>\n4", 1.0), ("<think>a</think>4", 0.0), ("</think>4", 0.0), ("a", 0.0)],
)
def test_the_template_may_have_opened_the_first_tag(completion, paid):
    assert score(completion, "think", prefilled=True) == paid


def test_three_tags_share_evenly():
    assert score("<a>1</a><b></b><c>3</c>", "a", "b", "c", partial=True) == pytest.approx(2 / 3)
    assert score("</a><b>2</b><a>", "a", "b", "c", partial=True) == 0.0  # the first tag closes before it opens


@pytest.mark.parametrize("names", [(), ("think", "think"), ("<think>",), ("",), ("a b",)])
def test_names_are_checked(names):
    with pytest.raises(ValueError, match="without brackets; got .* tags\\('think', 'answer'\\)"):
        tags(*names)


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "x", " "]), max_size=10).map("".join))
def test_partial_is_whole_exactly_where_strict_is(text):
    for names in (("a",), ("a", "b")):
        strict, partial = score(text, *names), score(text, *names, partial=True)
        assert (strict == 1.0) == (partial == 1.0) and 0.0 <= partial <= 1.0


SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "tags": {"type": "array", "uniqueItems": True}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "completion, paid",
    [
        ('{"a": [1, null]}', 1.0), ("<think>Hm: {</think>\n[]\n", 1.0), ("4", 1.0), ("\N{NO-BREAK SPACE}4", 0.0),
        ("", 0.0), ("Here: {}", 0.0), ("```json\n{}\n```", 0.0), ("{'a': 1}", 0.0), ('{"a": 1,}', 0.0),
        ('{"a": NaN}', 0.0), ("[-Infinity]", 0.0), ("1e999", 0.0), ('{"a": 1, "a": 2}', 0.0), ("<think>{}", 0.0),
        ("9" * 5000, 0.0), ("[" * 60_000, 0.0), ("[" * 30_000 + "]" * 30_000, 0.0),
    ],
)  # fmt: skip
def test_json_is_strict_and_all_that_there_is(completion, paid):
    assert json_text()(completions=[completion]) == [paid]


@pytest.mark.parametrize(
    "value, paid",
    [
        ({"name": "Ada"}, 1.0),
        ({"name": "Ada", "tags": [1, True, 1.5, "1", [1], {"a": 1}, {"a": True}]}, 1.0),
        ({"name": "Ada", "tags": [1, 1.0]}, 0.0),
        ({"name": "Ada", "tags": [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]}, 0.0), ({"name": "ada"}, 0.0),
        ({"name": 4}, 0.0), ({"name": "Ada", "more": 1}, 0.0), ({}, 0.0),
    ],
)  # fmt: skip
def test_json_is_valid_by_its_schema(value, paid):
    assert json_text(SCHEMA)(completions=[json.dumps(value)]) == [paid]


@pytest.mark.parametrize(
    "schema, message",
    [
        ({"type": "nope"}, "\"nope\" is not valid .*, at \\['type'\\]. Correct it"),
        ({"$ref": "https://example.org/other"}, "'https://example.org/other' is not present .* Retrieval is disabled"),
        ({"$ref": "file:///etc/passwd"}, "'file:///etc/passwd' is not present"),
        ({"items": {"$ref": "#/$defs/no"}}, "Pointer '/\\$defs/no' does not exist"),
        ({"const": {"type": "no"}, "$ref": "#/const"}, "at \\['const'\\]\\['type'\\]"),
        ({"pattern": "(?=a)b"}, "at \\['pattern'\\]. .* cannot have look-around or back-references"),
        ({"$schema": "https://example.org/draft"}, "Unknown meta-schema: 'https://example.org/draft'"),
    ],
)
def test_a_schema_is_checked(schema, message):
    with pytest.raises(
        ValueError, match=f"json_text\\(\\) requires a valid schema, but this one cannot be used: .*{message}"
    ):
        json_text(schema)


def deep(levels):
    return json.loads("[" * levels + "]" * levels)


@pytest.mark.parametrize(
    "schema, fitting, other",
    [
        ({"patternProperties": {"^a": {"type": "null"}}}, {"ab": None}, {"ab": 1}),
        ({"const": {"$ref": "x"}}, {"$ref": "x"}, {}),
        ({"$id": "http://x/a", "$ref": "http://x/a#/$defs/b", "$defs": {"b": {"const": 1}}}, 1, 2),
        ({"$ref": "#b", "$defs": {"b": {"$anchor": "b", "const": 1}}}, 1, 2),
        ({"items": {"$ref": "#"}, "type": "array"}, [[], []], [1]), ({"multipleOf": 0.01}, 1.15, 1.155),
        ({"multipleOf": 0.01}, 10**400, 1e-3),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"const": 1}]}, [1, 2], [2]),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "format": "email", "minLength": 2}, "no", "n"),
        ({"type": "string"}, "a", "\ud800"),
        ({"pattern": "^(a+)+$"}, "a", "a" * 50_000 + "b"),  # in linear time
        ({}, {"a": [{"b": 1}] * 499}, deep(501)), ({"items": {"$ref": "#"}}, deep(500), deep(501)),
    ],
)  # fmt: skip
def test_a_schema_says_what_its_keywords_say(schema, fitting, other):
    assert json_text(schema)(completions=[json.dumps(fitting), json.dumps(other)]) == [1.0, 0.0]


def test_what_is_not_installed_is_told_when_the_reward_is_built(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"with a schema needs jsonschema_rs, .*'trl_grpo_rewards\[formats\]'"):
        json_text({})
    assert json_text()(completions=["4"]) == [1.0]


@pytest.mark.parametrize(
    "names, completion, paid",
    [
        (("Greek",), "Δύο", 1.0), (("Greek",), "Δύο και two", 6 / 9), (("Cyrillic",), "Два плюс два: 4.", 1.0),
        (("Han", "Hiragana", "Katakana"), "2足す2は4です。データー", 1.0), (("Han",), "是 yes", 0.25), (("Latin",), "naïve", 1.0),
        (("Latin",), "2 + 2 = 4", 0.0), (("Latin",), "", 0.0),
        (("Greek",), "ΑΒΕ ABE", 0.5),  # these look alike
    ],
)  # fmt: skip
def test_the_share_of_letters_in_a_script(names, completion, paid):
    assert script(*names)(completions=[completion]) == [pytest.approx(paid)]


@pytest.mark.parametrize("names", [(), ("",), ("Klingon",), ("Greek}|.",), ("Greek", "greek language")])
def test_scripts_are_checked(names):
    with pytest.raises(
        ValueError, match="needs names of Unicode scripts; got .* Write names such as script\\('Greek'\\)"
    ):
        script(*names)


@pytest.mark.parametrize(
    "completion, paid",
    [
        ("<a>1</a>", 1.0), ('<?xml version="1.0"?>\n<a b="c"><!-- d --><e>f &amp; g</e></a>', 1.0), ("<think>1 < 2</think>\n<a>1</a>", 1.0),
        ('<?xml version="1.0" encoding="utf-16"?><a>1</a>', 1.0), ("<a><b/><c>1</c></a>", 1.0), ('<x:a xmlns:x="u">1</x:a>', 1.0),
        ("<b><a>1</a></b>", 0.0), ("<a>1</a><a>1</a>", 0.0), ("<a>1 < 2</a>", 0.0), ("<a b=c/>", 0.0), ("<a>", 0.0), ("a", 0.0), ("", 0.0),
        ("<a>\0</a>", 0.0), ("<a>\ud800</a>", 0.0), ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 0.0), ("So: <a>1</a>", 0.0),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', 0.0), ("```xml\n<a>1</a>\n```", 0.0),
    ],
)  # fmt: skip
def test_xml_is_well_formed_with_its_root(completion, paid):
    assert xml_text(root="a")(completions=[completion]) == [paid]


@pytest.mark.parametrize(
    "completion, paid",
    [
        ("<item><name>pen</name><price>5</price></item>", 1.0), ("<item><price>5</price><name>pen</name></item>", 1.0),
        ("<item><info><name>pen</name></info><price unit='c'/></item>", 1.0), ("<item><name><b>pen</b></name><price>5</price></item>", 1.0),
        ("<item><name>pen</name></item>", 0.0), ("<item><name/><price/></item>", 0.0), ("<item><name> </name><price>5</price></item>", 0.0),
        ("<item><name>\u200b</name><price>5</price></item>", 0.0), ("<item><name><!-- pen --></name><price>5</price></item>", 0.0),
        ("<item>name price</item>", 0.0), ("<item><name><b/></name><price>5</price></item>", 0.0), ("<name>pen <price>5</price></name>", 1.0),
    ],
)  # fmt: skip
def test_xml_has_the_elements_that_are_asked_for(completion, paid):
    assert xml_text("name", "price")(completions=[completion]) == [paid]


def test_xml_takes_names_without_brackets():
    with pytest.raises(ValueError, match="requires names of elements without brackets"):
        xml_text("<a>")
    with pytest.raises(ValueError, match="requires names of elements without brackets"):
        xml_text(root="<a>")


def test_what_a_page_does_not_show_fills_no_tag():
    for hidden in ("<!-- x -->", "<!---->", "<!-- a --> <!-- b -->", "\u200b<!-- x -->"):
        assert tags("think", "answer")(completions=[f"<think>{hidden}</think><answer>4</answer>"]) == [0.0], hidden
    for shown in ("<!-- x", "x <!-- y -->", "-->"):
        assert tags("think", "answer")(completions=[f"<think>{shown}</think><answer>4</answer>"]) == [1.0], shown
