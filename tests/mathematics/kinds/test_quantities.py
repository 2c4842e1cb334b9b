r"""Quantities: what follows a value is a unit, a scale, another quantity, or something that changes the value."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.quantities import Parts, Quantity


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
    assert all(is_equal(one, other, units="must_match") is True for one in spellings for other in spellings)
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
        (r"220\ \Omega", ["220", "220 ohms"]),
        ("$15\\pi$ cm$^2$", [r"15\pi", r"15\pi \text{ cm}^2"]),
        ("$5$ m", ["5", r"5\text{ m}", "5 meters"]),
        (r"3.0 \times 10^8 m/s", [r"3 \times 10^8", r"3 \times 10^8 \text{ m/s}"]),
        ("300 kelvin", ["300", r"300\text{ K}"]),
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
    ],
)
def test_answers_that_are_wrong(gold, answers):
    assert [is_equal(gold, answer) for answer in answers] == [False] * len(answers)


@pytest.mark.parametrize(
    "gold, right, wrong",
    [
        ("10 N", ["10", "10 N", "10 newtons"], ["10 m", "5 N"]),
        ("10", ["10", r"10\text{ N}"], ["10 N"]),  # which may be a product
        ("10 N", ["10N", "N \\cdot 10"], ["10M"]),
        (r"180^\circ", [r"\pi", "180"], [r"2\pi", r"180\pi"]),
        (r"\frac{\pi}{6}", [r"30^\circ", "30°"], [r"60^\circ", "30", r"\pi^\circ"]),
    ],
)
def test_what_a_letter_and_degrees_may_mean(gold, right, wrong):
    assert [is_equal(gold, answer) for answer in right] == [True] * len(right)
    assert [is_equal(gold, answer) for answer in wrong] == [False] * len(wrong)


def test_the_kinds_of_quantities():
    assert isinstance(read("5 apples"), Quantity) and isinstance(read("5 feet 6 inches"), Parts)
    assert is_equal("5 egg whites", "5 eggs") is True and is_equal("5 eggs", r"\$5") is False
