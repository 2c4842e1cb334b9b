"""Passes of the model over the rows of a batch, counted."""

import functools

import torch
from trl import GRPOTrainer

from helpers.gradients import train_for_gradients
from helpers.reward_functions import half_dead
from helpers.stand_in_vllm import with_vllm
from trl_grpo_rewards.training.passes import run_packed


class Passes:
    """
    Counts the rows of TRL's passes without gradient, the rows of each one with gradient, and the tokens of both with their
    padding. Passes of a model in evaluation are not counted.
    """

    def __init__(self):
        self.quiet, self.calls, self.tokens = 0, [], 0
        self.plain = GRPOTrainer._get_per_token_logps_and_entropies

    def __enter__(self):
        @functools.wraps(self.plain)  # the wrapper is not taken for a subclass's own method
        def watched(trainer, model, input_ids, *args, **kwargs):
            is_packed = getattr(model, "func", None) is run_packed
            rows = model.args[1].shape[0] if is_packed else len(input_ids)
            if torch.is_grad_enabled():
                self.calls.append(rows)
            elif trainer.model.training:
                self.quiet += rows
            self.tokens += input_ids.numel() * trainer.model.training
            return self.plain(trainer, model, input_ids, *args, **kwargs)

        GRPOTrainer._get_per_token_logps_and_entropies = watched
        return self

    def __exit__(self, *exception):
        GRPOTrainer._get_per_token_logps_and_entropies = self.plain


def train_and_count(trainer_class, config, problems, mode=None, reward=half_dead, **options):
    """The gradients, the trainer, and what its model computed. `reward` can be a list."""

    class Made(trainer_class):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            if mode is not None:
                with_vllm(self, mode)

    Made.__name__ = trainer_class.__name__
    with Passes() as passes:
        rewards = reward if isinstance(reward, list) else [reward]
        gradients, trainer = train_for_gradients(Made, config, problems, rewards, dtype="float64", **options)
    return gradients, trainer, passes


def live_rows(trainer):
    return [entry["groups/rows_kept"] for entry in trainer.state.log_history if "groups/rows_kept" in entry]
