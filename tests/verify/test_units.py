r"""Values and their units: what is a unit, in which spelling, and which words change the value instead."""

import pytest

from trl_grpo_rewards.verify.units import UNIT_BY_WORD, find_unit, normalize_unit, split_unit


@pytest.mark.parametrize(
    "text, value, unit",
    [
        ("18 eggs", "18", "egg"),
        ("18", "18", None),
        (r"5\text{ cm}", "5", "cm"),
        (r"5 \text{ centimeters}", "5", "cm"),
        (r"5 \mathrm{m}^2", "5", "m 2"),
        (r"10\%", "10", "%"),
        ("10 percent", "10", "%"),
        (r"90^{\circ}", "90", "°"),
        (r"\$3.50", "3.50", "$"),
        ("£20", "20", "£"),
        ("3 dollars", "3", "$"),
        ("60 km/h", "60", "km / h"),
        ("60 kilometers per hour", "60", "km / h"),
        ("60 mph", "60", "mile / h"),
        ("12 square feet", "12", "ft 2"),
        ("7 days", "7", "day"),
    ],
)
def test_a_value_is_split_from_its_unit(text, value, unit):
    assert split_unit(text) == (value, unit)


@pytest.mark.parametrize(
    "text",
    [
        "5 or more",
        "3 million",
        "2 dozen",
        "no solution",
        "5 times",
        "7 halves",
        "x",
        "2x",
        "3 + m",
        r"\frac{1}{2}",
        "x = kg",
    ],
)
def test_words_that_change_the_value_are_no_unit(text):
    assert split_unit(text) == (text, None)


def test_a_letter_is_a_unit_only_where_letters_are_and_after_a_number():
    assert split_unit("5 m") == ("5 m", None) and split_unit("5 m", letters=True) == ("5", "m")
    assert split_unit("5 x", letters=True) == ("5 x", None)
    assert split_unit("x m", letters=True) == ("x m", None)


def test_capitals_count_in_short_units():
    assert find_unit("MW") == "MW" and find_unit("mW") == "mW"
    assert find_unit("Hours") == find_unit("HOURS") == "h"
    assert find_unit("eggs") is None


def test_each_unit_has_one_spelling():
    assert normalize_unit("square meters") == normalize_unit("m^2") == normalize_unit(r"\text{metres}^{2}") == "m 2"
    assert normalize_unit("boxes of eggs") == "boxe egg"  # any spelling, as long as it is the same one
    assert all(
        normalize_unit(word) == normalize_unit(unit)
        for word, unit in UNIT_BY_WORD.items()
        if unit not in ("square", "cubic")
    )
