"""Passes over few rows: which rows the model sees, the micro-batches of a step, their factors, and what is logged of them."""

import math
from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional
from trl import GRPOTrainer

from helpers.gradients import SGD, train_for_gradients
from helpers.marks import slow_except
from helpers.metric_means import compare_means
from trl_grpo_rewards import FilteredGRPOTrainer
from trl_grpo_rewards.training.attention import pad_rows
from trl_grpo_rewards.training.packing import Packer
from trl_grpo_rewards.training.passes import Sharing


PROMPT = 2


@pytest.fixture
def accelerator():
    return Accelerator(cpu=True)


def part(*lengths: int, live: list[bool], first: int = 1) -> dict:
    """A micro-batch with one prompt and these lengths of completions; the number of a row is its advantage and its token."""
    width = max(lengths)
    mask = (torch.arange(width) < torch.tensor(lengths)[:, None]).long()
    return {
        "prompt_ids": torch.ones(len(lengths), PROMPT, dtype=torch.long),
        "prompt_mask": torch.ones(len(lengths), PROMPT, dtype=torch.long),
        "completion_ids": torch.arange(first, first + len(lengths))[:, None] * mask,
        "completion_mask": mask,
        "advantages": torch.arange(first, first + len(lengths)).float(),
        "num_items_in_batch": torch.tensor(60.0),
        "live": live,
    }


def packer(accelerator, loss_type="dapo", **options) -> Packer:
    steps = {"steps_per_generation": 2, "gradient_accumulation_steps": 2, "num_iterations": 1}
    return Packer(accelerator, SimpleNamespace(pad_to_multiple_of=None, loss_type=loss_type, **steps), 0, **options)


def packed(*parts, accelerator, **options) -> list[dict]:
    return packer(accelerator, **options).pack_step(list(parts))[0]


def test_live_rows_fill_the_last_micro_batches_by_length(accelerator):
    parts = [part(3, 18, live=[True, False]), part(18, 4, live=[True, True], first=3)]
    batches, computed, tokens = packer(accelerator).pack_step(parts)
    assert [sorted(batch["advantages"].tolist()) for batch in batches] == [[3.0], [1.0, 4.0]] and computed == 3
    assert [batch["completion_ids"].size(1) for batch in batches] == [18, 4]
    assert [batch["weights"].most_rows for batch in batches] == [1, 2]
    assert not any(batch.get("silent") for batch in batches)
    assert tokens == [3 + 18 + 4 - 3 + PROMPT, 20 + 2 * 6, 4 * 20, 20]  # needed, computed, of TRL, and skipped


def test_rows_of_a_prompt_share_a_sequence_unless_a_token_between_others_is_masked(accelerator):
    parts = [part(3, 19, live=[True, False]), part(18, 4, live=[True, True], first=3)]
    shares = packer(accelerator, sharing=Sharing(pad_rows))
    batches, _, tokens = shares.pack_step(parts)
    (silent, batch), needed = batches, PROMPT + 3 + 18 + 4 - 3  # without the last tokens
    assert silent["silent"] and "packed" not in silent and sorted(batch["advantages"].tolist()) == [1.0, 3.0, 4.0]
    assert batch["packed"].tokens.shape == (1, needed) and batch["packed"].shape == (3, 18)
    assert tokens[:2] == [needed, needed]
    parts[1]["completion_mask"][0, 5] = 0
    assert not any("packed" in batch for batch in shares.pack_step(parts)[0])


def test_short_rows_share_a_micro_batch_up_to_the_tokens_of_the_largest_of_trl(accelerator):
    parts = [part(3, 3, live=[True] * 2), part(28, 3, live=[True] * 2, first=3)]
    made = packed(*parts, accelerator=accelerator)
    assert [batch["advantages"].tolist() for batch in made] == [[3.0], [1.0, 2.0, 4.0]]


def test_micro_batches_that_keep_their_rows_are_cut_to_their_own_width(accelerator):
    one, other = part(3, 2, live=[True] * 2), part(5, 9, live=[True] * 2, first=3)
    one["completion_ids"], one["completion_mask"] = (
        functional.pad(one[name], (0, 6)) for name in ("completion_ids", "completion_mask")
    )
    batches, logged = packer(accelerator, keeps_rows=True).pack([one, other])
    assert [sorted(batch["advantages"].tolist()) for batch in batches] == [[1.0, 2.0], [3.0, 4.0]]
    assert [batch["completion_ids"].size(1) for batch in batches] == [3, 9]
    needed, computed = 19 - 4 + 2 * PROMPT, 2 * 5 + 2 * 11
    assert logged == {
        "rows_computed": 4, "tokens_needed": needed, "tokens_computed": computed, "tokens_padded": 4 * 11, "tokens_skipped": 0,
        "padding": computed / needed,
    }  # fmt: skip
    assert not any({"live", "loss_scale"} & batch.keys() for batch in batches)


# --- passes without gradient


def score_rows(score, batch, rows, multiple=None):
    """What the model says of rows, and the tokens that are counted."""
    accelerator = SimpleNamespace(distributed_type=DistributedType.NO)
    packer = Packer(accelerator, SimpleNamespace(pad_to_multiple_of=multiple), pad_token_id=0)
    return packer.score(score, torch.nn.Identity(), batch, rows), packer.scored.tolist()


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
    assert counts == [6, 9, 15, 6]  # needed, computed, of TRL, and skipped


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
    assert counts == [mask.sum() - len(mask), sum(computed), mask.numel(), 0] and counts[1] <= counts[2]
    assert len(computed) <= math.ceil(len(lengths) / batch_size)  # no more passes than TRL


# --- what is logged


def never_dead(prompts, completion_ids, **kwargs):
    return [float(sum(ids)) + row for row, ids in enumerate(completion_ids)]


SETTINGS = [
    {"zero_variance": "skip"},
    {"zero_variance": "drop", "beta": 0.1},
    {"beta": 0.1},
    {"loss_type": "grpo", "importance_sampling_level": "sequence"},
    {"loss_type": "cispo", "epsilon_high": 0.9},
    {"loss_type": "bnpo"},
    {"gradient_accumulation_steps": 2, "per_device_train_batch_size": 8, "logging_steps": 1},
]


@pytest.mark.parametrize("options", slow_except(SETTINGS[1:2], SETTINGS), ids=str)
def test_what_is_logged_is_the_mean_over_live_tokens_or_sequences(config, problems, options):
    difference, names = compare_means(config, problems, **options)
    assert difference <= 1e-6
    assert "entropy" in names and any("clip" in name for name in names), names


def test_without_dead_groups_rows_of_equal_lengths_have_the_means_of_trl(config, problems):
    options = {"beta": 0.1, "num_iterations": 2, "generation_kwargs": {"min_new_tokens": 12}, "max_steps": 4, **SGD}
    options |= {
        "gradient_accumulation_steps": 4,
        "per_device_train_batch_size": 4,
        "learning_rate": 0.3,
        "dtype": "float64",
    }
    ours, trl = (
        train_for_gradients(cls, config, problems, [never_dead], **options)[1].state.log_history
        for cls in (FilteredGRPOTrainer, GRPOTrainer)
    )
    names = [name for name in trl[0] if name in ("entropy", "kl") or "clip_ratio/" in name and "mean" in name]
    assert len(names) == 5
    for one, other in zip(ours[:-1], trl[:-1], strict=True):
        assert [one[name] for name in names] == pytest.approx([other[name] for name in names], rel=1e-6, abs=1e-6)
