"""Forward passes over some rows: which rows the model sees, and what the others get."""

import torch
from accelerate.utils import DistributedType

from trl_grpo_rewards.training.forward_passes import score_rows, split_rows


def test_only_the_chosen_rows_are_forwarded_and_the_others_get_nan():
    seen = []

    def score(input_ids, attention_mask, logits_to_keep, batch_size):
        seen.append(input_ids[:, 0].tolist())
        return input_ids[:, -logits_to_keep:].double(), None, None

    ids = torch.arange(15).view(5, 3)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "logits_to_keep": 2, "pixel_values": None}
    logps = score_rows(score, batch, [0, 3, 4], 2, DistributedType.NO)
    assert seen == [[0, 9], [12]] and logps.dtype == torch.float64
    assert torch.equal(logps[[0, 3, 4]], ids[[0, 3, 4], 1:].double()) and logps[[1, 2]].isnan().all()


def test_one_rank_alone_adds_no_pass_for_others():
    assert split_rows([1, 2, 5], 2, DistributedType.MULTI_CPU) == [[1, 2], [5]]
    assert split_rows([], 2, DistributedType.NO) == []
