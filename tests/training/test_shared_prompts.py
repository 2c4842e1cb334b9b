"""Fresh prompts that all ranks draw alike and share."""

from types import SimpleNamespace

from trl_grpo_rewards.training.prompt_sampling import PLACE_COLUMN
from trl_grpo_rewards.training.prompt_stream import PromptStream
from trl_grpo_rewards.training.shared_prompts import draw_rows


def test_ranks_get_equal_numbers_of_rows_of_the_same_prompts():
    dataset = [{"prompt": f"{place}"} for place in range(10)]
    parts = [
        draw_rows(PromptStream(10, seed=3), dataset, 3, 2, SimpleNamespace(num_processes=4, process_index=rank))
        for rank in range(4)
    ]
    assert [len(part) for part in parts] == [2, 2, 2, 2]  # 3 prompts of 2 rows are rounded up to 4
    rows = [row for part in parts for row in part]
    assert [row[PLACE_COLUMN] for row in rows] == [place for place in PromptStream(10, seed=3).draw(4) for _ in "ab"]
    assert all(row["prompt"] == f"{row[PLACE_COLUMN]}" for row in rows)
