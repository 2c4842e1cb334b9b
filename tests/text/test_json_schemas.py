"""Strict JSON, and schemas that look nowhere else."""

import pytest

from trl_grpo_rewards.text.json_schemas import MAX_LEVELS, build_validator, is_valid, read_json


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', "NaN", "-Infinity", "1e999", "[1,]", "'a'", "", "{} {}", "\ufeff1"]
)
def test_what_is_not_strict_json_is_refused(text):
    with pytest.raises(ValueError):
        read_json(text)


def test_json_is_read():
    assert read_json(' {"a": [1, 2.5, null, true], "b": {"a": "x"}} ') == {"a": [1, 2.5, None, True], "b": {"a": "x"}}


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
def test_depth_has_a_bound(opening, closing):
    assert read_json(opening * MAX_LEVELS + "1" + closing * MAX_LEVELS)
    with pytest.raises(RecursionError):
        read_json(opening * (MAX_LEVELS + 1) + "1" + closing * (MAX_LEVELS + 1))


def test_a_value_fits_its_schema():
    number = build_validator(
        {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
    )
    assert is_valid({"n": 1}, number) and not is_valid({"n": "1"}, number) and not is_valid([], number)
    assert not is_valid({"n": "\ud800"}, build_validator({"properties": {"n": {"pattern": "a"}}}))


@pytest.mark.parametrize(
    "schema, place", [({"type": "nothing"}, "'type'"), ({"properties": {"a": {"minimum": "1"}}}, "'minimum'")]
)
def test_what_is_not_a_schema_is_refused_with_its_place(schema, place):
    with pytest.raises(ValueError, match=place):
        build_validator(schema)


def test_a_reference_to_elsewhere_is_refused():
    with pytest.raises(ValueError):
        build_validator({"$ref": "http://127.0.0.1:9/schema.json"})


def test_an_expression_takes_linear_time():
    assert not is_valid("a" * 50_000 + "b", build_validator({"pattern": "^(a+)+$"}))
