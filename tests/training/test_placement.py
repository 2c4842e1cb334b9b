"""Plans that every rank makes alike: which rows move, and how they are split."""

from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.training.placement import compute_pack_span, plan_micro_batch_sizes, plan_moves


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8))
def test_after_the_moves_ranks_differ_by_at_most_one_row(counts):
    after = list(counts)
    for source, target, count in plan_moves(counts):
        assert count > 0 and source != target
        after[source] -= count
        after[target] += count
    assert max(after) - min(after) <= 1 and sum(after) == sum(counts)
    share, extra = divmod(sum(counts), len(counts))
    most = sorted(counts, reverse=True)
    moved = sum(max(0, have - share - (place < extra)) for place, have in enumerate(most))
    assert sum(move.rows for move in plan_moves(counts)) == moved  # no row moves without need


@given(st.lists(st.integers(1, 50), max_size=12), st.integers(1, 5))
def test_rows_are_split_into_as_few_micro_batches_as_hold_them(lengths, most):
    lengths = sorted(lengths, reverse=True)
    sizes = plan_micro_batch_sizes(lengths, most)
    assert sum(sizes) == len(lengths) and len(sizes) == -(-len(lengths) // most)
    assert all(0 < size <= most for size in sizes)


def test_the_largest_micro_batch_has_as_few_tokens_as_possible():
    assert plan_micro_batch_sizes([100, 10, 10, 10, 10], max_rows=4) == [1, 4]
    assert plan_micro_batch_sizes([9, 8, 2, 1], max_rows=3) == [2, 2]


def test_micro_batches_share_a_step_where_one_number_divides_the_other():
    assert [compute_pack_span(*pair) for pair in [(4, 4), (8, 4), (4, 8), (4, 3), (1, 5)]] == [4, 4, 4, 1, 1]
