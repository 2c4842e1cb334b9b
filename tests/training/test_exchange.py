"""The exchange of rows between two ranks."""

import torch

from helpers.ranks import run_on_forked_ranks
from trl_grpo_rewards.training.placement import Move, move_groups


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
