r"""The verdict does not depend on how people write an answer, and turns with one digit, sign, operation or name."""

from random import Random

from hypothesis import settings

from helpers.answer_laws import assert_none, judge
from helpers.styled_latex import are_apart, change, draw_answer, list_values, write


PAIRS = settings().max_examples ** 2
"""625, and a quarter of a million with `--hypothesis-profile=thorough`."""


def test_an_answer_in_another_style_is_right_and_with_one_change_is_wrong():
    rng, broken, judged = Random(0), [], 0
    while judged < PAIRS:
        tree = draw_answer(rng)
        if list_values(tree) is None:
            continue
        gold, right, other = write(tree, rng), write(tree, rng), change(tree, rng)
        judged += 1
        if judge(gold, right) is not True:
            broken.append(f"T {gold} # {right}")
        if are_apart(tree, other) and judge(gold, wrong := write(other, rng)) is not False:
            broken.append(f"F {gold} # {wrong}")
    assert_none(broken, 2 * judged)


def test_numbers_side_by_side_are_a_row_in_order_and_not_their_sum():
    rng, pairs = Random(0), []
    for _ in range(100):
        row = [*map(str, rng.sample(range(1, 99), rng.randint(2, 4)))]
        spaced, total = " ".join(row), str(sum(map(int, row)))
        pairs += [
            (spaced, ", ".join(row), True),
            (", ".join(row), spaced, True),
            (f"({', '.join(row)})", spaced, True),
        ]
        pairs += [(spaced, ", ".join(row[::-1]), False), (total, spaced, False), (spaced, total, False)]
    assert_none([pair for pair in pairs if judge(*pair[:2]) is not pair[2]], len(pairs))
