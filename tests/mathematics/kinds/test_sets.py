"""Sets of numbers as intervals: the laws of sets."""

from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.sets import NOTHING, are_same_sets, complement, find_set, intersect, unite


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 5), st.booleans(), st.booleans()), max_size=5))
def test_sets_of_numbers_follow_the_laws_of_sets(parts):
    sets = [
        find_set(read(f"{'[' if low_in else '('}{low}, {low + size + 1}{']' if high_in else ')'}"))
        for low, size, low_in, high_in in parts
    ]
    union, common = unite(*sets), intersect(*sets)
    assert are_same_sets(intersect(union, complement(union)), NOTHING)
    assert all(are_same_sets(intersect(union, one), one) for one in sets)
    assert all(are_same_sets(unite(common, one), one) for one in sets)
    assert all(are_same_sets(one, union) == are_same_sets(union, one) for one in sets)
    for (low, size, low_in, high_in), one in zip(parts, sets, strict=True):
        high = low + size + 1
        assert (one.contains(low), one.contains(high), one.contains((low + high) / 2)) == (low_in, high_in, True)
        assert not one.contains(low - 1) and not one.contains(high + 1)
