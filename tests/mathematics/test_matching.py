"""Comparison of parts: in order, in any order, by kinds of which the first that decides is right."""

import pytest

from trl_grpo_rewards.mathematics.matching import MAX_ITEMS, UNDECIDED, AnswerRules, Kind, Same, conjoin
from trl_grpo_rewards.mathematics.values import Symbol


ONE, TWO, OPEN = map(Symbol, ("one", "two", "open"))
UNKNOWN = Kind(lambda value: value == OPEN, lambda gold, answer, same: None)
NO_CASE = Kind(lambda value: True, lambda gold, answer, same: gold.name.casefold() == answer.name.casefold())
SILENT = Kind(lambda value: True, lambda gold, answer, same: UNDECIDED)


@pytest.mark.parametrize("kinds, golds, answers, in_order, in_any_order", [
    ([NO_CASE], [ONE, TWO], [Symbol("ONE"), TWO], True, True),
    ([SILENT, NO_CASE], [ONE, TWO], [TWO, ONE], False, True), ([], [ONE, TWO], [Symbol("ONE"), TWO], False, False),
    ([NO_CASE], [ONE], [ONE, ONE], False, False), ([NO_CASE], [ONE, ONE], [ONE, TWO], False, False),
    ([UNKNOWN, NO_CASE], [ONE, OPEN], [ONE, TWO], None, None),
    ([UNKNOWN, NO_CASE], [OPEN, ONE], [OPEN, TWO], False, False),
    ([NO_CASE], [ONE] * MAX_ITEMS * 2, [ONE] * MAX_ITEMS * 2, True, True),
])  # fmt: skip
def test_parts_are_compared_by_the_first_kind_that_decides(kinds, golds, answers, in_order, in_any_order):
    same = Same(kinds, AnswerRules())
    assert (same.in_order(golds, answers), same.in_any_order(golds, answers)) == (in_order, in_any_order)


def test_one_wrong_part_is_enough():
    assert conjoin([True, None, False]) is False and conjoin([True, None]) is None and conjoin([]) is True


def test_long_lists_are_not_compared_pair_by_pair():
    compared: list[str] = []
    kind = Kind(lambda value: True, lambda gold, answer, same: bool(compared.append(gold.name)))
    golds, answers = ([Symbol(f"{name}{place}") for place in range(MAX_ITEMS + 1)] for name in "xy")
    assert Same([kind], AnswerRules()).in_any_order(golds, answers) is False and not compared
