"""Strict JSON."""

import pytest

from trl_grpo_rewards.strict_json import MAX_LEVELS, read_json


def test_what_is_not_strict_json_is_refused():
    for text in ('{"a": 1, "a": 2}', "NaN", "-Infinity", "1e999", "[1,]", "'a'", "", "{} {}", "\ufeff1"):
        with pytest.raises(ValueError):
            print(text, read_json(text))


def test_json_is_read():
    assert read_json(' {"a": [1, 2.5, null, true], "b": {"a": "x"}} ') == {"a": [1, 2.5, None, True], "b": {"a": "x"}}


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
def test_depth_has_a_bound(opening, closing):
    assert read_json(opening * MAX_LEVELS + "1" + closing * MAX_LEVELS)
    with pytest.raises(RecursionError):
        read_json(opening * (MAX_LEVELS + 1) + "1" + closing * (MAX_LEVELS + 1))
