r"""Quantities: what follows a value is a unit, a scale, another quantity, or something that changes the value."""

import pytest

from trl_grpo_rewards.mathematics.comparison import compare
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.mathematics.quantities import QuantityReader
from trl_grpo_rewards.mathematics.reader import Reader, read
from trl_grpo_rewards.mathematics.tokens import tokenize
from trl_grpo_rewards.mathematics.units import UNIT_BY_WORD, find_unit, match_units, read_unit
from trl_grpo_rewards.mathematics.values import Quantity, Time
from trl_grpo_rewards.mathematics.words import CHANGING, find_number_word, find_scale, is_label, normalize_words


def is_equal(one, other, **rules):
    return compare(read(one), read(other), AnswerRules(**rules))


@pytest.mark.parametrize("word", sorted(UNIT_BY_WORD))
def test_a_known_unit_has_one_spelling(word):
    assert find_unit(word) == UNIT_BY_WORD[word] or word in ("'", "''")


@pytest.mark.parametrize("spellings", [
    [r"5\text{ km/h}", "5 kph", r"5\ \mathrm{km}\cdot\mathrm{h}^{-1}", r"5\ \frac{\text{km}}{\text{h}}", "5 kilometers per hour"],
    ["5 mph", r"5\text{ miles per hour}", r"5 \text{ mi}/\text{h}"],
    [r"5\text{ m}^2", "5 square meters", r"5\text{ sq m}", r"5\ \mathrm{m^2}", r"5\text{ meters squared}", "5平方米", "$5$ m$^2$"],
    [r"5^\circ\text{C}", r"5\,^{\circ}\mathrm{C}", "5 °C", r"5\text{ degrees Celsius}"],
    [r"\$5", "5 dollars", "5 USD", r"5\text{ dollars}"],
    [r"5\ \mu\text{m}", "5 micrometers", r"5\,\mu m"],
    [r"5\ \Omega", "5 ohms"],
    [r"5\ \text{k}\Omega", r"5\,\mathrm{k\Omega}", "5 kiloohms"],
    [r"5\%", "5 percent", "5%"],
    [r"5^\circ", "5°", "5 degrees", r"5\degree"],
    [r"5\text{ kg}\cdot\text{m}/\text{s}^2", r"5\ \mathrm{kg\cdot m\cdot s^{-2}}"],
    [r"5\text{ J/(kg K)}", r"5\ \frac{\text{J}}{\text{kg}\cdot\text{K}}"],
    [r"5\text{ N·m}", r"5\text{ Nm}"],
    ["5 boxes", r"5\text{ box}"],
    ["5千米", "5km", "5公里"],
    ["5 feet 6 inches", r"5\text{ feet and 6 inches}", "5 ft 6 in"],
])  # fmt: skip
def test_a_unit_has_one_value_in_every_spelling(spellings):
    assert [is_equal(one, other, units="must_match") for one in spellings for other in spellings] == [True] * len(
        spellings
    ) ** 2
    assert not any(is_equal("5 pounds", one) for one in spellings)


@pytest.mark.parametrize("text", [
    "5 doubled", "5 rejected", "5 impossible", r"5\text{ or more}", "5 lakhs", "5 quintillion", "5万", "5亿", "5以上", "5不对", "5倍",
    r"5\text{ feet 6 inches}", r"5\text{ ruled out}", "5K", "5'", "-5 dollars", r"\$-5", "negative 5", "5 thirds", r"5\text{, 6}",
])  # fmt: skip
def test_words_that_change_a_number(text):
    value = read(text)
    assert value is None or is_equal("5", text) is False


@pytest.mark.parametrize(
    "gold, answers",
    [
        ("5", [r"5\text{ solutions}", "5 apples", "5个", r"\text{exactly }5", "约5", "共5个", "five", r"5\text{ (approximately)}"]),
        ("50000", ["5万", "5 \\times 10^4", "50 thousand"]),
        ("-5", ["negative 5", "minus 5", r"-\$5"]),
        ("21", ["twenty-one", r"\text{twenty one}"]),
        (r"220\ \Omega", ["220", "220 ohms"]),
        ("$15\\pi$ cm$^2$", [r"15\pi", r"15\pi \text{ cm}^2"]),
        ("$5$ m", ["5", r"5\text{ m}", "5 meters"]),
        (r"3.0 \times 10^8 m/s", [r"3 \times 10^8", r"3 \times 10^8 \text{ m/s}"]),
        ("300 kelvin", ["300", r"300\text{ K}"]),
        ("4:30 pm", [r"4:30\text{ p.m.}"]),
        ("5-6", ["5 - 6", r"5\text{-}6", "5--6", r"5\text{ to }6"]),
        ("3:4", [r"3\text{ to }4", "6:8", r"\frac34"]),
    ],
)  # fmt: skip
def test_answers_that_are_right(gold, answers):
    assert [is_equal(gold, answer) for answer in answers] == [True] * len(answers)


@pytest.mark.parametrize(
    "gold, answers",
    [
        ("5 m", [r"5\text{ s}"]),
        (r"6\text{ square units}", [r"6\text{ cubic units}"]),
        (r"2\pi", [r"2\pi h"]),
        ("5-6", ["-1", "6-5", "5, 6"]),
        ("3:4", [r"4\text{ to }3"]),
        ("-1", [r"5\text{ to }6"]),
    ],
)
def test_answers_that_are_wrong(gold, answers):
    assert [is_equal(gold, answer) for answer in answers] == [False] * len(answers)


@pytest.mark.parametrize(
    "one, other",
    [
        ("January 5, 2021", r"\text{January 5, 2021}"),
        ("March 5", r"\text{March 5th}"),
        ("Statement 2", r"\text{Statement 2}"),
        ("odd", r"\text{an odd function}"),
        ("ABC", r"\text{ABC}"),
        ("does not exist", r"\text{The limit does not exist}"),
        (r"\text{diverges}", r"\text{The series is divergent}"),
        (r"\infty", r"\text{Infinity}"),
        ("infinitely many", r"\text{infinitely many solutions}"),
        ("①③", "③①"),
    ],
)
def test_words_that_say_the_same(one, other):
    assert is_equal(one, other) is True
    assert not is_equal(one, "Statement 7") and not is_equal("7", other)


def test_the_parts_of_a_quantity():
    assert (
        issubclass(Reader, QuantityReader)
        and isinstance(read("5 apples"), Quantity)
        and read("4:30 pm") == Time(4, 30, "pm")
    )
    assert (
        read_unit(tokenize(r"\text{km}/\text{h}")) == (("h", -1), ("km", 1)) and read_unit(tokenize("or more")) is None
    )
    assert match_units((("egg", 1),), (("egg", 1), ("white", 1))) and not match_units((("egg", 1),), (("$", 1),))


def test_the_meaning_of_words():
    assert not {word for word in UNIT_BY_WORD if word in CHANGING}
    assert find_number_word(["two", "hundred", "five"]) == 205 and find_number_word(["one", "of"]) is None
    assert find_scale("million") == 10**6 and find_scale("dozens") == 12 and find_scale("apples") is None
    assert is_label("answer") and is_label("答案是") and not is_label("不是") and not is_label("apples")
    assert normalize_words(["there", "is", "no", "solution"]) == normalize_words(["none"]) == ("no", "solution")
    assert normalize_words(["the", "boxes"]) == ("box",)
