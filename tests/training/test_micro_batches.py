"""The micro-batches of an optimizer step on one process: live rows in few batches, and the factor of their loss."""

from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator
from torch.nn import functional

from trl_grpo_rewards.training.metric_means import TokenCounts
from trl_grpo_rewards.training.micro_batches import PackedStep, Packer, pad_gathered, set_loss_scales, skip_constant
from trl_grpo_rewards.training.trees import Sharing


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


def packer(accelerator, **options) -> Packer:
    args = SimpleNamespace(
        num_iterations=1,
        pad_to_multiple_of=None,
        steps_per_generation=2,
        gradient_accumulation_steps=2,
        loss_type="dapo",
    )
    return Packer(accelerator, args, 0, **options)


def packed(*parts, accelerator) -> PackedStep:
    return packer(accelerator).pack_step(list(parts))


def test_live_rows_fill_the_last_micro_batches_by_length(accelerator):
    parts = [part(3, 19, live=[True, False]), part(18, 4, live=[True, True], first=3)]
    made = packed(*parts, accelerator=accelerator)
    assert (made.live, made.rows, made.ranks, made.computed) == (3, 4, [1, 1], 3)
    assert [sorted(batch["advantages"].tolist()) for batch in made.batches] == [[3.0], [1.0, 4.0]]
    assert [batch["completion_ids"].size(1) for batch in made.batches] == [18, 4]
    assert [batch["most_rows"] for batch in made.batches] == [1, 2]
    assert not any(batch.get("silent") for batch in made.batches)
    assert made.tokens == TokenCounts(
        needed=3 + 18 + 4 + PROMPT, computed=20 + 2 * 6, padded=2 * 21 + 2 * 20, skipped=21
    )


def test_rows_of_a_prompt_share_a_sequence_unless_a_token_between_others_is_masked(accelerator):
    parts = [part(3, 19, live=[True, False]), part(18, 4, live=[True, True], first=3)]
    shares = packer(accelerator, sharing=Sharing({"full_attention": None}, even=1e9))
    made = shares.pack_step(parts)
    (silent, batch), copied = made.batches, 2  # the last token of the prompt, for the second and the third row
    assert silent["silent"] and "tree" not in silent and sorted(batch["advantages"].tolist()) == [1.0, 3.0, 4.0]
    assert batch["tree"].tokens.shape == (1, PROMPT + 3 + 18 + 4 + copied) and batch["tree"].sources.shape == (3, 18)
    assert made.tokens[:2] == (PROMPT + 3 + 18 + 4, PROMPT + 3 + 18 + 4 + copied)
    parts[1]["completion_mask"][0, 5] = 0
    assert not any("tree" in batch for batch in shares.pack_step(parts).batches)


def test_short_rows_share_a_micro_batch_up_to_the_tokens_of_the_largest_of_trl(accelerator):
    parts = [part(3, 3, live=[True] * 2), part(28, 3, live=[True] * 2, first=3)]
    made = packed(*parts, accelerator=accelerator)
    assert [batch["advantages"].tolist() for batch in made.batches] == [[3.0], [1.0, 2.0, 4.0]]


def test_micro_batches_that_keep_their_rows_are_cut_to_their_own_width(accelerator):
    one, other = part(3, 2, live=[True] * 2), part(5, 9, live=[True] * 2, first=3)
    one["completion_ids"], one["completion_mask"] = (
        functional.pad(one[name], (0, 6)) for name in ("completion_ids", "completion_mask")
    )
    batches, logged = packer(accelerator, keeps_rows=True).pack([one, other])
    assert [sorted(batch["advantages"].tolist()) for batch in batches] == [[1.0, 2.0], [3.0, 4.0]]
    assert [batch["completion_ids"].size(1) for batch in batches] == [3, 9]
    needed, computed = 19 + 2 * PROMPT, 2 * 5 + 2 * 11
    assert logged == {
        "rows_computed": 4, "tokens_needed": needed, "tokens_computed": computed, "tokens_padded": 4 * 11, "tokens_skipped": 0,
        "padding": computed / needed,
    }  # fmt: skip
    assert not any({"live", "loss_scale"} & batch.keys() for batch in batches)


def test_prompts_keep_their_padding_where_a_model_takes_no_positions(accelerator):
    one = part(3, 2, live=[True] * 2)
    one["prompt_mask"][:, 0] = 0
    for keeps_positions, width in ((False, 1), (True, 2)):
        (batch,), *_ = packer(accelerator, keeps_positions=keeps_positions).pack([one])
        assert batch["prompt_ids"].size(1) == width


def test_completions_keep_their_padding_in_batches_from_the_limit_on_also_if_these_are_stacked_again(accelerator):
    one = part(3, 2, live=[True] * 2)
    one["prompt_mask"][:, 0] = 0
    for limit, widths in ((PROMPT + 3, [3, 3]), (PROMPT + 4, [3, 2])):
        made = packer(accelerator, limit=limit)
        for batch in (one, made.stack(made.unstack(one))):
            assert [len(row["completion_ids"]) for row in made.unstack(batch)] == widths


def test_ranks_with_fewer_rows_pad_what_is_gathered(accelerator):
    gathered = []
    accelerator.gather = lambda value: gathered.append(value) or value
    own = accelerator.gather
    with pad_gathered(accelerator, 4):
        accelerator.gather(torch.tensor([1.0, 2.0]))
        accelerator.gather(torch.tensor(3.0))
    with pad_gathered(accelerator, 0):
        accelerator.gather(torch.tensor([1.0, 2.0]))
    assert gathered[0].tolist()[:2] == [1.0, 2.0] and gathered[0][2:].isnan().all() and len(gathered[0]) == 4
    assert gathered[1].item() == 3.0 and gathered[2].tolist() == [1.0, 2.0]
    assert accelerator.gather is own


def test_micro_batches_without_a_live_row_are_silent_and_come_first(accelerator):
    parts = [part(3, 9, live=[False, False]), part(5, 4, live=[False, True], first=3)]
    made = packed(*parts, accelerator=accelerator)
    silent, loud = made.batches
    assert silent["silent"] and "silent" not in loud
    assert silent["advantages"].tolist() == [0.0] and silent["completion_ids"].size(1) == 2
    assert not (silent["completion_mask"] * silent["tool_mask"]).any()
    assert loud["advantages"].tolist() == [4.0] and made.computed == 1


def test_without_a_live_row_a_filler_is_computed(accelerator):
    made = packed(part(3, 9, live=[False, False]), part(2, 2, live=[False, False]), accelerator=accelerator)
    assert (made.live, made.ranks, made.computed, len(made.batches)) == (0, [], 1, 2)
    assert all(batch["silent"] for batch in made.batches)


def weighed(made: PackedStep, loss_type: str, is_drop: bool, has_mean: bool = False) -> list[dict]:
    return set_loss_scales(made, loss_type, is_drop, 1, has_mean)


@pytest.mark.parametrize("is_drop, expected", [(False, [0.5, 1.0]), (True, [2 / 3, 4 / 3])])
def test_a_mean_over_rows_gets_the_denominator_of_all_or_of_the_live_rows(accelerator, is_drop, expected):
    parts = [part(3, 19, live=[True, False]), part(18, 4, live=[True, True])]
    batches = weighed(packed(*parts, accelerator=accelerator), "grpo", is_drop)
    assert [batch["loss_scale"] for batch in batches] == pytest.approx(expected)
    # TRL divides by the rows of each micro-batch and by the number of micro-batches: each row weighs the same
    rows = [batch["advantages"].size(0) for batch in batches]
    each = {round(batch["loss_scale"] / size / 2, 6) for batch, size in zip(batches, rows, strict=True)}
    assert each == {round(1 / (3 if is_drop else 4), 6)}
    assert all("live" not in batch for batch in batches)


@pytest.mark.parametrize("is_drop", [False, True])
def test_a_factor_makes_up_for_the_mean_over_ranks(accelerator, is_drop):
    def scales(ranks):
        made = packed(part(3, 9, live=[True, False]), part(5, 4, live=[True, True]), accelerator=accelerator)
        return [batch["loss_scale"] for batch in set_loss_scales(made, "grpo", is_drop, ranks)]

    assert scales(4) == pytest.approx([4 * scale for scale in scales(1)])


def test_a_sum_over_tokens_needs_no_factor_unless_a_mean_is_next_to_it_and_rows_are_dropped(accelerator):
    parts = [part(3, 9, live=[False, False]), part(5, 5, live=[True, True])]
    for flags in ((False, True), (True, False)):
        batches = weighed(packed(*parts, accelerator=accelerator), "dapo", *flags)
        assert all("loss_scale" not in batch and batch["num_items_in_batch"] == 60 for batch in batches)
    batches = weighed(packed(*parts, accelerator=accelerator), "dapo", True, True)
    assert [batch.get("loss_scale") for batch in batches] == [None, 2.0]  # one of two micro-batches has rows
    assert [batch["num_items_in_batch"].item() for batch in batches] == [60.0, 120.0]


def test_nothing_is_learned_where_all_rows_are_dropped(accelerator):
    batches = weighed(packed(part(3, 9, live=[False, False]), accelerator=accelerator), "dapo", True)
    assert [batch["loss_scale"] for batch in batches] == [0.0]


def test_a_constant_loss_has_no_backward_pass():
    ran = []
    weight = torch.ones((), requires_grad=True)
    for loss in (torch.zeros(()), torch.zeros(()) / 4, weight * 2):
        skip_constant(lambda loss, **options: ran.append((loss.item(), options)), loss, scale_wrt_gas=False)
    assert ran == [(2.0, {"scale_wrt_gas": False})]
