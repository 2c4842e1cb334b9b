"""Sets of numbers as intervals: the laws of sets."""

from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.sets import find_segments
from trl_grpo_rewards.mathematics.segments import are_same_segments, complement, intersect, unite


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 5), st.booleans(), st.booleans()), max_size=5))
def test_sets_of_numbers_follow_the_laws_of_sets(parts):
    segments = [
        find_segments(read(f"{'[' if low_in else '('}{low}, {low + size + 1}{']' if high_in else ')'}"))
        for low, size, low_in, high_in in parts
    ]
    union = unite([segment for part in segments for segment in part])
    assert are_same_segments(complement(complement(union)), union)
    assert are_same_segments(intersect(union, complement(union)), [])
    common = union
    for part in segments:
        common = intersect(common, part)
        assert are_same_segments(intersect(union, part), part)
    outside = unite([segment for part in segments for segment in complement(part)])
    assert not segments or are_same_segments(complement(common), outside)
