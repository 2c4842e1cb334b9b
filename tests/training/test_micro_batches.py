"""The micro-batches of an optimizer step on one process: live rows in few batches, and the factor of their loss."""

import pytest
import torch
from accelerate import Accelerator

from trl_grpo_rewards.training.micro_batches import PackedStep, pack_live_rows, set_loss_scales, skip_constant
from trl_grpo_rewards.training.rows import stack


PROMPT = 2


@pytest.fixture
def accelerator():
    return Accelerator(cpu=True)


def part(*lengths: int, live: list[bool], first: int = 1) -> dict:
    """A micro-batch with completions of these lengths; the advantage of a row is its number, from `first` on."""
    width = max(lengths)
    mask = (torch.arange(width) < torch.tensor(lengths)[:, None]).long()
    return {
        "prompt_ids": torch.ones(len(lengths), PROMPT, dtype=torch.long),
        "prompt_mask": torch.ones(len(lengths), PROMPT, dtype=torch.long),
        "completion_ids": 7 * mask,
        "completion_mask": mask,
        "advantages": torch.arange(first, first + len(lengths)).float(),
        "num_items_in_batch": torch.tensor(60.0),
        "live": live,
    }


def packed(*parts, accelerator) -> PackedStep:
    return pack_live_rows(list(parts), lambda rows: stack(rows, 0), accelerator)


def test_live_rows_fill_the_last_micro_batches_by_length(accelerator):
    parts = [part(3, 9, live=[True, False]), part(5, 4, live=[True, True], first=3)]
    made = packed(*parts, accelerator=accelerator)
    assert (made.live, made.rows, made.ranks, made.computed) == (3, 4, [1, 1], 3)
    assert [batch["advantages"].tolist() for batch in made.batches] == [[3.0], [4.0, 1.0]]
    assert [batch["completion_ids"].size(1) for batch in made.batches] == [5, 4]
    assert not any(batch.get("silent") for batch in made.batches)


def test_micro_batches_without_a_live_row_are_silent_and_come_first(accelerator):
    parts = [part(3, 9, live=[False, False]), part(5, 4, live=[False, True], first=3)]
    made = packed(*parts, accelerator=accelerator)
    silent, loud = made.batches
    assert silent["silent"] and "silent" not in loud
    assert silent["advantages"].tolist() == [0.0] and silent["completion_ids"].size(1) == 1
    assert not (silent["completion_mask"] * silent["tool_mask"]).any()
    assert loud["advantages"].tolist() == [4.0] and made.computed == 1


def test_without_a_live_row_a_filler_is_computed(accelerator):
    made = packed(part(3, 9, live=[False, False]), part(2, 2, live=[False, False]), accelerator=accelerator)
    assert (made.live, made.ranks, made.computed, len(made.batches)) == (0, [], 1, 2)
    assert all(batch["silent"] for batch in made.batches)


def weighed(made: PackedStep, loss_type: str, is_drop: bool) -> list[dict]:
    return set_loss_scales(made, loss_type, is_drop, ranks=1)


@pytest.mark.parametrize("is_drop, expected", [(False, [0.5, 1.0]), (True, [2 / 3, 4 / 3])])
def test_a_mean_over_rows_gets_the_denominator_of_all_or_of_the_live_rows(accelerator, is_drop, expected):
    parts = [part(3, 9, live=[True, False]), part(5, 4, live=[True, True])]
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


def test_a_mean_over_tokens_needs_no_factor_unless_rows_are_dropped(accelerator):
    parts = [part(3, 9, live=[False, False]), part(5, 4, live=[True, True])]
    batches = weighed(packed(*parts, accelerator=accelerator), "dapo", False)
    assert all("loss_scale" not in batch for batch in batches)
    batches = weighed(packed(*parts, accelerator=accelerator), "dapo", True)
    assert [batch.get("loss_scale") for batch in batches] == [None, 2.0]  # one of two micro-batches has rows


def test_nothing_is_learned_where_all_rows_are_dropped(accelerator):
    batches = weighed(packed(part(3, 9, live=[False, False]), accelerator=accelerator), "dapo", True)
    assert [batch["loss_scale"] for batch in batches] == [0.0]


def test_a_constant_loss_has_no_backward_pass():
    ran = []
    weight = torch.ones((), requires_grad=True)
    for loss in (torch.zeros(()), torch.zeros(()) / 4, weight * 2):
        skip_constant(lambda loss, **options: ran.append((loss.item(), options)), loss, scale_wrt_gas=False)
    assert ran == [(2.0, {"scale_wrt_gas": False})]
