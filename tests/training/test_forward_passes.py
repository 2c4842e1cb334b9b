"""Forward passes over some rows: which rows the model sees, and what the others get."""

import math
from types import SimpleNamespace

import torch
from accelerate.utils import DistributedType
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.training.metric_means import TokenCounts
from trl_grpo_rewards.training.micro_batches import Packer


MODEL = torch.nn.Identity()


def score_rows(score, batch, rows, multiple=None):
    """What the model says of rows, and the tokens that are counted."""
    accelerator = SimpleNamespace(distributed_type=DistributedType.NO)
    packer = Packer(accelerator, SimpleNamespace(pad_to_multiple_of=multiple), pad_token_id=0)
    return packer.score(score, MODEL, batch, rows), packer.scored


def test_only_the_chosen_rows_are_forwarded_and_the_others_get_nan():
    seen = []

    def score(model, input_ids, attention_mask, logits_to_keep, **options):
        seen.append(input_ids[:, 0].tolist())
        return input_ids[:, -logits_to_keep:].double(), None, None

    ids = torch.arange(15).view(5, 3)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "logits_to_keep": 2, "pixel_values": None}
    (logps, entropies, _), counts = score_rows(score, {**batch, "batch_size": 2}, [0, 3, 4])
    assert sorted(sum(seen, [])) == [0, 9, 12] and max(map(len, seen)) <= 2
    assert logps.dtype == torch.float64 and entropies is None
    assert torch.equal(logps[[0, 3, 4]], ids[[0, 3, 4], 1:].double()) and logps[[1, 2]].isnan().all()
    assert counts == TokenCounts(needed=9, computed=9, padded=15, skipped=6)


lengths = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 9)), min_size=1, max_size=12)


@given(lengths, st.integers(1, 4), st.sampled_from([None, 4]))
def test_each_token_gets_what_the_model_says_of_it_and_padding_gets_0(lengths, batch_size, multiple):
    def up(width):
        return -(-width // (multiple or 1)) * (multiple or 1)

    prompt, completion = (up(max(own)) for own in zip(*lengths, strict=True))
    column = torch.arange(prompt + completion)
    mask = torch.stack([(column >= prompt - before) & (column < prompt + after) for before, after in lengths]).long()
    ids = torch.arange(1, mask.numel() + 1).view_as(mask) * mask
    computed = []

    def score(model, input_ids, attention_mask, logits_to_keep, batch_size, compute_entropy):
        assert torch.equal(attention_mask, (input_ids > 0).long()) and len(input_ids) == batch_size
        assert input_ids.numel() <= limit and not logits_to_keep % (multiple or 1)
        computed.append(input_ids.numel())
        is_real = input_ids > 0
        assert torch.equal(
            model.keywords["position_ids"][is_real], (input_ids - 1)[is_real] % ids.size(1)
        )  # the column in `ids`
        return input_ids[:, -logits_to_keep:].double(), input_ids[:, -logits_to_keep:] * 2.0, None

    limit = batch_size * ids.size(1)
    batch = {"input_ids": ids, "attention_mask": mask, "logits_to_keep": completion, "compute_entropy": True}
    rows = [*range(len(lengths))]
    (logps, entropies, _), counts = score_rows(score, {**batch, "batch_size": batch_size}, rows, multiple)
    assert torch.equal(logps, ids[:, prompt:].double()) and torch.equal(entropies, ids[:, prompt:] * 2.0)
    assert counts == TokenCounts(int(mask.sum()), sum(computed), mask.numel()) and counts.computed <= counts.padded
    assert len(computed) <= math.ceil(len(lengths) / batch_size)  # no more passes than TRL


def test_no_row_takes_no_pass():
    ids = torch.ones(3, 4, dtype=torch.long)
    batch = {"input_ids": ids, "attention_mask": ids, "logits_to_keep": 2}
    (logps, *_), counts = score_rows(lambda *args, **batch: 1 / 0, batch, [])
    assert logps.shape == (3, 2) and logps.isnan().all() and counts == TokenCounts(0, 0, 12, 12)
