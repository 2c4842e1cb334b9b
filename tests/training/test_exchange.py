"""The exchange of rows between two ranks."""

import torch

from helpers.ranks import run_on_forked_ranks
from trl_grpo_rewards.training.placement import Move, move_groups
from trl_grpo_rewards.training.rows import unstack


def make_rows(rank: int, count: int) -> list[dict]:
    """Return the rows of a batch, which are views of it, with their place in it."""
    ids = torch.arange(count * 4).view(count, 4) + 1000 * rank
    batch = {
        "prompt_ids": ids,
        "prompt_mask": torch.ones(count, 4, dtype=torch.long),
        "completion_ids": ids + 1,
        "completion_mask": torch.ones(count, 4, dtype=torch.long),
        "advantages": torch.arange(count) / 8 + rank,
        "num_items_in_batch": torch.tensor(7),
    }
    return [{**row, "num_images": place} for place, row in enumerate(unstack(batch))]


def exchange(rank: int) -> list[tuple]:
    moves = [Move(0, 1, 5), Move(0, 1, 3), Move(1, 0, 1)]
    groups = move_groups([[row] for row in make_rows(rank, [7, 2][rank])], moves, rank, torch.device("cpu"))
    return [
        (
            row["advantages"].item(),
            row["prompt_ids"].tolist(),
            row["completion_ids"].tolist(),
            row["num_images"],
            row["prompt_ids"].untyped_storage().nbytes(),
            {*row},
        )
        for (row,) in groups
    ]


def test_a_rank_with_many_rows_gives_some_to_one_with_few():
    one, other = run_on_forked_ranks(exchange)
    assert (len(one), len(other)) == (6, 3)
    everything = {row["advantages"].item(): row for rank, count in ((0, 7), (1, 2)) for row in make_rows(rank, count)}
    assert sorted(row[0] for row in one + other) == sorted(everything)
    for advantage, prompt, completion, images, _, names in one + other:
        whole = everything[advantage]
        assert (prompt, completion) == (whole["prompt_ids"].tolist(), whole["completion_ids"].tolist())
        assert images == whole["num_images"] and names == {*whole}
    assert [row[0] for row in one] == [0.0, 1 / 8, 2 / 8, 4 / 8, 6 / 8, 1 + 1 / 8]
    assert [row[0] for row in other] == [1.0, 5 / 8, 3 / 8]
    moved = [one[-1], *other[1:]]
    assert {size for *_, size, _ in moved} == {4 * 8}  # only the row's own memory is sent, not that of its batch


def keep(rank: int) -> bool:
    rows = make_rows(rank, 3 - rank)
    kept = move_groups([rows], [], rank, torch.device("cpu"))
    return len(kept) == 1 and kept[0] is rows


def test_without_moves_ranks_keep_their_rows():
    assert run_on_forked_ranks(keep) == [True, True]
