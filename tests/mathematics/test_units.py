"""Units: which spelling is which unit, and which units are the same."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.units import SPELLINGS, find_unit, match_units
from trl_grpo_rewards.mathematics.words import changes


@pytest.mark.parametrize("word", sorted(SPELLINGS))
def test_a_known_unit_has_one_spelling(word):
    assert find_unit(word) == SPELLINGS[word] and not (len(word) > 1 and changes(word))


def test_a_prefix_is_another_unit():
    assert is_equal(r"5\text{ kN}", "5 kilonewtons", units="must_match") is True
    assert is_equal(r"5\text{ mW}", r"5\text{ MW}") is is_equal(r"5\text{ m}", r"5\text{ km}") is False


def test_a_unit_may_say_more_about_what_is_counted():
    assert match_units((("egg", 1),), (("egg", 1), ("white", 1))) and not match_units((("egg", 1),), (("$", 1),))
    assert match_units((("'", 1),), (("ft", 1),)) and not match_units((("'", 1),), (("in", 1),))
