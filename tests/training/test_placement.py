"""Plans that every rank makes alike: which rows move, and how they are split."""

import math
import random

import torch
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.ranks import run_on_forked_ranks
from trl_grpo_rewards.training.placement import (
    Move,
    Size,
    list_orders,
    move_groups,
    plan_batches,
    plan_moves,
)


def lengths_after(lengths):
    """What the ranks have after the moves. Each row moves once at most, from the rank that has it."""
    moves = plan_moves(lengths)
    assert len({(move.source, move.place) for move in moves}) == len(moves)
    after = [
        [length for place, length in enumerate(own) if not any(move[::2] == (rank, place) for move in moves)]
        for rank, own in enumerate(lengths)
    ]
    for move in moves:
        assert move.source != move.target
        after[move.target].append(lengths[move.source][move.place])
    return after


ranks_of_rows = st.lists(st.lists(st.integers(1, 500), max_size=20), min_size=1, max_size=8)


@given(ranks_of_rows)
def test_moves_bring_ranks_closer_and_lose_no_row(lengths):
    after = lengths_after(lengths)
    assert sorted(sum(after, [])) == sorted(sum(lengths, []))
    totals = [*map(sum, after)]
    assert max(totals) <= max(map(sum, lengths)) and min(totals) >= min(map(sum, lengths))


@given(ranks_of_rows)
def test_the_fullest_rank_is_ahead_by_less_than_each_row_that_it_kept(lengths):
    after, moves = lengths_after(lengths), plan_moves(lengths)
    totals = [*map(sum, after)]
    fullest = totals.index(max(totals))
    arrived = sum(move.target == fullest for move in moves)
    kept = after[fullest][: len(after[fullest]) - arrived]
    assert all(length >= max(totals) - min(totals) for length in kept)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8))
def test_rows_of_one_length_are_spread_with_the_fewest_moves(counts):
    after = [len(own) for own in lengths_after([[1] * count for count in counts])]
    assert max(after) - min(after) <= 1
    share, extra = divmod(sum(counts), len(counts))
    most = sorted(counts, reverse=True)
    needed = sum(max(0, have - share - (place < extra)) for place, have in enumerate(most))
    assert len(plan_moves([[1] * count for count in counts])) == needed


def count_padded(sizes, places):
    own = [sizes[place] for place in places]
    return len(own) * (max(size.prompt for size in own) + max(size.completion for size in own))


sizes_of_rows = st.lists(st.builds(Size, st.integers(1, 60), st.integers(1, 200)), min_size=1, max_size=24)


@given(sizes_of_rows, st.integers(1, 6))
@example([Size(60, 1)] * 3 + [Size(1, 200)], 4)  # in one micro-batch, these have far more tokens than apart
def test_each_row_is_in_one_micro_batch_and_none_is_larger_than_the_largest_of_trl(sizes, rows):
    widest = max(size.prompt for size in sizes) + max(size.completion for size in sizes)
    parts = -(-len(sizes) // rows)
    plan = plan_batches(list_orders(sizes), rows * widest, parts, len(sizes))
    assert sorted(place for one in plan for place in one.places) == [*range(len(sizes))] and len(plan) <= parts
    costs = [one.tokens for one in plan]
    assert costs == [count_padded(sizes, one.places) for one in plan]
    assert max(costs) <= rows * widest and costs == sorted(costs, reverse=True)
    assert sum(costs) <= len(sizes) * widest


@given(sizes_of_rows, st.integers(1, 4))
def test_a_limit_of_rows_holds(sizes, rows):
    plan = plan_batches(list_orders(sizes), 10_000, len(sizes), rows)
    assert max(len(one.places) for one in plan) <= rows


@given(sizes_of_rows, st.randoms())
def test_the_order_of_the_rows_does_not_matter(sizes, random):
    def cost(sizes):
        plan = plan_batches(list_orders(sizes), 1000, len(sizes), len(sizes))
        return sum(one.tokens for one in plan), len(plan)

    assert cost(random.sample(sizes, len(sizes))) == cost(sizes)


def test_long_tailed_rows_are_hardly_padded():
    """On average, at most 1.10 tokens are computed for each one that is needed. TRL makes all rows as wide as the longest."""
    rng, needed, computed, of_trl = random.Random(0), 0, 0, 0
    for _ in range(8):
        pairs = [(rng.lognormvariate(5.5, 0.6), min(4096, rng.lognormvariate(7.1, 0.6))) for _ in range(64)]
        sizes = [Size(*map(math.ceil, pair)) for pair in pairs]
        widest = max(size.prompt for size in sizes) + max(size.completion for size in sizes)
        needed += sum(size.total for size in sizes)
        computed += sum(one.tokens for one in plan_batches(list_orders(sizes), 2 * widest, 32, 64))
        of_trl += 64 * widest
    assert needed <= computed < 1.1 * needed and of_trl > 2.2 * needed


# --- the exchange of rows between two ranks


COUNTS = 7, 2
"""How many rows each rank has."""


def exchange(rank: int) -> list[tuple]:
    ids = torch.arange(COUNTS[rank] * 4).view(-1, 4) + 1000 * rank
    groups = [[{"ids": own, "advantage": own[0] / 8, "images": int(own[0])}] for own in ids]  # views of the batch
    kept = move_groups(groups, [], rank, torch.device("cpu"))
    assert all(one is other for one, other in zip(kept, groups, strict=True))
    moves = [Move(0, 1, 5), Move(0, 1, 3), Move(1, 0, 1)]
    got = move_groups(groups, moves, rank, torch.device("cpu"))
    return [
        (row["ids"].tolist(), row["advantage"].item() * 8, row["images"], row["ids"].untyped_storage().nbytes())
        for (row,) in got
    ]


def test_a_rank_with_many_rows_gives_some_to_one_with_few():
    one, other = run_on_forked_ranks(exchange)
    assert [row[2] for row in one] == [0, 4, 8, 16, 24, 1004] and [row[2] for row in other] == [1000, 20, 12]
    for ids, advantage, first, size in one + other:
        assert ids == [first, first + 1, first + 2, first + 3] and advantage == first
        assert (size == 4 * 8) == (first in (1004, 20, 12))  # only the row's own memory is sent, not that of its batch
