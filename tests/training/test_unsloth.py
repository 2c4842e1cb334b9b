"""Unsloth's calls: it replaces methods of TRL's trainer, and its loss passes seven arguments by their position."""

import pytest
import torch
from trl import GRPOTrainer

from helpers.gradients import SGD, difference, train_for_gradients
from helpers.marks import slow_except
from helpers.reward_functions import half_dead
from trl_grpo_rewards import FilteredGRPOTrainer


class Whole(FilteredGRPOTrainer):
    """Computes each row as a whole, as trainers do that override this method."""

    def _get_per_token_logps_and_entropies(self, *args, **kwargs):
        return super()._get_per_token_logps_and_entropies(*args, **kwargs)


class Positional(FilteredGRPOTrainer):
    """Passes what TRL passes by name as Unsloth does. The last argument is Unsloth's own: True in the loss."""

    def _get_per_token_logps_and_entropies(
        self, model, input_ids, attention_mask, logits_to_keep, batch_size=None, compute_entropy=False,
        compute_aux_loss=False, **inputs,
    ):  # fmt: skip
        in_loss = torch.is_grad_enabled()
        return super()._get_per_token_logps_and_entropies(
            model, input_ids, attention_mask, logits_to_keep, batch_size, compute_entropy, in_loss, **inputs
        )


@pytest.mark.parametrize("zero_variance", slow_except(["skip"], ["keep", "skip"]))
def test_gradient_with_arguments_that_are_passed_by_position(config, problems, monkeypatch, zero_variance):
    plain, passes = GRPOTrainer._get_per_token_logps_and_entropies, []

    def replaced(
        self, model, input_ids, attention_mask, logits_to_keep, batch_size=None, compute_entropy=False,
        compute_efficient=False, *args, **kwargs,
    ):  # fmt: skip
        passes.append((torch.is_grad_enabled(), compute_entropy, compute_efficient))
        batch = input_ids, attention_mask, logits_to_keep
        return plain(self, model, *batch, batch_size=batch_size, compute_entropy=compute_entropy, **kwargs)

    options = {"num_iterations": 2, "max_steps": 4, "dtype": "float64", "zero_variance": zero_variance, **SGD}
    expected, _ = train_for_gradients(Whole, config, problems, [half_dead], **options)
    monkeypatch.setattr(GRPOTrainer, "_get_per_token_logps_and_entropies", replaced)
    got, _ = train_for_gradients(Positional, config, problems, [half_dead], **options)
    assert difference(got, expected) == 0
    assert {*passes} == {(True, True, True), (False, False, False)}  # with gradient and without
